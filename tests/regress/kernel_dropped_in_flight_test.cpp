// SPDX-License-Identifier: Apache-2.0
//
// A kernel whose last handle went while a launch was in flight was destroyed before it ran.

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thalweg/thalweg.hpp>
#include <utility>
#include <vector>

#include "support/every_schedule.hpp"

namespace thalweg::test {
namespace {

constexpr std::chrono::seconds kLimit{30};

// A launch keeps the callable until it has run, and no longer than the next poll. A gate holds the
// launch; the callable owns a witness whose count tells whether it lives.
TEST(KernelDroppedInFlight, LivesUntilItsLaunchHasRun) {
  const Device device = must(Device::open("cpu"));
  const Stream stream = must(Stream::create(device));
  const Timeline gate = must(Timeline::create(device));
  const auto witness = std::make_shared<const int>(7);
  must(stream.wait(gate, 1));
  const auto values = must(stream.upload(std::vector<int>(16, 1)));
  {
    const auto add =
        kernel("add", [owned = witness](Cell at, std::span<int> v) { v[at.x] += *owned; });
    must(stream.launch(add, 16, values));
  }
  EXPECT_EQ(witness.use_count(), 2);
  must(gate.signal(1));
  EXPECT_EQ(must(stream.read(values).get(kLimit)), std::vector<int>(16, 8));
  must(stream.synchronize(kLimit));
  EXPECT_EQ(witness.use_count(), 1);
}

// A queue that meets ever new kernels does not keep them all.
TEST(KernelDroppedInFlight, AQueueThatMeetsManyKernelsLetsThemGo) {
  const Device device = must(Device::open("cpu"));
  const Stream stream = must(Stream::create(device));
  const auto witness = std::make_shared<const int>(1);
  for (int i = 0; i != 1000; ++i) {
    const auto nothing = kernel("nothing", [owned = witness](Cell) {});
    must(stream.launch(nothing, 1));
    if (i % 100 == 99) must(stream.synchronize(kLimit));
  }
  for (int i = 0; i != 100; ++i) {
    const auto nothing = kernel("nothing", [owned = witness](Cell) {});
    must(stream.launch(nothing, 1));
    must(stream.read(must(Array<int>::create(stream, 1))).get(kLimit));
  }
  EXPECT_LE(witness.use_count(), 140);
  EXPECT_TRUE(device.poll());
  EXPECT_EQ(witness.use_count(), 1);
}

// The callable is there when its launch runs, and gone when nobody can run it any more: whenever
// its handle goes, and whether its stream, another one or nobody still works.
TEST(KernelDroppedInFlight, LivesUntilItsLaunchHasRunUnderEverySchedule) {
  // Says of itself that it is gone.
  struct Witness {
    explicit Witness(bool* is_there) : there(is_there) { *there = true; }
    Witness(const Witness&) = delete;
    Witness& operator=(const Witness&) = delete;
    ~Witness() { *there = false; }
    bool* there;
  };
  ExploreProgram program;
  bool there = false;
  program.actors.emplace_back([&there](ExploreRun& run) {
    const Stream a = must(Stream::create(run.device()));
    const Stream b = must(Stream::create(run.device()));
    const auto x = must(Array<int>::create(a, 1));
    const auto y = must(Array<int>::create(b, 1));
    {
      const auto tell = kernel("tell", [owned = std::make_shared<const Witness>(&there)](
                                           Cell, Out<int> to) { to[0] = *owned->there ? 1 : 0; });
      must(a.launch(tell, 1, x));
      must(b.launch(tell, 1, y));
    }
    run.check(must(a.read(x).get())[0] == 1, "it was there for the first launch");
    run.check(must(b.read(y).get())[0] == 1, "it was there for the second launch");
    run.check(!there, "nobody can run it any more");
  });
  explore_all(program);
}

}  // namespace
}  // namespace thalweg::test
