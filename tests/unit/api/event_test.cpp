// SPDX-License-Identifier: Apache-2.0
//
// What thalweg/event.hpp promises: states and refusals on cpu, orders under every schedule.

#include "thalweg/event.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "support/every_schedule.hpp"
#include "support/gate.hpp"
#include "support/refusal.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

class EventTest : public testing::Test {
 protected:
  const Device device_ = must(Device::open("cpu?workers=2"));
  const Stream a_ = must(Stream::create(device_));
  const Stream b_ = must(Stream::create(device_));
  const Event event_ = must(Event::create(device_));
};

TEST_F(EventTest, GoesFromNotRecordedToNotYetToDone) {
  EXPECT_EQ(event_.query(), EventState::not_recorded);
  const Gate gate(device_);
  gate.hold(a_);
  static_cast<void>(a_.host("held", {}, [] {}));
  must(a_.record(event_));
  EXPECT_EQ(event_.query(), EventState::not_yet);
  gate.open();
  EXPECT_EQ(refusal(event_.wait(kLimit)), "none");
  EXPECT_EQ(event_.query(), EventState::done);
}

// The latest record is what counts, in both directions.
TEST_F(EventTest, QueryLooksAtTheLatestRecord) {
  const Gate gate(device_);
  must(b_.record(event_));
  EXPECT_EQ(refusal(event_.wait(kLimit)), "none");
  gate.hold(a_);
  must(a_.record(event_));
  EXPECT_EQ(event_.query(), EventState::not_yet);
  must(b_.record(event_));
  EXPECT_EQ(event_.query(), EventState::done);
}

TEST_F(EventTest, AWaitForAnEventOfItsOwnQueueIsNoWait) {
  static_cast<void>(a_.host("f", {}, [] {}));
  must(a_.record(event_));
  must(a_.wait_event(event_));
  EXPECT_EQ(refusal(a_.host("g", {}, [] {}).get(kLimit)), "none");
  EXPECT_EQ(device_.statistics().waits_placed, 0u);
}

TEST_F(EventTest, ACopyIsTheSameEvent) {
  const Event copy = event_;
  must(a_.record(copy));
  EXPECT_NE(event_.query(), EventState::not_recorded);
}

TEST_F(EventTest, WaitTimesOutAndChangesNothing) {
  const Gate gate(device_);
  EXPECT_EQ(refusal(event_.wait(std::chrono::seconds(0))), "none");
  gate.hold(a_);
  must(a_.record(event_));
  EXPECT_EQ(refusal(event_.wait(std::chrono::seconds(0))), "timeout");
  EXPECT_EQ(refusal(event_.wait(std::chrono::milliseconds(1))), "timeout");
  EXPECT_EQ(event_.query(), EventState::not_yet);
  gate.open();
  EXPECT_EQ(refusal(event_.wait(kLimit)), "none");
}

TEST_F(EventTest, AnInvalidHandleIsLost) {
  Event moved = must(Event::create(device_));
  const Event taken = std::move(moved);
  EXPECT_EQ(Event().query(), EventState::lost);
  EXPECT_EQ(moved.query(), EventState::lost);
  EXPECT_EQ(refusal(Event().wait(kLimit)), "invalid_handle");
  EXPECT_FALSE(Event().valid());
  EXPECT_TRUE(taken.valid());
}

TEST_F(EventTest, RecordingOnAStreamOfAnotherDeviceIsRefused) {
  const Device other = must(Device::open("cpu?workers=1"));
  const Stream foreign = must(Stream::create(other));
  EXPECT_EQ(refusal(foreign.record(event_)), "context_mismatch");
  EXPECT_EQ(event_.query(), EventState::not_recorded);
}

// Recording an event costs no task.
TEST_F(EventTest, ARecordIsNoSubmission) {
  must(a_.record(event_));
  must(b_.wait_event(event_));
  EXPECT_EQ(device_.statistics().submissions, 0u);
}

// Future work only, and without holding the host.
TEST(EventOrder, AWaitOrdersWhatIsEnqueuedAfterItAndNothingElse) {
  const auto orders = orders_of([](ExploreRun& run, const Notes& notes) {
    const Stream a = must(Stream::create(run.device()));
    const Stream b = must(Stream::create(run.device()));
    const Event event = must(Event::create(run.device()));
    notes.task(a, 1);
    must(a.record(event));
    notes.task(b, 2);
    must(b.wait_event(event));
    notes.task(b, 3);
  });
  EXPECT_EQ(orders, (std::set<Order>{{1, 2, 3}, {2, 1, 3}}));
}

// A record right behind a wait for a timeline stands for that wait.
TEST(EventOrder, ARecordBehindAGateStandsForTheGate) {
  const auto orders = orders_of([](ExploreRun& run, const Notes& notes) {
    const Stream a = must(Stream::create(run.device()));
    const Stream b = must(Stream::create(run.device()));
    const Event event = must(Event::create(run.device()));
    const Timeline gate = must(Timeline::create(run.device()));
    must(a.wait(gate, 1));
    must(a.record(event));
    must(b.wait_event(event));
    notes.task(b, 2);
    notes.add(1);
    must(gate.signal(1));
  });
  EXPECT_EQ(orders, (std::set<Order>{{1, 2}}));
}

// A record right behind a wait for another event stands for what that one waits for.
TEST(EventOrder, ARecordBehindAWaitStandsForTheWait) {
  const auto orders = orders_of([](ExploreRun& run, const Notes& notes) {
    const Stream a = must(Stream::create(run.device()));
    const Stream b = must(Stream::create(run.device()));
    const Stream c = must(Stream::create(run.device()));
    const Event first = must(Event::create(run.device()));
    const Event second = must(Event::create(run.device()));
    notes.task(a, 1);
    must(a.record(first));
    must(b.wait_event(first));
    must(b.record(second));
    must(c.wait_event(second));
    notes.task(c, 2);
  });
  EXPECT_EQ(orders, (std::set<Order>{{1, 2}}));
}

// Recorded on `a`, waited for on `b`, recorded again on `c`: `b` comes after `a` all the same, and
// `c` after and before nobody.
TEST(EventOrder, AWaitKeepsTheRecordOfItsTime) {
  const auto orders = orders_of([](ExploreRun& run, const Notes& notes) {
    const Stream a = must(Stream::create(run.device()));
    const Stream b = must(Stream::create(run.device()));
    const Stream c = must(Stream::create(run.device()));
    const Event event = must(Event::create(run.device()));
    notes.task(a, 1);
    must(a.record(event));
    must(b.wait_event(event));
    notes.task(c, 3);
    must(c.record(event));
    notes.task(b, 2);
  });
  EXPECT_EQ(orders, (std::set<Order>{{1, 2, 3}, {1, 3, 2}, {3, 1, 2}}));
}

TEST(EventOrder, AnEventMayBeDroppedOnceTheWaitIsSubmitted) {
  const auto orders = orders_of([](ExploreRun& run, const Notes& notes) {
    const Stream a = must(Stream::create(run.device()));
    const Stream b = must(Stream::create(run.device()));
    notes.task(a, 1);
    {
      const Event event = must(Event::create(run.device()));
      must(a.record(event));
      must(b.wait_event(event));
    }
    // The same event object, for something else.
    const Event again = must(Event::create(run.device()));
    must(b.wait_event(again));
    notes.task(b, 2);
  });
  EXPECT_EQ(orders, (std::set<Order>{{1, 2}}));
}

// The record lives on in the event when its stream is gone, whether that had work to do or not.
TEST(EventOrder, ARecordOutlivesItsStream) {
  const auto orders = orders_of([](ExploreRun& run, const Notes& notes) {
    const Stream b = must(Stream::create(run.device()));
    const Event event = must(Event::create(run.device()));
    {
      const Stream gone = must(Stream::create(run.device()));
      notes.task(gone, 1);
      must(gone.record(event));
    }
    must(b.wait_event(event));
    notes.task(b, 2);
    must(event.wait());
    notes.add(3);
  });
  EXPECT_EQ(orders, (std::set<Order>{{1, 2, 3}, {1, 3, 2}}));
}

TEST(EventOrder, DoneSaysThatTheWorkHasRun) {
  constexpr int kNotYet = 2;
  constexpr int kDone = 3;
  const auto orders = orders_of([](ExploreRun& run, const Notes& notes) {
    const Stream a = must(Stream::create(run.device()));
    const Event event = must(Event::create(run.device()));
    notes.task(a, 1);
    must(a.record(event));
    notes.add(event.query() == EventState::done ? kDone : kNotYet);
  });
  EXPECT_EQ(orders, (std::set<Order>{{1, kDone}, {kNotYet, 1}}));
}

}  // namespace
}  // namespace thalweg::test
