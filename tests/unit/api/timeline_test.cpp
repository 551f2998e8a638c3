// SPDX-License-Identifier: Apache-2.0
//
// What thalweg/timeline.hpp promises: on cpu, and what concerns orders under every schedule.

#include "thalweg/timeline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <thread>
#include <utility>

#include "support/every_schedule.hpp"
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

TEST_F(TimelineTest, AValueThatIsReachedHoldsNothing) {
  must(timeline_.signal(3));
  must(s_.wait(timeline_, 0));
  must(s_.wait(timeline_, 3));
  EXPECT_EQ(refusal(s_.host("f", {}, [] {}).get(kLimit)), "none");
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

// A stream waits for its value, and a signal may skip it.
TEST(TimelineOrder, AStreamIsHeldUntilItsValueIsReachedAndNoLonger) {
  const auto orders = orders_of([](ExploreRun& run, const Notes& notes) {
    const Stream s = must(Stream::create(run.device()));
    const Timeline timeline = must(Timeline::create(run.device()));
    must(s.wait(timeline, 2));
    notes.task(s, 3);
    must(timeline.signal(1));
    notes.add(1);
    must(timeline.signal(5));
    notes.add(2);
  });
  EXPECT_EQ(orders, (std::set<Order>{{1, 2, 3}, {1, 3, 2}}));
}

// One value lets many streams go, and gives them no order among each other.
TEST(TimelineOrder, OneSignalLetsEveryStreamGoThatWaits) {
  const auto orders = orders_of([](ExploreRun& run, const Notes& notes) {
    const Timeline timeline = must(Timeline::create(run.device()));
    for (int i = 1; i != 4; ++i) {
      const Stream stream = must(Stream::create(run.device()));
      must(stream.wait(timeline, static_cast<std::uint64_t>(1 + i % 2)));
      notes.task(stream, i);
    }
    notes.add(0);
    must(timeline.signal(2));
  });
  EXPECT_EQ(
      orders,
      (std::set<Order>{
          {0, 1, 2, 3}, {0, 1, 3, 2}, {0, 2, 1, 3}, {0, 2, 3, 1}, {0, 3, 1, 2}, {0, 3, 2, 1}}));
}

// Work of one stream releases another, whether a host function does it or the stream.
TEST(TimelineOrder, AStreamReleasesAnotherStream) {
  for (const bool by_function : {true, false}) {
    const auto orders = orders_of([by_function](ExploreRun& run, const Notes& notes) {
      const Stream first = must(Stream::create(run.device()));
      const Stream second = must(Stream::create(run.device()));
      const Timeline timeline = must(Timeline::create(run.device()));
      must(second.wait(timeline, 1));
      notes.task(second, 2);
      if (by_function) {
        static_cast<void>(first.host("first", {}, [notes, timeline] {
          notes.add(1);
          must(timeline.signal(1));
        }));
      } else {
        notes.task(first, 1);
        must(first.signal(timeline, 1));
      }
    });
    EXPECT_EQ(orders, (std::set<Order>{{1, 2}}));
  }
}

// Two actors of the host: one is released by the other, or by what the other has enqueued.
TEST(TimelineOrder, TheHostWaitsForWhoeverSignals) {
  for (const bool by_stream : {false, true}) {
    std::optional<Timeline> timeline;
    NotingProgram program;
    program.before = [&timeline](ExploreRun& run, const Notes&) {
      timeline = must(Timeline::create(run.device()));
    };
    program.actors.emplace_back([&timeline](ExploreRun&, const Notes& notes) {
      must(timeline->wait(1));
      notes.add(2);
    });
    program.actors.emplace_back([&timeline, by_stream](ExploreRun& run, const Notes& notes) {
      if (by_stream) {
        const Stream stream = must(Stream::create(run.device()));
        notes.task(stream, 1);
        must(stream.signal(*timeline, 1));
      } else {
        notes.add(1);
        must(timeline->signal(1));
      }
    });
    program.after = [&timeline](ExploreRun&, const Notes&) { timeline.reset(); };
    EXPECT_EQ(orders_of(program), (std::set<Order>{{1, 2}}));
  }
}

}  // namespace
}  // namespace thalweg::test
