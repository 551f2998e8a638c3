// SPDX-License-Identifier: Apache-2.0
//
// Handles of every kind go in any order while work is in flight, in host functions, and at exit.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/device_memory.hpp"
#include "support/every_schedule.hpp"
#include "support/random.hpp"
#include "support/refusal.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

// Counts what ran, and outlives everything.
using Counter = std::shared_ptr<std::atomic<int>>;
Counter counter() { return std::make_shared<std::atomic<int>>(0); }

auto plus_one() {
  return kernel("plus_one", [](Cell at, std::span<int> v) { v[at.x] += 1; });
}
using PlusOne = decltype(plus_one());

// One handle of each kind, with work that needs them all behind a gate. The gate's timeline is not
// among them: what nobody can open stays closed.
struct Handles {
  Handles(Device opened, const Counter& ran)
      : device(std::move(opened)),
        gate(must(Timeline::create(*device))),
        stream(must(Stream::create(*device))),
        timeline(must(Timeline::create(*device))),
        event(must(Event::create(*device))),
        code(plus_one()) {
    const Stream other = must(Stream::create(*device));
    must(stream->wait(gate, 1));
    buffer = must(Array<int>::create(*stream, 8));
    must(stream->fill(*buffer, 4));
    must(stream->launch(*code, 8, *buffer));
    must(stream->record(*event));
    must(other.wait_event(*event));
    must(other.launch(*code, 8, *buffer));
    must(stream->wait(*timeline, 1));
    const std::span<int> bytes = device_span(*buffer);
    future = stream->host("check", {reads(*buffer)}, [ran, bytes, opened = *timeline] {
      if (std::count(bytes.begin(), bytes.end(), 6) == 8) ++*ran;
    });
    must(timeline->signal(1));
  }

  void drop(int which) {
    switch (which) {
      case 0:
        device.reset();
        break;
      case 1:
        stream.reset();
        break;
      case 2:
        buffer.reset();
        break;
      case 3:
        event.reset();
        break;
      case 4:
        future.reset();
        break;
      case 5:
        code.reset();
        break;
      default:
        timeline.reset();
        break;
    }
  }

  std::optional<Device> device;
  Timeline gate;
  std::optional<Stream> stream;
  std::optional<Timeline> timeline;
  std::optional<Event> event;
  std::optional<PlusOne> code;
  std::optional<Array<int>> buffer;
  std::optional<Future<void>> future;
};

class DropOrderOnThreads : public ::testing::TestWithParam<const char*> {};

// A sample of the 5040 orders, chosen by a seed: all handles go while the gate is closed; then it
// opens, and the work still runs and is right.
TEST_P(DropOrderOnThreads, BehindAClosedGate) {
  Random random(11);
  std::array<int, 7> order{0, 1, 2, 3, 4, 5, 6};
  for (int sample = 0; sample != 60; ++sample) {
    for (std::size_t i = order.size() - 1; i != 0; --i)
      std::swap(order[i], order[random.below(static_cast<std::uint32_t>(i + 1))]);
    SCOPED_TRACE(::testing::PrintToString(order));
    const Counter ran = counter();
    Handles handles(must(Device::open(GetParam())), ran);
    for (const int which : order) handles.drop(which);
    EXPECT_EQ(*ran, 0);
    must(handles.gate.signal(1));
    handles.gate = {};
    ASSERT_TRUE(comes_true([&ran] { return ran.use_count() == 1; }));
    ASSERT_EQ(*ran, 1);
  }
}

// The same with the gate opening on another thread in the middle of it.
TEST_P(DropOrderOnThreads, WhileTheGateOpens) {
  Random random(12);
  std::array<int, 7> order{0, 1, 2, 3, 4, 5, 6};
  for (int sample = 0; sample != 60; ++sample) {
    for (std::size_t i = order.size() - 1; i != 0; --i)
      std::swap(order[i], order[random.below(static_cast<std::uint32_t>(i + 1))]);
    const Counter ran = counter();
    Handles handles(must(Device::open(GetParam())), ran);
    std::thread opener([gate = std::exchange(handles.gate, {})] { must(gate.signal(1)); });
    for (const int which : order) handles.drop(which);
    opener.join();
    ASSERT_TRUE(comes_true([&ran] { return ran.use_count() == 1; }));
    ASSERT_EQ(*ran, 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, DropOrderOnThreads,
                         ::testing::Values("cpu?workers=1", "cpu?workers=4"));

// Under every schedule: the work has come any way when the handles go, and goes on between them.
// With the device nobody holds it, and whatever is left over is found.
void drop_under_every_schedule(const std::array<int, 7>& order) {
  Counter ran;
  ExploreProgram program;
  program.actors.emplace_back([&](ExploreRun& run) {
    ran = counter();
    Handles handles(must(run.open("sim")), ran);
    must(handles.gate.signal(1));
    handles.gate = {};
    for (const int which : order) handles.drop(which);
  });
  program.after = [&ran](ExploreRun& run) {
    run.check(*ran == 1, "the work runs once and is right");
    run.check(ran.use_count() == 1, "nothing is left of it");
  };
  explore_all(program);
}

// Every n-th of the 5040 orders.
void drop_in_orders(int every) {
  std::array<int, 7> order{0, 1, 2, 3, 4, 5, 6};
  int left = 0;
  do {
    if (left-- != 0) continue;
    left = every - 1;
    drop_under_every_schedule(order);
    ASSERT_FALSE(::testing::Test::HasFailure()) << ::testing::PrintToString(order);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(DropOrder, ASampleOfTheOrdersUnderEverySchedule) { drop_in_orders(41); }

// Every single order. Long, and therefore apart.
TEST(DropOrderSlow, AllOrdersUnderEverySchedule) { drop_in_orders(1); }

// The last handle of a stream, a buffer and a device is the one a host function has captured: they
// go on a worker, in the middle of that stream's own work, and nothing behind it is lost.
TEST(LastHandle, MayGoInsideAHostFunction) {
  for (int round = 0; round != 30; ++round) {
    const Counter ran = counter();
    {
      auto device = std::make_shared<Device>(must(Device::open("cpu?workers=1")));
      auto stream = std::make_shared<Stream>(must(Stream::create(*device)));
      auto array = std::make_shared<Array<int>>(must(Array<int>::create(*stream, 4)));
      const Timeline gate = must(Timeline::create(*device));
      must(stream->wait(gate, 1));
      static_cast<void>(
          stream->host("drop", {updates(*array)}, [ran, device, stream, array, round] {
            switch (round % 3) {
              case 0:
                *stream = {}, *array = {}, *device = {};
                break;
              case 1:
                *device = {}, *array = {}, *stream = {};
                break;
              default:
                break;  // They go with the captures.
            }
            ++*ran;
          }));
      static_cast<void>(stream->host("after", {}, [ran] { ++*ran; }));
      device.reset(), stream.reset(), array.reset();
      must(gate.signal(1));
    }
    ASSERT_TRUE(comes_true([&ran] { return ran.use_count() == 1; }));
    ASSERT_EQ(*ran, 2);
  }
}

// A kernel that holds the last handle of a buffer, and is itself dropped at once: under every
// schedule it finds its bytes, and leaves none behind.
TEST(LastHandle, MayBeHeldByAKernel) {
  explore_all([](ExploreRun& run) {
    const Stream s = must(Stream::create(run.device()));
    const auto v = must(Array<int>::create(s, 4));
    {
      const auto table = must(s.upload(std::vector<int>{5, 6, 7, 8}));
      must(s.launch(kernel("k",
                           [table, bytes = device_span(table)](Cell at, Out<int> to) {
                             to[at.x] = bytes[at.x] + static_cast<int>(table.count());
                           }),
                    4, v));
    }
    run.check(must(s.read(v).get()) == std::vector<int>{9, 10, 11, 12}, "the bytes are there");
    run.check(run.device().poll(), "nothing runs");
    run.check(run.device().memory_usage().allocations == 1, "and nobody needs them any more");
  });
}

// A kernel that holds a handle to its own stream is a circle. When the program has let go of both
// and the kernel has run, somebody must break it: nobody is left who could poll. Under every
// schedule what is left over is found.
TEST(LastHandle, AKernelThatHoldsItsStreamIsNoLeak) {
  Counter held;
  ExploreProgram program;
  program.actors.emplace_back([&held](ExploreRun& run) {
    held = counter();
    const Stream s = must(Stream::create(must(run.open("sim"))));
    const auto v = must(Array<int>::create(s, 1));
    must(s.launch(kernel("k", [s, held](Cell, Out<int> to) { to[0] = ++*held; }), 1, v));
  });
  program.after = [&held](ExploreRun& run) {
    run.check(*held == 1, "it ran");
    run.check(held.use_count() == 1, "and is gone");
  };
  explore_all(program);
}

// What a host function has captured goes while waiting is still forbidden: a destructor that waited
// for its own stream there would wait for ever.
TEST(HostFunction, ItsCapturesGoInsideTheNoWaitScope) {
  struct Witness {
    explicit Witness(std::atomic<int>& where) : seen(where) {}
    ~Witness() { seen = NoWaitScope::active() ? 1 : 2; }
    std::atomic<int>& seen;
  };
  std::atomic<int> seen{0};
  const Device device = must(Device::open("cpu?workers=1"));
  const Stream s = must(Stream::create(device));
  must(s.host("f", {}, [witness = std::make_unique<Witness>(seen)] {}).get());
  EXPECT_TRUE(comes_true([&seen] { return seen != 0; }));
  EXPECT_EQ(seen, 1);
}

// The same for the error sink, which hears of a failed kernel, and of a failed host function whose
// future nobody holds, on the thread that ran it: a sink that waited for the stream there would
// wait for ever.
TEST(ErrorSink, IsCalledInsideTheNoWaitScope) {
  static std::atomic<int> inside;
  static std::atomic<int> outside;
  inside = outside = 0;
  set_error_sink([](const Error&) { ++(NoWaitScope::active() ? inside : outside); });
  const Device device = must(Device::open("cpu?workers=1&helping=off"));
  const Stream s = must(Stream::create(device));
  const Timeline gate = must(Timeline::create(device));
  must(s.wait(gate, 1));
  must(s.launch(kernel("k", [](Cell) { throw 1; }), 1));
  static_cast<void>(s.host("f", {}, [] { throw 1; }));
  must(gate.signal(1));
  EXPECT_TRUE(comes_true([] { return inside + outside == 2; }));
  set_error_sink({});
  EXPECT_EQ(outside, 0);
}

// Exit with everything alive and in flight: streams that run, streams behind a gate, a kernel in
// the middle, threads that submit. In a process of its own, which an alarm ends if it hangs.
void exit_with_work_in_flight(const char* name) {
  alarm(20);
  struct Program {
    Device device;
    Timeline gate;
    std::vector<Stream> streams;
    std::vector<Array<int>> arrays;
    std::vector<Future<void>> futures;
  };
  static Program program;  // Destroyed by exit(), after the workers have been at work for a while.
  program.device = must(Device::open(name));
  program.gate = must(Timeline::create(program.device));
  static std::atomic<int> ran{0};
  for (int i = 0; i != 6; ++i) {
    program.streams.push_back(must(Stream::create(program.device)));
    const Stream& s = program.streams.back();
    program.arrays.push_back(must(Array<int>::create(s, 1 << 16)));
    const bool gated = i % 3 == 0;
    if (gated) must(s.wait(program.gate, 1));
    for (int n = 0; n != 50; ++n) {
      must(s.fill(program.arrays.back(), n));
      must(s.launch(plus_one(), 1 << 16, gated ? program.arrays.back() : program.arrays[1]));
      program.futures.push_back(s.host("f", {}, [] { ++ran; }));
    }
  }
  std::thread([s = program.streams[1]] {
    for (;;) {
      static_cast<void>(s.host("more", {}, [] { ++ran; }));
      std::this_thread::yield();
    }
  }).detach();
  while (ran == 0) std::this_thread::yield();
  std::exit(0);
}

TEST(ExitDeathTest, WithWorkInFlightIsClean) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const char* name : {"cpu?workers=1", "cpu?workers=4"})
    EXPECT_EXIT(exit_with_work_in_flight(name), ::testing::ExitedWithCode(0), "^$");
}

}  // namespace
}  // namespace thalweg::test
