// SPDX-License-Identifier: Apache-2.0
//
// PendingDropQueue: nothing is freed before a fence recorded after it has passed, and nothing is
// lost.

#include "thalweg/backend/pending_drop_queue.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <vector>

#include "support/random.hpp"
#include "support/refusal.hpp"

namespace thalweg::test {
namespace {

// The device a fence is of: how far it has come, and whether waiting for it would help.
struct FakeDevice {
  std::uint64_t enqueued = 0;
  std::uint64_t passed = 0;
  bool ends = false;  // wait() lets it come as far as the fence.
  int waits = 0;
};

struct FakeFence {
  FakeDevice* device;
  std::uint64_t at;
  bool passed() const { return device->passed >= at; }
  Result<void> wait(Deadline) const {
    ++device->waits;
    if (!passed() && device->ends) device->passed = at;
    if (passed()) return {};
    return Error(ErrorKind::timeout, "The fake device does not end.");
  }
};

// Erases itself from the set of those alive.
struct Item final : Counted {
  Item(std::set<int>& all, int id) : alive(all), name(id) { alive.insert(name); }
  ~Item() override { alive.erase(name); }
  std::set<int>& alive;
  int name;
};

class PendingDropQueue : public ::testing::Test {
 protected:
  using Queue = backend::PendingDropQueue<FakeFence>;

  void push(int name, std::uint64_t size_bytes = 1) {
    queue.push(make_ref<Item>(alive, name), size_bytes);
  }

  Result<void> flush() {
    return queue.flush([this] {
      ++recorded;
      return Result<FakeFence>(FakeFence{&device, device.enqueued});
    });
  }

  static Result<FakeFence> refuse() { return Error(ErrorKind::internal, "No fence."); }

  // Frees what can be freed.
  void poll() {
    Queue::Items freed;
    queue.poll(freed);
  }

  FakeDevice device;
  std::set<int> alive;
  int recorded = 0;
  Queue queue;
};

// Staged items stay however far the device comes: no fence was recorded behind them.
TEST_F(PendingDropQueue, KeepsWhatNoFenceCovers) {
  push(1);
  device.passed = 100;
  poll();
  EXPECT_EQ(alive, (std::set<int>{1}));
  EXPECT_FALSE(queue.empty());
}

// The items of a generation go when its fence has passed, and not one step earlier.
TEST_F(PendingDropQueue, FreesAGenerationWhenItsFenceHasPassed) {
  push(1);
  push(2);
  device.enqueued = 5;
  ASSERT_TRUE(flush());
  push(3);
  device.enqueued = 9;
  ASSERT_TRUE(flush());
  push(4);
  device.passed = 4;
  poll();
  EXPECT_EQ(alive.size(), 4U);
  device.passed = 5;
  poll();
  EXPECT_EQ(alive, (std::set<int>{3, 4}));
  device.passed = 9;
  poll();
  EXPECT_EQ(alive, (std::set<int>{4}));
  EXPECT_EQ(queue.fences(), 2U);
}

// Any number of generations in one poll.
TEST_F(PendingDropQueue, OnePollFreesAllThatHavePassed) {
  for (int i = 0; i != 100; ++i) {
    push(i);
    ++device.enqueued;
    ASSERT_TRUE(flush());
  }
  device.passed = 60;
  poll();
  EXPECT_EQ(alive.size(), 40U);
  EXPECT_EQ(*alive.begin(), 60);
}

// Nothing staged: no fence, also again and again.
TEST_F(PendingDropQueue, AnEmptyFlushRecordsNoFence) {
  ASSERT_TRUE(flush());
  push(1);
  ASSERT_TRUE(flush());
  ASSERT_TRUE(flush());
  EXPECT_EQ(recorded, 1);
  EXPECT_EQ(queue.fences(), 1U);
}

// A fence that is refused is reported and covers nothing: its items wait for the next one, with
// those that came since, and earlier generations are not held up.
TEST_F(PendingDropQueue, ARefusedFenceKeepsItsItemsUntilALaterOnePasses) {
  push(1);
  device.enqueued = 1;
  ASSERT_TRUE(flush());
  push(2);
  device.enqueued = 2;
  EXPECT_EQ(refusal(queue.flush(&refuse)), "internal");
  EXPECT_EQ(queue.fences(), 1U);
  device.passed = 2;
  poll();
  EXPECT_EQ(alive, (std::set<int>{2}));
  push(3);
  device.enqueued = 3;
  EXPECT_EQ(refusal(queue.flush(&refuse)), "internal");
  ASSERT_TRUE(flush());
  poll();
  EXPECT_EQ(alive, (std::set<int>{2, 3}));
  device.passed = 3;
  poll();
  EXPECT_TRUE(alive.empty());
  EXPECT_TRUE(queue.empty());
}

// The policy: 64 items or 64 MiB, whichever comes first, counted from the last flush.
TEST_F(PendingDropQueue, ShouldFlushAt64ItemsOr64MiB) {
  for (int i = 0; i != 63; ++i) push(i, 0);
  EXPECT_FALSE(queue.should_flush());
  push(63, 0);
  EXPECT_TRUE(queue.should_flush());
  ASSERT_TRUE(flush());
  EXPECT_FALSE(queue.should_flush());
  push(64, (std::uint64_t{64} << 20) - 1);
  EXPECT_FALSE(queue.should_flush());
  push(65, 1);
  EXPECT_TRUE(queue.should_flush());
  EXPECT_FALSE(queue.flush(&refuse));
  EXPECT_TRUE(queue.should_flush());
  ASSERT_TRUE(flush());
  EXPECT_FALSE(queue.should_flush());
  push(66, std::uint64_t{1} << 40);  // More than 32 bits count.
  EXPECT_TRUE(queue.should_flush());
}

// Outstanding is what is staged and what waits for a fence; it goes down with what is freed.
TEST_F(PendingDropQueue, CountsOutstandingBytes) {
  push(1, 100);
  device.enqueued = 1;
  ASSERT_TRUE(flush());
  push(2, std::uint64_t{1} << 33);
  EXPECT_EQ(queue.outstanding_bytes(), 100 + (std::uint64_t{1} << 33));
  device.passed = 1;
  poll();
  EXPECT_EQ(queue.outstanding_bytes(), std::uint64_t{1} << 33);
  Queue::Items freed;
  queue.clear(freed);
  EXPECT_EQ(queue.outstanding_bytes(), 0U);
}

// Draining waits for each fence in turn, leaves what is staged, and after a timeout has freed what
// had passed and nothing more; it can be tried again.
TEST_F(PendingDropQueue, DrainWaitsForAllGenerations) {
  for (int i = 0; i != 3; ++i) {
    push(i);
    ++device.enqueued;
    ASSERT_TRUE(flush());
  }
  push(3);
  device.passed = 1;
  {
    Queue::Items freed;
    EXPECT_EQ(refusal(queue.drain(std::chrono::nanoseconds(1), freed)), "timeout");
    EXPECT_EQ(freed.size(), 1U);
  }
  EXPECT_EQ(alive, (std::set<int>{1, 2, 3}));
  device.ends = true;
  {
    Queue::Items freed;
    EXPECT_TRUE(queue.drain(Deadline(), freed));
    EXPECT_EQ(freed.size(), 2U);
    EXPECT_TRUE(queue.drain(Deadline(), freed));
  }
  EXPECT_EQ(alive, (std::set<int>{3}));
}

// clear() gives everything, closed or staged, and waits for nothing.
TEST_F(PendingDropQueue, ClearGivesEverything) {
  push(1);
  device.enqueued = 1;
  ASSERT_TRUE(flush());
  push(2);
  Queue::Items freed;
  queue.clear(freed);
  EXPECT_EQ(freed.size(), 2U);
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(device.waits, 0);
  freed.clear();
  EXPECT_TRUE(alive.empty());
  EXPECT_FALSE(queue.should_flush());
}

// A queue that moves takes its items along, and a queue that ends frees what is left, once.
TEST_F(PendingDropQueue, MovesAndEndsWithItsItems) {
  push(1);
  ASSERT_TRUE(flush());
  push(2);
  {
    const Queue taken = std::move(queue);
    EXPECT_EQ(alive.size(), 2U);
  }
  EXPECT_TRUE(alive.empty());
}

// Random pushes, flushes, refusals and steps of the device against the rule itself: an item is gone
// if and only if a poll found a fence passed that was recorded after the item was pushed.
TEST_F(PendingDropQueue, KeepsTheRuleInRandomOrders) {
  Random random(7);
  std::vector<std::uint64_t> covered_at;  // Of each item: the fence it goes with; 0: none yet.
  std::size_t covered = 0;
  for (int step = 0; step != 5000; ++step) {
    switch (random.below(6)) {
      case 0:
      case 1:
        push(static_cast<int>(covered_at.size()));
        covered_at.push_back(0);
        break;
      case 2: {
        ++device.enqueued;
        const bool refused = random.chance(30);
        static_cast<void>(refused ? queue.flush(&refuse) : flush());
        if (!refused)
          while (covered != covered_at.size()) covered_at[covered++] = device.enqueued;
        break;
      }
      case 3:
        if (device.passed < device.enqueued) ++device.passed;
        break;
      default: {
        poll();
        std::set<int> wanted;
        for (std::size_t i = 0; i != covered_at.size(); ++i)
          if (covered_at[i] == 0 || covered_at[i] > device.passed)
            wanted.insert(static_cast<int>(i));
        ASSERT_EQ(alive, wanted) << "step " << step;
      }
    }
  }
}

}  // namespace
}  // namespace thalweg::test
