// SPDX-License-Identifier: Apache-2.0
//
// Each call that the backend gets is refused once, and each fault of a device happens once: by
// random programs of the oracle and by the demo's pipeline. The error comes from the call that was
// refused, nothing is lost, and what was accepted computes what it should.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "contract/support/sink.hpp"
#include "support/program_runner.hpp"
#include "thalweg/explore.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

using Counts = std::map<std::string, FaultSiteCount>;

void add(Counts& sum, const FaultMatrix& matrix) {
  for (const FaultSiteCount& count : matrix.sites) {
    FaultSiteCount& of = sum[count.site];
    of.calls += count.calls;
    of.runs += count.runs;
    of.errors += count.errors;
  }
}

void print(const Counts& sum) {
  for (const auto& [site, count] : sum)
    std::printf("%-14s %7llu calls %7llu runs %7llu errors\n", site.c_str(),
                static_cast<unsigned long long>(count.calls),
                static_cast<unsigned long long>(count.runs),
                static_cast<unsigned long long>(count.errors));
}

// Half of the devices place a wait for what has passed already, too.
FaultMatrixOptions matrix_options(const Program& program) {
  FaultMatrixOptions options;
  options.device = program.seed % 2 == 0 ? "sim" : "sim?skip_passed=off&copy_engines=1";
  options.seed = program.seed;
  options.schedules = 2;
  options.errors_told = true;
  return options;
}

ExploreProgram to_explore(const Program& program) {
  ExploreProgram explored;
  explored.actors.emplace_back([&program](ExploreRun& run) {
    std::string failure;
    {
      ProgramRunner runner(program, run.device(),
                           [&run](const Error& error) { run.failed(error); });
      runner.run();
      runner.finish();
      failure = runner.failure();
    }
    run.check(failure.empty(), failure);
  });
  return explored;
}

Program oracle_program(std::uint64_t seed) {
  ProgramShape shape;
  shape.ops_max = 30;
  return make_program(seed, shape);
}

// Random programs of all operations, under the sequential and two random schedules. Every site of
// the simulated device is hit, and those that a call answers for give errors.
TEST(FaultMatrix, ProgramsOfTheOracleGoOnAfterEveryRefusal) {
  const contract::Sink sink;
  Counts sum;
  for_each_seed(1, 12, [&](std::uint64_t seed) {
    const Program program = oracle_program(seed);
    const FaultMatrix matrix = must(explore_faults(matrix_options(program), to_explore(program)));
    EXPECT_TRUE(matrix.findings.empty()) << "seed " << seed << "\n" << matrix.report();
    EXPECT_TRUE(matrix.complete) << matrix.report();
    add(sum, matrix);
    return !HasFailure();
  });
  print(sum);
  // A shorter run of the tests does not come to every site.
  if (HasFailure() || scaled(12) < 12) return;
  for (const auto& [site, count] : sum) {
    EXPECT_GT(count.runs, 0u) << site;
    const bool silent = site == "fence" || site == "never" || site == "slow";
    EXPECT_EQ(count.errors == 0, silent) << site;
    // All but what is tried again, memory and a stream while others end; a task whose future nobody
    // holds; and a device that nobody asks after its loss.
    const bool may_be_silent =
        site == "alloc" || site == "create_stream" || site == "run" || site == "lost";
    if (!silent && !may_be_silent) {
      EXPECT_EQ(count.errors, count.runs) << site;
    }
  }
  // A failure that no future took is not lost, and there is no other.
  for (const Error& error : sink.errors())
    EXPECT_TRUE(error.message().find("(fault run:") != std::string_view::npos ||
                error.message().find("(fault lost:") != std::string_view::npos)
        << error.to_string();
}

}  // namespace
}  // namespace thalweg::test
