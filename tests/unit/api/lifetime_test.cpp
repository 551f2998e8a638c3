// SPDX-License-Identifier: Apache-2.0
//
// Handles go in any order, with work in flight, and no work is lost: on cpu.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "support/device_memory.hpp"
#include "support/gate.hpp"
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

TEST(Lifetime, WorkRunsWithoutAnyHandleAndWithoutAGate) {
  const Counter ran = counter();
  for (int i = 0; i < 50; ++i) {
    const Stream s = must(Stream::create(must(Device::open("cpu?workers=2&random_delay_us=50"))));
    for (int n = 0; n < 4; ++n) static_cast<void>(s.host("f", {}, [ran] { ++*ran; }));
  }
  EXPECT_TRUE(comes_true([&ran] { return *ran == 200; }));
}

// Each order in which five handles of busy things can go.
TEST(Lifetime, HandlesGoInAnyOrder) {
  std::array<int, 5> order{0, 1, 2, 3, 4};
  do {
    const Counter ran = counter();
    std::optional<Device> device = must(Device::open("cpu?workers=1"));
    std::optional<Stream> s = must(Stream::create(*device));
    std::optional<Array<int>> v = must(Array<int>::create(*s, 64));
    std::optional<Event> event = must(Event::create(*device));
    must(s->fill(*v, 3));
    must(s->record(*event));
    std::optional<Future<void>> future = s->host("f", {reads(*v)}, [ran] { ++*ran; });
    for (const int i : order) {
      if (i == 0) device.reset();
      if (i == 1) s.reset();
      if (i == 2) v.reset();
      if (i == 3) event.reset();
      if (i == 4) future.reset();
    }
    ASSERT_TRUE(comes_true([&ran] { return *ran == 1; }));
  } while (std::next_permutation(order.begin(), order.end()));
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

// The last handles go inside a host function.
TEST(Lifetime, TheLastHandlesMayGoInAHostFunction) {
  const Counter ran = counter();
  {
    Device device = must(Device::open("cpu?workers=1"));
    Stream s = must(Stream::create(device));
    const Stream user = s;
    auto v = must(s.upload(std::vector<int>(64, 1)));
    static_cast<void>(user.host("last", {}, [ran, device, s, v]() mutable {
      v = {};
      s = Stream();
      device = Device();
      ++*ran;
    }));
  }
  EXPECT_TRUE(comes_true([&ran] { return *ran == 1; }));
}

// Bytes given to a task stay until it has passed, whoever dropped them.
TEST(Lifetime, ATaskKeepsTheBytesItWasGiven) {
  const Device device = must(Device::open("cpu?workers=2"));
  const Stream a = must(Stream::create(device));
  const Stream b = must(Stream::create(device));
  const Gate gate(device);
  std::vector<Future<std::vector<int>>> reads;
  for (int i = 0; i < 20; ++i) {
    const auto v = must(a.upload(std::vector<int>(64, i)));
    if (i == 0) gate.hold(b);
    reads.push_back(b.read(v));
  }
  for (int i = 0; i < 20; ++i) static_cast<void>(must(a.upload(std::vector<int>(64, 1000 + i))));
  must(a.synchronize(kLimit));
  gate.open();
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(must(reads[static_cast<std::size_t>(i)].get(kLimit)), std::vector<int>(64, i));
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

}  // namespace
}  // namespace thalweg::test
