// SPDX-License-Identifier: Apache-2.0
//
// thalweg/base/task.hpp - the neutral task: what the runtime hands to every backend.
//
// It is a description built on the submitter's stack. It borrows everything it points to until
// `submit` returns; a backend copies what it needs. (The `Task` a program gets back from a
// submission is thalweg::Task; this one is thalweg::neutral::Task.)

#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <source_location>
#include <span>
#include <stop_token>
#include <string_view>

#include "thalweg/base/access.hpp"
#include "thalweg/base/error.hpp"
#include "thalweg/base/grid.hpp"
#include "thalweg/base/ref.hpp"
#include "thalweg/base/unique_function.hpp"

namespace thalweg {

// The cells [first, last) of a grid in the order x, y, z.
struct CellRange {
  Extent extent;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

// A packed argument for each parameter of a kernel, in order and without gaps: for one that takes
// bytes of an allocation a BufferArgument, or a TileArgument where Parameter::shape is `tile`; for
// the others the scalar's own bytes padded to 8. The k-th parameter that is no scalar is
// accesses[k] of the task.
struct BufferArgument {
  std::uint64_t address = 0;  // Of the view's first element, where the device has addresses.
  std::uint64_t count = 0;    // Elements.
};

// Element (x, y) is number y * pitch + x from the address.
struct TileArgument {
  std::uint64_t address = 0;  // Of element (0, 0), where the device has addresses.
  std::uint64_t width = 0;    // Elements, as the pitch.
  std::uint64_t height = 0;   // Rows.
  std::uint64_t pitch = 0;    // Means nothing with less than two rows.
};

enum class ParameterKind : std::uint8_t { scalar, read, write, read_write };

enum class ParameterShape : std::uint8_t {
  range,  // A scalar, or elements in one row.
  tile,   // Rows a pitch apart.
};

struct Parameter {
  ParameterKind kind = ParameterKind::scalar;
  std::uint32_t size_bytes = 0;  // Of the scalar, or of one element.
  ParameterShape shape = ParameterShape::range;
};

class KernelCode;

// Who sees to it that a kernel outlives the launches that were accepted.
class KernelKeeper {
 public:
  // No handle to `code` is left. Deletes it (KernelCode::destroy), now or when it has run.
  virtual void let_go(KernelCode& code) noexcept = 0;

 protected:
  ~KernelKeeper() = default;
};

// A kernel's name, parameters and implementations. Made by `kernel()`.
class KernelCode : public Counted {
 public:
  // Called by the runtime with every launch.
  void kept_by(KernelKeeper& keeper) const noexcept {
    keeper_.store(&keeper, std::memory_order_relaxed);
  }

  // False for a kernel made of a null function: launches are refused.
  bool runnable() const noexcept { return run_ != nullptr; }

  // REQUIRES: no launch will run any more, and no handle is left.
  void destroy() noexcept { delete this; }

  std::string_view name() const noexcept { return name_; }
  std::span<const Parameter> parameters() const noexcept { return parameters_; }

  // Runs the callable on each cell of `cells`. What the callable throws passes through.
  void run(const std::byte* arguments, const CellRange& cells) const {
    run_(*this, arguments, cells);
  }

 protected:
  using Run = void (*)(const KernelCode&, const std::byte*, const CellRange&);
  KernelCode(std::string_view name, std::span<const Parameter> parameters, Run function) noexcept
      : name_(name), parameters_(parameters), run_(function) {}

  std::string_view name_;  // Both views are into the derived object.
  std::span<const Parameter> parameters_;

 private:
  void last_reference_gone() noexcept override {
    // The last handle saw every launch: whoever launched held one.
    KernelKeeper* const keeper = keeper_.load(std::memory_order_relaxed);
    keeper != nullptr ? keeper->let_go(*this) : destroy();
  }

  Run run_;
  mutable std::atomic<KernelKeeper*> keeper_{nullptr};
};

// Someone who waits for a value of a timeline. It belongs to whoever waits: nothing is allocated.
struct TimelineWaiter {
  std::uint64_t value = 0;

  // Called once, on the thread that raised the timeline. The waiter may be gone when it returns.
  void (*fire)(TimelineWaiter&) noexcept = nullptr;

  // The timeline's own.
  TimelineWaiter* next = nullptr;
  TimelineWaiter* previous = nullptr;
};

namespace neutral {

// A counter of the program's that a queue waits for.
class Timeline : public Counted {
 public:
  virtual std::uint64_t value() const noexcept = 0;

  // Adds `waiter`, which stays where it is until it fires. False, and nothing added, when its value
  // is reached already.
  virtual bool add(TimelineWaiter& waiter) noexcept = 0;

  // Raises the counter. False, and nothing done, when it would go down.
  virtual bool raise(std::uint64_t value) noexcept = 0;
};

// A moment by the device's clock, written once by whoever runs a task of kind `stamp`.
class Stamp final : public Counted {
 public:
  // Memory ordering: release; pairs with the acquire in time(). Who sees the task's point passed
  // sees the time.
  void set(std::chrono::nanoseconds time) noexcept {
    time_.store(time.count(), std::memory_order_release);
  }

  // None before it is set.
  std::optional<std::chrono::nanoseconds> time() const noexcept {
    const std::int64_t time = time_.load(std::memory_order_acquire);
    if (time == kUnset) return std::nullopt;
    return std::chrono::nanoseconds(time);
  }

 private:
  static constexpr std::int64_t kUnset = std::numeric_limits<std::int64_t>::min();
  std::atomic<std::int64_t> time_{kUnset};
};

// What a backend does not know or cannot do it refuses with `unsupported`.
enum class TaskKind : std::uint8_t {
  empty,      // Only takes its turn: what waits that need a serial ride on. It may have accesses.
  fill,       // accesses[0] gets copies of `pattern`.
  copy,       // accesses[0] gets the bytes of accesses[1]: as many rows of as many bytes.
  upload,     // accesses[0] gets the bytes at host_source.
  read_back,  // host_target gets the bytes of accesses[0].
  kernel,     // `code` runs over `extent` with `arguments`.
  indirect,   // As kernel, over the Extent that accesses.back() holds when its turn comes, read
              // before any cell runs. One that is not launchable() is a failure: task_failed.
  host,       // `function` runs on a thread of the host.
  native,     // `function` does the work itself, or enqueues it on the backend's own queue: then it
              // is called by `submit`.
  wait,       // Takes its turn when `timeline` has reached `value`.
  signal,     // Raises `timeline` to `value`; invalid_argument when that is lower than it is.
  stamp,      // Writes the device's time to `time`.
  last,  // Nothing comes after it. When it has passed and the backend will not touch the stream
         // any more, it calls `completion`, which may destroy the stream.
};

// Told once how a task ended, before the task's point counts as passed. Called on a thread of the
// backend.
class Completion : public Counted {
 public:
  // `error` is null when the task did its work.
  virtual void complete(const Error* error) noexcept = 0;
};

// Pointers of other kinds are null. Numbers of other kinds are not set: a task is made for each
// submission, and what nobody reads is not written.
struct Task {
  TaskKind kind = TaskKind::empty;
  std::string_view name;
  std::source_location site;
  std::span<const Access> accesses;

  // Shared by the backend when the task is accepted; may be null.
  Completion* completion = nullptr;

  // fill: the low pattern_bytes (1, 2, 4, 8 or 16) are repeated.
  std::uint64_t pattern[2];
  std::uint32_t pattern_bytes;

  // upload, read_back: rows lie host_pitch bytes apart. They stay valid until the task has passed.
  const std::byte* host_source = nullptr;
  std::byte* host_target = nullptr;
  std::uint64_t host_pitch;

  // kernel, and but for `extent` indirect. `code` outlives the task's passing: the
  // runtime sees to it.
  const KernelCode* code = nullptr;
  Extent extent;
  std::span<const std::byte> arguments;

  // host, native: moved from when the task is accepted, and only then.
  UniqueFunction* function = nullptr;

  // wait, signal: shared by the backend when the task is accepted.
  Timeline* timeline = nullptr;
  std::uint64_t value;

  // stamp: shared by the backend when the task is accepted.
  Stamp* time = nullptr;

  // fill, copy, upload, read_back, kernel, host, native: copied by the backend when the task is
  // accepted, and asked once, when the task's turn has come: requested, the task does nothing and
  // ends with `cancelled`. Null: nobody stops it.
  const std::stop_token* stop = nullptr;
};

}  // namespace neutral
}  // namespace thalweg
