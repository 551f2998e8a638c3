// SPDX-License-Identifier: Apache-2.0
//
// The program's code may call everything from where the runtime calls it: from the error sink, by
// whatever the sink is told, and from the destructors of what callables have captured, wherever
// those go. No lock is held there: a build with assertions would abort.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/plant.hpp"
#include "runtime/failures.hpp"
#include "support/gate.hpp"
#include "support/refusal.hpp"
#include "thalweg/base/log.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

using Numbers = Array<int>;

const auto breaks =
    kernel("breaks", [](Cell, std::span<int>) { throw std::runtime_error("broken"); });
const auto adds = kernel(
    "adds", [](Cell i, std::span<int> to, std::span<const int> from) { to[i.x] += from[i.x]; });

bool waited(const Result<void>& result) {
  const std::string answer = refusal(result);
  return answer == "none" || answer == "wait_forbidden";
}

// A call of each kind. The waits are refused where waiting is.
void call_all(const Device& device, const Stream& stream) {
  auto x = must(Numbers::create(stream, 8));
  const auto y = must(stream.upload(std::vector<int>(8, 1)));
  const auto memory = must(HostArray<int>::create(stream, 8));
  must(stream.fill(x, 1));
  must(stream.launch(adds, 8, x, y));
  must(stream.copy(memory, x));
  static_cast<void>(stream.host("h", {reads(x)}, [] {}));
  static_cast<void>(stream.read(x));
  const Event event = must(Event::create(device));
  must(stream.record(event));
  must(event.on_complete([] {}));
  const Stream other = must(Stream::create(device));
  must(other.wait_event(event));
  must(other.wait(stream));
  const Timeline timeline = must(Timeline::create(device));
  must(timeline.signal(1));
  must(other.wait(timeline, 1));
  static_cast<void>(try_map(y, for_reading));
  must(other.launch(breaks, 8, x));
  must(other.launch(adds, 8, y, x));
  must(other.fill(y, 1));
  x = {};
  device.poll();
  device.trim();
  static_cast<void>(device.failures());
  static_cast<void>(device.statistics());
  static_cast<void>(device.memory_usage());
  EXPECT_TRUE(waited(other.synchronize(kLimit)));
  EXPECT_TRUE(waited(device.synchronize(kLimit)));
  const Device apart = must(Device::open("cpu?workers=1"));
  const Stream there = must(Stream::create(apart));
  must(there.fill(must(Numbers::create(there, 8)), 1));
  EXPECT_TRUE(waited(apart.close(kLimit)));
}

// Calls all that there is, the first time, and counts.
class Caller {
 public:
  Caller(const Device& device, const Stream& stream)
      : state_(std::make_shared<State>(State{device, stream})) {}

  void operator()() const {
    if (state_->began.exchange(true)) return;
    call_all(state_->device, state_->stream);
    state_->ended = true;
  }

  bool ended() const { return state_->ended; }

 private:
  struct State {
    State(Device on, Stream by) : device(std::move(on)), stream(std::move(by)) {}
    State(State&& other) noexcept : device(other.device), stream(other.stream) {}
    Device device;
    Stream stream;
    std::atomic<bool> began{false};
    std::atomic<bool> ended{false};
  };

  std::shared_ptr<State> state_;
};

class CallsFromWithin : public testing::TestWithParam<const char*> {
 protected:
  ~CallsFromWithin() override {
    set_error_sink({});
    set_log_hook({});
  }

  Numbers bad() const {
    auto x = must(a_.upload(std::vector<int>(8)));
    must(a_.launch(breaks, 8, x));
    return x;
  }

  bool comes(const Caller& caller) const {
    return comes_true([&] {
      device_.poll();
      return caller.ended();
    });
  }

  const Device device_ = must(Device::open(GetParam()));
  const Stream a_ = must(Stream::create(device_));
  const Stream b_ = must(Stream::create(device_));
};

// How the sink comes to be told.
TEST_P(CallsFromWithin, TheErrorSink) {
  struct Way {
    const char* name;
    std::function<void()> make;
  };
  static std::array<int, 8> memory{};
  const Way ways[] = {
      {"a kernel without outputs throws",
       [&] { must(a_.launch(kernel("k", [](Cell) { throw 1; }), 1)); }},
      {"a future goes", [&] { static_cast<void>(a_.host("h", {}, [] { throw 1; })); }},
      {"a callback throws", [&] { must(a_.host("h", {}, [] {}).on_complete([] { throw 1; })); }},
      {"bad bytes are written",
       [&] {
         const Numbers x = bad();
         must(a_.fill(x, 1));
         must(a_.synchronize());
       }},
      {"bad bytes become bad because of another task",
       [&] {
         const Numbers x = bad();
         must(a_.synchronize());
         const Numbers y = bad();
         must(a_.synchronize());
         must(a_.launch(adds, 8, y, x));
         must(a_.fill(x, 1));
         must(a_.synchronize());
       }},
      {"a failing task leaves bad bytes unwritten",
       [&] {
         const Numbers x = bad();
         must(a_.launch(breaks, 4, x.view(0, 4)));
         must(a_.fill(x, 1));
         must(a_.synchronize());
       }},
      {"a buffer goes",
       [&] {
         const Numbers x = bad();
         must(a_.synchronize());
       }},
      {"a buffer is gone when it becomes bad, and the host polls",
       [&] {
         const Gate gate(device_);
         gate.hold(a_);
         static_cast<void>(bad());
       }},
      {"the same, and the host asks for failures",
       [&] {
         {
           const Gate gate(device_);
           gate.hold(a_);
           static_cast<void>(bad());
         }
         must(a_.synchronize());
         static_cast<void>(device_.failures());
       }},
      {"the same, and there are many",
       [&] {
         const Gate gate(device_);
         gate.hold(a_);
         for (int i = 0; i != 300; ++i) static_cast<void>(bad());
       }},
      {"the host writes bad bytes",
       [&] {
         const Numbers x = bad();
         must(a_.synchronize());
         static_cast<void>(must(map(x, for_writing)));
       }},
      {"memory of the program's goes",
       [&] {
         const auto x = must(Numbers::adopt(device_, memory, [] {}));
         must(a_.launch(breaks, 8, x));
         must(a_.synchronize());
       }},
      {"memory of the program's goes behind the work",
       [&] {
         const Gate gate(device_);
         gate.hold(a_);
         const auto x = must(Numbers::adopt(device_, memory, [] {}));
         must(a_.launch(breaks, 8, x));
       }},
      {"a device goes",
       [&] {
         const Device device = must(Device::open(GetParam()));
         const Stream stream = must(Stream::create(device));
         const auto x = must(Numbers::create(stream, 8));
         must(stream.launch(breaks, 8, x));
       }},
  };
  for (const Way& way : ways) {
    const Caller caller(device_, b_);
    set_error_sink([caller](const Error&) { caller(); });
    way.make();
    EXPECT_TRUE(comes(caller)) << way.name;
    must(device_.synchronize());
    must(b_.synchronize());
    EXPECT_TRUE(comes_true([this] {
      device_.poll();
      return !runtime::Failures::instance().any();
    })) << way.name;
    set_error_sink({});
  }
}

// That a lock is held would be seen.
TEST(CallsFromWithinDeathTest, ASinkUnderALockIsFound) {
#if defined(NDEBUG)
  GTEST_SKIP() << "Without assertions nobody looks at locks.";
#endif
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        const plant::Scope planted(plant::Bug::sink_under_lock);
        const Device device = must(Device::open("cpu?workers=1"));
        const Stream stream = must(Stream::create(device));
        const Caller caller(device, stream);
        set_error_sink([caller](const Error&) { caller(); });
        const auto x = must(Numbers::create(stream, 8));
        must(stream.launch(breaks, 8, x));
        must(stream.fill(x, 1));
        must(stream.synchronize());
      },
      "A lock is taken while one of the same or a later rank is held");
}

// Calls when the last copy of it goes.
class AtEnd {
 public:
  explicit AtEnd(const Caller& caller) : end_(nullptr, [caller](void*) { caller(); }) {}

 private:
  std::shared_ptr<void> end_;
};

// Where what a callable has captured goes.
TEST_P(CallsFromWithin, WhatACallableHasCaptured) {
  struct Way {
    const char* name;
    std::function<void(const AtEnd&)> make;
  };
  static std::array<int, 8> memory{};
  std::stop_source stop;
  stop.request_stop();
  const Way ways[] = {
      {"a host function that ran",
       [&](const AtEnd& end) { must(a_.host("h", {}, [end] {}).get()); }},
      {"one that threw it",
       [&](const AtEnd& end) {
         static_cast<void>(a_.host("h", {}, [end] { throw end; }));  // NOLINT
       }},
      {"one that was skipped",
       [&](const AtEnd& end) {
         const Numbers x = bad();
         static_cast<void>(a_.host("h", {reads(x)}, [end] {}));
       }},
      {"one that was stopped",
       [&](const AtEnd& end) {
         static_cast<void>(a_.with_stop_token(stop.get_token()).host("h", {}, [end] {}));
       }},
      {"one that was refused",
       [&](const AtEnd& end) {
         const Device other = must(Device::open("cpu?workers=1"));
         const Stream there = must(Stream::create(other));
         const auto x = must(Numbers::create(there, 8));
         EXPECT_FALSE(a_.host("h", {reads(x)}, [end] {}).get());
       }},
      {"a kernel that was never launched",
       [&](const AtEnd& end) { static_cast<void>(kernel("k", [end](Cell) {})); }},
      {"a kernel that ran",
       [&](const AtEnd& end) { must(a_.launch(kernel("k", [end](Cell) {}), 1)); }},
      {"a kernel that threw it",
       [&](const AtEnd& end) { must(a_.launch(kernel("k", [end](Cell) { throw end; }), 1)); }},
      {"a kernel that ran on two streams, and stays until the device is idle",
       [&](const AtEnd& end) {
         const auto k = kernel("k", [end](Cell) {});
         must(a_.launch(k, 1));
         must(b_.launch(k, 1));
       }},
      {"a kernel that was skipped",
       [&](const AtEnd& end) {
         const Numbers x = bad();
         must(a_.launch(kernel("k", [end](Cell, std::span<const int>) {}), 1, x));
       }},
      {"a kernel of a stream that is gone",
       [&](const AtEnd& end) {
         const Stream stream = must(Stream::create(device_));
         const Gate gate(device_);
         gate.hold(stream);
         must(stream.launch(kernel("k", [end](Cell) {}), 1));
       }},
      {"a callback of an event",
       [&](const AtEnd& end) {
         const Event event = must(Event::create(device_));
         must(a_.record(event));
         must(event.on_complete([end] {}));
       }},
      {"a callback of a future",
       [&](const AtEnd& end) { must(a_.host("h", {}, [] {}).on_complete([end] {})); }},
      {"a callback of a task",
       [&](const AtEnd& end) {
         const Task task = must(a_.launch(kernel("k", [](Cell) {}), 1));
         must(a_.on_complete(task, [end] {}));
       }},
      {"a callback that was refused",
       [&](const AtEnd& end) {
         const Task task = must(a_.launch(kernel("k", [](Cell) {}), 1));
         EXPECT_FALSE(b_.on_complete(Task(), [end] {})) << task.serial().value;
       }},
      {"a deleter",
       [&](const AtEnd& end) {
         static_cast<void>(must(Numbers::adopt(device_, memory, [end] {})));
       }},
      {"a deleter that had to wait",
       [&](const AtEnd& end) {
         const Gate gate(device_);
         gate.hold(a_);
         must(a_.fill(must(Numbers::adopt(device_, memory, [end] {})), 1));
       }},
      {"the error sink",
       [&](const AtEnd& end) {
         set_error_sink([end](const Error&) {});
         set_error_sink([](const Error&) {});
       }},
      {"the log hook",
       [&](const AtEnd& end) {
         set_log_hook([end](LogLevel, std::string_view) {});
         set_log_hook({});
       }},
  };
  for (const Way& way : ways) {
    set_error_sink([](const Error&) {});
    const Caller caller(device_, b_);
    way.make(AtEnd(caller));
    EXPECT_TRUE(comes(caller)) << way.name;
    must(device_.synchronize());
  }
}

INSTANTIATE_TEST_SUITE_P(All, CallsFromWithin,
                         testing::Values("cpu?workers=1", "cpu?workers=4", "sim?seed=1"));

}  // namespace
}  // namespace thalweg::test
