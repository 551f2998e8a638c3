// SPDX-License-Identifier: Apache-2.0
//
// The times of records, and event objects that are used again.

#include <chrono>
#include <optional>
#include <type_traits>
#include <vector>

#include "contract/support/work.hpp"

namespace thalweg::contract {
namespace {

using std::chrono::nanoseconds;

template <class A, class B>
constexpr bool kHasElapsed = requires(const A& a, const B& b) { elapsed(a, b); };

// A time is asked of events that were made to have one; others do not compile.
static_assert(kHasElapsed<TimedEvent, TimedEvent>);
static_assert(!kHasElapsed<Event, Event>);
static_assert(!kHasElapsed<TimedEvent, Event>);
static_assert(!kHasElapsed<Event, TimedEvent>);
static_assert(!std::is_convertible_v<Event, TimedEvent>);

TimedEvent timed(const Device& device) { return need(TimedEvent::create(device)); }

// Two records of one stream, with a gate between them: the time is not below zero, its opposite the
// other way round, and zero from an event to itself.
CONTRACT_ROW(E1, TheTimeBetweenTwoRecords) {
  const Stream s = stream();
  const TimedEvent first = timed(device());
  const TimedEvent second = timed(device());
  need(s.record(first));
  const Gate gate(device());
  gate.hold(s);
  need(s.record(second));
  gate.open();
  need(s.synchronize(kLimit));
  const nanoseconds forth = need(elapsed(first, second));
  EXPECT_GE(forth, nanoseconds(0));
  EXPECT_EQ(need(elapsed(second, first)), -forth);
  EXPECT_EQ(need(elapsed(first, first)), nanoseconds(0));
  EXPECT_EQ(need(elapsed(second, second)), nanoseconds(0));
}

// What was never recorded is said before what has not passed, whichever of the two it is; and the
// invalid handle before all.
CONTRACT_ROW(E2, NeverRecordedIsSaidBeforeNotReady) {
  const Stream s = stream();
  const TimedEvent passed = timed(device());
  const TimedEvent behind = timed(device());
  const TimedEvent never = timed(device());
  need(s.record(passed));
  need(s.synchronize(kLimit));
  const Gate gate(device());
  gate.hold(s);
  need(s.record(behind));
  {
    const NoWaitScope no_wait;  // It never waits.
    EXPECT_EQ(refusal(elapsed(passed, never)), "event_not_recorded");
    EXPECT_EQ(refusal(elapsed(never, passed)), "event_not_recorded");
    EXPECT_EQ(refusal(elapsed(behind, never)), "event_not_recorded");
    EXPECT_EQ(refusal(elapsed(never, behind)), "event_not_recorded");
    EXPECT_EQ(refusal(elapsed(never, never)), "event_not_recorded");
    EXPECT_EQ(refusal(elapsed(passed, behind)), "not_ready");
    EXPECT_EQ(refusal(elapsed(behind, passed)), "not_ready");
    EXPECT_EQ(refusal(elapsed(behind, behind)), "not_ready");
    EXPECT_EQ(refusal(elapsed(TimedEvent(), never)), "invalid_handle");
    EXPECT_EQ(refusal(elapsed(never, TimedEvent())), "invalid_handle");
  }
  EXPECT_TRUE(gate.closed());
  gate.open();
  need(s.synchronize(kLimit));
  EXPECT_EQ(refusal(elapsed(passed, behind)), "none");
}

// A device without a timer: its events are events all the same, and only their times are refused,
// before anything else is said.
CONTRACT_ROW(E3, ARecordWithoutATimeIsSaidFirst) {
  const Stream s = stream();
  const TimedEvent good = timed(device());
  const TimedEvent without = timed(device());
  const TimedEvent behind = timed(device());
  const TimedEvent never = timed(device());
  need(s.record(good));
  control().refuse(Call::submit, Error(ErrorKind::unsupported, "no timer"));
  EXPECT_EQ(refusal(s.record(without)), "none");
  EXPECT_EQ(refusal(without.wait(kLimit)), "none");
  EXPECT_EQ(without.query(), EventState::done);
  const Gate gate(device());
  gate.hold(s);
  need(s.record(behind));
  for (const TimedEvent& other : {good, behind, never, without}) {
    EXPECT_EQ(refusal(elapsed(without, other)), "timing_disabled");
    EXPECT_EQ(refusal(elapsed(other, without)), "timing_disabled");
  }
  gate.open();
  need(s.record(without));
  need(s.synchronize(kLimit));
  EXPECT_EQ(refusal(elapsed(good, without)), "none");
}

CONTRACT_ROW(E4, EventsOfTwoDevicesHaveNoCommonClock) {
  const Opened second = second_device();
  const Stream ours = stream();
  const Stream theirs = need(Stream::create(second.device));
  const TimedEvent here = timed(device());
  const TimedEvent there = timed(second.device);
  EXPECT_EQ(refusal(elapsed(here, there)), "context_mismatch");
  need(ours.record(here));
  need(theirs.record(there));
  need(ours.synchronize(kLimit));
  need(theirs.synchronize(kLimit));
  EXPECT_EQ(refusal(elapsed(here, there)), "context_mismatch");
  EXPECT_EQ(refusal(elapsed(there, here)), "context_mismatch");
}

// The latest record counts, also while it has not passed and an older one has.
CONTRACT_ROW(E5, TheTimeIsThatOfTheLatestRecord) {
  const Stream s = stream();
  const TimedEvent first = timed(device());
  const TimedEvent second = timed(device());
  need(s.record(first));
  need(s.record(second));
  need(s.synchronize(kLimit));
  EXPECT_GE(need(elapsed(first, second)), nanoseconds(0));
  const Gate gate(device());
  gate.hold(s);
  need(s.record(first));
  EXPECT_EQ(refusal(elapsed(first, second)), "not_ready");
  gate.open();
  need(s.synchronize(kLimit));
  EXPECT_LE(need(elapsed(first, second)), nanoseconds(0));
}

// A record behind a gate, and one of another stream that is made later and passes first: the time
// is that of the record's turn, and not that of its call.
CONTRACT_ROW(E5Turn, TheTimeIsThatOfTheRecordsTurn) {
  const Stream held = stream();
  const Stream idle = stream();
  const TimedEvent behind = timed(device());
  const TimedEvent later = timed(device());
  const Gate gate(device());
  gate.hold(held);
  need(held.record(behind));
  need(idle.record(later));
  need(idle.synchronize(kLimit));
  EXPECT_TRUE(gate.closed());
  gate.open();
  need(held.synchronize(kLimit));
  EXPECT_GE(need(elapsed(later, behind)), nanoseconds(0));
}

// A timed event is an event: it is waited for by streams, by the host and by callbacks.
CONTRACT_ROW(E6, ATimedEventIsAnEvent) {
  const Stream a = stream();
  const Stream b = stream();
  const TimedEvent mark = timed(device());
  const Log log;
  EXPECT_EQ(mark.query(), EventState::not_recorded);
  const Gate gate(device());
  gate.hold(a);
  static_cast<void>(log.enqueue(a, 1));
  need(a.record(mark));
  need(b.wait_event(mark));
  Future<void> behind = log.enqueue(b, 2);
  EXPECT_EQ(mark.query(), EventState::not_yet);
  EXPECT_EQ(refusal(mark.wait(nanoseconds(0))), "timeout");
  EXPECT_FALSE(behind.ready());
  gate.open();
  EXPECT_EQ(refusal(mark.wait(kLimit)), "none");
  EXPECT_EQ(mark.query(), EventState::done);
  EXPECT_EQ(refusal(behind.get(kLimit)), "none");
  EXPECT_EQ(log.entries(), (std::vector<int>{1, 2}));
}

// Events that are made and dropped use few objects, and each one is as new.
CONTRACT_ROW(E7, DroppedEventsAreUsedAgain) {
  constexpr int kEvents = 10'000;
  const Stream s = stream();
  for (int i = 0; i != kEvents; ++i) {
    if (i % 2 == 0) {
      const Event mark = event();
      ASSERT_EQ(mark.query(), EventState::not_recorded);
      need(s.record(mark));
    } else {
      const TimedEvent mark = timed(device());
      ASSERT_EQ(mark.query(), EventState::not_recorded);
      ASSERT_EQ(refusal(elapsed(mark, mark)), "event_not_recorded");
      need(s.record(mark));
    }
  }
  EXPECT_LE(device().statistics().events_made, 4U);
  const Event one = event();
  const Event two = event();
  need(s.record(one));
  EXPECT_EQ(two.query(), EventState::not_recorded);
  need(s.synchronize(kLimit));
}

// The waits for an event stay what they were when its object serves another one.
CONTRACT_ROW(E7InFlight, AnEventThatIsUsedAgainEndsNoWait) {
  const Stream a = stream();
  const Stream b = stream();
  const Stream c = stream();
  const Log log;
  const Gate gate(device());
  gate.hold(a);
  static_cast<void>(log.enqueue(a, 1));
  {
    const Event mark = event();
    need(a.record(mark));
    need(b.wait_event(mark));
  }
  Future<void> behind = log.enqueue(b, 2);
  const Event again = event();
  EXPECT_EQ(again.query(), EventState::not_recorded);
  need(c.record(again));
  EXPECT_EQ(refusal(again.wait(kLimit)), "none");
  EXPECT_FALSE(behind.ready());
  gate.open();
  EXPECT_EQ(refusal(behind.get(kLimit)), "none");
  EXPECT_EQ(log.entries(), (std::vector<int>{1, 2}));
}

}  // namespace
}  // namespace thalweg::contract
