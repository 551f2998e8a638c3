// SPDX-License-Identifier: Apache-2.0
//
// stress/actor.hpp - one thread of the stress test: random calls, and what it knows of them.
//
// A thread knows the contents of arrays that it alone uses: a model on the host is changed with
// each task, and what is read back is compared with the model of that moment. A task that may have
// been stopped makes the contents unknown until something defines them again.
//
// No wait without an end: who closes a gate opens it some steps later, and until then waits with
// deadlines only. So a thread that waits without one is waited for by nobody.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string_view>
#include <vector>

#include "stress/world.hpp"
#include "support/random.hpp"

namespace thalweg::stress {

class Actor {
 public:
  Actor(World& world, unsigned number, std::uint64_t seed);

  // One random call, or a few that belong together.
  void step();

  // Opens what it closed, waits for its futures, and drops everything in a random order.
  void finish();

  // For a watchdog.
  std::uint64_t steps() const noexcept { return steps_.load(std::memory_order_relaxed); }
  const char* doing() const noexcept { return doing_.load(std::memory_order_relaxed); }

 private:
  using Kinds = std::initializer_list<ErrorKind>;

  // An array that no other thread uses.
  struct Own {
    std::size_t device = 0;
    View<Word> view;
    std::vector<Word> model;
    bool known = false;
  };

  // A range of elements of one.
  struct Part {
    Own* own;
    std::size_t first;
    std::size_t count;
    View<Word> view() const { return own->view.subview(first, count); }
    bool whole() const { return count == own->model.size(); }
    std::span<Word> model() const { return std::span(own->model).subspan(first, count); }
  };

  // A stream to submit on, and whether the task will run.
  enum class Stop : std::uint8_t { never, before, perhaps };
  struct Chosen {
    Stream stream;
    Stop stop = Stop::never;
  };

  struct Read {
    Future<std::vector<Word>> future;
    std::vector<Word> expected;
    bool known = false;
    bool stoppable = false;
  };
  struct Sent {
    Future<void> future;
    std::shared_ptr<const std::vector<Word>> source;  // Of a borrowed upload.
    bool throws = false;
    bool stoppable = false;
    bool uses_common = false;  // Refused while somebody has it mapped.
  };
  struct Gate {
    Timeline timeline;
    std::uint64_t value = 0;
    std::uint64_t due = 0;  // The step at which it is opened.
  };
  // A part of the block of memory that is the program's.
  struct Window {
    std::size_t device = 0;
    std::size_t first = 0;
    Array<Word> array;
  };
  struct Mark {
    std::size_t device = 0;
    TimedEvent event;
  };

  // The calls, by kind.
  void make_stream();
  void drop_stream();
  void make_own();
  void drop_own();
  void exchange();
  void fill();
  void launch();
  void launch_many();
  void launch_indirect();
  void use_tile();
  void copy();
  void upload();
  void upload_new();
  void upload_borrowed();
  void read();
  void native();
  void touch();
  void map_own();
  void add_to_common();
  void map_common();
  void read_common();
  void use_shared_view();
  void adopt_window();
  void use_window();
  void drop_window();
  void host_function();
  void close_gate();
  void signal();
  void wait_for_timeline();
  void record();
  void wait_event();
  void ask_event();
  void time_events();
  void wait_stream();
  void synchronize();
  void synchronize_device();
  void adopt_queue();
  void callback();
  void request_stop();
  void ask_device();
  void pool();
  void short_device();
  void small_room();
  void misuse();
  void take_read();
  void take_sent();

  // `false` when the call was refused with one of `allowed`, or asks for what was left unwritten;
  // fails with another one.
  template <class T>
  bool took(const Result<T>& result, Kinds allowed = {}) const;
  static bool is_unwritten(const Error& error);
  void require(bool condition, std::string_view what) const;
  [[noreturn]] void fail(std::string_view what) const;

  std::size_t any_device() { return random_.below(kDevices); }
  const Stream& any_stream(std::size_t device);
  Chosen choose(std::size_t device);
  Own* any_own();
  Part any_part(Own& own);
  bool may_block() const { return gates_.empty(); }
  Deadline some_deadline();
  bool launch_add(const Stream& stream, Common& common, test::Random& random);

  // Changes the model as a task on `chosen` does.
  template <class Change>
  void change(const Chosen& chosen, const Part& part, bool defines, const Change& change);

  void take(Read read, Deadline deadline);
  void take(Sent& sent, Deadline deadline);
  void open_gates(bool all);
  void give_callback(const auto& give);

  World& world_;
  const unsigned number_;
  test::Random random_;
  std::atomic<std::uint64_t> steps_{0};
  std::atomic<const char*> doing_{"start"};

  Handles shared_;
  std::array<std::vector<Stream>, kDevices> streams_;
  std::vector<std::unique_ptr<Own>> owns_;
  std::vector<Read> reads_;
  std::vector<Sent> sent_;
  std::vector<Gate> gates_;
  std::vector<Window> windows_;
  std::vector<Mark> marks_;
  std::vector<std::stop_source> stops_;
  std::vector<NativeHandle> former_;  // Of streams that this thread dropped.
};

}  // namespace thalweg::stress
