// SPDX-License-Identifier: Apache-2.0
//
// Random programs compute what running their tasks one at a time computes, in the order in which
// the submissions took effect. The tasks do not commute, the device delays them at random, and the
// model is a loop over vectors.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdio>

#include "support/program_runner.hpp"
#include "support/random.hpp"

namespace thalweg::test {
namespace {

// Which kind of program a seed stands for.
ProgramShape shape_of(std::uint64_t seed) {
  Random random(~seed);
  ProgramShape shape;
  const std::uint32_t kind = random.below(100);
  if (kind >= 50) shape.blocking = false;
  if (kind >= 60) {
    shape.threads = static_cast<int>(random.between(2, 3));
    shape.ops_min = 6;
    shape.ops_max = 24;
  }
  shape.locked = kind < 85;
  if (kind >= 75) shape.blocking = true;
  return shape;
}

// Ten thousand programs of 10 to 60 operations, on 1 to 4 workers. One thread submits in three of
// five; otherwise two or three do, under a lock that logs the order, or with no lock and operations
// on shared buffers that commute.
TEST(Oracle, ProgramsComputeWhatTheirTasksComputeOneAtATime) {
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t tasks = 0;
  const std::uint64_t programs = for_each_seed(1, 10000, [&tasks](std::uint64_t seed) {
    const Outcome outcome = run_and_compare(make_program(seed, shape_of(seed)));
    tasks += outcome.tasks;
    EXPECT_EQ(outcome.failure, "");
    return outcome.failure.empty();
  });
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::printf("RATE: %llu programs, %llu tasks: %.0f programs/s, %.0f tasks/s\n",
              static_cast<unsigned long long>(programs), static_cast<unsigned long long>(tasks),
              static_cast<double>(programs) / took.count(),
              static_cast<double>(tasks) / took.count());
}

}  // namespace
}  // namespace thalweg::test
