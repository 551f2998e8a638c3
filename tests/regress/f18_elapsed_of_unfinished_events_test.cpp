// SPDX-License-Identifier: Apache-2.0
//
// The time between two events was given as success, with junk or below zero, when one of them was
// unfinished, unrecorded or without a time. Recorded, passed and timed are three things, and each
// has its refusal.

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "support/gate.hpp"
#include "support/refusal.hpp"
#include "thalweg/base/virtual_clock.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

template <class A, class B>
constexpr bool kHasElapsed = requires(const A& a, const B& b) { elapsed(a, b); };

// An event made without a time cannot be asked for one: that is said by the compiler.
static_assert(!kHasElapsed<TimedEvent, Event> && !kHasElapsed<Event, TimedEvent>);

class F18Elapsed : public testing::TestWithParam<const char*> {
 protected:
  TimedEvent timed() const { return must(TimedEvent::create(device_)); }

  const std::shared_ptr<VirtualClock> clock_ = std::make_shared<VirtualClock>(milliseconds(123));
  const Device device_ = must(Device::open(GetParam(), {.clock = clock_}));
  const Stream a_ = must(Stream::create(device_));
};

// The task takes 10 ms of the device's clock, by moving it.
TEST_P(F18Elapsed, EachStateHasItsRefusalAndTheTimeIsExact) {
  const TimedEvent t1 = timed();
  const TimedEvent t2 = timed();
  const TimedEvent u = timed();
  must(a_.record(t1));
  must(a_.synchronize(kLimit));
  const Gate gate(device_);
  gate.hold(a_);
  static_cast<void>(a_.host("ten", {}, [clock = clock_] { clock->advance(milliseconds(10)); }));
  must(a_.record(t2));

  EXPECT_EQ(refusal(elapsed(t1, u)), "event_not_recorded");
  EXPECT_EQ(refusal(elapsed(t2, u)), "event_not_recorded");
  EXPECT_EQ(refusal(elapsed(t1, t2)), "not_ready");
  EXPECT_EQ(refusal(elapsed(t2, t1)), "not_ready");

  gate.open();
  ASSERT_EQ(refusal(a_.synchronize(kLimit)), "none");
  EXPECT_EQ(must(elapsed(t1, t2)), milliseconds(10));
  EXPECT_EQ(must(elapsed(t2, t1)), -milliseconds(10));
  EXPECT_EQ(must(elapsed(t1, t1)), nanoseconds(0));
}

// The stamp is taken in the record's turn: time that goes by while the record waits counts, and
// time that goes by afterwards does not.
TEST_P(F18Elapsed, TheTimeIsThatOfTheRecordsTurn) {
  const TimedEvent first = timed();
  const TimedEvent second = timed();
  must(a_.record(first));
  must(a_.synchronize(kLimit));
  {
    const Gate gate(device_);
    gate.hold(a_);
    must(a_.record(second));
    clock_->advance(milliseconds(7));
  }
  must(a_.synchronize(kLimit));
  clock_->advance(milliseconds(1000));
  EXPECT_EQ(must(elapsed(first, second)), milliseconds(7));
}

// Time 0 of the clock is a time like any other.
TEST(F18ElapsedAtZero, AStampOfZeroIsARecord) {
  const auto clock = std::make_shared<VirtualClock>();
  const Device device = must(Device::open("cpu?workers=1", {.clock = clock}));
  const Stream s = must(Stream::create(device));
  const TimedEvent first = must(TimedEvent::create(device));
  const TimedEvent second = must(TimedEvent::create(device));
  must(s.record(first));
  must(s.record(second));
  must(s.synchronize(kLimit));
  EXPECT_EQ(must(elapsed(first, second)), nanoseconds(0));
}

// On the machine's clock: never below zero for two records of one stream, in their order.
TEST(F18ElapsedOnTheRealClock, TimesOfOneStreamNeverGoBack) {
  const Device device = must(Device::open("cpu?workers=2"));
  const Stream s = must(Stream::create(device));
  TimedEvent before = must(TimedEvent::create(device));
  must(s.record(before));
  for (int i = 0; i != 200; ++i) {
    TimedEvent next = must(TimedEvent::create(device));
    must(s.record(next));
    must(s.synchronize(kLimit));
    EXPECT_GE(must(elapsed(before, next)), nanoseconds(0));
    before = std::move(next);
  }
}

std::string setup_name(const testing::TestParamInfo<const char*>& param) {
  static constexpr std::array<const char*, 3> kNames{"OneWorker", "OneWorkerAlone", "ThreeWorkers"};
  return kNames[param.index];
}

INSTANTIATE_TEST_SUITE_P(Workers, F18Elapsed,
                         testing::Values("cpu?workers=1", "cpu?workers=1&helping=off",
                                         "cpu?workers=3"),
                         setup_name);

}  // namespace
}  // namespace thalweg::test
