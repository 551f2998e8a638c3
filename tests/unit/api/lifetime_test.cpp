// SPDX-License-Identifier: Apache-2.0
//
// Handles go in any order, with work in flight, and no work is lost: on cpu, and under every
// schedule.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "support/device_memory.hpp"
#include "support/every_schedule.hpp"
#include "support/refusal.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

// Counts what ran, and outlives everything.
using Counter = std::shared_ptr<std::atomic<int>>;
Counter counter() { return std::make_shared<std::atomic<int>>(0); }

// All handles go while a gate holds the work; it runs when the gate opens, and the last thing of
// the device to go is not a handle.
TEST(Lifetime, WorkRunsAfterEveryHandleIsGone) {
  const Counter ran = counter();
  Timeline gate;
  {
    const Device device = must(Device::open("cpu?workers=1"));
    gate = must(Timeline::create(device));
    const Stream s = must(Stream::create(device));
    const auto v = must(Array<int>::create(s, 64));
    must(s.wait(gate, 1));
    must(s.fill(v, 3));
    static_cast<void>(s.host("f", {reads(v)}, [ran, from = device_span(v)] {
      if (std::count(from.begin(), from.end(), 3) == 64) ++*ran;
    }));
  }
  EXPECT_EQ(*ran, 0);
  must(gate.signal(1));
  gate = Timeline();
  EXPECT_TRUE(comes_true([&ran] { return *ran == 1; }));
}

// Other threads drop while this one submits.
TEST(Lifetime, OtherThreadsMayDrop) {
  const Device device = must(Device::open("cpu?workers=2"));
  const Stream s = must(Stream::create(device));
  const Stream other = must(Stream::create(device));
  for (int round = 0; round < 100; ++round) {
    auto v = must(s.upload(std::vector<int>(64, round)));
    Future<std::vector<int>> read = other.read(v);
    std::thread dropper([gone = std::move(v)]() mutable { gone = {}; });
    const auto next = must(s.upload(std::vector<int>(64, -1)));
    dropper.join();
    EXPECT_EQ(must(read.get(kLimit)), std::vector<int>(64, round));
    EXPECT_EQ(must(s.read(next).get(kLimit)), std::vector<int>(64, -1));
  }
}

// Both devices go with work in flight, one after the other and again.
TEST(Lifetime, DevicesComeAndGo) {
  for (int i = 0; i < 20; ++i) {
    const Device one = must(Device::open("cpu?workers=2"));
    const Device two = must(Device::open("cpu?workers=2"));
    const Stream s = must(Stream::create(one));
    const Stream t = must(Stream::create(two));
    const auto v = must(s.upload(std::vector<int>(64, i)));
    const auto w = must(t.upload(must(s.read(v).get(kLimit))));
    must(t.fill(w.view(0, 1), -1));
  }
}

// Under every schedule. The device of the handles is opened for them: the run itself holds none of
// it, so that it ends, or is found to be left over.

// Each order in which five handles of busy things can go.
TEST(LifetimeOrder, HandlesGoInAnyOrder) {
  std::array<int, 5> order{0, 1, 2, 3, 4};
  do {
    const auto orders = orders_of([&order](ExploreRun& run, const Notes& notes) {
      Device device = must(run.open("sim"));
      Stream s = must(Stream::create(device));
      Array<int> v = must(Array<int>::create(s, 64));
      Event event = must(Event::create(device));
      must(s.fill(v, 3));
      must(s.record(event));
      Future<void> future = s.host("f", {reads(v)}, [notes, from = device_span(v)] {
        notes.add(static_cast<int>(std::count(from.begin(), from.end(), 3)));
      });
      for (const int i : order) {
        if (i == 0) device = Device();
        if (i == 1) s = Stream();
        if (i == 2) v = {};
        if (i == 3) event = Event();
        if (i == 4) future = {};
      }
    });
    ASSERT_EQ(orders, std::set<Order>{{64}}) << testing::PrintToString(order);
  } while (std::next_permutation(order.begin(), order.end()));
}

// The last handles go inside a host function, in the middle of the work of their stream.
TEST(LifetimeOrder, TheLastHandlesMayGoInAHostFunction) {
  for (const bool stream_first : {true, false}) {
    const auto orders = orders_of([stream_first](ExploreRun& run, const Notes& notes) {
      Device device = must(run.open("sim"));
      Stream s = must(Stream::create(device));
      const Stream user = s;
      auto v = must(s.upload(std::vector<int>(64, 1)));
      static_cast<void>(user.host("last", {}, [=]() mutable {
        notes.add(1);
        if (stream_first) s = Stream();
        v = {};
        device = Device();
        s = Stream();
      }));
      notes.task(user, 2);
    });
    EXPECT_EQ(orders, (std::set<Order>{{1, 2}}));
  }
}

// Bytes given to a task stay until it has passed, whoever dropped them, and are handed out again
// behind it alone: to another stream, to its own one, and to an actor that dropped nothing.
TEST(LifetimeOrder, ATaskKeepsTheBytesItWasGiven) {
  explore_all([](ExploreRun& run) {
    const Stream a = must(Stream::create(run.device()));
    const Stream b = must(Stream::create(run.device()));
    std::vector<Future<std::vector<int>>> reads;
    for (const Stream& home : {a, b, a}) {
      const auto v = must(home.upload(std::vector<int>(64, static_cast<int>(reads.size()))));
      reads.push_back(b.read(v));
    }
    for (std::size_t i = 0; i != reads.size(); ++i)
      run.check(must(reads[i].get()) == std::vector<int>(64, static_cast<int>(i)), "as uploaded");
  });
}

TEST(LifetimeOrder, AnotherActorMayDrop) {
  std::optional<Stream> a;
  std::optional<Stream> b;
  std::optional<Array<int>> v;
  Future<std::vector<int>> read;
  ExploreProgram program;
  program.before = [&](ExploreRun& run) {
    a = must(Stream::create(run.device()));
    b = must(Stream::create(run.device()));
    v = must(a->upload(std::vector<int>(64, 1)));
    read = b->read(*v);
  };
  program.actors.emplace_back([&v](ExploreRun&) { v.reset(); });
  program.actors.emplace_back([&](ExploreRun& run) {
    const auto next = must(a->upload(std::vector<int>(64, 2)));
    run.check(must(b->read(next).get()) == std::vector<int>(64, 2), "the next one is as uploaded");
  });
  program.after = [&](ExploreRun& run) {
    run.check(must(read.get()) == std::vector<int>(64, 1), "the first one is as uploaded");
    a.reset(), b.reset();
  };
  explore_all(program);
}

}  // namespace
}  // namespace thalweg::test
