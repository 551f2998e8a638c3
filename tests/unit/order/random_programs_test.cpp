// SPDX-License-Identifier: Apache-2.0
//
// Random programs, ordered by the layer and compared with the model decision by decision (world.hpp
// says which). With a planted bug the same comparison must object.
//
// THALWEG_SEED sets the seed, THALWEG_TEST_SCALE multiplies the number of programs.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/plant.hpp"
#include "support/random.hpp"
#include "unit/order/world.hpp"

namespace thalweg::test {
namespace {

using order::QueueIndex;

constexpr std::uint32_t kEvents = 4;

std::uint64_t base_seed() {
  const char* const seed = std::getenv("THALWEG_SEED");
  return seed == nullptr ? 1 : std::strtoull(seed, nullptr, 0);
}

std::size_t scaled(std::size_t count) {
  const char* const text = std::getenv("THALWEG_TEST_SCALE");
  const double scale = text == nullptr ? 1.0 : std::strtod(text, nullptr);
  return std::max<std::size_t>(1, static_cast<std::size_t>(static_cast<double>(count) * scale));
}

struct ProgramOptions {
  std::size_t steps = 0;
  bool passing = false;

  // Bytes of a block, and rows of a tile. A few bytes meet often, and reach no bound of a map.
  std::uint32_t bytes_max = 24;
  std::uint32_t rows_max = 5;
};

class Program {
 public:
  Program(std::uint64_t seed, const ProgramOptions& options)
      : random_(seed),
        options_(options),
        world_(world_options()),
        reads_percent_(random_.chance(70) ? 35 : 90),
        whole_percent_(random_.chance(70) ? 40 : 95) {
    const std::uint32_t blocks = random_.between(1, 6);
    for (std::uint32_t i = 0; i != blocks; ++i) {
      Block& block = world_.add_block(random_.between(1, options_.bytes_max));
      live_.push_back(&world_.add_buffer(&block, block.size_bytes, any_queue()));
    }
    live_.push_back(&world_.add_buffer(nullptr, 0, any_queue()));
  }

  Findings run() {
    for (std::size_t step = 0; step != options_.steps; ++step) {
      const std::uint32_t choice = random_.below(100);
      if (choice < 78) {
        submit();
      } else if (choice < 84) {
        world_.record(any_event(), any_queue());
      } else if (choice < 92) {
        wait();
      } else {
        reuse();
      }
      let_pass();
    }
    world_.judge_history();
    return world_.findings();
  }

 private:
  WorldOptions world_options() {
    WorldOptions options;
    options.queues = random_.between(1, 8);
    options.passing = options_.passing;
    options.fence_distance = random_.chance(25) ? random_.below(4) : 0;
    options.home_path = random_.chance(50);
    options.start = Serial{random_.chance(50) ? 0 : random_.below(1000)};
    return options;
  }

  QueueIndex any_queue() {
    return static_cast<QueueIndex>(random_.below(static_cast<std::uint32_t>(world_.queue_count())));
  }
  model::Event any_event() { return model::Event{static_cast<int>(random_.below(kEvents))}; }
  std::uint32_t below(std::uint64_t limit) {
    return random_.below(static_cast<std::uint32_t>(limit));
  }

  Access any_access() {
    Access access;
    Buffer& buffer = *random_.pick(live_);
    const std::uint64_t size = buffer.size_bytes;
    access.allocation = &buffer;
    access.mode = static_cast<AccessMode>(random_.below(random_.chance(20) ? 4 : 3));
    if (random_.chance(reads_percent_)) access.mode = AccessMode::read;
    access.row_bytes = size;
    if (random_.chance(whole_percent_)) return access;
    access.offset = below(size + 1);
    access.row_bytes = below(size - access.offset + 1);
    if (random_.chance(25)) make_rows(access, size);
    return access;
  }

  // Rows with gaps, without gaps, over one another, or none at all.
  void make_rows(Access& access, std::uint64_t size) {
    access.row_bytes = std::min<std::uint64_t>(access.row_bytes, random_.between(1, 4));
    access.pitch = random_.below(6);
    access.rows = random_.between(0, options_.rows_max);
    while (access.rows > 1 && access.end() > size) --access.rows;
  }

  void submit() {
    std::vector<Access> accesses(random_.below(4));
    for (Access& access : accesses) access = any_access();
    world_.submit(any_queue(), accesses);
  }

  // An explicit wait, for an event or for another queue; it rides, or takes a serial of its own.
  void wait() {
    const QueueIndex taker = any_queue();
    const bool placed = random_.chance(50) ? world_.wait_event(taker, any_event())
                                           : world_.wait_stream(taker, any_queue());
    if (placed && random_.chance(50)) world_.submit_empty(taker);
  }

  // The buffer goes, and another one takes its block: at once, or when more has passed.
  void reuse() {
    Buffer*& slot = live_[below(live_.size())];
    if (slot->block == nullptr) {
      slot = &world_.add_buffer(nullptr, 0, any_queue());
      return;
    }
    Block& block = *slot->block;
    world_.drop(*slot);
    if (random_.chance(30)) let_pass();
    const auto size = random_.between(1, static_cast<std::uint32_t>(block.size_bytes));
    slot = &world_.reserve(block, size, any_queue());
  }

  // In whatever order may be. Now and then the host waits for a whole queue, which may end then.
  void let_pass() {
    for (std::uint32_t tries = random_.below(4); tries != 0; --tries) world_.pass(any_queue());
    if (!options_.passing || !random_.chance(3)) return;
    const QueueIndex queue = any_queue();
    world_.pass_all(queue);
    if (random_.chance(50)) world_.recycle(queue);
  }

  Random random_;
  ProgramOptions options_;
  World world_;
  std::uint32_t reads_percent_;  // Many readers of all bytes fill the inline form of a map.
  std::uint32_t whole_percent_;
  std::vector<Buffer*> live_;
};

struct Outcome {
  Findings sum;
  std::string first_bad = "all programs are right";
};

void run(const ProgramOptions& options, std::size_t count, Outcome& outcome) {
  const std::uint64_t seed = base_seed();
  for (std::size_t i = 0; i != scaled(count); ++i) {
    const Findings found = Program(seed + i, options).run();
    if (outcome.sum.wrong() + outcome.sum.inexact() == 0 && found.wrong() + found.inexact() != 0) {
      outcome.first_bad = "THALWEG_SEED=" + std::to_string(seed + i) + " makes it the first of " +
                          std::to_string(options.steps) + " steps";
    }
    outcome.sum += found;
  }
}

// Short programs show a bug best, long ones reach what short ones cannot.
struct Size {
  std::size_t steps;
  std::size_t programs;
};
constexpr std::array<Size, 5> kSizes{{{6, 2000}, {20, 800}, {100, 200}, {400, 10}, {1200, 2}}};

Outcome run_sizes(bool passing) {
  Outcome outcome;
  for (const Size size : kSizes) run({size.steps, passing}, size.programs, outcome);
  return outcome;
}

void expect_exact(const Outcome& outcome) {
  const Findings& sum = outcome.sum;
  EXPECT_EQ(sum.unordered, 0U) << outcome.first_bad;
  EXPECT_EQ(sum.lost, 0U) << outcome.first_bad;
  EXPECT_EQ(sum.untrue, 0U) << outcome.first_bad;
  EXPECT_EQ(sum.misowed, 0U) << outcome.first_bad;
  EXPECT_EQ(sum.missing, 0U) << outcome.first_bad;
  EXPECT_EQ(sum.redundant, 0U) << outcome.first_bad;
  EXPECT_EQ(sum.foreign, 0U) << outcome.first_bad;
  EXPECT_EQ(sum.unlearnt, 0U) << outcome.first_bad;
  EXPECT_GT(sum.births, 0U);
  testing::Test::RecordProperty("tasks", std::to_string(sum.tasks));
  testing::Test::RecordProperty("waits", std::to_string(sum.waits));
  testing::Test::RecordProperty("births", std::to_string(sum.births));
}

TEST(RandomPrograms, EveryDecisionIsThatOfTheModel) {
  const Outcome outcome = run_sizes(false);
  expect_exact(outcome);
  EXPECT_GT(outcome.sum.waits, outcome.sum.tasks / 10);
}

TEST(RandomPrograms, WhatPassesMeanwhileChangesNothingButSavesWaits) {
  const Outcome outcome = run_sizes(true);
  expect_exact(outcome);
  EXPECT_LT(outcome.sum.waits, run_sizes(false).sum.waits);
}

// Maps of more than 64 ranges, and tiles of more than 64 rows: more may be ordered, never less.
TEST(RandomPrograms, BeyondItsBoundsAMapOrdersMoreAndNeverLess) {
  Outcome outcome;
  for (const bool passing : {false, true}) run({200, passing, 600, 150}, 30, outcome);
  EXPECT_EQ(outcome.sum.wrong(), 0U) << outcome.first_bad;
  // A shorter run of the tests may not come to it.
  if (scaled(30) < 30) return;
  EXPECT_GT(outcome.sum.foreign, 0U);
}

#if defined(THALWEG_TEST_HOOKS)

// The comparison is worth something only if it objects when the layer is wrong.
Findings run_with(plant::Bug bug) {
  const plant::Scope planted(bug);
  Outcome outcome;
  run({100, false}, 40, outcome);
  return outcome.sum;
}

TEST(PlantedBugs, AWriteThatIgnoresReadsIsFoundWhenPointsAreCollected) {
  const Findings found = run_with(plant::Bug::missing_write_after_read);
  EXPECT_GT(found.lost, 0U);
  EXPECT_GT(found.unordered, 0U);
}

TEST(PlantedBugs, ThePresentFrontierOfTheSourceIsFoundWhenAWaitIsMerged) {
  const Findings found = run_with(plant::Bug::present_frontier);
  EXPECT_GT(found.untrue, 0U);
  EXPECT_GT(found.unordered, 0U);
}

TEST(PlantedBugs, ADroppedWaitIsFoundWhenWaitsAreChosen) {
  const Findings found = run_with(plant::Bug::dropped_wait);
  EXPECT_GT(found.missing, 0U);
  EXPECT_GT(found.unordered, 0U);
}

TEST(PlantedBugs, AFrontierThatLearnsNothingIsFoundByTheNumberOfWaitsOnly) {
  const Findings found = run_with(plant::Bug::frontier_not_merged);
  EXPECT_EQ(found.wrong(), 0U);
  EXPECT_GT(found.redundant, 0U);
  EXPECT_GT(found.unlearnt, 0U);
}

// The rest are bugs of the runtime, of which the World makes the same.

TEST(PlantedBugs, AReusedBlockWithoutABirthIsFoundByItsFirstUse) {
  const Findings found = run_with(plant::Bug::empty_birth);
  EXPECT_EQ(found.births, 0U);
  EXPECT_GT(found.lost, 0U);
  EXPECT_GT(found.unordered, 0U);
}

TEST(PlantedBugs, ADropThatForgetsItsHomeIsFound) {
  EXPECT_GT(run_with(plant::Bug::free_without_home_point).lost, 0U);
}

TEST(PlantedBugs, ARecordThatStandsForNoOwedWaitIsFoundByWhoWaitsForIt) {
  const Findings found = run_with(plant::Bug::wait_without_serial);
  EXPECT_EQ(found.misowed, 0U);
  EXPECT_GT(found.missing, 0U);
  EXPECT_GT(found.unordered, 0U);
}

#endif

}  // namespace
}  // namespace thalweg::test
