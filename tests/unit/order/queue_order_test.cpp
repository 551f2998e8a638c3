// SPDX-License-Identifier: Apache-2.0
//
// What a queue remembers of its own past: which row holds for which serial, and which rows go.

#include "thalweg/order/queue_order.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "thalweg/order/placement.hpp"

namespace thalweg::order {
namespace {

constexpr QueueIndex kTaker = 0;
constexpr QueueIndex kSource = 1;

Point source_at(std::uint64_t serial) { return Point(kSource, Serial{serial}); }

// What the queue knew of the source when it took serial n; 0 when it knew nothing.
std::uint64_t known_at(const QueueOrder& queue, std::uint64_t n) {
  const Frontier* const frontier = queue.frontier_at(Serial{n});
  return frontier == nullptr ? 0 : frontier->of(kSource).value;
}

// The queue learns something before every second serial; then each serial is asked for.
TEST(QueueOrder, FindsTheRowOfEverySerial) {
  QueueOrder queue;
  queue.open(kTaker, nullptr, Serial{});
  for (std::uint64_t n = 1; n <= 500; ++n) {
    queue.learn(source_at(n), nullptr);
    EXPECT_EQ(queue.take().value, 2 * n - 1);
    queue.take();
  }
  for (std::uint64_t n = 1; n <= 1000; ++n) {
    EXPECT_EQ(known_at(queue, n), (n + 1) / 2) << n;
  }
  EXPECT_EQ(known_at(queue, 0), 0U);
  queue.close();
}

TEST(QueueOrder, AWaitHoldsForTheNextSerialAndNotForTheLast) {
  QueueOrder queue;
  queue.open(kTaker, nullptr, Serial{10});
  queue.take();
  queue.learn(source_at(4), nullptr);
  EXPECT_TRUE(queue.wait_owed());
  EXPECT_EQ(known_at(queue, 11), 0U);
  EXPECT_EQ(queue.frontier().of(kSource).value, 4U);
  queue.take();
  EXPECT_FALSE(queue.wait_owed());
  EXPECT_EQ(known_at(queue, 12), 4U);
  queue.close();
}

// Several waits before one serial share a row.
TEST(QueueOrder, WaitsBeforeOneSerialAreOneRow) {
  QueueOrder queue;
  queue.open(kTaker, nullptr, Serial{});
  Frontier row;
  row.raise(Point(7, Serial{3}));
  queue.learn(source_at(1), nullptr);
  queue.learn(source_at(2), &row);
  EXPECT_EQ(queue.take().value, 1U);
  EXPECT_EQ(known_at(queue, 1), 2U);
  EXPECT_TRUE(queue.frontier_at(Serial{1})->covers(Point(7, Serial{3})));
  queue.close();
}

// With nothing passing, the oldest rows fall off at the limit, and who asks learns nothing.
TEST(QueueOrder, BeyondTheLimitTheOldestRowFallsOff) {
  QueueOrder queue;
  queue.open(kTaker, nullptr, Serial{});
  const std::uint64_t count = kRowsMax + 100;
  for (std::uint64_t n = 1; n <= count; ++n) {
    queue.learn(source_at(n), nullptr);
    queue.take();
  }
  EXPECT_EQ(queue.frontier_at(Serial{count - kRowsMax}), nullptr);
  for (std::uint64_t n = count - kRowsMax + 1; n <= count; ++n) EXPECT_EQ(known_at(queue, n), n);
  queue.close();
}

// Wide rows have a limit in words, so that many queues do not take unbounded memory.
TEST(QueueOrder, WideRowsFallOffEarlier) {
  QueueOrder queue;
  queue.open(kTaker, nullptr, Serial{});
  for (std::uint64_t n = 1; n <= 100; ++n) {
    queue.learn(Point(0xffff, Serial{n}), nullptr);
    queue.take();
  }
  EXPECT_EQ(queue.frontier_at(Serial{50}), nullptr);
  EXPECT_NE(queue.frontier_at(Serial{95}), nullptr);
  queue.close();
}

// Rows that are over make room: a queue that keeps up never loses one that is not.
TEST(QueueOrder, RowsWhoseSerialsHavePassedAreRecycled) {
  std::atomic<std::uint64_t> passed{0};
  QueueOrder queue;
  queue.open(kTaker, &passed, Serial{});
  for (std::uint64_t n = 1; n <= 10 * kRowsMax; ++n) {
    queue.learn(source_at(n), nullptr);
    queue.take();
    for (std::uint64_t open = passed + 1; open <= n; ++open) {
      ASSERT_EQ(known_at(queue, open), open);
    }
    if (n > 20) passed = n - 20;
  }
  queue.close();
}

TEST(QueueTable, FreeSlotsHaveOnlyPassedPoints) {
  const auto table = std::make_unique<QueueTable>();
  EXPECT_TRUE(table->passed(source_at(5)));
  EXPECT_EQ(table->at(kSource), nullptr);
}

// A slot's serials go on where the former queue stopped, whether or not anything of the new queue
// has passed: old points need no wait, new ones do.
TEST(QueueTable, APointOfTheFormerQueueOfASlotHasPassed) {
  const auto table = std::make_unique<QueueTable>();
  QueueOrder taker;
  taker.open(kTaker, nullptr, Serial{});
  QueueOrder former;
  former.open(kSource, nullptr, Serial{});
  const Point old = Point(kSource, former.take());
  table->set(kSource, nullptr);
  former.close();

  QueueOrder next;
  next.open(kSource, nullptr, old.serial());
  table->set(kSource, &next);
  EXPECT_TRUE(table->passed(old));
  next.take();
  EXPECT_FALSE(table->passed(next.tail()));
  EXPECT_TRUE(next.frontier().empty());
  EXPECT_EQ(next.frontier_at(Serial{0}), nullptr);

  PointSet candidates;
  candidates.add(old);
  PointSet waits;
  WaitCounts counts;
  choose_waits(taker, candidates, *table, waits, counts);
  EXPECT_TRUE(waits.empty());
  EXPECT_EQ(counts.passed, 1U);
  taker.close();
  next.close();
}

// The word that the backend raises is what counts.
TEST(QueueTable, APointPassesWithItsQueuesWord) {
  const auto table = std::make_unique<QueueTable>();
  std::atomic<std::uint64_t> passed{0};
  QueueOrder queue;
  queue.open(kSource, &passed, Serial{});
  table->set(kSource, &queue);
  queue.take();
  EXPECT_FALSE(table->passed(source_at(1)));
  passed.store(1, std::memory_order_release);
  EXPECT_TRUE(table->passed(source_at(1)));
  EXPECT_FALSE(table->passed(source_at(2)));
}

}  // namespace
}  // namespace thalweg::order
