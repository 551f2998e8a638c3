// SPDX-License-Identifier: Apache-2.0
//
// Random programs, ordered by the layer and judged by the model: no conflict is left unordered, and
// no wait is placed that the model finds implied. With a planted bug the same judge must object.
//
// THALWEG_SEED sets the seed, THALWEG_TEST_SCALE multiplies the number of programs.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/plant.hpp"
#include "unit/order/world.hpp"

namespace thalweg::test {
namespace {

using order::Point;
using order::QueueIndex;

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
};

class Program {
 public:
  Program(std::uint64_t seed, const ProgramOptions& options)
      : dice_(seed), options_(options), world_(world_options()) {
    const std::size_t blocks = 1 + dice_.below(6);
    for (std::size_t i = 0; i != blocks; ++i) {
      Block& block = world_.add_block(1 + dice_.below(24));
      live_.push_back(&world_.add_buffer(&block, block.size_bytes, any_queue()));
    }
    live_.push_back(&world_.add_buffer(nullptr, 0, any_queue()));
    events_.push_back(Point());
  }

  Findings run() {
    for (std::size_t step = 0; step != options_.steps; ++step) {
      const std::size_t choice = dice_.below(100);
      if (choice < 80) {
        submit();
      } else if (choice < 86) {
        events_.push_back(world_.record(any_queue()));
      } else if (choice < 93) {
        wait();
      } else {
        reuse();
      }
      for (std::size_t tries = dice_.below(4); tries != 0; --tries) world_.pass(any_queue());
    }
    return world_.findings();
  }

 private:
  WorldOptions world_options() {
    WorldOptions options;
    options.queues = 1 + dice_.below(8);
    options.passing = options_.passing;
    options.fence_distance = dice_.percent(25) ? dice_.below(4) : 0;
    options.home_path = dice_.percent(50);
    options.start = Serial{dice_.percent(50) ? 0 : dice_.below(1000)};
    return options;
  }

  QueueIndex any_queue() { return static_cast<QueueIndex>(dice_.below(world_.queue_count())); }

  Access any_access() {
    Access access;
    Buffer& buffer = *live_[dice_.below(live_.size())];
    const std::size_t size = buffer.size_bytes;
    access.allocation = &buffer;
    access.mode = static_cast<AccessMode>(dice_.below(dice_.percent(20) ? 4 : 3));
    if (dice_.percent(35)) access.mode = AccessMode::read;
    access.row_bytes = size;
    if (dice_.percent(40)) return access;
    access.offset = dice_.below(size + 1);
    access.row_bytes = dice_.below(size - access.offset + 1);
    if (dice_.percent(25)) make_rows(access, size);
    return access;
  }

  // Rows with gaps, without gaps, over one another, or none at all.
  void make_rows(Access& access, std::size_t size) {
    access.row_bytes = std::min<std::size_t>(access.row_bytes, 1 + dice_.below(4));
    access.pitch = dice_.below(6);
    access.rows = dice_.below(6);
    while (access.rows > 1 && access.end() > size) --access.rows;
  }

  void submit() {
    std::vector<Access> accesses(dice_.below(4));
    for (Access& access : accesses) access = any_access();
    world_.submit(any_queue(), accesses);
  }

  // An explicit wait, for an event or for another queue; it rides, or takes a serial of its own.
  void wait() {
    const QueueIndex taker = any_queue();
    order::PointSet points;
    points.add(dice_.percent(50) ? events_[dice_.below(events_.size())]
                                 : world_.record(any_queue()));
    if (world_.wait(taker, points) && dice_.percent(50)) world_.submit_empty(taker);
  }

  // The buffer goes, and another one takes its block.
  void reuse() {
    Buffer*& slot = live_[dice_.below(live_.size())];
    if (slot->block == nullptr) {
      slot = &world_.add_buffer(nullptr, 0, any_queue());
      return;
    }
    Block& block = *slot->block;
    world_.drop(*slot);
    slot = &world_.reserve(block, 1 + dice_.below(block.size_bytes), any_queue());
  }

  Dice dice_;
  ProgramOptions options_;
  World world_;
  std::vector<Buffer*> live_;
  std::vector<Point> events_;
};

struct Outcome {
  Findings sum;
  std::string first_bad = "all programs are right";
};

// Many small programs and a few long ones.
Outcome run_programs(bool passing, std::size_t small, std::size_t large) {
  Outcome outcome;
  const std::uint64_t seed = base_seed();
  for (std::size_t i = 0; i != scaled(small) + scaled(large); ++i) {
    const std::size_t steps = i < scaled(small) ? 100 : 1500;
    const Findings found = Program(seed + i, {steps, passing}).run();
    if (outcome.sum.unordered + outcome.sum.redundant == 0 &&
        found.unordered + found.redundant != 0) {
      outcome.first_bad =
          "THALWEG_SEED=" + std::to_string(seed + i) + " makes it the first program";
    }
    outcome.sum += found;
  }
  return outcome;
}

TEST(RandomPrograms, NoConflictIsLeftUnorderedAndNoWaitIsImplied) {
  const Outcome outcome = run_programs(false, 500, 8);
  EXPECT_EQ(outcome.sum.unordered, 0U) << outcome.first_bad;
  EXPECT_EQ(outcome.sum.redundant, 0U) << outcome.first_bad;
  EXPECT_GT(outcome.sum.waits, outcome.sum.tasks / 10);
  RecordProperty("tasks", std::to_string(outcome.sum.tasks));
  RecordProperty("waits", std::to_string(outcome.sum.waits));
}

TEST(RandomPrograms, WhatPassesMeanwhileChangesNothingButSavesWaits) {
  const Outcome outcome = run_programs(true, 500, 8);
  EXPECT_EQ(outcome.sum.unordered, 0U) << outcome.first_bad;
  EXPECT_EQ(outcome.sum.redundant, 0U) << outcome.first_bad;
  EXPECT_LT(outcome.sum.waits, run_programs(false, 500, 8).sum.waits);
  RecordProperty("tasks", std::to_string(outcome.sum.tasks));
}

#if defined(THALWEG_TEST_HOOKS)

// The judge is worth something only if it objects when the layer is wrong.
Outcome run_with(plant::Bug bug) {
  const plant::Scope planted(bug);
  return run_programs(false, 40, 1);
}

TEST(PlantedBugs, AWriteThatIgnoresReadsIsFound) {
  EXPECT_GT(run_with(plant::Bug::missing_write_after_read).sum.unordered, 0U);
}

TEST(PlantedBugs, ThePresentFrontierOfTheSourceIsFound) {
  EXPECT_GT(run_with(plant::Bug::present_frontier).sum.unordered, 0U);
}

TEST(PlantedBugs, ADroppedWaitIsFound) {
  EXPECT_GT(run_with(plant::Bug::dropped_wait).sum.unordered, 0U);
}

TEST(PlantedBugs, AFrontierThatLearnsNothingIsFoundByTheNumberOfWaitsOnly) {
  const Findings found = run_with(plant::Bug::frontier_not_merged).sum;
  EXPECT_EQ(found.unordered, 0U);
  EXPECT_GT(found.redundant, 0U);
}

#endif

}  // namespace
}  // namespace thalweg::test
