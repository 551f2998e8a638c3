// SPDX-License-Identifier: Apache-2.0
//
// Which of the candidates become waits, and what a wait teaches.

#include "thalweg/order/placement.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <initializer_list>

#include "unit/order/world.hpp"

namespace thalweg::test {
namespace {

using order::Point;
using order::PointSet;
using order::WaitCounts;

PointSet set_of(std::initializer_list<Point> points) {
  PointSet set;
  for (const Point point : points) set.add(point);
  return set;
}

class Placement : public testing::Test {
 protected:
  void wait(order::QueueIndex taker, Point point) { world_.wait(taker, set_of({point})); }

  PointSet choose(order::QueueIndex taker, const PointSet& candidates) {
    PointSet waits;
    counts_ = WaitCounts();
    choose_waits(world_.queue(taker), candidates, world_.table(), waits, counts_);
    return waits;
  }

  World world_{WorldOptions{.queues = 4, .passing = true, .start = Serial{}}};
  WaitCounts counts_;
};

TEST_F(Placement, AQueueNeedsNoWaitForItself) {
  EXPECT_TRUE(choose(0, set_of({world_.submit_empty(0)})).empty());
  EXPECT_EQ(counts_.placed + counts_.passed + counts_.covered, 0U);
}

TEST_F(Placement, AWaitCoversAllThatIsEarlierOnItsSource) {
  const Point early = world_.submit_empty(1);
  wait(0, world_.submit_empty(1));
  EXPECT_TRUE(choose(0, set_of({early})).empty());
  EXPECT_EQ(counts_.covered, 1U);
}

// Queue 1 waited for queue 2, so a wait for queue 1 is one for both.
TEST_F(Placement, ACandidateThatAnotherCoversIsLeftOut) {
  const Point far = world_.submit_empty(2);
  wait(1, far);
  const Point near = world_.submit_empty(1);
  EXPECT_EQ(choose(0, set_of({far, near})), set_of({near}));
  EXPECT_EQ(counts_.covered, 1U);
  EXPECT_EQ(counts_.placed, 1U);
}

// A chain over three queues, and one candidate beside it.
TEST_F(Placement, OfAChainOnlyTheEndIsChosen) {
  const Point first = world_.submit_empty(1);
  wait(2, first);
  const Point second = world_.submit_empty(2);
  wait(3, second);
  const Point third = world_.submit_empty(3);
  EXPECT_EQ(choose(0, set_of({first, second, third})), set_of({third}));

  const Point beside = world_.submit_empty(1);
  EXPECT_EQ(choose(0, set_of({beside, second, third})), set_of({beside, third}));
}

TEST_F(Placement, WhatHasPassedNeedsNoWait) {
  const Point over = world_.submit_empty(1);
  const Point open = world_.submit_empty(2);
  ASSERT_TRUE(world_.pass(1));
  EXPECT_EQ(choose(0, set_of({over, open})), set_of({open}));
  EXPECT_EQ(counts_.passed, 1U);
}

// A driver's fence may lie behind the serial asked for: the taker learns what the fence covers.
TEST_F(Placement, ALaterFenceTeachesWhatWasBeforeIt) {
  const Point far = world_.submit_empty(2);
  world_.submit_empty(1);
  wait(1, far);
  const Point fence = world_.submit_empty(1);
  merge_wait(world_.queue(0), fence, world_.table());
  EXPECT_TRUE(world_.queue(0).frontier().covers(far));
  EXPECT_TRUE(world_.queue(0).frontier().covers(fence));
}

// Rows that fell off teach nothing; the point itself is still learned.
TEST_F(Placement, AFallenRowTeachesThePointAlone) {
  World world(WorldOptions{.queues = 3, .start = Serial{}});
  const Point far = world.submit_empty(2);
  world.wait(1, set_of({far}));
  const Point old = world.submit_empty(1);
  for (std::size_t i = 0; i != order::kRowsMax + 1; ++i) {
    world.wait(1, set_of({world.submit_empty(2)}));
    world.submit_empty(1);
  }
  merge_wait(world.queue(0), old, world.table());
  EXPECT_TRUE(world.queue(0).frontier().covers(old));
  EXPECT_FALSE(world.queue(0).frontier().covers(far));
}

}  // namespace
}  // namespace thalweg::test
