// SPDX-License-Identifier: Apache-2.0
//
// contract/support/misuse.hpp - the table of misuses: what every public function answers to them.
//
//   refusing("Stream::fill", [](Hands& h) { return refusal(h.stream.fill(h.view, 1)); })
//       .with(bad_streams())
//       .with({spoil("a view of nothing", "invalid_handle", [](Hands& h) { h.view = {}; })})
//
// An entry names a function and uses it rightly, with the handles of a Hands. Each misuse spoils
// one of the handles before the same call, or makes a call of its own; the answer is what the
// contract says, and nothing has changed. The right use is also made everywhere a program can be:
// in host functions, kernels, callbacks, deleters and the error sink, by two threads, in a forked
// child. scripts/check_misuse.py checks that every public function has an entry.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "contract/support/row.hpp"
#include "contract/support/work.hpp"
#include "thalweg/base/virtual_clock.hpp"

namespace thalweg::contract {

inline constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
inline constexpr std::uint64_t kElements = 16;  // Of the views in Hands.

using AddKernel = Kernel<void (*)(Cell, std::span<int>)>;

// One device, and a handle of each kind to it.
struct Handles {
  explicit Handles(Device opened);

  Device device;
  Stream stream;
  Stream other;
  Event event;  // Recorded and passed, as `timed`.
  TimedEvent timed;
  Timeline timeline;  // At 1.
  StreamPool pool;
  Array<int> array;
  View<int> view;    // All of `array`, which holds 1, 2, 3...
  View<int> second;  // As many elements of other memory.
  HostArray<int> host;
  View<Extent> extent;  // Of no cells.
  Task task;            // Of `stream`, and passed.
};

// What a call of the table is made with. The handles of the first part are shared by all uses at
// one time, those of the second are a use's own.
struct Hands : Handles {
  // `more` are handles of another device of the backend, and of another backend.
  Hands(const Handles& handles, const Handles* sibling, const Handles* foreign);
  Hands(const Hands&) = delete;
  Hands& operator=(const Hands&) = delete;

  const Handles* sibling;
  const Handles* foreign;

  std::shared_ptr<std::atomic<int>> ran = std::make_shared<std::atomic<int>>(0);
  UniqueFunction function;  // Counts in `ran`.
  std::optional<AddKernel> add;
  Future<void> future;              // Passed.
  Future<std::vector<int>> values;  // Passed.
  HostArray<int> own;
  Mapped<int> mapped;  // All of `own`, to write.
  std::shared_ptr<VirtualClock> clock = std::make_shared<VirtualClock>();
  Alarm alarm;
  std::vector<int> ints = std::vector<int>(kElements, 7);

  // What misuses need beside: handles that were moved from, say.
  std::optional<Device> device_left;
  Mapped<int> mapped_too;

  // What cannot be waited for: held by a closed gate.
  Deadline deadline = kLimit;
  std::shared_ptr<Gate> gate;
  Stream held;
  Stream held_small;  // With a limit that is reached.
  Event held_event;
  Future<void> held_future;
  View<int> held_view;
  void hold();

  ~Hands();
};

using Use = std::function<std::string(Hands&)>;

struct Misuse {
  std::string what;
  std::string answer;                  // One of several where there is a `|`.
  std::function<void(Hands&)> change;  // Before the entry's own call,
  Use call;                            // or instead of it.
};

inline Misuse spoil(std::string what, std::string answer, std::function<void(Hands&)> change) {
  return {std::move(what), std::move(answer), std::move(change), nullptr};
}
inline Misuse misuse(std::string what, std::string answer, Use call) {
  return {std::move(what), std::move(answer), nullptr, std::move(call)};
}

class Entry {
 public:
  Entry(std::string name, Use use, std::string right, std::string in_child)
      : name_(std::move(name)),
        use_(std::move(use)),
        right_(std::move(right)),
        inside_(right_),
        in_child_(std::move(in_child)) {}

  // Adds misuses, each with an answer.
  Entry with(std::vector<Misuse> misuses) &&;

  // Of the misuse `what`, another answer than its list has.
  Entry but(const std::string& what, std::string answer) &&;

  // The answer in a task of the stream, which is in flight.
  Entry inside(std::string answer) &&;

  // The answer in a forked child.
  Entry in_child(std::string answer) &&;

  // A use that would have to wait: what it answers with a deadline that is over.
  Entry blocked(Use use, std::string answer = "timeout") &&;

  // The answer of `blocked` where waiting is forbidden.
  Entry forbidden(std::string answer) &&;

  // Not to be used by two threads at one time, or not without an order of the program's.
  Entry one_thread() &&;

  // Misuses of this function, if any, cannot be seen, for a reason.
  Entry unseen(std::string reason) &&;

  const std::string& name() const noexcept { return name_; }
  std::string faults() const;

  // Each checks one side of the contract, and fails the row.
  void check_misuses(const Handles& handles, const Handles* sibling, const Handles* foreign) const;
  void check_blocked(const Handles& handles) const;

  const Use& use() const noexcept { return use_; }
  const std::string& right() const noexcept { return right_; }
  const std::string& inside() const noexcept { return inside_; }
  const std::string& in_child() const noexcept { return in_child_; }
  const Use& blocked() const noexcept { return blocked_; }
  const std::string& forbidden() const noexcept { return forbidden_; }
  bool threads() const noexcept { return threads_; }

 private:
  void check_misuse(const Misuse& misuse, Hands& hands) const;

  std::string name_;
  Use use_;
  std::string right_;
  std::string inside_;
  std::string in_child_;
  Use blocked_;
  std::string blocked_answer_;
  std::string forbidden_ = "wait_forbidden";
  bool threads_ = true;
  std::string reason_;
  std::vector<Misuse> misuses_;
};

// A function that returns a Result, whose error is the answer, and one with another answer.
inline Entry refusing(std::string name, Use use, std::string right = "none") {
  return Entry(std::move(name), std::move(use), std::move(right), "unavailable");
}
inline Entry answering(std::string name, Use use, std::string right) {
  std::string same = right;
  return Entry(std::move(name), std::move(use), std::move(right), std::move(same));
}

// The name of an entry that is made by a function for several: the check looks for this word too.
inline std::string named(const char* name) { return name; }

using Table = std::vector<Entry>;

// The tables of all files. Added before main().
std::vector<Table (*)()>& known_tables();
bool add_table(Table (*table)());
Table whole_table();

// What calls have in common.
std::vector<Misuse> bad_streams();        // Of h.stream, where no memory is in the call,
std::vector<Misuse> streams_of_others();  // where h.view is,
std::vector<Misuse> bad_devices();        // of h.device,
std::vector<Misuse> bad_views();          // h.view,
std::vector<Misuse> views_of_others();    // where a stream is in the call,
std::vector<Misuse> mapped_views();       // where a task would write,
std::vector<Misuse> bad_events();         // h.event,
std::vector<Misuse> bad_timelines();      // h.timeline,
std::vector<Misuse> no_functions();       // h.function.

// What a submission with a future was refused with, without a wait.
template <class T>
std::string sent(Future<T> future) {
  const std::string answer = refusal(future.get(std::chrono::nanoseconds(0)));
  return answer == "timeout" || answer == "wait_forbidden" ? "none" : answer;
}

inline std::string text(bool value) { return value ? "true" : "false"; }
inline std::string text(std::uint64_t value) { return std::to_string(value); }
inline std::string text(std::string_view value) { return std::string(value); }

// What `T` leaves behind when it is moved from.
template <class T>
T& leave(T& handle) {
  [[maybe_unused]] const T taken = std::move(handle);
  return handle;
}

}  // namespace thalweg::contract

#define MISUSE_TABLE(name)                                                                 \
  static ::thalweg::contract::Table name();                                                \
  [[maybe_unused]] static const bool name##_added = ::thalweg::contract::add_table(&name); \
  static ::thalweg::contract::Table name()
