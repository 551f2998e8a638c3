// SPDX-License-Identifier: Apache-2.0
//
// A fence that never passes: what it was for stays until the stream ends, and is free then; what
// waits for tasks does not notice; and whoever waits for the fence itself waits for his whole
// deadline, by the virtual clock.

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "backends/sim/fence.hpp"
#include "support/refusal.hpp"
#include "thalweg/explore.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

TEST(NeverPasses, KeepsItsItemsUntilTheStreamEnds) {
  ExploreOptions options;
  options.device = "sim?faults=never:1";
  options.search = Search::random;
  options.runs_max = 200;
  const Exploration result = must(explore(options, [](ExploreRun& run) {
    {
      const Stream stream = must(Stream::create(run.device()));
      const auto array = must(Array<std::uint32_t>::create(stream, 4));
      const std::vector<std::uint32_t> values{1, 2, 3, 4};
      must(stream.upload(array, std::span(values)));
      must(stream.synchronize(std::chrono::milliseconds(1)));
      run.check(run.device().host_memory_usage().live_bytes != 0, "the staged bytes are kept");
      run.check(must(stream.read(array).get()) == values, "work goes on");
    }
    for (int i = 0; i != 100 && !run.device().poll(); ++i) {
    }
    run.check(run.device().host_memory_usage().live_bytes == 0, "the staged bytes are free");
  }));
  EXPECT_TRUE(result.findings.empty()) << result.report();
}

TEST(NeverPasses, TakesTheWholeDeadline) {
  const auto world = sim::World::create({});
  // The queue is of no world: nothing of it ever passes here.
  const sim::Fence fence(*world, order::Point(order::QueueIndex{0xfff0}, Serial{0}), true);
  EXPECT_FALSE(fence.passed());
  const auto began = world->clock()->now();
  EXPECT_EQ(refusal(fence.wait(std::chrono::hours(10))), "timeout");
  EXPECT_EQ(world->clock()->now() - began, std::chrono::hours(10));
  EXPECT_EQ(refusal(fence.wait(Deadline())), "device_lost");
}

}  // namespace
}  // namespace thalweg::test
