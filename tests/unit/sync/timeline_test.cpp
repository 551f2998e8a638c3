// SPDX-License-Identifier: Apache-2.0
//
// Timeline: every waiter that is added fires once or is removed, and never both.

#include "sync/timeline.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "support/random.hpp"

namespace thalweg::test {
namespace {

using sync::Timeline;

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

// Counts how often it fired.
struct Waiter : TimelineWaiter {
  explicit Waiter(std::uint64_t wanted) {
    value = wanted;
    fire = [](TimelineWaiter& self) noexcept {
      static_cast<Waiter&>(self).fired.fetch_add(1, std::memory_order_release);
    };
  }
  std::atomic<int> fired{0};
};

// A value is reached from then on, and never again not.
TEST(Timeline, ReachesWhatItIsRaisedTo) {
  Timeline timeline(5);
  EXPECT_TRUE(timeline.reached(0));
  EXPECT_TRUE(timeline.reached(5));
  EXPECT_FALSE(timeline.reached(6));
  timeline.advance(9);
  EXPECT_EQ(timeline.value(), 9U);
  EXPECT_EQ(timeline.word().load(), 9U);
  EXPECT_TRUE(timeline.raise(9));
  EXPECT_FALSE(timeline.reached(10));
}

// raise() refuses to go down and changes nothing then; the same value is fine.
TEST(Timeline, RaiseRefusesToGoDown) {
  Timeline timeline(3);
  EXPECT_FALSE(timeline.raise(2));
  EXPECT_EQ(timeline.value(), 3U);
  EXPECT_TRUE(timeline.raise(3));
  EXPECT_TRUE(timeline.raise(4));
  EXPECT_FALSE(timeline.raise(0));
  EXPECT_EQ(timeline.value(), 4U);
}

// Added for a value that is reached, a waiter is not kept, does not fire, and can be added again.
TEST(Timeline, AddAnswersWhenTheValueIsReached) {
  Timeline timeline(3);
  Waiter waiter(3);
  EXPECT_FALSE(timeline.add(waiter));
  EXPECT_FALSE(timeline.remove(waiter));
  timeline.advance(4);
  EXPECT_EQ(waiter.fired, 0);
  waiter.value = 5;
  EXPECT_TRUE(timeline.add(waiter));
  timeline.advance(5);
  EXPECT_EQ(waiter.fired, 1);
}

// Removed before it fires, it does not fire; after it fired, it is not there any more.
TEST(Timeline, RemoveTellsWhetherTheWaiterFires) {
  Timeline timeline;
  Waiter first(1);
  Waiter second(1);
  Waiter third(2);
  for (Waiter* waiter : {&first, &second, &third}) ASSERT_TRUE(timeline.add(*waiter));
  EXPECT_TRUE(timeline.remove(second));
  EXPECT_FALSE(timeline.remove(second));
  timeline.advance(1);
  EXPECT_EQ(first.fired, 1);
  EXPECT_EQ(second.fired, 0);
  EXPECT_EQ(third.fired, 0);
  EXPECT_FALSE(timeline.remove(first));
  EXPECT_TRUE(timeline.remove(third));
  timeline.advance(2);
  EXPECT_EQ(third.fired, 0);
}

// Out of the middle, the front and the back of the list: the others still fire.
TEST(Timeline, RemovesFromAnyPlace) {
  for (std::size_t removed = 0; removed != 4; ++removed) {
    Timeline timeline;
    std::vector<std::unique_ptr<Waiter>> waiters;
    for (std::size_t i = 0; i != 4; ++i) {
      waiters.push_back(std::make_unique<Waiter>(i + 1));
      ASSERT_TRUE(timeline.add(*waiters.back()));
    }
    ASSERT_TRUE(timeline.remove(*waiters[removed]));
    for (std::uint64_t value = 1; value <= 4; ++value) {
      timeline.advance(value);
      for (std::size_t i = 0; i != 4; ++i)
        EXPECT_EQ(waiters[i]->fired, i != removed && i < value ? 1 : 0);
    }
  }
}

// One step past the values of a thousand waiters: each of them fires exactly once, and no other.
TEST(Timeline, OneAdvanceFiresAllThatAreRipe) {
  Timeline timeline;
  Random random(1);
  std::vector<std::unique_ptr<Waiter>> waiters;
  for (int i = 0; i != 1000; ++i) {
    waiters.push_back(std::make_unique<Waiter>(1 + random.below(100)));
    ASSERT_TRUE(timeline.add(*waiters.back()));
  }
  timeline.advance(50);
  for (const auto& waiter : waiters) EXPECT_EQ(waiter->fired, waiter->value <= 50 ? 1 : 0);
  timeline.advance(100);
  timeline.advance(kMax);
  for (const auto& waiter : waiters) EXPECT_EQ(waiter->fired, 1);
}

// The largest value is one like the others, for the counter and for who waits.
TEST(Timeline, TheLargestValueCanBeWaitedFor) {
  Timeline timeline;
  Waiter waiter(kMax);
  ASSERT_TRUE(timeline.add(waiter));
  EXPECT_TRUE(timeline.raise(kMax - 1));
  EXPECT_EQ(waiter.fired, 0);
  EXPECT_TRUE(timeline.raise(kMax));
  EXPECT_EQ(waiter.fired, 1);
  EXPECT_TRUE(timeline.reached(kMax));
  EXPECT_FALSE(timeline.raise(0));
}

// A waiter that adds itself again for the next value while it fires, as a queue that parks again
// does.
TEST(Timeline, AWaiterMayBeAddedAgainWhileItFires) {
  struct Again : TimelineWaiter {
    Timeline* timeline = nullptr;
    int fired = 0;
  };
  Timeline timeline;
  Again waiter;
  waiter.value = 1;
  waiter.timeline = &timeline;
  waiter.fire = [](TimelineWaiter& self) noexcept {
    auto& again = static_cast<Again&>(self);
    ++again.fired;
    ++again.value;
    while (!again.timeline->add(again)) ++again.value;
  };
  ASSERT_TRUE(timeline.add(waiter));
  for (std::uint64_t value = 1; value <= 10; ++value) timeline.advance(value);
  EXPECT_EQ(waiter.fired, 10);
  EXPECT_TRUE(timeline.remove(waiter));
}

// A waiter that is gone when fire() returns, as one on the stack of a woken thread is.
TEST(Timeline, AWaiterMayBeGoneWhenItHasFired) {
  static int fired;
  fired = 0;
  struct Mortal : TimelineWaiter {};
  Timeline timeline;
  for (std::uint64_t value : {1, 2, 1, 3}) {
    auto* const waiter = new Mortal;
    waiter->value = value;
    waiter->fire = [](TimelineWaiter& self) noexcept {
      ++fired;
      delete static_cast<Mortal*>(&self);
    };
    ASSERT_TRUE(timeline.add(*waiter));
  }
  timeline.advance(2);
  EXPECT_EQ(fired, 3);
  timeline.advance(3);
  EXPECT_EQ(fired, 4);
}

// Seven threads add waiters and take them out again while one raises. A waiter fires if and only if
// neither add() nor remove() said that it would not, and then exactly once. Bounded by rounds.
TEST(Timeline, RemoveAndFireExcludeEachOther) {
  constexpr std::uint64_t kRounds = 3000;
  Timeline timeline;
  std::atomic<int> wrong{0};
  std::atomic<int> removers{7};
  std::vector<std::thread> threads;
  for (int t = 0; t != 7; ++t)
    threads.emplace_back([&, seed = static_cast<std::uint64_t>(t)] {
      Random random(seed);
      for (std::uint64_t round = 0; round != kRounds / 10; ++round) {
        Waiter waiter(timeline.value() + 1 + random.below(3));
        if (!timeline.add(waiter)) {
          if (waiter.fired != 0) ++wrong;
          continue;
        }
        for (std::uint32_t spin = random.below(40); spin != 0; --spin) os::pause();
        if (timeline.remove(waiter)) {
          if (waiter.fired != 0) ++wrong;
        } else {
          while (waiter.fired.load(std::memory_order_acquire) == 0) os::yield();
          if (waiter.fired != 1) ++wrong;
        }
      }
      --removers;
    });
  threads.emplace_back([&] {
    for (std::uint64_t value = 1; removers != 0; ++value) {
      if (value % 2 == 0) {
        timeline.advance(value);
      } else if (!timeline.raise(value)) {
        ++wrong;
      }
      os::yield();
    }
  });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// Several threads raise at once: the value is the largest of them, and nobody waits for ever.
TEST(Timeline, ManyMayRaiseAtOnce) {
  Timeline timeline;
  std::vector<std::unique_ptr<Waiter>> waiters;
  for (std::uint64_t value = 1; value <= 400; ++value) {
    waiters.push_back(std::make_unique<Waiter>(value));
    ASSERT_TRUE(timeline.add(*waiters.back()));
  }
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t != 4; ++t)
    threads.emplace_back([&timeline, t] {
      for (std::uint64_t value = t + 1; value <= 400; value += 4)
        static_cast<void>(timeline.raise(value));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(timeline.value(), 400U);
  for (const auto& waiter : waiters) EXPECT_EQ(waiter->fired, 1);
}

// The owner is whoever was set last, and nobody at first. Each queue index has a timeline of its
// own.
TEST(Timeline, HasAnOwnerForThoseWhoHelp) {
  Timeline timeline;
  EXPECT_EQ(timeline.owner(), nullptr);
  timeline.set_owner(&timeline);
  EXPECT_EQ(timeline.owner(), &timeline);
  timeline.set_owner(nullptr);
  EXPECT_EQ(timeline.owner(), nullptr);
  EXPECT_NE(&sync::queue_timeline(0), &sync::queue_timeline(0xffff));
}

}  // namespace
}  // namespace thalweg::test
