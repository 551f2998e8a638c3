// SPDX-License-Identifier: Apache-2.0
//
// What a stream orders, and what it does not.

#include <algorithm>
#include <numeric>
#include <span>

#include "contract/support/work.hpp"

namespace thalweg::contract {
namespace {

// A gate is closed, so that nothing can run; all the same every submission returns.
CONTRACT_ROW(S1, EnqueueReturnsBeforeTheWorkRuns) {
  constexpr int kTasks = 1000;
  const Stream s = stream();
  const Log log;
  const Gate gate(device());
  gate.hold(s);
  for (int i = 0; i != kTasks; ++i) static_cast<void>(log.enqueue(s, i));
  EXPECT_TRUE(log.empty());
  gate.open();
  need(s.synchronize(kLimit));
  std::vector<int> all(kTasks);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(log.entries(), all);
}

// Operations that do not commute, on plain memory of the host and on memory of the device: the
// result is that of one order alone, and the host sees it.
CONTRACT_ROW(S2, OneStreamIsSequentialAndItsEffectsAreVisible) {
  constexpr std::uint64_t kTasks = 10'000;
  const Stream s = stream();
  const auto value = std::make_shared<std::uint64_t>(1);
  std::uint64_t expected = 1;
  const auto step = [](std::uint64_t from, std::uint64_t i) {
    return from * 6364136223846793005U + i;
  };
  for (std::uint64_t i = 0; i != kTasks; ++i) {
    static_cast<void>(s.host("step", {}, [value, i, step] { *value = step(*value, i); }));
    expected = step(expected, i);
  }
  need(s.synchronize(kLimit));
  EXPECT_EQ(*value, expected);

  constexpr std::uint32_t kCells = 16;
  const auto cells = need(s.upload(std::vector<std::uint32_t>(kCells, 0)));
  std::vector<std::uint32_t> model(kCells, 0);
  for (std::uint32_t i = 0; i != kTasks / 2; ++i) {
    const std::uint32_t at = i * 7 % kCells;
    const std::uint32_t to = (at + 1 + i % (kCells - 1)) % kCells;
    need(s.fill(cells.view(at, 1), i));
    need(s.copy(cells.view(to, 1), cells.view(at, 1)));
    model[at] = i;
    model[to] = i;
  }
  EXPECT_EQ(need(s.read(cells).get(kLimit)), model);
}

// Several threads submit to one stream. Nothing is said of how they mix, but each one's tasks run
// in its own order, and one at a time: the list has no lock.
CONTRACT_ROW(S2Threads, EachThreadsOwnOrderIsKept) {
  ASSERT_TRUE(backend().any_thread) << "The backend is not for several threads.";
  constexpr int kThreads = 4;
  constexpr int kTasks = 2500;
  const Stream s = stream();
  const auto ran = std::make_shared<std::vector<std::pair<int, int>>>();
  on_threads(kThreads, [&](int thread) {
    for (int i = 0; i != kTasks; ++i)
      static_cast<void>(s.host("f", {}, [ran, thread, i] { ran->emplace_back(thread, i); }));
  });
  need(s.synchronize(kLimit));
  ASSERT_EQ(ran->size(), std::size_t{kThreads} * kTasks);
  std::vector<int> next(kThreads, 0);
  for (const auto& [thread, i] : *ran)
    ASSERT_EQ(i, next[static_cast<std::size_t>(thread)]++) << "of thread " << thread;
}

// While a gate holds A, B is not held, nor is what depends on work of A from before the gate,
// whether by its bytes, by an event or by a wait for the stream. A first gate sees to it that this
// work has not passed when the dependents come: they wait for it, and not for what is behind it.
CONTRACT_ROW(S3, AClosedGateHoldsOneStreamOnly) {
  const Stream a = stream();
  const Stream b = stream();
  const Stream c = stream();
  const Stream d = stream();
  const auto before = need(Array<int>::create(a, 4));
  const Event mark = event();
  const Log log;
  const Gate first(device());
  const Gate gate(device());
  first.hold(a);
  need(a.fill(before, 7));
  need(a.record(mark));
  need(c.wait(a));
  gate.hold(a);
  static_cast<void>(log.enqueue(a, 1));
  auto bytes = b.read(before);
  need(d.wait_event(mark));
  Future<void> by_event = log.enqueue(d, 2);
  Future<void> by_stream = log.enqueue(c, 2);
  EXPECT_EQ(refusal(log.enqueue(stream(), 0).get(kLimit)), "none");
  EXPECT_FALSE(bytes.ready());
  EXPECT_FALSE(by_event.ready());
  EXPECT_FALSE(by_stream.ready());
  first.open();
  const auto seen = bytes.get(kLimit);
  EXPECT_TRUE(seen && *seen == std::vector<int>(4, 7)) << message(seen);
  EXPECT_EQ(refusal(by_event.get(kLimit)), "none");
  EXPECT_EQ(refusal(by_stream.get(kLimit)), "none");
  EXPECT_TRUE(gate.closed());
  EXPECT_EQ(log.entries(), (std::vector<int>{0, 2, 2}));
  gate.open();
  need(a.synchronize(kLimit));
  EXPECT_EQ(log.size(), 4U);
}

// A writer and a reader that hold copies of one stream: the backend is asked for tasks and for
// nothing else, and the order is right.
CONTRACT_ROW(S9, TwoSubsystemsOnCopiesNeedNoEvents) {
  const Stream writer = stream();
  const Stream reader = writer;  // NOLINT(performance-unnecessary-copy-initialization)
  const auto data = need(Array<int>::create(writer, 8));
  const auto seen = need(Array<int>::create(reader, 8 * 16));
  for (int round = 0; round != 16; ++round) {
    need(writer.fill(data, round));
    need(reader.copy(seen.view(static_cast<std::uint64_t>(round) * 8, 8), data));
  }
  EXPECT_EQ(control().calls(Call::wait_for), 0U);
  EXPECT_EQ(control().calls(Call::host_wait), 0U);
  EXPECT_EQ(control().fences(), 0U);
  EXPECT_EQ(control().submits(neutral::TaskKind::empty), 0U);
  EXPECT_EQ(control().submits(neutral::TaskKind::wait), 0U);
  EXPECT_EQ(device().statistics().fences, 0U);
  EXPECT_EQ(device().statistics().waits_placed, 0U);
  const std::vector<int> values = need(reader.read(seen).get(kLimit));
  for (int i = 0; i != 8 * 16; ++i) EXPECT_EQ(values[static_cast<std::size_t>(i)], i / 8);
}

template <class D>
constexpr bool kCaptures = requires { &D::capture; };

// n tasks of a captured stream are n nodes in a chain; two streams joined by events give two
// branches.
CONTRACT_ROW(S10, ACapturedStreamIsAChain) {
  if constexpr (!kCaptures<Device>) {
    ADD_FAILURE() << "This library has no capture.";
  } else {
    ADD_FAILURE() << "This row looks at nothing: it counts nodes and edges once there is capture.";
  }
}

// The default stream and one of ours do not hold each other.
CONTRACT_ROW(S11, NoOrderWithADefaultStream) {
  ASSERT_TRUE(backend().default_stream) << "The backend has no default stream.";
  const Stream ours = stream();
  const Stream theirs = need(backend().default_stream(device()));
  const Log log;
  for (const auto& [held, other] : {std::pair(theirs, ours), std::pair(ours, theirs)}) {
    const Gate gate(device());
    gate.hold(held);
    Future<void> behind = log.enqueue(held, 1);
    EXPECT_EQ(refusal(log.enqueue(other, 2).get(kLimit)), "none");
    EXPECT_TRUE(gate.closed());
    EXPECT_FALSE(behind.ready());
    gate.open();
    EXPECT_EQ(refusal(behind.get(kLimit)), "none");
  }
}

// To wait for one's own queue is nothing: the backend hears nothing of it.
CONTRACT_ROW(S27, AStreamThatWaitsForItselfDoesNothing) {
  const Stream s = stream();
  const Stream copy = s;  // NOLINT(performance-unnecessary-copy-initialization)
  const Log log;
  const Gate gate(device());
  gate.hold(s);
  static_cast<void>(log.enqueue(s, 1));
  const std::uint64_t calls = control().calls();
  EXPECT_EQ(refusal(s.wait(s)), "none");
  EXPECT_EQ(refusal(s.wait(copy)), "none");
  EXPECT_EQ(refusal(copy.wait(s)), "none");
  EXPECT_EQ(control().calls(), calls);
  gate.open();
  EXPECT_EQ(refusal(s.synchronize(kLimit)), "none");
  EXPECT_EQ(log.size(), 1U);
}

}  // namespace
}  // namespace thalweg::contract
