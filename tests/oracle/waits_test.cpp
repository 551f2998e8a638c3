// SPDX-License-Identifier: Apache-2.0
//
// No wait too many: where nothing is known to have passed, the number of waits that the runtime
// places is the least that gives the order the program asks for.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "base/plant.hpp"
#include "support/model/program_order.hpp"
#include "support/program_runner.hpp"

namespace thalweg::test {
namespace {

// One thread; every buffer stays alive, since reused memory orders more; no gates, which are no
// waits for work; views on a coarse grid, since a map with many ranges joins some.
constexpr ProgramShape kShape{.drops = false, .gates = false, .coarse = true};

Program program_of(std::uint64_t seed) {
  Program program = make_program(seed, kShape);
  program.setup.skip_passed = false;
  return program;
}

// The waits placed and the fewest there can be; a failure of the program itself goes to `failure`.
struct Counted {
  std::uint64_t placed = 0;
  std::uint64_t least = 0;
  std::string failure;
};

Counted count(const Program& program) {
  ProgramRunner runner(program);
  runner.run();
  Counted counted;
  counted.placed = runner.statistics().waits_placed;
  counted.least = model::ProgramOrder(program, runner.log()).waits_min();
  runner.finish();
  counted.failure = runner.failure();
  return counted;
}

TEST(Waits, AreAsFewAsTheOrderOfTheProgramAllows) {
  std::uint64_t waits = 0;
  for_each_seed(2, 2000, [&waits](std::uint64_t seed) {
    const Program program = program_of(seed);
    const Counted counted = count(program);
    waits += counted.least;
    EXPECT_EQ(counted.failure, "") << reproduce(seed);
    EXPECT_EQ(counted.placed, counted.least) << reproduce(seed) << "\n" << describe(program);
    return !testing::Test::HasFailure();
  });
  EXPECT_GT(waits, 0u);
}

#if defined(THALWEG_TEST_HOOKS)
// A wait that teaches its taker nothing makes later waits necessary that are not.
TEST(Waits, WhatIsLearntFromAWaitSavesWaits) {
  const plant::Scope scope(plant::Bug::frontier_not_merged);
  bool found = false;
  for_each_seed(3, 200, [&found](std::uint64_t seed) {
    const Counted counted = count(program_of(seed));
    EXPECT_EQ(counted.failure, "") << reproduce(seed);
    found = counted.placed > counted.least;
    return !found;
  });
  EXPECT_TRUE(found);
}
#endif

}  // namespace
}  // namespace thalweg::test
