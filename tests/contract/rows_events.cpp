// SPDX-License-Identifier: Apache-2.0
//
// Events, and streams that wait for them.

#include <optional>

#include "contract/support/work.hpp"

namespace thalweg::contract {
namespace {

// A wait for an event of a gated stream: it comes back at once, what was enqueued before it runs,
// and what is enqueued after it does not.
CONTRACT_ROW(S20, AWaitOrdersFutureWorkOnlyAndDoesNotBlock) {
  const Stream a = stream();
  const Stream b = stream();
  const Event mark = event();
  const Log log;
  const Gate gate(device());
  const Gate hold_b(device());
  gate.hold(a);
  static_cast<void>(log.enqueue(a, 1));
  need(a.record(mark));
  hold_b.hold(b);  // So that the wait finds earlier work that has not run.
  Future<void> before = log.enqueue(b, 2);
  {
    const NoWaitScope no_wait;
    EXPECT_EQ(refusal(b.wait_event(mark)), "none");
  }
  Future<void> after = log.enqueue(b, 3);
  EXPECT_EQ(control().calls(Call::host_wait), 0U);
  EXPECT_EQ(mark.query(), EventState::not_yet);
  hold_b.open();
  EXPECT_EQ(refusal(before.get(kLimit)), "none");
  EXPECT_TRUE(gate.closed());
  EXPECT_FALSE(after.ready());
  EXPECT_EQ(log.entries(), std::vector<int>{2});
  gate.open();
  EXPECT_EQ(refusal(after.get(kLimit)), "none");
  EXPECT_EQ(log.entries(), (std::vector<int>{2, 1, 3}));
  EXPECT_EQ(mark.query(), EventState::done);
}

// The record that counts is the latest at the time of the wait: one that comes later neither ends
// the wait nor makes it longer. Where there is none, nothing is waited for.
CONTRACT_ROW(S21, AWaitBindsToTheLatestRecord) {
  const Stream gated = stream();
  const Stream idle = stream();
  const Stream b = stream();
  const Stream c = stream();
  const Event mark = event();
  const Log log;
  const Gate gate(device());
  EXPECT_EQ(mark.query(), EventState::not_recorded);
  EXPECT_EQ(refusal(c.wait_event(mark)), "none");
  EXPECT_EQ(refusal(log.enqueue(c, 0).get(kLimit)), "none");

  gate.hold(gated);
  static_cast<void>(log.enqueue(gated, 1));
  need(gated.record(mark));
  need(b.wait_event(mark));
  Future<void> behind = log.enqueue(b, 2);
  need(idle.record(mark));  // Not what `b` waits for.
  EXPECT_EQ(mark.query(), EventState::done);
  EXPECT_EQ(refusal(log.enqueue(idle, 3).get(kLimit)), "none");
  EXPECT_FALSE(behind.ready());

  need(c.wait_event(mark));
  need(gated.record(mark));  // Not what `c` waits for.
  EXPECT_EQ(mark.query(), EventState::not_yet);
  EXPECT_EQ(refusal(log.enqueue(c, 4).get(kLimit)), "none");
  EXPECT_TRUE(gate.closed());
  EXPECT_FALSE(behind.ready());
  EXPECT_EQ(log.entries(), (std::vector<int>{0, 3, 4}));
  gate.open();
  EXPECT_EQ(refusal(behind.get(kLimit)), "none");
  EXPECT_EQ(log.entries(), (std::vector<int>{0, 3, 4, 1, 2}));
}

// Sets `strict_events` where the options have it.
template <class Options>
bool make_strict(Options& options) {
  if constexpr (requires { options.strict_events; }) {
    options.strict_events = true;
    return true;
  } else {
    return false;
  }
}

// On a device opened with `strict_events`, a wait for an event that was never recorded is refused.
CONTRACT_ROW(S21Strict, AStrictDeviceRefusesAnEventNeverRecorded) {
  bool known = false;
  const Opened strict =
      need(bench().open([&known](runtime::OpenOptions& options) { known = make_strict(options); }));
  ASSERT_TRUE(known) << "This library has no option `strict_events`.";
  const Stream s = need(Stream::create(strict.device));
  const Event mark = need(Event::create(strict.device));
  EXPECT_EQ(refusal(s.wait_event(mark)), "event_not_recorded");
  EXPECT_EQ(refusal(Log().enqueue(s, 1).get(kLimit)), "none");
  need(s.record(mark));
  EXPECT_EQ(refusal(s.wait_event(mark)), "none");
}

// Events of one device are waited for on another one of the backend, and so are its streams and
// timelines.
CONTRACT_ROW(S22, WaitingAcrossDevicesIsAllowed) {
  ASSERT_TRUE(backend().devices_meet) << "Work of two devices does not meet.";
  const Opened second = second_device();
  const Stream a = stream();
  const Stream by_event = need(Stream::create(second.device));
  const Stream by_stream = need(Stream::create(second.device));
  const Stream by_timeline = need(Stream::create(second.device));
  const Stream unrelated = need(Stream::create(second.device));
  const Event mark = event();
  const Log log;
  const Gate gate(device());
  gate.hold(a);
  static_cast<void>(log.enqueue(a, 1));
  need(a.record(mark));
  EXPECT_EQ(refusal(by_event.wait_event(mark)), "none");
  EXPECT_EQ(refusal(by_stream.wait(a)), "none");
  EXPECT_EQ(refusal(by_timeline.wait(gate.timeline(), 1)), "none");
  Future<void> waiting[] = {log.enqueue(by_event, 2), log.enqueue(by_stream, 2),
                            log.enqueue(by_timeline, 3)};
  EXPECT_EQ(refusal(log.enqueue(unrelated, 0).get(kLimit)), "none");
  for (const Future<void>& future : waiting) EXPECT_FALSE(future.ready());
  EXPECT_EQ(log.entries(), std::vector<int>{0});
  gate.open();
  for (Future<void>& future : waiting) EXPECT_EQ(refusal(future.get(kLimit)), "none");
  // The timeline says nothing of what was enqueued behind it; the other two do.
  std::vector<int> entries = log.entries();
  std::erase(entries, 3);
  EXPECT_EQ(entries, (std::vector<int>{0, 1, 2, 2}));
}

// An event is recorded on streams of its own device only: the refusal is ours, and the event is as
// it was.
CONTRACT_ROW(S22Record, RecordingOnAnotherDevicesStreamIsRefused) {
  const Opened second = second_device();
  const Stream theirs = need(Stream::create(second.device));
  const Stream ours = stream();
  const Event mark = event();
  const std::uint64_t calls = second.control->calls();
  EXPECT_EQ(refusal(theirs.record(mark)), "context_mismatch");
  EXPECT_EQ(second.control->calls(), calls);
  EXPECT_EQ(mark.query(), EventState::not_recorded);
  need(ours.record(mark));
  EXPECT_EQ(refusal(theirs.record(mark)), "context_mismatch");
  EXPECT_EQ(refusal(mark.wait(kLimit)), "none");
}

// The event goes while the wait for it is open. The wait is kept, and nothing is touched that is
// gone, which the sanitizers see.
CONTRACT_ROW(S24, AnEventMayBeDroppedOnceTheWaitIsEnqueued) {
  const Stream a = stream();
  const Stream b = stream();
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
  EXPECT_FALSE(behind.ready());
  EXPECT_TRUE(log.empty());
  gate.open();
  EXPECT_EQ(refusal(behind.get(kLimit)), "none");
  EXPECT_EQ(log.entries(), (std::vector<int>{1, 2}));
}

}  // namespace
}  // namespace thalweg::contract
