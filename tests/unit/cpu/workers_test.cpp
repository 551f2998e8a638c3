// SPDX-License-Identifier: Apache-2.0
//
// The threads of the cpu backend, and hosts that help them: who runs what, and in which order.

#include "backends/cpu/workers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/gate.hpp"
#include "support/refusal.hpp"
#include "thalweg/thalweg.hpp"
#include "unit/os/thread_state.hpp"

namespace thalweg::test {
namespace {

constexpr int kQuantum = 32;  // Tasks of one queue before a worker looks at the others.

Device open(const std::string& options) { return must(Device::open("cpu?" + options)); }

// Keeps one worker busy inside a host function, from the constructor's return until let_go(). What
// is enqueued meanwhile is ready for the other workers and for hosts that help, and for nobody
// else.
class BusyWorker {
 public:
  explicit BusyWorker(const Device& device) : stream_(must(Stream::create(device))) {
    done_ = stream_.host("busy", {}, [state = state_] {
      state->started = true;
      while (!state->over) std::this_thread::yield();
    });
    EXPECT_TRUE(comes_true([this] { return state_->started.load(); }));
  }
  BusyWorker(const BusyWorker&) = delete;
  BusyWorker& operator=(const BusyWorker&) = delete;
  ~BusyWorker() { let_go(); }

  void let_go() { state_->over = true; }
  const Stream& stream() const { return stream_; }

 private:
  struct State {
    std::atomic<bool> started{false};
    std::atomic<bool> over{false};
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
  Stream stream_;
  Future<void> done_;
};

// A thread whose system id is known, so that it can be seen to sleep. Joined at the end.
class Host {
 public:
  template <class F>
  explicit Host(F function)
      : thread_([this, function = std::move(function)] {
          id_ = thread_id();
          function();
          done_ = true;
        }) {}
  ~Host() { thread_.join(); }

  bool asleep() const { return id_ != 0 && !done_ && sleeps(id_); }
  bool done() const { return done_; }
  std::thread::id id() const { return thread_.get_id(); }

 private:
  std::atomic<int> id_{0};
  std::atomic<bool> done_{false};
  std::thread thread_;
};

auto counting(std::atomic<int>& counter) {
  return kernel("count", [&counter](Cell) { ++counter; });
}

// One worker, queues of three priorities ready at the same time, submitted in each of the six
// orders: the higher priority is emptied first, quantum or not.
TEST(CpuWorkers, HigherPrioritiesRunFirst) {
  const Device device = open("workers=1&helping=off");
  ASSERT_EQ(device.priority_range(), (PriorityRange{1, -1}));
  std::vector<int> priorities{-1, 0, 1};
  do {
    std::vector<int> order;
    std::vector<Stream> streams;
    {
      BusyWorker busy(device);
      for (const int priority : priorities) {
        streams.push_back(must(Stream::with_priority(device, priority)));
        for (int i = 0; i != 3 * kQuantum; ++i)
          static_cast<void>(
              streams.back().host("f", {}, [&order, priority] { order.push_back(priority); }));
      }
    }
    must(device.synchronize());
    ASSERT_EQ(order.size(), 9U * kQuantum);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end())) << ::testing::PrintToString(priorities);
  } while (std::next_permutation(priorities.begin(), priorities.end()));
}

// A stream of high priority that becomes ready while a long queue of low priority runs comes after
// at most one quantum.
TEST(CpuWorkers, AHigherPriorityWaitsForOneQuantumAtMost) {
  const Device device = open("workers=1&helping=off");
  const Stream low = must(Stream::with_priority(device, 1));
  const Stream high = must(Stream::with_priority(device, -1));
  for (int round = 0; round != 20; ++round) {
    std::atomic<bool> started{false};
    std::atomic<bool> go{false};
    int before = 0;
    int seen = -1;
    for (int i = 0; i != round; ++i) static_cast<void>(low.host("f", {}, [] {}));
    static_cast<void>(low.host("first", {}, [&] {
      started = true;
      while (!go) std::this_thread::yield();
    }));
    for (int i = 0; i != 4 * kQuantum; ++i)
      static_cast<void>(low.host("f", {}, [&before] { ++before; }));
    ASSERT_TRUE(comes_true([&started] { return started.load(); }));
    static_cast<void>(high.host("f", {}, [&] { seen = before; }));
    go = true;
    must(device.synchronize());
    EXPECT_GE(seen, 0);
    EXPECT_LE(seen, kQuantum);
  }
}

// One worker and several long queues of one priority: they take turns. No queue runs two quanta
// more than its share while another one is ready, wherever the queues have their places.
TEST(CpuWorkers, QueuesOfOnePriorityTakeTurns) {
  constexpr int kTasks = 20 * kQuantum;
  for (const std::size_t count : {2U, 3U, 5U}) {
    const Device device = open("workers=1&helping=off");
    std::vector<Stream> streams;
    for (std::size_t i = 0; i != count; ++i) streams.push_back(must(Stream::create(device)));
    std::vector<int> done(count);
    int ahead = 0;  // The most by which a queue was ahead of another.
    {
      BusyWorker busy(device);
      for (std::size_t i = 0; i != count; ++i)
        for (int n = 0; n != kTasks; ++n)
          static_cast<void>(streams[i].host("f", {}, [&, i] {
            ++done[i];
            ahead = std::max(ahead, done[i] - *std::min_element(done.begin(), done.end()));
          }));
    }
    must(device.synchronize());
    EXPECT_LE(ahead, 3 * kQuantum) << count << " queues";
  }
}

// Two threads raise two timelines while streams wait for both, value by value: each task runs when
// both are there, and none is forgotten, however the parking and the raising meet.
TEST(CpuWorkers, NoRaiseIsMissedWhileAQueueParks) {
  constexpr std::uint64_t kValues = 300;
  const Device device = open("workers=2");
  const Timeline one = must(Timeline::create(device));
  const Timeline two = must(Timeline::create(device));
  std::vector<Stream> streams;
  for (int i = 0; i != 4; ++i) streams.push_back(must(Stream::create(device)));
  std::atomic<int> ran{0};
  std::atomic<int> early{0};
  std::thread first([&] {
    for (std::uint64_t value = 1; value <= kValues; ++value) must(one.signal(value));
  });
  std::thread second([&] {
    for (std::uint64_t value = 1; value <= kValues; ++value) must(two.signal(value));
  });
  for (std::uint64_t value = 1; value <= kValues; ++value) {
    for (std::size_t i = 0; i != streams.size(); ++i) {
      must(streams[i].wait(i % 2 == 0 ? one : two, value));
      must(streams[i].wait(i % 2 == 0 ? two : one, value));
      static_cast<void>(streams[i].host("f", {}, [&, value] {
        ++ran;
        if (one.value() < value || two.value() < value) ++early;
      }));
    }
  }
  first.join();
  second.join();
  EXPECT_TRUE(comes_true([&ran] { return ran == static_cast<int>(kValues) * 4; }));
  EXPECT_EQ(early, 0);
}

// Two streams that wait for each other's latest task in turn, submitted by two threads: a chain
// through both queues that parks at almost every task.
TEST(CpuWorkers, QueuesThatParkOnEachOtherGoOn) {
  for (const char* options : {"workers=1", "workers=2", "workers=2&helping=off"}) {
    const Device device = open(options);
    const Stream a = must(Stream::create(device));
    const Stream b = must(Stream::create(device));
    const auto v = must(Array<int>::create(a, 1));
    must(a.fill(v, 0));
    const auto add = kernel("add", [](Cell, std::span<int> to) { ++to[0]; });
    std::thread other([&] {
      for (int i = 0; i != 1000; ++i) must(b.launch(add, 1, v));
    });
    for (int i = 0; i != 1000; ++i) must(a.launch(add, 1, v));
    other.join();
    EXPECT_EQ(must(a.read(v).get())[0], 2000);
  }
}

// The only worker is busy. A host that waits for the middle of a queue runs it up to there and no
// further; what is behind is ready for the next one who waits.
TEST(CpuWorkers, AHelperStopsWhereItsWaitEnds) {
  const Device device = open("workers=1");
  BusyWorker busy(device);
  const Stream s = must(Stream::create(device));
  const Event middle = must(Event::create(device));
  std::atomic<int> before{0};
  std::atomic<int> behind{0};
  const auto count_before = counting(before);
  const auto count_behind = counting(behind);
  for (int i = 0; i != 2 * kQuantum; ++i) must(s.launch(count_before, 1));
  must(s.record(middle));
  for (int i = 0; i != 2 * kQuantum; ++i) must(s.launch(count_behind, 1));
  must(middle.wait());
  EXPECT_EQ(before, 2 * kQuantum);
  EXPECT_EQ(behind, 0);
  must(s.synchronize());
  EXPECT_EQ(behind, 2 * kQuantum);
}

// The same when the next one who wants the rest is the worker itself: nobody waits, and it is done.
TEST(CpuWorkers, WhatAHelperLeavesGoesToTheWorkers) {
  const Device device = open("workers=1");
  const Stream s = must(Stream::create(device));
  const Event middle = must(Event::create(device));
  std::atomic<int> behind{0};
  const auto count = counting(behind);
  {
    BusyWorker busy(device);
    must(s.launch(kernel("k", [](Cell) {}), 1));
    must(s.record(middle));
    for (int i = 0; i != 5; ++i) must(s.launch(count, 1));
    must(middle.wait());
    EXPECT_EQ(behind, 0);
  }
  EXPECT_TRUE(comes_true([&behind] { return behind == 5; }));
}

// A helper follows the chain of queues that wait for one another, from the last to the first.
TEST(CpuWorkers, AHelperFollowsTheChain) {
  const Device device = open("workers=1");
  BusyWorker busy(device);
  std::vector<Stream> streams;
  for (int i = 0; i != 20; ++i) streams.push_back(must(Stream::create(device)));
  const auto v = must(Array<int>::create(streams[0], 1));
  must(streams[0].fill(v, 0));
  const auto add = kernel("add", [](Cell, std::span<int> to) { ++to[0]; });
  for (const Stream& s : streams) must(s.launch(add, 1, v));
  EXPECT_EQ(must(streams.back().read(v).get())[0], 20);
}

// A helper never runs a host function: it runs what is before it, sleeps, which the system
// confirms, and is done when the worker is.
TEST(CpuWorkers, AHelperSleepsAtAHostFunction) {
  const Device device = open("workers=1");
  std::optional<BusyWorker> busy(std::in_place, device);
  const Stream s = must(Stream::create(device));
  std::atomic<int> before{0};
  std::atomic<std::thread::id> ran{};
  must(s.launch(counting(before), 1));
  static_cast<void>(s.host("f", {}, [&ran] { ran = std::this_thread::get_id(); }));
  const Host host([&s] { must(s.synchronize()); });
  EXPECT_TRUE(comes_true([&host] { return host.asleep(); }));
  EXPECT_EQ(before, 1);
  EXPECT_EQ(ran.load(), std::thread::id());
  EXPECT_FALSE(host.done());
  busy.reset();
  EXPECT_TRUE(comes_true([&host] { return host.done(); }));
  EXPECT_NE(ran.load(), std::thread::id());
  EXPECT_NE(ran.load(), host.id());
}

// A host sleeps because what it waits for is behind a gate. The gate opens while the only worker is
// busy: the host is woken and runs it itself.
TEST(CpuWorkers, ASleepingHostIsWokenToHelp) {
  const Device device = open("workers=1");
  BusyWorker busy(device);
  const Stream s = must(Stream::create(device));
  const Gate gate(device);
  gate.hold(s);
  std::atomic<std::thread::id> ran{};
  must(s.launch(kernel("k", [&ran](Cell) { ran = std::this_thread::get_id(); }), 1));
  const Host host([&s] { must(s.synchronize()); });
  ASSERT_TRUE(comes_true([&host] { return host.asleep(); }));
  gate.open();
  EXPECT_TRUE(comes_true([&host] { return host.done(); }));
  EXPECT_EQ(ran.load(), host.id());
}

// Two hosts sleep. What becomes ready concerns the one that slept first, and the other can do
// nothing for it: being woken in vain, it must not be the only one that is.
TEST(CpuWorkers, TheHostThatCanHelpIsWokenAmongOthers) {
  const Device device = open("workers=1");
  BusyWorker busy(device);
  const Stream s = must(Stream::create(device));
  const Gate gate(device);
  gate.hold(s);
  must(s.launch(kernel("k", [](Cell) {}), 1));
  const Host able([&s] { must(s.synchronize()); });
  ASSERT_TRUE(comes_true([&able] { return able.asleep(); }));
  const Host unable([&busy] { must(busy.stream().synchronize()); });
  ASSERT_TRUE(comes_true([&unable] { return unable.asleep(); }));
  gate.open();
  EXPECT_TRUE(comes_true([&able] { return able.done(); }));
  EXPECT_FALSE(unable.done());
  busy.let_go();
}

// Who gave a deadline does not help, and neither does anybody on a device opened without helping:
// the kernel runs on a worker only.
TEST(CpuWorkers, HelpingCanBeLeftOut) {
  const Device plain = open("workers=1");
  const Device alone = open("workers=1&helping=off");
  for (int round = 0; round != 50; ++round) {
    for (const Device& device : {plain, alone}) {
      const Stream s = must(Stream::create(device));
      std::atomic<std::thread::id> ran{};
      must(s.launch(kernel("k", [&ran](Cell) { ran = std::this_thread::get_id(); }), 1));
      must(s.synchronize(device == plain ? Deadline(kLimit) : Deadline()));
      ASSERT_NE(ran.load(), std::this_thread::get_id());
    }
  }
  BusyWorker busy(plain);
  const Stream s = must(Stream::create(plain));
  must(s.launch(kernel("k", [](Cell) {}), 1));
  EXPECT_EQ(refusal(s.synchronize(std::chrono::microseconds(10))), "timeout");
}

// Each cell of a grid runs exactly once, at its own place, whether the kernel is divided or not:
// extents around every threshold, odd ones, flat and deep ones, and ones without cells.
TEST(CpuCells, EachRunsExactlyOnce) {
  const std::vector<Extent> extents{
      {0, 1, 1},     {1, 1, 1},     {1023, 1, 1},  {1024, 1, 1},  {1025, 1, 1},  {4095, 1, 1},
      {4096, 1, 1},  {4097, 1, 1},  {65535, 1, 1}, {65536, 1, 1}, {65537, 1, 1}, {131072, 1, 1},
      {1, 4096, 1},  {1, 65537, 1}, {7, 600, 1},   {600, 7, 1},   {333, 333, 1}, {3, 21847, 1},
      {40000, 2, 1}, {1, 1, 4097},  {16, 16, 17},  {5, 7, 1877},  {1877, 5, 7},  {41, 41, 41},
      {5, 0, 5},     {5, 5, 0},     {2, 1, 33000}, {33000, 1, 2}, {99991, 1, 1},
  };
  for (const char* options : {"workers=1", "workers=3"}) {
    const Device device = open(options);
    const Stream s = must(Stream::create(device));
    for (const Extent& extent : extents) {
      const std::uint64_t total = extent.x * extent.y * extent.z;
      const auto counts = must(Array<std::uint8_t>::create(s, total + 1));
      must(s.fill(counts, std::uint8_t{0}));
      must(s.launch(kernel("mark",
                           [extent](Cell at, std::span<std::uint8_t> to) {
                             const bool inside =
                                 at.x < extent.x && at.y < extent.y && at.z < extent.z;
                             const std::uint64_t index = at.x + extent.x * (at.y + extent.y * at.z);
                             ++to[inside ? index : to.size() - 1];
                           }),
                    extent, counts));
      const std::vector<std::uint8_t> seen = must(s.read(counts).get());
      EXPECT_EQ(seen.back(), 0) << "A cell outside the grid.";
      EXPECT_EQ(std::count(seen.begin(), seen.end() - 1, 1), static_cast<std::ptrdiff_t>(total))
          << extent.x << " x " << extent.y << " x " << extent.z << " on " << options;
    }
  }
}

// Large kernels are shared: sooner or later a launch has cells on two threads.
TEST(CpuCells, OtherThreadsTakeSome) {
  const Device device = open("workers=2");
  const Stream s = must(Stream::create(device));
  EXPECT_TRUE(comes_true([&] {
    std::atomic<int> threads{0};
    std::atomic<unsigned> launch{0};
    static std::atomic<unsigned> launches{0};
    launch = ++launches;
    must(s.launch(kernel("k",
                         [&](Cell) {
                           thread_local unsigned known = 0;
                           if (known != launch) ++threads;
                           known = launch;
                         }),
                  1 << 20));
    must(s.synchronize());
    return threads > 1;
  }));
}

// Cells that throw, on one thread or on several at once: the launch fails once, whoever threw;
// nothing crosses a thread; the next launch is whole.
TEST(CpuCells, AThrowingCellFailsTheLaunchOnce) {
  const Device device = open("workers=3");
  const Stream s = must(Stream::create(device));
  static std::atomic<int> reported;
  reported = 0;
  set_error_sink([](const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::task_failed);
    EXPECT_NE(error.message().find("Kernel `thrower` threw"), std::string_view::npos);
    EXPECT_NE(error.message().find("cell"), std::string_view::npos);
    ++reported;
  });
  int launches = 0;
  for (const std::uint64_t cells :
       {std::uint64_t{1}, std::uint64_t{5000}, std::uint64_t{100'000}}) {
    for (const std::uint64_t step : {std::uint64_t{1}, std::uint64_t{997}, cells}) {
      must(s.launch(kernel("thrower",
                           [step](Cell at) {
                             if (at.x % step == 0) throw std::runtime_error("cell");
                           }),
                    cells));
      must(s.synchronize());
      EXPECT_EQ(reported, ++launches) << cells << " cells, each " << step;
      std::atomic<int> ran{0};
      must(s.launch(counting(ran), cells));
      must(s.synchronize());
      EXPECT_EQ(ran, static_cast<int>(cells));
    }
  }
  set_error_sink({});
  EXPECT_EQ(device.statistics().tasks_failed, static_cast<std::uint64_t>(launches));
}

// More kernels at once than there are places to offer them: all are whole.
TEST(CpuCells, ManyLargeKernelsAtOnce) {
  const Device device = open("workers=6");
  std::vector<Stream> streams;
  std::atomic<int> ran{0};
  const auto count = counting(ran);
  for (int i = 0; i != 6; ++i) streams.push_back(must(Stream::create(device)));
  for (int round = 0; round != 5; ++round)
    for (const Stream& s : streams) must(s.launch(count, 20'000));
  must(device.synchronize());
  EXPECT_EQ(ran, 6 * 5 * 20'000);
}

// Devices that are opened, used and dropped, two hundred times: their threads end, and the objects
// that ran them serve the next ones.
TEST(CpuWorkers, ThreadsEndWithTheirDevice) {
  const std::size_t baseline = worker_threads().size();
  std::atomic<int> ran{0};
  for (int i = 0; i != 200; ++i) {
    const Device device = open(i % 2 == 0 ? "workers=1" : "workers=3");
    if (i % 4 == 3) continue;  // Never used.
    const Stream s = must(Stream::create(device));
    static_cast<void>(s.host("f", {}, [&ran] { ++ran; }));
  }
  EXPECT_TRUE(comes_true([&ran] { return ran == 150; }));
  EXPECT_TRUE(comes_true([baseline] { return worker_threads().size() <= baseline; }));
}

// The same on three threads at once: one device's threads end while the next device takes over what
// they leave.
TEST(CpuWorkers, DevicesOpenAndCloseSideBySide) {
  const std::size_t baseline = worker_threads().size();
  std::atomic<int> ran{0};
  std::vector<std::thread> threads;
  for (int t = 0; t != 3; ++t)
    threads.emplace_back([&ran, t] {
      for (int i = 0; i != 40; ++i) {
        const Device device = open(t == 0 ? "workers=1" : "workers=2");
        if (i % 2 != 0) continue;
        const Stream s = must(Stream::create(device));
        static_cast<void>(s.host("f", {}, [&ran] { ++ran; }));
        if (t == 2) must(s.synchronize());
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(comes_true([&ran] { return ran == 60; }));
  EXPECT_TRUE(comes_true([baseline] { return worker_threads().size() <= baseline; }));
}

// A device with nothing to do has threads that sleep until somebody wakes them, and says so in its
// counters each time somebody had to.
TEST(CpuWorkers, SleepingWorkersAreWoken) {
  const Device device = open("workers=2&helping=off");
  const Stream s = must(Stream::create(device));
  for (int round = 0; round != 5; ++round) {
    // In a futex is not yet asleep: a thread that starts or ends may be in one as well. So it is
    // tried until a wake-up was needed.
    EXPECT_TRUE(comes_true([&] {
      const std::vector<int> threads = worker_threads();
      if (!std::all_of(threads.begin(), threads.end(), &sleeps_on_futex)) return false;
      const std::uint64_t wakes = device.statistics().futex_wakes;
      must(s.host("f", {}, [] {}).get());
      return device.statistics().futex_wakes > wakes;
    }));
  }
}

}  // namespace
}  // namespace thalweg::test
