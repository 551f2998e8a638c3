// SPDX-License-Identifier: Apache-2.0
//
// The contract of streams, row by row: docs of thalweg/stream.hpp. On cpu a closed gate is what
// proves that something has not run; nothing sleeps. Orders are tested under every schedule.

#include "thalweg/stream.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "support/device_memory.hpp"
#include "support/every_schedule.hpp"
#include "support/gate.hpp"
#include "support/refusal.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

using testing::HasSubstr;

class StreamTest : public testing::Test {
 protected:
  Stream stream() const { return must(Stream::create(device_)); }

  // A host function without accesses, whose future nobody keeps.
  template <class F>
  static void run(const Stream& stream, F function) {
    static_cast<void>(stream.host("function", {}, std::move(function)));
  }

  const Device device_ = must(Device::open("cpu?workers=2"));
};

// Enqueueing returns before the work runs, however much of it there is.
TEST_F(StreamTest, EnqueueingDoesNotWaitForTheWork) {
  const Stream s = stream();
  const Gate gate(device_);
  gate.hold(s);
  std::vector<int> log;
  for (int i = 0; i < 2000; ++i) run(s, [&log, i] { log.push_back(i); });
  EXPECT_TRUE(log.empty());
  gate.open();
  ASSERT_EQ(refusal(s.synchronize(kLimit)), "none");
  ASSERT_EQ(log.size(), 2000u);
  for (int i = 0; i < 2000; ++i) EXPECT_EQ(log[static_cast<std::size_t>(i)], i);
}

// One stream is sequential and its effects are visible to what comes after.
TEST_F(StreamTest, IsSequential) {
  const Stream s = stream();
  const auto step = kernel("step", [](Cell at, std::span<std::uint32_t> v, std::uint32_t by) {
    v[at.x] = v[at.x] * 3 + by;
  });
  const auto v = must(s.upload(std::vector<std::uint32_t>(4, 1)));
  std::uint32_t expected = 1;
  for (std::uint32_t i = 0; i < 10000; ++i) {
    must(s.launch(step, 4, v, i));
    expected = expected * 3 + i;
  }
  EXPECT_EQ(must(s.read(v).get(kLimit)), std::vector<std::uint32_t>(4, expected));
}

// Threads that share a stream: each one's own order is kept, and tasks never overlap.
TEST_F(StreamTest, KeepsTheOrderOfEachThreadThatSubmits) {
  constexpr int kThreads = 4;
  constexpr int kEach = 500;
  const Stream s = stream();
  std::vector<std::pair<int, int>> log;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&s, &log, t] {
      for (int i = 0; i < kEach; ++i) run(s, [&log, t, i] { log.emplace_back(t, i); });
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(refusal(s.synchronize(kLimit)), "none");
  ASSERT_EQ(log.size(), static_cast<std::size_t>(kThreads * kEach));
  std::array<int, kThreads> next{};
  for (const auto& [thread, i] : log) EXPECT_EQ(i, next[static_cast<std::size_t>(thread)]++);
}

// No hidden order between streams: B goes on beside A's closed gate, also with what depends on A's
// work before the gate.
TEST_F(StreamTest, WorkBesideAClosedGateGoesOn) {
  const Stream a = stream();
  const Stream b = stream();
  const auto x = must(Array<int>::create(a, 16));
  const auto y = must(Array<int>::create(b, 16));
  must(a.fill(x, 7));
  const Gate gate(device_);
  gate.hold(a);
  Future<void> held = a.host("held", {}, [] {});
  must(b.copy(y, x));
  EXPECT_EQ(must(b.read(y).get(kLimit)), std::vector<int>(16, 7));
  EXPECT_EQ(refusal(b.synchronize(kLimit)), "none");
  EXPECT_FALSE(held.ready());
}

// Work that conflicts waits, and the host that submits it does not.
TEST_F(StreamTest, AConflictWaitsForTheOtherStream) {
  const Stream a = stream();
  const Stream b = stream();
  const auto x = must(Array<int>::create(a, 16));
  const Gate gate(device_);
  gate.hold(a);
  must(a.fill(x, 7));
  Future<std::vector<int>> read = b.read(x);
  EXPECT_EQ(refusal(b.synchronize(std::chrono::seconds(0))), "timeout");
  EXPECT_FALSE(read.ready());
  gate.open();
  EXPECT_EQ(must(read.get(kLimit)), std::vector<int>(16, 7));
}

// A write waits for the reads before it, and bytes beside those that are read do not.
TEST_F(StreamTest, AWriteWaitsForReadsOfItsBytesOnly) {
  const Stream a = stream();
  const Stream b = stream();
  const auto x = must(a.upload(std::vector<int>(16, 1)));
  must(a.synchronize(kLimit));
  const Gate gate(device_);
  gate.hold(a);
  Future<std::vector<int>> read = a.read(x.view(0, 8));
  must(b.fill(x.view(8, 8), 2));
  EXPECT_EQ(refusal(b.synchronize(kLimit)), "none");
  must(b.fill(x.view(7, 1), 3));
  EXPECT_EQ(refusal(b.synchronize(std::chrono::seconds(0))), "timeout");
  gate.open();
  EXPECT_EQ(must(read.get(kLimit)), std::vector<int>(8, 1));
  EXPECT_EQ(refusal(b.synchronize(kLimit)), "none");
}

// A stream keeps its device alive.
TEST_F(StreamTest, WorksAfterAllHandlesOfItsDeviceAreGone) {
  Device device = must(Device::open("cpu?workers=1"));
  const Stream s = must(Stream::create(device));
  const DeviceId id = device.id();
  device = Device();
  const auto v = must(s.upload(std::vector<int>{1, 2, 3}));
  EXPECT_EQ(must(s.read(v).get(kLimit)), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(s.device().id(), id);
}

// A copy is a second handle to one queue; work through both is ordered without any event.
TEST_F(StreamTest, ACopyIsTheSameQueue) {
  const Stream s = stream();
  const Stream copy = s;
  EXPECT_EQ(s.raw(), copy.raw());
  EXPECT_EQ(s.id(), copy.id());
  std::vector<int> log;
  for (int i = 0; i < 100; ++i) run(i % 2 == 0 ? s : copy, [&log, i] { log.push_back(i); });
  ASSERT_EQ(refusal(copy.synchronize(kLimit)), "none");
  for (int i = 0; i < 100; ++i) EXPECT_EQ(log.at(static_cast<std::size_t>(i)), i);
  const Statistics statistics = device_.statistics();
  EXPECT_EQ(statistics.queues_created, 1u);
  EXPECT_EQ(statistics.waits_placed, 0u);
  EXPECT_EQ(statistics.fences, 0u);
  EXPECT_EQ(statistics.empty_turns, 0u);
}

// The queue ends once, with its last handle, whatever the order the handles go in.
TEST_F(StreamTest, TheQueueEndsOnceWithItsLastHandle) {
  std::array<int, 3> order{0, 1, 2};
  std::uint64_t rounds = 0;
  do {
    const Stream first = stream();
    std::array<Stream, 3> handles{first, first, first};
    {
      const Stream gone = std::move(const_cast<Stream&>(first));
      EXPECT_FALSE(first.valid());
    }
    for (const int i : order) {
      EXPECT_EQ(device_.statistics().queues_destroyed, rounds);
      handles[static_cast<std::size_t>(i)] = Stream();
    }
    ++rounds;
    EXPECT_TRUE(comes_true([&] {
      static_cast<void>(device_.poll());
      return device_.statistics().queues_destroyed == rounds;
    }));
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(device_.statistics().queues_created, rounds);
}

TEST_F(StreamTest, HandlesMayGoOnSeveralThreadsAtOnce) {
  for (std::uint64_t round = 1; round <= 50; ++round) {
    Stream s = stream();
    std::atomic<int> ran{0};
    run(s, [&ran] { ++ran; });
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) threads.emplace_back([copy = s]() mutable { copy = Stream(); });
    s = Stream();
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(refusal(device_.synchronize(kLimit)), "none");
    EXPECT_EQ(ran, 1);
    EXPECT_TRUE(comes_true([&] {
      static_cast<void>(device_.poll());
      return device_.statistics().queues_destroyed == round;
    }));
  }
}

// Dropping a busy stream neither waits nor cancels.
TEST_F(StreamTest, WorkOfADroppedStreamRuns) {
  const Gate gate(device_);
  std::atomic<bool> ran{false};
  {
    const Stream s = stream();
    gate.hold(s);
    run(s, [&ran] { ran = true; });
  }
  EXPECT_FALSE(ran);
  gate.open();
  ASSERT_EQ(refusal(device_.synchronize(kLimit)), "none");
  EXPECT_TRUE(ran);
}

TEST_F(StreamTest, ZeroIsTheDefaultPriorityAndLowerNumbersAreHigher) {
  const PriorityRange range = device_.priority_range();
  EXPECT_GT(range.least, range.greatest);
  EXPECT_LE(range.greatest, 0);
  EXPECT_GE(range.least, 0);
  EXPECT_EQ(stream().priority(), 0);
}

// Both ends succeed; what is beyond them is refused and not clamped, and leaves nothing behind.
TEST_F(StreamTest, APriorityOutOfRangeIsRefusedByValueAndLimit) {
  const PriorityRange range = device_.priority_range();
  EXPECT_EQ(must(Stream::with_priority(device_, range.least)).priority(), range.least);
  EXPECT_EQ(must(Stream::with_priority(device_, range.greatest)).priority(), range.greatest);
  const std::uint64_t created = device_.statistics().queues_created;
  for (const int priority : {range.least + 1, range.greatest - 1}) {
    const Result<Stream> refused = Stream::with_priority(device_, priority);
    EXPECT_EQ(refusal(refused), "invalid_argument");
    EXPECT_THAT(message(refused), HasSubstr(std::to_string(priority)));
    EXPECT_THAT(message(refused),
                HasSubstr(std::to_string(priority > 0 ? range.least : range.greatest)));
    EXPECT_EQ(refusal(Stream::create(device_, {.priority = priority})), "invalid_argument");
  }
  EXPECT_EQ(device_.statistics().queues_created, created);
}

// The only worker is kept by a host function until both queues are ready: it then takes the higher.
TEST_F(StreamTest, TheHigherPriorityIsPickedFirst) {
  const Device device = must(Device::open("cpu?workers=1&helping=off"));
  const PriorityRange range = device.priority_range();
  for (int round = 0; round < 20; ++round) {
    const Stream keeper = must(Stream::create(device));
    const Stream low = must(Stream::with_priority(device, range.least));
    const Stream high = must(Stream::with_priority(device, range.greatest));
    std::atomic<bool> kept{false};
    std::atomic<bool> release{false};
    run(keeper, [&] {
      kept = true;
      while (!release) std::this_thread::yield();
    });
    ASSERT_TRUE(comes_true([&kept] { return kept.load(); }));
    const Gate gate(device);
    std::vector<char> log;
    gate.hold(low);
    gate.hold(high);
    run(low, [&log] { log.push_back('l'); });
    run(high, [&log] { log.push_back('h'); });
    gate.open();
    release = true;
    ASSERT_EQ(refusal(device.synchronize(kLimit)), "none");
    EXPECT_EQ(log, (std::vector<char>{'h', 'l'}));
  }
}

// A producer that never stops does not hold it.
TEST_F(StreamTest, SynchronizeWaitsForWhatIsEnqueuedBeforeItAndNoMore) {
  const Stream s = stream();
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> ran{0};
  std::uint64_t submitted = 0;
  std::thread producer([&] {
    while (!stop) {
      // Far enough ahead that the stream is never idle, and no further.
      if (submitted < ran + 1000) {
        run(s, [&ran] { ++ran; });
        ++submitted;
      }
    }
  });
  ASSERT_TRUE(comes_true([&ran] { return ran > 0; }));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(refusal(s.synchronize(kLimit)), "none");
  stop = true;
  producer.join();
  EXPECT_EQ(refusal(s.synchronize(kLimit)), "none");
  EXPECT_EQ(ran, submitted);
}

TEST_F(StreamTest, SynchronizeTimesOutAndChangesNothing) {
  const Stream s = stream();
  const Gate gate(device_);
  gate.hold(s);
  Future<void> held = s.host("held", {}, [] {});
  EXPECT_EQ(refusal(s.synchronize(std::chrono::seconds(0))), "timeout");
  EXPECT_EQ(refusal(s.synchronize(std::chrono::milliseconds(1))), "timeout");
  EXPECT_FALSE(held.ready());
  gate.open();
  EXPECT_EQ(refusal(s.synchronize(kLimit)), "none");
  EXPECT_TRUE(held.ready());
}

TEST_F(StreamTest, WaitForItsOwnQueueIsNoWait) {
  const Stream s = stream();
  const Stream copy = s;
  run(s, [] {});
  must(s.wait(s));
  must(s.wait(copy));
  run(s, [] {});
  EXPECT_EQ(refusal(s.synchronize(kLimit)), "none");
  EXPECT_EQ(device_.statistics().waits_placed, 0u);
  EXPECT_EQ(device_.statistics().empty_turns, 0u);
}

TEST_F(StreamTest, RawIsStableAndItsOwn) {
  const Stream s = stream();
  const NativeHandle raw = s.raw();
  run(s, [] {});
  must(s.synchronize(kLimit));
  EXPECT_EQ(s.raw(), raw);
  EXPECT_FALSE(stream().raw() == raw);
}

TEST_F(StreamTest, IsSameQueueComparesQueuesAndNotHandles) {
  const Stream a = stream();
  const Stream b = stream();
  const Stream copy = a;
  const Stream again = copy;
  EXPECT_TRUE(a.is_same_queue(a));
  EXPECT_TRUE(a.is_same_queue(copy));
  EXPECT_TRUE(copy.is_same_queue(a));
  EXPECT_TRUE(a.is_same_queue(again));
  EXPECT_FALSE(a.is_same_queue(b));
  EXPECT_FALSE(b.is_same_queue(a));
  EXPECT_FALSE(a.is_same_queue(Stream()));
  EXPECT_FALSE(Stream().is_same_queue(a));
  EXPECT_FALSE(Stream().is_same_queue(Stream()));
}

TEST_F(StreamTest, DeviceGivesTheDeviceAndChangesNoCount) {
  const Stream s = stream();
  const std::uint64_t references = device_.core()->references();
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(s.device() == device_);
  EXPECT_EQ(device_.core()->references(), references);
  EXPECT_FALSE(Stream().device().valid());
}

// Assigning over the last handle of another queue ends that queue once; to itself it changes
// nothing.
TEST_F(StreamTest, AssignmentEndsWhatItReplaces) {
  Stream a = stream();
  Stream b = stream();
  const Stream& same = a;
  a = same;
  EXPECT_TRUE(a.valid());
  Stream& again = a;
  a = std::move(again);
  EXPECT_TRUE(a.valid());
  EXPECT_EQ(device_.statistics().queues_destroyed, 0u);
  a = b;
  EXPECT_TRUE(a.is_same_queue(b));
  EXPECT_TRUE(comes_true([this] {
    static_cast<void>(device_.poll());
    return device_.statistics().queues_destroyed == 1;
  }));
}

// Eight threads use one handle object at once.
TEST_F(StreamTest, ConstMethodsMayBeCalledFromManyThreadsAtOnce) {
  const Stream s = stream();
  const Stream other = stream();
  const Event event = must(Event::create(device_));
  const auto add = kernel("add", [](Cell at, std::span<int> v) { ++v[at.x]; });
  const auto v = must(s.upload(std::vector<int>(8, 0)));
  std::atomic<int> functions{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        must(s.launch(add, 8, v));
        run(s, [&functions] { ++functions; });
        must(s.record(event));
        must(s.wait_event(event));
        must(s.wait(other));
        static_cast<void>(s.read(v).ready());
        static_cast<void>(event.query());
        EXPECT_TRUE(s.is_same_queue(s));
        EXPECT_TRUE(s.device() == device_);
        static_cast<void>(s.synchronize(std::chrono::seconds(0)));
      }
      EXPECT_EQ(refusal(s.synchronize(kLimit)), "none");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(must(s.read(v).get(kLimit)), std::vector<int>(8, 8 * 50));
  EXPECT_EQ(functions, 8 * 50);
}

TEST_F(StreamTest, CarriesItsName) {
  std::string name = "blur";
  const Stream s = must(Stream::create(device_, {.name = name}));
  name = "gone";
  EXPECT_EQ(s.name(), "blur");
  EXPECT_EQ(stream().name(), "");
}

TEST_F(StreamTest, AnInvalidHandleIsRefusedAndNeverCrashes) {
  const Stream good = stream();
  const auto v = must(good.upload(std::vector<int>(8, 0)));
  const Event event = must(Event::create(device_));
  const Timeline timeline = must(Timeline::create(device_));
  const auto touch = kernel("touch", [](Cell at, std::span<int> to) { ++to[at.x]; });
  const int source[8] = {};
  Stream moved = stream();
  const Stream taken = std::move(moved);
  for (const Stream& s : {Stream(), std::as_const(moved)}) {
    EXPECT_FALSE(s.valid());
    EXPECT_EQ(refusal(s.fill(v, 1)), "invalid_handle");
    EXPECT_EQ(refusal(s.copy(v.view(0, 4), v.view(4, 4))), "invalid_handle");
    EXPECT_EQ(refusal(s.launch(touch, 8, v)), "invalid_handle");
    EXPECT_EQ(refusal(s.upload(v, std::span<const int>(source))), "invalid_handle");
    std::vector<int> mine(8, 3);
    EXPECT_EQ(refusal(s.upload(v, std::move(mine))), "invalid_handle");
    EXPECT_EQ(mine, std::vector<int>(8, 3));
    EXPECT_EQ(refusal(s.upload(std::vector<int>(8))), "invalid_handle");
    EXPECT_EQ(refusal(s.upload_borrowed(v, std::span<const int>(source)).get()), "invalid_handle");
    EXPECT_EQ(refusal(s.read(v).get()), "invalid_handle");
    EXPECT_EQ(refusal(s.host("f", {}, [] {}).get()), "invalid_handle");
    EXPECT_EQ(refusal(s.record(event)), "invalid_handle");
    EXPECT_EQ(refusal(s.wait_event(event)), "invalid_handle");
    EXPECT_EQ(refusal(s.wait(good)), "invalid_handle");
    EXPECT_EQ(refusal(good.wait(s)), "invalid_handle");
    EXPECT_EQ(refusal(s.wait(timeline, 1)), "invalid_handle");
    EXPECT_EQ(refusal(s.synchronize(kLimit)), "invalid_handle");
    EXPECT_EQ(refusal(Buffer::create(s, 64)), "invalid_handle");
    EXPECT_EQ(s.raw(), NativeHandle{});
    EXPECT_EQ(s.priority(), 0);
    EXPECT_EQ(s.name(), "");
    EXPECT_FALSE(static_cast<bool>(s.id()));
  }
  EXPECT_TRUE(taken.valid());
  EXPECT_EQ(refusal(good.wait_event(Event())), "invalid_handle");
  EXPECT_EQ(refusal(good.record(Event())), "invalid_handle");
  EXPECT_EQ(refusal(good.wait(Timeline(), 1)), "invalid_handle");
}

// What is enqueued from now on waits for what is on the other stream now, not for what comes later,
// and what was enqueued before waits for nothing: each order that keeps these three to themselves
// can come.
TEST(StreamOrder, WaitForAnotherStreamBindsToItsPresentEnd) {
  const auto orders = orders_of([](ExploreRun& run, const Notes& notes) {
    const Stream a = must(Stream::create(run.device()));
    const Stream b = must(Stream::create(run.device()));
    notes.task(a, 1);
    notes.task(b, 2);
    must(b.wait(a));
    notes.task(a, 3);
    notes.task(b, 4);
  });
  EXPECT_EQ(orders, (std::set<Order>{
                        {1, 2, 3, 4}, {1, 2, 4, 3}, {1, 3, 2, 4}, {2, 1, 3, 4}, {2, 1, 4, 3}}));
}

// Another actor goes on enqueueing: synchronize() comes back behind what was there before it, and
// need not wait for more.
TEST(StreamOrder, SynchronizeWaitsForWhatIsEnqueuedBeforeItAndNoMore) {
  Stream s;
  NotingProgram program;
  program.before = [&s](ExploreRun& run, const Notes&) { s = must(Stream::create(run.device())); };
  program.actors.emplace_back([&s](ExploreRun&, const Notes& notes) {
    notes.task(s, 1);
    must(s.synchronize());
    notes.add(3);
  });
  program.actors.emplace_back([&s](ExploreRun&, const Notes& notes) { notes.task(s, 2); });
  program.after = [&s](ExploreRun&, const Notes&) { s = Stream(); };
  EXPECT_EQ(orders_of(program), (std::set<Order>{{1, 2, 3}, {1, 3, 2}, {2, 1, 3}}));
}

}  // namespace
}  // namespace thalweg::test
