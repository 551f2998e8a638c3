// SPDX-License-Identifier: Apache-2.0
//
// Timelines: what raises them, and what waits for them.

#include <array>
#include <atomic>
#include <cstdint>
#include <latch>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "contract/support/foreign_backend.hpp"
#include "contract/support/sink.hpp"
#include "contract/support/work.hpp"

namespace thalweg::contract {
namespace {

Timeline timeline_at(const Device& device, std::uint64_t value = 0) {
  return need(Timeline::create(device, value));
}

// A signal behind a gate: another stream does its work, and the timeline is where it was. What is
// before the signal in its stream has run when it comes.
CONTRACT_ROW(T1, AStreamsSignalComesInItsTurn) {
  const Stream a = stream();
  const Stream b = stream();
  const Timeline t = timeline_at(device(), 3);
  const Log log;
  const Gate gate(device());
  gate.hold(a);
  static_cast<void>(log.enqueue(a, 1));
  EXPECT_EQ(refusal(a.signal(t, 7)), "none");
  need(b.wait(t, 7));
  Future<void> behind = log.enqueue(b, 2);
  EXPECT_EQ(refusal(log.enqueue(stream(), 0).get(kLimit)), "none");
  EXPECT_TRUE(gate.closed());
  EXPECT_EQ(t.value(), 3U);
  EXPECT_FALSE(behind.ready());
  EXPECT_EQ(refusal(t.wait(7, std::chrono::nanoseconds(0))), "timeout");
  gate.open();
  EXPECT_EQ(refusal(t.wait(7, kLimit)), "none");
  EXPECT_EQ(t.value(), 7U);
  EXPECT_EQ(refusal(behind.get(kLimit)), "none");
  EXPECT_EQ(log.entries(), (std::vector<int>{0, 1, 2}));
}

// Three streams for each of eight values. Each step of the timeline lets go of those that wait for
// it, and of no other; a step that leaves values out lets go of all below.
CONTRACT_ROW(T2, StreamsAreReleasedExactlyAtTheirValues) {
  constexpr std::uint64_t kValues = 8;
  struct Waiting {
    std::uint64_t value = 0;
    Future<void> future;
  };
  const Timeline t = timeline_at(device());
  const Log log;
  std::vector<Stream> streams;
  std::vector<Waiting> waiting;
  for (std::uint64_t i = 0; i != 3 * kValues; ++i) {
    streams.push_back(stream());
    const std::uint64_t value = 1 + i * 5 % kValues;
    need(streams.back().wait(t, value));
    waiting.push_back({value, log.enqueue(streams.back(), static_cast<int>(value))});
  }
  for (const std::uint64_t raised : {1U, 2U, 5U, 7U, 8U}) {
    need(t.signal(raised));
    for (Waiting& one : waiting)
      if (one.value <= raised && one.future.valid()) {
        EXPECT_EQ(refusal(one.future.get(kLimit)), "none");
      }
    for (const Waiting& one : waiting)
      EXPECT_FALSE(one.value > raised && one.future.ready()) << one.value << " at " << raised;
    EXPECT_EQ(log.size(), 3 * raised);
  }
}

// The same for threads of the host, which also see what was done before the value was reached.
CONTRACT_ROW(T2Threads, ThreadsAreReleasedExactlyAtTheirValues) {
  ASSERT_TRUE(backend().any_thread) << "The backend is not for several threads.";
  constexpr std::size_t kValues = 4;
  const Timeline t = timeline_at(device());
  std::array<int, kValues + 1> plain{};  // Written before the value of its index is reached.
  std::array<std::atomic<int>, kValues + 1> released{};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i != 2 * kValues; ++i)
    threads.emplace_back([&, value = 1 + i % kValues] {
      EXPECT_EQ(refusal(t.wait(value, kLimit)), "none");
      EXPECT_GE(t.value(), value);
      EXPECT_EQ(plain[value], 1);
      ++released[value];
    });
  for (std::size_t value = 1; value <= kValues; ++value) {
    plain[value] = 1;
    need(t.signal(value));
    EXPECT_TRUE(comes_true([&] { return released[value] == 2; }));
    for (std::size_t later = value + 1; later <= kValues; ++later) EXPECT_EQ(released[later], 0);
  }
  for (std::thread& thread : threads) thread.join();
}

// Two streams hand the turn to each other over two timelines. Everything is enqueued before the
// first turn is given.
CONTRACT_ROW(T3, TwoStreamsTakeTurns) {
  constexpr int kTurns = 100;
  const Stream a = stream();
  const Stream b = stream();
  const Timeline ping = timeline_at(device());
  const Timeline pong = timeline_at(device());
  const Log log;
  std::vector<int> expected;
  const Gate gate(device());
  gate.hold(a);
  for (int i = 1; i <= kTurns; ++i) {
    const auto turn = static_cast<std::uint64_t>(i);
    need(b.wait(ping, turn));
    static_cast<void>(log.enqueue(b, -i));
    need(b.signal(pong, turn));
    need(a.wait(pong, turn - 1));
    static_cast<void>(log.enqueue(a, i));
    need(a.signal(ping, turn));
    expected.insert(expected.end(), {i, -i});
  }
  EXPECT_TRUE(log.empty());
  gate.open();
  need(device().synchronize(kLimit));
  EXPECT_EQ(log.entries(), expected);
  EXPECT_EQ(pong.value(), static_cast<std::uint64_t>(kTurns));
}

// A chain of streams, each waiting for the one that is enqueued after it, with bytes that go back
// along it: more streams than threads that could be blocked.
CONTRACT_ROW(T4, AWaitEnqueuedBeforeItsSignalEndsAllTheSame) {
  constexpr std::size_t kStreams = 24;
  std::vector<Stream> streams;
  std::vector<Timeline> reached;
  for (std::size_t i = 0; i != kStreams; ++i) {
    streams.push_back(stream());
    reached.push_back(timeline_at(device()));
  }
  const auto order = std::make_shared<std::vector<std::size_t>>();  // One at a time by the chain.
  std::vector<Future<void>> all;
  for (std::size_t i = 0; i != kStreams; ++i) {
    if (i + 1 != kStreams) need(streams[i].wait(reached[i + 1], 1));
    all.push_back(streams[i].host("link", {}, [order, i] { order->push_back(i); }));
    if (i + 1 != kStreams) {
      EXPECT_FALSE(all.back().ready());
    }
    need(streams[i].signal(reached[i], 1));
  }
  for (Future<void>& future : all) ASSERT_EQ(refusal(future.get(kLimit)), "none");
  ASSERT_EQ(order->size(), kStreams);
  for (std::size_t i = 0; i != kStreams; ++i) EXPECT_EQ((*order)[i], kStreams - 1 - i);
  EXPECT_EQ(refusal(reached[0].wait(1, kLimit)), "none");
}

// The call is refused where the value is known to be too low; nothing was enqueued.
CONTRACT_ROW(T5, ALowerValueIsRefusedAtTheCall) {
  const Stream s = stream();
  const Timeline t = timeline_at(device(), 5);
  const std::uint64_t submits = control().calls(Call::submit);
  EXPECT_EQ(refusal(t.signal(4)), "invalid_argument");
  EXPECT_EQ(refusal(s.signal(t, 4)), "invalid_argument");
  EXPECT_EQ(refusal(s.signal(t, 0)), "invalid_argument");
  EXPECT_EQ(control().calls(Call::submit), submits);
  EXPECT_EQ(t.value(), 5U);
  EXPECT_EQ(refusal(s.signal(t, 5)), "none");
  EXPECT_EQ(refusal(t.signal(5)), "none");
  EXPECT_EQ(refusal(Log().enqueue(s, 1).get(kLimit)), "none");
  EXPECT_EQ(t.value(), 5U);
}

// The value became too low while the signal waited for its turn. Nobody can be told but the error
// sink; the timeline stays, and the stream goes on.
CONTRACT_ROW(T6, ASignalThatBecameTooLowIsReportedAndTheStreamGoesOn) {
  const Sink sink;
  const Stream s = stream();
  const Timeline t = timeline_at(device());
  const Gate gate(device());
  gate.hold(s);
  const unsigned line = __LINE__ + 1;
  need(s.signal(t, 5));
  need(s.signal(t, 12));
  Future<void> behind = Log().enqueue(s, 1);
  need(t.signal(9));
  EXPECT_EQ(sink.size(), 0U);
  gate.open();
  EXPECT_EQ(refusal(behind.get(kLimit)), "none");
  EXPECT_EQ(t.value(), 12U);
  const std::vector<Error> errors = sink.errors();
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].kind(), ErrorKind::invalid_argument);
  EXPECT_EQ(errors[0].site().line(), line);
  EXPECT_EQ(refusal(s.synchronize(kLimit)), "none");
  EXPECT_EQ(device().statistics().tasks_failed, 1U);
}

// Two streams raise one timeline; where the lower value comes second, the first stays.
CONTRACT_ROW(T6Unchanged, ATooLowSignalLeavesTheTimelineUnchanged) {
  const Sink sink;
  const Stream high = stream();
  const Stream low = stream();
  const Timeline t = timeline_at(device());
  need(low.wait(high));  // Nothing is enqueued there: no wait.
  const Gate gate(device());
  gate.hold(high);
  need(high.signal(t, 9));
  need(low.wait(high));
  need(low.signal(t, 5));
  gate.open();
  need(low.synchronize(kLimit));
  EXPECT_EQ(t.value(), 9U);
  EXPECT_EQ(sink.size(), 1U);
}

// The program's handle goes while one stream waits and another one will signal. Neither hangs, and
// nothing is touched that is gone.
CONTRACT_ROW(T7, ATimelineMayBeDroppedWhileStreamsUseIt) {
  const Stream a = stream();
  const Stream b = stream();
  const Log log;
  const Gate gate(device());
  gate.hold(a);
  std::optional<Timeline> t = timeline_at(device());
  need(b.wait(*t, 2));
  Future<void> behind = log.enqueue(b, 2);
  static_cast<void>(log.enqueue(a, 1));
  need(a.signal(*t, 2));
  t.reset();
  EXPECT_FALSE(behind.ready());
  gate.open();
  EXPECT_EQ(refusal(behind.get(kLimit)), "none");
  EXPECT_EQ(log.entries(), (std::vector<int>{1, 2}));
}

// All handles of the streams and the timeline go; the work runs, as a row's end checks.
CONTRACT_ROW(T7Streams, StreamsMayBeDroppedBeforeTheirSignals) {
  const Log log;
  const Timeline done = timeline_at(device());
  const Gate gate(device());
  {
    const Stream a = stream();
    const Stream b = stream();
    const Timeline t = timeline_at(device());
    gate.hold(a);
    need(b.wait(t, 1));
    static_cast<void>(log.enqueue(b, 2));
    need(b.signal(done, 1));
    static_cast<void>(log.enqueue(a, 1));
    need(a.signal(t, 1));
  }
  EXPECT_EQ(done.value(), 0U);
  gate.open();
  EXPECT_EQ(refusal(done.wait(1, kLimit)), "none");
  EXPECT_EQ(log.entries(), (std::vector<int>{1, 2}));
}

// A timeline of one device, raised by a stream of the other, and waited for by streams of both.
CONTRACT_ROW(T8, ATimelineWorksAcrossDevices) {
  ASSERT_TRUE(backend().devices_meet) << "Work of two devices does not meet.";
  const Opened second = second_device();
  const Stream a = stream();
  const Stream other = stream();
  const Stream theirs = need(Stream::create(second.device));
  const Timeline t = timeline_at(device());
  const Log log;
  const Gate gate(second.device);
  gate.hold(theirs);
  EXPECT_EQ(refusal(theirs.signal(t, 1)), "none");
  EXPECT_EQ(refusal(a.wait(t, 1)), "none");
  Future<void> here = log.enqueue(a, 1);
  EXPECT_EQ(refusal(a.signal(t, 2)), "none");
  EXPECT_EQ(refusal(theirs.wait(t, 2)), "none");
  Future<void> there = log.enqueue(theirs, 2);
  EXPECT_EQ(refusal(log.enqueue(other, 0).get(kLimit)), "none");
  EXPECT_FALSE(here.ready());
  EXPECT_FALSE(there.ready());
  gate.open();
  EXPECT_EQ(refusal(there.get(kLimit)), "none");
  EXPECT_EQ(refusal(here.get(kLimit)), "none");
  EXPECT_EQ(log.entries(), (std::vector<int>{0, 1, 2}));
}

// A timeline of another backend cannot be raised from a stream of ours, nor ours from theirs.
CONTRACT_ROW(T9, ATimelineOfAnotherBackendIsRefused) {
  const Device foreign = need(open_foreign());
  const Stream ours = stream();
  const Stream theirs = need(Stream::create(foreign));
  const Timeline their_timeline = timeline_at(foreign);
  const Timeline timeline = timeline_at(device());
  EXPECT_EQ(refusal(ours.signal(their_timeline, 1)), "backend_mismatch");
  EXPECT_EQ(refusal(ours.wait(their_timeline, 0)), "backend_mismatch");
  EXPECT_EQ(refusal(theirs.signal(timeline, 1)), "backend_mismatch");
  EXPECT_EQ(their_timeline.value(), 0U);
  EXPECT_EQ(timeline.value(), 0U);
  EXPECT_EQ(refusal(ours.signal(timeline, 1)), "none");
  EXPECT_EQ(refusal(timeline.wait(1, kLimit)), "none");
}

CONTRACT_ROW(T10, SignalsOfHandlesThatHoldNothingAreRefused) {
  const Stream s = stream();
  const Timeline t = timeline_at(device());
  EXPECT_EQ(refusal(Stream().signal(t, 1)), "invalid_handle");
  EXPECT_EQ(refusal(s.signal(Timeline(), 1)), "invalid_handle");
  EXPECT_EQ(t.value(), 0U);
}

// A backend that refuses the signal: it did not happen, and the next one does.
CONTRACT_ROW(T11, ASignalThatTheBackendRefusesDidNotHappen) {
  const Stream s = stream();
  const Timeline t = timeline_at(device());
  control().refuse(Call::submit, Error(ErrorKind::queue_full, "full"));
  EXPECT_EQ(refusal(s.signal(t, 1)), "queue_full");
  need(s.synchronize(kLimit));
  EXPECT_EQ(t.value(), 0U);
  EXPECT_EQ(refusal(s.signal(t, 1)), "none");
  EXPECT_EQ(refusal(t.wait(1, kLimit)), "none");
}

}  // namespace
}  // namespace thalweg::contract
