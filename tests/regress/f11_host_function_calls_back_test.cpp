// SPDX-License-Identifier: Apache-2.0
//
// A host function called back into the runtime, on the thread that the device needed to go on, and
// everything hung. Host functions may submit, signal, allocate and drop; a call that would wait is
// refused.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "support/gate.hpp"
#include "support/refusal.hpp"

namespace thalweg::test {
namespace {

class F11HostFunctionCallsBack : public testing::TestWithParam<const char*> {
 protected:
  const Device device_ = must(Device::open(GetParam()));
  const Stream a_ = must(Stream::create(device_));
  const Stream b_ = must(Stream::create(device_));
};

TEST_P(F11HostFunctionCallsBack, AWaitIsRefused) {
  const auto x = must(Array<int>::create(a_, 8));
  std::string stored;
  must(a_.fill(x, 1));
  Future<void> function = a_.host("F1", {}, [&] { stored = refusal(a_.synchronize(kLimit)); });
  must(a_.fill(x, 2));
  ASSERT_EQ(refusal(a_.synchronize(kLimit)), "none");
  EXPECT_EQ(refusal(function.get(kLimit)), "none");
  EXPECT_EQ(stored, "wait_forbidden");
  EXPECT_EQ(must(a_.read(x).get(kLimit)), std::vector<int>(8, 2));
}

// Everything is enqueued; each function raises the counter that the next stream waits for.
TEST_P(F11HostFunctionCallsBack, AChainOfSignalsEnds) {
  const Timeline turn = must(Timeline::create(device_));
  int counter = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const Stream& stream = i % 2 == 0 ? a_ : b_;
    must(stream.wait(turn, i));
    static_cast<void>(stream.host("next", {}, [&counter, turn, i] {
      ++counter;
      must(turn.signal(i + 1));
    }));
  }
  ASSERT_EQ(refusal(device_.synchronize(kLimit)), "none");
  EXPECT_EQ(counter, 100);
}

// Each function submits the next one to the other stream.
TEST_P(F11HostFunctionCallsBack, AChainOfSubmissionsEnds) {
  const Timeline end = must(Timeline::create(device_));
  int counter = 0;
  std::function<void()> next = [&] {
    if (++counter == 100) return must(end.signal(1));
    const Stream& other = counter % 2 == 0 ? a_ : b_;
    static_cast<void>(other.host("next", {}, [&next] { next(); }));
  };
  static_cast<void>(a_.host("first", {}, [&next] { next(); }));
  ASSERT_EQ(refusal(end.wait(1, kLimit)), "none");
  ASSERT_EQ(refusal(device_.synchronize(kLimit)), "none");
  EXPECT_EQ(counter, 100);
}

TEST_P(F11HostFunctionCallsBack, AllocatingAndDroppingLeavesNothingBehind) {
  const auto x = must(Array<int>::create(a_, 8));
  const MemoryUsage before = device_.memory_usage();
  std::string stored = "not run";
  Future<void> function = a_.host("F2", {}, [&] {
    const auto small = Array<int>::create(a_, 8);
    stored = refusal(small);
  });
  ASSERT_EQ(refusal(a_.synchronize(kLimit)), "none");
  ASSERT_EQ(refusal(function.get(kLimit)), "none");
  EXPECT_TRUE(stored == "none" || stored == "wait_forbidden") << stored;
  EXPECT_TRUE(device_.poll());
  EXPECT_EQ(device_.memory_usage().allocations, before.allocations);
  EXPECT_EQ(device_.memory_usage().live_bytes, before.live_bytes);
}

// The steps one after the other in one program, while all of it is still in the queue: a refused
// wait, a chain over both streams, and a function that allocates and drops between two fills.
TEST_P(F11HostFunctionCallsBack, AllOfItInOneProgram) {
  struct Outcome {
    std::string wait = "not run";
    std::string allocation = "not run";
    std::string upload = "not run";
    int counter = 0;
  };
  const auto outcome = std::make_shared<Outcome>();
  const auto x = must(Array<int>::create(a_, 8));
  const Timeline turn = must(Timeline::create(device_));
  const MemoryUsage before = device_.memory_usage();
  {
    const Gate gate(device_);
    gate.hold(a_);
    must(a_.fill(x, 1));
    static_cast<void>(a_.host(
        "F1", {writes(x)}, [outcome, a = a_] { outcome->wait = refusal(a.synchronize(kLimit)); }));
    for (std::uint64_t i = 0; i < 100; ++i) {
      const Stream& stream = i % 2 == 0 ? a_ : b_;
      must(stream.wait(turn, i));
      static_cast<void>(stream.host("next", {}, [outcome, turn, i] {
        ++outcome->counter;
        must(turn.signal(i + 1));
      }));
    }
    static_cast<void>(b_.host("F2", {}, [outcome, b = b_] {
      auto small = Array<int>::create(b, 8);
      outcome->allocation = refusal(small);
      if (small) outcome->upload = refusal(b.upload(*small, std::vector<int>(8, 3)));
      small = Array<int>();
    }));
    must(a_.fill(x, 2));
  }
  ASSERT_EQ(refusal(device_.synchronize(kLimit)), "none");
  ASSERT_EQ(refusal(device_.synchronize(kLimit)), "none");  // What F2 enqueued.
  EXPECT_EQ(outcome->wait, "wait_forbidden");
  EXPECT_EQ(outcome->counter, 100);
  EXPECT_TRUE(outcome->allocation == "none" || outcome->allocation == "wait_forbidden");
  EXPECT_EQ(outcome->upload, outcome->allocation == "none" ? "none" : "not run");
  EXPECT_EQ(must(a_.read(x).get(kLimit)), std::vector<int>(8, 2));
  EXPECT_TRUE(device_.poll());
  EXPECT_EQ(device_.memory_usage().allocations, before.allocations);
  EXPECT_EQ(device_.memory_usage().live_bytes, before.live_bytes);
}

// The same lock order, as an interpreter has it: a thread holds the program's lock and calls the
// runtime, while a host function, or a callback, wants that lock. Neither may hold a lock of the
// runtime meanwhile.
TEST_P(F11HostFunctionCallsBack, ALockOfTheProgramMayBeHeldWhileTheRuntimeIsCalled) {
  struct Interpreter {
    std::mutex lock;
    std::atomic<int> wanting{0};
    std::atomic<int> done{0};
  };
  const auto language = std::make_shared<Interpreter>();
  const auto wants_the_lock = [language] {
    ++language->wanting;
    const std::lock_guard held(language->lock);
    ++language->done;
  };
  const auto x = must(Array<int>::create(b_, 8));
  {
    const std::lock_guard held(language->lock);
    Future<void> function = a_.host("wants", {}, wants_the_lock);
    Future<void> before = b_.host("before", {}, [] {});
    must(before.on_complete(wants_the_lock));
    EXPECT_TRUE(comes_true([&] { return language->wanting >= 1; }));
    must(b_.fill(x, 1));
    must(a_.fill(x, 2));
    const auto made = must(Array<int>::create(a_, 8));
    must(a_.upload(made, std::vector<int>(8, 3)));
    const Event mark = must(Event::create(device_));
    must(a_.record(mark));
    must(b_.wait_event(mark));
    device_.poll();
    device_.trim();
  }
  ASSERT_EQ(refusal(device_.synchronize(kLimit)), "none");
  EXPECT_TRUE(comes_true([&] { return language->done == 2; }));
  EXPECT_EQ(must(b_.read(x).get(kLimit)), std::vector<int>(8, 2));
}

std::string setup_name(const testing::TestParamInfo<const char*>& param) {
  static constexpr std::array<const char*, 3> kNames{"OneWorker", "OneWorkerAlone", "ThreeWorkers"};
  return kNames[param.index];
}

INSTANTIATE_TEST_SUITE_P(Workers, F11HostFunctionCallsBack,
                         testing::Values("cpu?workers=1", "cpu?workers=1&helping=off",
                                         "cpu?workers=3"),
                         setup_name);

}  // namespace
}  // namespace thalweg::test
