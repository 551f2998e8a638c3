// SPDX-License-Identifier: Apache-2.0
//
// A life goes round, and not before the uses of its allocation have passed.

#include "runtime/lives.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/registry.hpp"
#include "sync/timeline.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

using runtime::Life;
using runtime::Lives;

class LivesOfAQueue : public ::testing::Test {
 protected:
  Life& life(std::uint64_t id) {
    Life* const taken = lives_.take();
    Life& life = taken != nullptr ? *taken : *made_.emplace_back(std::make_unique<Life>(lock_));
    life.begin(AllocationId{id}, 1);
    return life;
  }

  void SetUp() override {
    slot_ = must(runtime::Registry::instance().acquire_slot(true));
    const sync::Locked queue(slot_->lock);
    first_ = slot_->order.last().value;
    for (int i = 0; i != 3; ++i) slot_->order.take();
  }
  void TearDown() override {
    pass(3);
    runtime::Registry::instance().close_slot(*slot_);
    runtime::Registry::instance().free_slot(*slot_);
  }

  // Counted from the slot's end when the test began; three serials are taken.
  order::PointSet until(std::uint64_t serials) {
    order::PointSet points;
    points.add(order::Point(slot_->index, Serial{first_ + serials}));
    return points;
  }
  void pass(std::uint64_t serials) { sync::queue_timeline(slot_->index).advance(first_ + serials); }

  sync::SpinLock lock_{sync::Rank::queue};
  std::vector<std::unique_ptr<Life>> made_;
  Lives lives_;
  runtime::Slot* slot_ = nullptr;
  std::uint64_t first_ = 0;
};

TEST_F(LivesOfAQueue, OneWithoutUsesIsTakenAtOnce) {
  Life& first = life(1);
  lives_.end(first, {});
  EXPECT_FALSE(first.is_of(AllocationId{1}));
  EXPECT_EQ(first.owner(), AllocationId{1});
  EXPECT_EQ(&life(2), &first);
  EXPECT_TRUE(first.is_of(AllocationId{2}));
  EXPECT_EQ(made_.size(), 1U);
}

TEST_F(LivesOfAQueue, OneInUseIsNotTaken) {
  Life& first = life(1);
  Life& second = life(2);
  lives_.end(first, until(1));
  lives_.end(second, until(2));
  EXPECT_EQ(lives_.take(), nullptr);
  EXPECT_EQ(first.owner(), AllocationId{1});
  pass(1);
  EXPECT_EQ(lives_.take(), &first);
  EXPECT_EQ(lives_.take(), nullptr);
  pass(2);
  EXPECT_EQ(lives_.take(), &second);
}

// What is free is taken past one that stays in use.
TEST_F(LivesOfAQueue, OneInUseHoldsUpNoOther) {
  Life& first = life(1);
  lives_.end(first, until(1));
  for (std::uint64_t id = 2; id != 100; ++id) lives_.end(life(id), {});
  EXPECT_EQ(made_.size(), 2U);
}

}  // namespace
}  // namespace thalweg::test
