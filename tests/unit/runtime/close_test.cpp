// SPDX-License-Identifier: Apache-2.0
//
// Device::close: the blocking end of a device.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "support/gate.hpp"
#include "support/refusal.hpp"
#include "thalweg/base/log.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Numbers = Array<std::uint32_t>;

class Close : public testing::TestWithParam<const char*> {
 protected:
  const Device device_ = must(Device::open(GetParam()));
};

TEST_P(Close, WaitsForWhatIsEnqueuedAndGivesMemoryBack) {
  const Stream a = must(Stream::create(device_));
  const Stream b = must(Stream::create(device_));
  bool ran = false;
  {
    const Numbers x = must(Numbers::create(a, 64));
    must(a.fill(x, 1u));
    static_cast<void>(b.host("last", {updates(x)}, [&ran] { ran = true; }));
  }
  EXPECT_EQ(refusal(device_.close()), "none");
  EXPECT_TRUE(ran);
  EXPECT_EQ(device_.memory_usage().reserved_bytes, 0u);
  EXPECT_EQ(refusal(device_.close(0s)), "none");
}

TEST_P(Close, WhatBeginsSomethingNewIsRefusedAndHandlesGoAsBefore) {
  const Stream a = must(Stream::create(device_));
  const Numbers x = must(a.upload(std::vector<std::uint32_t>(4)));
  const Event event = must(Event::create(device_));
  const Timeline timeline = must(Timeline::create(device_));
  Future<std::vector<std::uint32_t>> read = a.read(x);
  must(device_.close());
  EXPECT_EQ(refusal(Stream::create(device_)), "invalid_handle");
  EXPECT_EQ(refusal(Numbers::create(a, 4)), "invalid_handle");
  EXPECT_EQ(refusal(Event::create(device_)), "invalid_handle");
  EXPECT_EQ(refusal(Timeline::create(device_)), "invalid_handle");
  EXPECT_EQ(refusal(a.fill(x, 1u)), "invalid_handle");
  EXPECT_EQ(refusal(a.upload(std::vector<std::uint32_t>(4))), "invalid_handle");
  EXPECT_EQ(refusal(a.read(x).get()), "invalid_handle");
  EXPECT_EQ(refusal(a.host("late", {}, [] {}).get()), "invalid_handle");
  EXPECT_EQ(refusal(a.record(event)), "invalid_handle");
  EXPECT_EQ(refusal(a.wait_event(event)), "invalid_handle");
  EXPECT_EQ(refusal(a.wait(timeline, 1)), "invalid_handle");
  EXPECT_EQ(refusal(a.signal(timeline, 1)), "invalid_handle");
  EXPECT_EQ(refusal(map(x, for_reading)), "invalid_handle");
  EXPECT_THAT(message(a.fill(x, 1u)), AllOf(HasSubstr(GetParam()), HasSubstr("is closed")));
  // What was there before can be taken, and a host's signal may be what somebody waits for.
  EXPECT_EQ(refusal(read.get()), "none");
  EXPECT_EQ(refusal(timeline.signal(1)), "none");
  EXPECT_EQ(refusal(a.synchronize()), "none");
}

TEST_P(Close, PastTheDeadlineItGivesUpAndSaysWhatIsLeft) {
  StreamOptions options;
  options.name = "held";
  const Stream a = must(Stream::create(device_, options));
  const Stream other = must(Stream::create(device_));
  const Gate gate(device_);
  gate.hold(a);
  const Numbers x = must(Numbers::create(a, 64));
  must(a.fill(x, 1u));
  must(a.fill(x, 2u));
  const Result<void> closed = device_.close(0s);
  EXPECT_EQ(refusal(closed), "timeout");
  EXPECT_THAT(message(closed), HasSubstr("stream `held` (3 tasks)"));
  EXPECT_EQ(refusal(a.fill(x, 3u)), "invalid_handle");
  gate.open();
  EXPECT_EQ(refusal(device_.close()), "none");
}

TEST_P(Close, IsForbiddenWhereWaitingIs) {
  const Stream a = must(Stream::create(device_));
  const Gate gate(device_);
  gate.hold(a);
  {
    const NoWaitScope no_wait;
    EXPECT_EQ(refusal(device_.close()), "wait_forbidden");
  }
  EXPECT_EQ(refusal(Stream::create(device_)), "none");
  gate.open();
  must(a.synchronize());
  {
    const NoWaitScope no_wait;
    EXPECT_EQ(refusal(device_.close()), "none");
  }
  EXPECT_EQ(refusal(Device().close()), "invalid_handle");
}

// What failed is as good as done; its bytes stay bad until they go.
TEST_P(Close, FailuresThatAreAliveAreNotWaitedFor) {
  std::atomic<int> told{0};
  set_error_sink([&told](const Error&) { ++told; });
  const Stream a = must(Stream::create(device_));
  auto x = must(Numbers::create(a, 8));
  auto y = must(Numbers::create(a, 8));
  {
    const Gate gate(device_);
    gate.hold(a);
    must(a.launch(kernel("breaks", [](Cell, Out<std::uint32_t>) { throw 1; }), 8, x));
    must(a.copy(y, x));
    // Gone before it is bad.
    must(a.copy(must(Numbers::create(a, 8)), x));
    EXPECT_EQ(refusal(device_.close(0s)), "timeout");
  }
  EXPECT_EQ(refusal(device_.close()), "none");
  const std::vector<LivingFailure> living = device_.failures();
  ASSERT_EQ(living.size(), 1u);
  EXPECT_EQ(living[0].carriers, 2u);
  EXPECT_EQ(living[0].skips, 2u);
  x = {};
  EXPECT_EQ(device_.failures().size(), 1u);
  EXPECT_EQ(told, 0);
  y = {};
  EXPECT_EQ(device_.failures().size(), 0u);
  EXPECT_EQ(told, 1);
  EXPECT_EQ(refusal(device_.close()), "none");
  set_error_sink({});
}

// Each past the deadline says so, and each that waits is done when the work is, whatever others
// submit meanwhile.
TEST_P(Close, FromSeveralThreads) {
  const bool threads = std::string(GetParam()).starts_with("cpu");
  StreamOptions options;
  options.name = "held";
  const Stream a = must(Stream::create(device_, options));
  const Stream b = must(Stream::create(device_));
  const Numbers x = must(Numbers::create(b, 8));
  const Gate gate(device_);
  gate.hold(a);
  Future<void> last = a.host("last", {}, [] {});
  std::vector<std::thread> closing;
  std::atomic<int> late{0};
  std::atomic<int> done{0};
  for (int i = 0; i != 4; ++i)
    closing.emplace_back([&] {
      const Result<void> early = device_.close(1ms);
      late += refusal(early) == "timeout" && message(early).find("`held`") != std::string::npos;
      // A simulated device has no other thread that could open the gate meanwhile.
      if (threads) done += refusal(device_.close(kLimit)) == "none";
    });
  std::thread submitting([&] {
    while (refusal(b.fill(x, 1u)) == "none") {
    }
  });
  submitting.join();
  EXPECT_TRUE(comes_true([&late] { return late == 4; }));
  gate.open();
  for (std::thread& thread : closing) thread.join();
  EXPECT_EQ(done, threads ? 4 : 0);
  EXPECT_EQ(refusal(device_.close()), "none");
  EXPECT_EQ(refusal(last.get(0s)), "none");
  EXPECT_EQ(refusal(b.fill(x, 1u)), "invalid_handle");
}

// A task is work that is left: it cannot wait for itself. Its device stays open.
TEST_P(Close, IsForbiddenInsideATask) {
  const Stream a = must(Stream::create(device_));
  std::string function;
  std::string code;
  std::string sink;
  set_error_sink([&sink, this](const Error&) { sink = refusal(device_.close()); });
  must(a.host("closes", {}, [&] { function = refusal(device_.close(kLimit)); }).get());
  must(a.launch(kernel("closes", [&](Cell) { code = refusal(device_.close()); }), 1));
  must(a.launch(kernel("tells", [](Cell) { throw 1; }), 1));
  must(a.synchronize());
  set_error_sink({});
  EXPECT_EQ(function, "wait_forbidden");
  EXPECT_EQ(code, "wait_forbidden");
  EXPECT_EQ(sink, "wait_forbidden");
  EXPECT_EQ(refusal(Stream::create(device_)), "none");
  EXPECT_EQ(refusal(device_.close()), "none");
}

INSTANTIATE_TEST_SUITE_P(All, Close,
                         testing::Values("cpu?workers=1", "cpu?workers=4", "sim?seed=1"));

}  // namespace
}  // namespace thalweg::test
