// SPDX-License-Identifier: Apache-2.0
//
// What thalweg/event.hpp promises, on cpu.

#include "thalweg/event.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <utility>
#include <vector>

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

// A record right behind a gate stands for the gate.
TEST_F(EventTest, ARecordBehindAGateWaitsForIt) {
  const Gate gate(device_);
  gate.hold(a_);
  must(a_.record(event_));
  must(b_.wait_event(event_));
  Future<void> behind = b_.host("behind", {}, [] {});
  EXPECT_EQ(event_.query(), EventState::not_yet);
  EXPECT_EQ(refusal(b_.synchronize(std::chrono::seconds(0))), "timeout");
  EXPECT_FALSE(behind.ready());
  gate.open();
  EXPECT_EQ(refusal(behind.get(kLimit)), "none");
}

// A record right behind a wait for another event stands for what that one waits for.
TEST_F(EventTest, ARecordBehindAWaitStandsForTheWait) {
  const Stream c = must(Stream::create(device_));
  const Event second = must(Event::create(device_));
  const Gate gate(device_);
  gate.hold(a_);
  bool first_ran = false;
  static_cast<void>(a_.host("first", {}, [&first_ran] { first_ran = true; }));
  must(a_.record(event_));
  must(b_.wait_event(event_));
  must(b_.record(second));
  must(c.wait_event(second));
  bool seen = false;
  Future<void> last = c.host("last", {}, [&] { seen = first_ran; });
  EXPECT_EQ(refusal(c.synchronize(std::chrono::seconds(0))), "timeout");
  gate.open();
  ASSERT_EQ(refusal(last.get(kLimit)), "none");
  EXPECT_TRUE(seen);
}

// Future work only, and without holding the host.
TEST_F(EventTest, AWaitOrdersWhatIsEnqueuedAfterIt) {
  const Gate gate(device_);
  gate.hold(a_);
  bool ran = false;
  static_cast<void>(a_.host("first", {}, [&ran] { ran = true; }));
  must(a_.record(event_));
  Future<void> before = b_.host("before", {}, [] {});
  must(b_.wait_event(event_));
  bool seen = false;
  Future<void> after = b_.host("after", {}, [&] { seen = ran; });
  EXPECT_EQ(refusal(before.get(kLimit)), "none");
  EXPECT_FALSE(after.ready());
  gate.open();
  ASSERT_EQ(refusal(after.get(kLimit)), "none");
  EXPECT_TRUE(seen);
}

// Recorded on gated A, waited for on B, recorded again on idle C: B still waits for A.
TEST_F(EventTest, AWaitKeepsTheRecordOfItsTimeWhenALaterOneIsDone) {
  const Stream c = must(Stream::create(device_));
  const Gate gate(device_);
  gate.hold(a_);
  must(a_.record(event_));
  must(b_.wait_event(event_));
  must(c.record(event_));
  Future<void> behind = b_.host("behind", {}, [] {});
  EXPECT_EQ(event_.query(), EventState::done);
  EXPECT_EQ(refusal(b_.synchronize(std::chrono::seconds(0))), "timeout");
  gate.open();
  EXPECT_EQ(refusal(behind.get(kLimit)), "none");
}

// And the reverse: recorded on idle C, waited for, recorded again on gated A: B does not wait for
// A.
TEST_F(EventTest, AWaitKeepsTheRecordOfItsTimeWhenALaterOneIsHeld) {
  const Stream c = must(Stream::create(device_));
  must(c.record(event_));
  must(b_.wait_event(event_));
  const Gate gate(device_);
  gate.hold(a_);
  must(a_.record(event_));
  EXPECT_EQ(refusal(b_.host("beside", {}, [] {}).get(kLimit)), "none");
  EXPECT_EQ(event_.query(), EventState::not_yet);
}

TEST_F(EventTest, AWaitForAnEventOfItsOwnQueueIsNoWait) {
  static_cast<void>(a_.host("f", {}, [] {}));
  must(a_.record(event_));
  must(a_.wait_event(event_));
  EXPECT_EQ(refusal(a_.host("g", {}, [] {}).get(kLimit)), "none");
  EXPECT_EQ(device_.statistics().waits_placed, 0u);
}

TEST_F(EventTest, MayBeDroppedOnceTheWaitIsSubmitted) {
  const Gate gate(device_);
  gate.hold(a_);
  bool ran = false;
  static_cast<void>(a_.host("first", {}, [&ran] { ran = true; }));
  {
    const Event event = must(Event::create(device_));
    must(a_.record(event));
    must(b_.wait_event(event));
  }
  bool seen = false;
  Future<void> after = b_.host("after", {}, [&] { seen = ran; });
  gate.open();
  ASSERT_EQ(refusal(after.get(kLimit)), "none");
  EXPECT_TRUE(seen);
}

TEST_F(EventTest, ACopyIsTheSameEvent) {
  const Event copy = event_;
  must(a_.record(copy));
  EXPECT_NE(event_.query(), EventState::not_recorded);
}

// The record lives on in the event when its stream is gone.
TEST_F(EventTest, OutlivesTheStreamItWasRecordedOn) {
  const Gate gate(device_);
  {
    const Stream gone = must(Stream::create(device_));
    gate.hold(gone);
    static_cast<void>(gone.host("held", {}, [] {}));
    must(gone.record(event_));
  }
  EXPECT_EQ(event_.query(), EventState::not_yet);
  must(b_.wait_event(event_));
  Future<void> behind = b_.host("behind", {}, [] {});
  gate.open();
  EXPECT_EQ(refusal(event_.wait(kLimit)), "none");
  EXPECT_EQ(refusal(behind.get(kLimit)), "none");
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

}  // namespace
}  // namespace thalweg::test
