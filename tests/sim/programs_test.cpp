// SPDX-License-Identifier: Apache-2.0
//
// Random programs on simulated devices compute what running their tasks one at a time computes,
// and break no rule that the explorer knows.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "support/program_runner.hpp"
#include "support/random.hpp"
#include "thalweg/explore.hpp"

namespace thalweg::test {
namespace {

// Which kind of program a seed stands for.
ProgramShape shape_of(std::uint64_t seed, int threads, bool locked) {
  Random random(~seed);
  ProgramShape shape;
  shape.threads = threads;
  shape.locked = locked;
  shape.blocking = random.chance(60);
  shape.coarse = random.chance(15);
  if (threads > 1) {
    shape.ops_min = 6;
    shape.ops_max = 24;
  }
  return shape;
}

// On a simulated device of its own.
Program make_simulated(std::uint64_t seed, const ProgramShape& shape) {
  Program program = make_program(seed, shape);
  Random random(seed ^ 0x51);
  program.setup.sim = "seed=" + std::to_string(random.below(1000)) +
                      "&copy_engines=" + std::to_string(random.below(3));
  return program;
}

ExploreOptions options_for(const Program& program, std::uint64_t runs) {
  ExploreOptions options;
  options.device = program.setup.name();
  options.seed = program.seed;
  options.search = program.seed % 2 == 0 ? Search::random : Search::priorities;
  options.runs_max = 1 + runs;
  // Told when somebody asks for this one.
  options.trace = options.minimise = std::getenv("THALWEG_SEED") != nullptr;
  return options;
}

// The program as the explorer's: each part is an actor.
ExploreProgram explored(const Program& program) {
  const auto runner = std::make_shared<std::unique_ptr<ProgramRunner>>();
  ExploreProgram explore;
  explore.before = [&program, runner](ExploreRun& run) {
    *runner = std::make_unique<ProgramRunner>(program);
    (*runner)->begin(run.device());
  };
  for (std::size_t i = 0; i != program.parts.size(); ++i)
    explore.actors.emplace_back(
        [runner, i](ExploreRun&) { (*runner)->run_part(static_cast<int>(i)); });
  explore.after = [runner](ExploreRun& run) {
    (*runner)->end();
    (*runner)->finish();
    run.check((*runner)->failure().empty(), (*runner)->failure());
    runner->reset();
  };
  return explore;
}

// Empty, or what is wrong with some of its runs.
std::string explore_failure(const Program& program, std::uint64_t runs) {
  const auto result = explore(options_for(program, runs), explored(program));
  if (!result) return result.error().to_string();
  if (result->findings.empty()) return {};
  std::string text = reproduce(program.seed) + "\n" + result->report();
  if (std::getenv("THALWEG_SEED") != nullptr) text += describe(program);
  return text;
}

// Two thousand programs of one thread, each on a device of its own seed, and then under three
// schedules of the explorer.
TEST(Simulated, ProgramsOfOneThreadComputeWhatTheirTasksComputeOneAtATime) {
  std::uint64_t tasks = 0;
  const std::uint64_t programs = for_each_seed(11, 2000, [&tasks](std::uint64_t seed) {
    const Program program = make_simulated(seed, shape_of(seed, 1, true));
    const Outcome outcome = run_and_compare(program);
    tasks += outcome.tasks;
    EXPECT_EQ(outcome.failure, "");
    const std::string failure = explore_failure(program, 2);
    EXPECT_EQ(failure, "");
    return outcome.failure.empty() && failure.empty();
  });
  std::printf("%llu programs, %llu tasks\n", static_cast<unsigned long long>(programs),
              static_cast<unsigned long long>(tasks));
}

// Two or three actors whose operations on shared buffers commute.
TEST(Simulated, ProgramsOfActorsBreakNoRule) {
  for_each_seed(12, 500, [](std::uint64_t seed) {
    const Program program =
        make_simulated(seed, shape_of(seed, 2 + static_cast<int>(seed % 2), false));
    const std::string failure = explore_failure(program, 3);
    EXPECT_EQ(failure, "");
    return failure.empty();
  });
}

// Threads of the machine on one simulated device: what they do is the machine's choice.
TEST(Simulated, ProgramsOfThreadsComputeWhatTheirTasksComputeOneAtATime) {
  for_each_seed(13, 300, [](std::uint64_t seed) {
    const Program program =
        make_simulated(seed, shape_of(seed, 2 + static_cast<int>(seed % 2), seed % 3 != 0));
    const Outcome outcome = run_and_compare(program);
    EXPECT_EQ(outcome.failure, "");
    return outcome.failure.empty();
  });
}

}  // namespace
}  // namespace thalweg::test
