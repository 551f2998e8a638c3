// SPDX-License-Identifier: Apache-2.0
//
// Points, sets of points and frontiers as values.

#include "thalweg/order/point.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "thalweg/order/frontier.hpp"

namespace thalweg::order {
namespace {

Point point(QueueIndex queue, std::uint64_t serial) { return Point(queue, Serial{serial}); }

std::vector<Point> members(const PointSet& set) { return {set.begin(), set.end()}; }

// One word must give both numbers back, up to the greatest of each.
TEST(Point, HoldsTheGreatestQueueAndSerial) {
  const Point greatest = point(0xffff, kSerialMax);
  EXPECT_EQ(greatest.queue(), 0xffff);
  EXPECT_EQ(greatest.serial().value, kSerialMax);
}

// Serial 0 is before the first thing of whatever queue.
TEST(Point, OfSerialZeroIsNone) {
  EXPECT_TRUE(Point().none());
  EXPECT_TRUE(point(7, 0).none());
  EXPECT_FALSE(point(0, 1).none());
}

// The later point of a queue says it all; the order of adding does not show.
TEST(PointSet, KeepsTheLatestPointOfEachQueueInOrder) {
  PointSet set;
  for (const Point added : {point(5, 2), point(1, 9), point(5, 7), point(1, 3), point(9, 0)}) {
    set.add(added);
  }
  EXPECT_EQ(members(set), (std::vector<Point>{point(1, 9), point(5, 7)}));
}

// More queues than fit inline, added from both ends.
TEST(PointSet, GrowsAndKeepsItsRoom) {
  PointSet set;
  for (QueueIndex i = 0; i != 50; ++i) {
    set.add(point(static_cast<QueueIndex>(100 - i), 1));
    set.add(point(static_cast<QueueIndex>(200 + i), 1));
  }
  ASSERT_EQ(set.size(), 100U);
  EXPECT_TRUE(std::is_sorted(set.begin(), set.end()));
  const Point* const room = set.begin();
  set.clear();
  set.add(point(3, 3));
  EXPECT_EQ(set.begin(), room);
}

// Copies and moves, small and large, into small and large ones.
TEST(PointSet, CopiesAndMovesByValue) {
  constexpr QueueIndex kCounts[] = {0, 3, 10};
  for (const QueueIndex from : kCounts) {
    for (const QueueIndex to : kCounts) {
      PointSet source;
      for (QueueIndex i = 0; i != from; ++i) source.add(point(i, 5));
      PointSet copied;
      for (QueueIndex i = 0; i != to; ++i) copied.add(point(i, 6));
      PointSet moved = copied;
      const std::vector<Point> expected = members(source);

      copied = source;
      EXPECT_EQ(members(copied), expected);
      moved = std::move(copied);
      EXPECT_EQ(members(moved), expected);
      EXPECT_EQ(moved, source);
      copied = moved;
      EXPECT_EQ(members(copied), expected);
    }
  }
}

TEST(PointSet, RemovesWhatThePredicateNames) {
  PointSet set;
  for (QueueIndex i = 0; i != 6; ++i) set.add(point(i, 1));
  set.remove_if([](Point p) { return p.queue() % 2 == 0; });
  EXPECT_EQ(members(set), (std::vector<Point>{point(1, 1), point(3, 1), point(5, 1)}));
}

// A frontier is as wide as what it knows, and no point is covered by an empty one.
TEST(Frontier, CoversUpToItsSerialsAndNothingElse) {
  Frontier frontier;
  EXPECT_TRUE(frontier.covers(Point()));
  EXPECT_FALSE(frontier.covers(point(2, 1)));
  frontier.raise(point(2, 5));
  EXPECT_EQ(frontier.width(), 3U);
  EXPECT_TRUE(frontier.covers(point(2, 5)));
  EXPECT_FALSE(frontier.covers(point(2, 6)));
  EXPECT_FALSE(frontier.covers(point(1, 1)));
  EXPECT_FALSE(frontier.covers(point(0xffff, 1)));
}

TEST(Frontier, NeverGoesDown) {
  Frontier frontier;
  frontier.raise(point(1, 5));
  frontier.raise(point(1, 3));
  Frontier other;
  other.raise(point(1, 4));
  other.raise(point(3, 2));
  frontier.merge(other);
  frontier.merge(Frontier());
  EXPECT_EQ(frontier.of(1).value, 5U);
  EXPECT_EQ(frontier.of(3).value, 2U);
  EXPECT_EQ(frontier.width(), 4U);
}

}  // namespace
}  // namespace thalweg::order
