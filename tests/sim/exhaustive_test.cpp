// SPDX-License-Identifier: Apache-2.0
//
// Every schedule of small programs: the runtime orders them all, and what the reduction leaves out
// would have shown nothing new.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "support/program_runner.hpp"
#include "support/small_program.hpp"

namespace thalweg::test {
namespace {

ExploreOptions every_schedule(bool reduce) {
  ExploreOptions options;
  options.reduce = reduce;
  options.runs_max = 50'000'000;
  options.trace = false;
  options.minimise = false;
  return options;
}

struct Sum {
  std::uint64_t programs = 0;
  std::uint64_t runs = 0;
  std::uint64_t redundant = 0;
  std::uint64_t runs_max = 0;

  void add(const Exploration& result) {
    ++programs;
    runs += result.runs;
    redundant += result.redundant;
    runs_max = std::max(runs_max, result.runs);
  }
};

void expect_clean(const SmallProgram& program, const Exploration& result) {
  ASSERT_TRUE(result.findings.empty()) << describe(program) << "\n" << result.report();
  ASSERT_TRUE(result.complete) << describe(program) << "\n" << result.report();
  EXPECT_EQ(result.outcomes.size(), 1u) << describe(program);
}

Sum explore_all(int steps) {
  Sum sum;
  for_each_program(steps, 3, 2, [&](const SmallProgram& program) {
    if (testing::Test::HasFatalFailure()) return;
    const Exploration result = must(explore(every_schedule(true), to_explore(program)));
    sum.add(result);
    expect_clean(program, result);
  });
  return sum;
}

void print(int steps, const Sum& sum) {
  std::printf("%d steps: %llu programs, %llu schedules run (%llu redundant), at most %llu of one\n",
              steps, static_cast<unsigned long long>(sum.programs),
              static_cast<unsigned long long>(sum.runs),
              static_cast<unsigned long long>(sum.redundant),
              static_cast<unsigned long long>(sum.runs_max));
}

// All schedules of all programs of reads and writes over two blocks and three streams: of up to
// four steps, of five in a full run of the tests, and of six by hand (THALWEG_TEST_SCALE=10;
// minutes).
TEST(Exhaustive, SmallProgramsAreOrdered) {
  const int steps_max = scaled(10) >= 100 ? 6 : scaled(10) >= 10 ? 5 : 4;
  for (int steps = 1; steps <= steps_max; ++steps) {
    print(steps, explore_all(steps));
    ASSERT_FALSE(HasFatalFailure());
  }
}

// All schedules of random programs of eight steps with copies and kernels.
TEST(Exhaustive, RandomProgramsOfEightStepsWithCopiesAreOrdered) {
  Sum sum;
  for (std::uint64_t seed = 1; seed <= scaled(200); ++seed) {
    const SmallProgram program = random_copies(seed, 8);
    const Exploration result = must(explore(every_schedule(true), to_explore(program)));
    sum.add(result);
    expect_clean(program, result);
    ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
  }
  print(8, sum);
}

std::set<FindingKind> kinds(const Exploration& result) {
  std::set<FindingKind> kinds;
  for (const Finding& finding : result.findings) kinds.insert(finding.kind);
  return kinds;
}

// What the reduction leaves out gives no other outcome and no other finding: programs that ask what
// has passed, use memory again, and put work on raw queues, which is found out.
TEST(Exhaustive, ReducedAndUnreducedSearchAgree) {
  Sum reduced;
  Sum unreduced;
  for (std::uint64_t seed = 1; seed <= scaled(500); ++seed) {
    const SmallProgram program = random_program(seed, 5);
    ExploreOptions options = every_schedule(true);
    options.stop_at_finding = false;
    const Exploration few = must(explore(options, to_explore(program)));
    options.reduce = false;
    const Exploration all = must(explore(options, to_explore(program)));
    reduced.add(few);
    unreduced.add(all);
    ASSERT_TRUE(few.complete && all.complete) << describe(program);
    ASSERT_EQ(few.outcomes, all.outcomes) << "seed " << seed << ": " << describe(program);
    ASSERT_EQ(kinds(few), kinds(all)) << "seed " << seed << ": " << describe(program);
    ASSERT_LE(few.runs, all.runs) << describe(program);
  }
  print(5, reduced);
  print(5, unreduced);
}

}  // namespace
}  // namespace thalweg::test
