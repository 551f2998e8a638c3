// SPDX-License-Identifier: Apache-2.0
//
// Once warm, submitting allocates nothing for a task: thousands of them run on what is there.

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <initializer_list>

#include "thalweg/thalweg.hpp"
#include "unit/runtime/allocations.hpp"

namespace thalweg::test {
namespace {

// A segment of slots is given back where the consumer goes on to the next one, which may be a
// moment after the producer wanted it: a stream may have up to two more than the warm rounds
// needed, ever.
constexpr std::uint64_t kSegmentsMax = 2 * 2;

// Runs `round`, which submits a few hundred tasks, until it is warm, and gives the allocations of
// the rounds after that. The streams are held while a round submits, so that each has all of its
// tasks in flight, however fast the workers are; between rounds everything passes.
std::uint64_t allocations_when_warm(const Device& device, std::initializer_list<Stream> streams,
                                    const std::function<void()>& round) {
  constexpr std::uint64_t kWarm = 20;
  const Timeline gate = must(Timeline::create(device));
  std::uint64_t sum = 0;
  for (std::uint64_t i = 1; i <= 2 * kWarm; ++i) {
    const std::uint64_t before = allocations();
    for (const Stream& stream : streams) must(stream.wait(gate, i));
    round();
    if (i > kWarm) sum += allocations() - before;
    must(gate.signal(i));
    must(device.synchronize());
  }
  return sum;
}

class SteadyState : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!kAllocationsCounted) GTEST_SKIP() << "A sanitizer's allocator is in use.";
  }
  Device device = must(Device::open(GetParam()));
  Stream a = must(Stream::create(device));
  Stream b = must(Stream::create(device));
};

// The counter counts: otherwise the other tests would hold for nothing.
TEST_P(SteadyState, TheCounterCounts) {
  const std::uint64_t before = allocations();
  operator delete(operator new(1));
  operator delete(operator new(64, std::align_val_t{64}), std::align_val_t{64});
  EXPECT_EQ(allocations() - before, 2U);
}

TEST_P(SteadyState, FillsAndCopiesAllocateNothing) {
  const auto x = must(Array<int>::create(a, 16));
  const auto y = must(Array<int>::create(a, 16));
  EXPECT_LE(allocations_when_warm(device, {a, b},
                                  [&] {
                                    for (int i = 0; i != 100; ++i) {
                                      must(a.fill(x, i));
                                      must(a.copy(y, x));
                                      must(a.fill(y.view(4, 4), i));
                                    }
                                  }),
            kSegmentsMax);
}

TEST_P(SteadyState, LaunchesOfThreeViewsAllocateNothing) {
  const auto x = must(Array<int>::create(a, 16));
  const auto y = must(Array<int>::create(a, 16));
  const auto z = must(Array<int>::create(a, 16));
  const auto k = kernel("k", [](Cell at, std::span<const int> p, std::span<const int> q, Out<int> r,
                                int by) { r[at.x] = p[at.x] + q[at.x] + by; });
  EXPECT_LE(allocations_when_warm(device, {a, b},
                                  [&] {
                                    for (int i = 0; i != 200; ++i)
                                      must(a.launch(k, 16, x, y, z, i));
                                  }),
            kSegmentsMax);
}

// Two streams take turns on the same bytes: every task waits for one of the other stream.
TEST_P(SteadyState, WaitsBetweenStreamsAllocateNothing) {
  const auto x = must(Array<int>::create(a, 16));
  const auto y = must(Array<int>::create(b, 16));
  EXPECT_LE(allocations_when_warm(device, {a, b},
                                  [&] {
                                    for (int i = 0; i != 100; ++i) {
                                      must(a.fill(x, i));
                                      must(b.copy(y, x));
                                      must(a.copy(x, y));
                                    }
                                  }),
            kSegmentsMax);
}

TEST_P(SteadyState, EventsAndTimelinesAllocateNothing) {
  const Event event = must(Event::create(device));
  const Timeline timeline = must(Timeline::create(device));
  const auto x = must(Array<int>::create(a, 16));
  const auto y = must(Array<int>::create(b, 16));
  std::uint64_t value = 0;
  EXPECT_LE(allocations_when_warm(device, {a, b},
                                  [&] {
                                    for (int i = 0; i != 100; ++i) {
                                      must(a.fill(x, i));
                                      must(a.record(event));
                                      must(b.wait_event(event));
                                      must(b.fill(y, i));
                                      must(a.wait(b));
                                      must(b.wait(timeline, ++value));
                                      must(timeline.signal(value));
                                    }
                                  }),
            kSegmentsMax);
}

// Nothing has failed, and what would be needed if something had is kept without the heap: from the
// submission to the end of the task, on all threads. Whole buffers, parts of them, and rows.
TEST_P(SteadyState, WhatIsKeptForFailuresAllocatesNothing) {
  const auto x = must(Array<int>::create(a, 64));
  const auto y = must(Array<int>::create(a, 64));
  const auto z = must(Array<int>::create(a, 64));
  const auto k = kernel("k", [](Cell at, Out<int> p, Out<int> q, std::span<const int> r) {
    p[at.x] = q[at.x] = r[at.x];
  });
  const Timeline gate = must(Timeline::create(device));
  const auto round = [&](std::uint64_t number) {
    must(a.wait(gate, number));
    for (int i = 0; i != 50; ++i) {
      must(a.launch(k, 64, x, y, z));
      must(a.launch(k, 8, x.view(8, 8), y.view(16, 8), z.view(0, 8)));
      must(a.fill(z, i));
      must(a.copy(x, y));
      must(a.copy(y.tile(0, 4, 4, 8), z.tile(4, 4, 4, 8)));
    }
    must(gate.signal(number));
    must(a.synchronize());
  };
  constexpr std::uint64_t kWarm = 20;
  for (std::uint64_t i = 1; i <= kWarm; ++i) round(i);
  const std::uint64_t before = allocations_of_all();
  for (std::uint64_t i = kWarm + 1; i <= 2 * kWarm; ++i) round(i);
  EXPECT_LE(allocations_of_all() - before, kSegmentsMax);
}

// A hundred times a fill between dropping and making a buffer: bytes go round, and the objects that
// name them are all that is made.
TEST_P(SteadyState, BuffersGoRound) {
  const std::uint64_t made = allocations_when_warm(device, {a, b}, [&] {
    for (int i = 0; i != 100; ++i) must(a.fill(must(Array<int>::create(a, 16)), i));
  });
  // The allocation's record, and its place among the free blocks; its life goes round.
  EXPECT_LE(made, 20U * 100 * 2 + kSegmentsMax);
  EXPECT_EQ(device.memory_usage().reserved_bytes, 256U);
}

INSTANTIATE_TEST_SUITE_P(Cpu, SteadyState, ::testing::Values("cpu?workers=1", "cpu?workers=3"));

}  // namespace
}  // namespace thalweg::test
