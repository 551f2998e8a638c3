// SPDX-License-Identifier: Apache-2.0
//
// What thalweg/timeline.hpp promises, on cpu.

#include "thalweg/timeline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "support/refusal.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class TimelineTest : public testing::Test {
 protected:
  const Device device_ = must(Device::open("cpu?workers=2"));
  const Stream s_ = must(Stream::create(device_));
  const Timeline timeline_ = must(Timeline::create(device_));
};

TEST_F(TimelineTest, StartsWhereItIsToldAndOnlyRises) {
  EXPECT_EQ(timeline_.value(), 0u);
  const Timeline started = must(Timeline::create(device_, 7));
  EXPECT_EQ(started.value(), 7u);
  must(started.signal(7));
  must(started.signal(9));
  const Result<void> lower = started.signal(8);
  EXPECT_EQ(refusal(lower), "invalid_argument");
  EXPECT_THAT(message(lower), AllOf(HasSubstr("8"), HasSubstr("9")));
  EXPECT_EQ(started.value(), 9u);
  must(started.signal(std::numeric_limits<std::uint64_t>::max()));
  EXPECT_EQ(started.value(), std::numeric_limits<std::uint64_t>::max());
}

// A stream waits for its value, and a signal may skip it.
TEST_F(TimelineTest, HoldsAStreamUntilTheValueIsReached) {
  must(s_.wait(timeline_, 2));
  Future<void> behind = s_.host("behind", {}, [] {});
  must(timeline_.signal(1));
  EXPECT_EQ(refusal(s_.synchronize(std::chrono::seconds(0))), "timeout");
  must(timeline_.signal(5));
  EXPECT_EQ(refusal(behind.get(kLimit)), "none");
}

TEST_F(TimelineTest, AValueThatIsReachedHoldsNothing) {
  must(timeline_.signal(3));
  must(s_.wait(timeline_, 0));
  must(s_.wait(timeline_, 3));
  EXPECT_EQ(refusal(s_.host("f", {}, [] {}).get(kLimit)), "none");
}

// One value lets many streams go.
TEST_F(TimelineTest, LetsEveryStreamGoThatWaits) {
  std::vector<Future<void>> futures;
  for (std::uint64_t i = 0; i < 8; ++i) {
    const Stream stream = must(Stream::create(device_));
    must(stream.wait(timeline_, 1 + i % 2));
    futures.push_back(stream.host("f", {}, [] {}));
  }
  must(timeline_.signal(2));
  for (Future<void>& future : futures) EXPECT_EQ(refusal(future.get(kLimit)), "none");
}

// What the host wrote before the signal is seen behind it.
TEST_F(TimelineTest, ASignalPublishesWhatCameBeforeIt) {
  int plain = 0;
  int seen = 0;
  must(s_.wait(timeline_, 1));
  Future<void> reader = s_.host("reads", {}, [&] { seen = plain; });
  plain = 42;
  must(timeline_.signal(1));
  ASSERT_EQ(refusal(reader.get(kLimit)), "none");
  EXPECT_EQ(seen, 42);
}

TEST_F(TimelineTest, TheHostWaitsForAValue) {
  must(timeline_.wait(0, kLimit));
  EXPECT_EQ(refusal(timeline_.wait(1, std::chrono::seconds(0))), "timeout");
  EXPECT_EQ(refusal(timeline_.wait(1, std::chrono::milliseconds(1))), "timeout");
  std::thread other([this] { must(timeline_.signal(1)); });
  EXPECT_EQ(refusal(timeline_.wait(1, kLimit)), "none");
  other.join();
}

TEST_F(TimelineTest, AHostFunctionMayRaiseIt) {
  Future<void> raises = s_.host("raises", {}, [timeline = timeline_] { must(timeline.signal(4)); });
  EXPECT_EQ(refusal(timeline_.wait(4, kLimit)), "none");
  EXPECT_EQ(refusal(raises.get(kLimit)), "none");
}

// Work of one stream releases another.
TEST_F(TimelineTest, AHostFunctionReleasesAnotherStream) {
  const Stream other = must(Stream::create(device_));
  std::vector<int> log;
  must(other.wait(timeline_, 1));
  Future<void> second = other.host("second", {}, [&log] { log.push_back(2); });
  static_cast<void>(s_.host("first", {}, [&log, timeline = timeline_] {
    log.push_back(1);
    must(timeline.signal(1));
  }));
  ASSERT_EQ(refusal(second.get(kLimit)), "none");
  EXPECT_EQ(log, (std::vector<int>{1, 2}));
}

// A stream that waits keeps it alive; a copy is the same timeline.
TEST_F(TimelineTest, ACopyIsTheSameTimeline) {
  Timeline copy = must(Timeline::create(device_));
  const Timeline same = copy;
  must(s_.wait(copy, 1));
  copy = Timeline();
  Future<void> behind = s_.host("behind", {}, [] {});
  must(same.signal(1));
  EXPECT_EQ(refusal(behind.get(kLimit)), "none");
}

TEST_F(TimelineTest, AnInvalidHandleIsRefused) {
  Timeline moved = must(Timeline::create(device_));
  const Timeline taken = std::move(moved);
  for (const Timeline& timeline : {Timeline(), std::as_const(moved)}) {
    EXPECT_FALSE(timeline.valid());
    EXPECT_EQ(timeline.value(), 0u);
    EXPECT_EQ(refusal(timeline.signal(1)), "invalid_handle");
    EXPECT_EQ(refusal(timeline.wait(0, kLimit)), "invalid_handle");
  }
  EXPECT_TRUE(taken.valid());
}

}  // namespace
}  // namespace thalweg::test
