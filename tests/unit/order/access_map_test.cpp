// SPDX-License-Identifier: Apache-2.0
//
// What an access map answers for given histories; random ones are in random_programs_test.cpp.

#include "thalweg/order/access_map.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "unit/order/world.hpp"

namespace thalweg::test {
namespace {

using order::AccessMap;
using order::Point;
using order::PointSet;
using order::QueueIndex;

Access part(Buffer& buffer, std::uint64_t offset, std::uint64_t bytes, AccessMode mode) {
  return Access{&buffer, offset, bytes, 1, 0, mode};
}

class AccessMapTest : public testing::Test {
 protected:
  Buffer& buffer(std::size_t size_bytes) {
    return world_.add_buffer(&world_.add_block(size_bytes), size_bytes, 0);
  }

  std::vector<Point> conflicts(const Access& access) {
    PointSet found;
    static_cast<Buffer*>(access.allocation)->map.collect(access, found);
    return {found.begin(), found.end()};
  }

  using Points = std::vector<Point>;

  World world_{WorldOptions{.queues = 8, .passing = true, .start = Serial{}}};
};

TEST_F(AccessMapTest, AReadConflictsWithTheWriteAndAWriteWithTheReadsToo) {
  Buffer& b = buffer(100);
  const Point write = world_.submit(0, {World::write(b)});
  const Point read = world_.submit(1, {World::read(b)});
  EXPECT_EQ(conflicts(World::read(b)), (Points{write}));
  EXPECT_EQ(conflicts(World::write(b)), (Points{write, read}));
  EXPECT_EQ(conflicts(part(b, 10, 1, AccessMode::read_write)), (Points{write, read}));
}

// The reads of one range: a later one of the same queue, and one ordered after others, replace
// them.
TEST_F(AccessMapTest, ReadsAreAnAntichain) {
  Buffer& b = buffer(100);
  world_.submit(1, {World::read(b)});
  world_.submit(2, {World::read(b)});
  const Point again = world_.submit(1, {World::read(b)});
  PointSet before;
  before.add(again);
  world_.wait(3, before);
  const Point after = world_.submit(3, {World::read(b)});
  EXPECT_EQ(conflicts(World::write(b)), (Points{Point(2, Serial{1}), after}));
}

// More readers than fit inline, and back.
TEST_F(AccessMapTest, ManyReadersAreAllKept) {
  Buffer& b = buffer(100);
  for (QueueIndex q = 0; q != 8; ++q) world_.submit(q, {World::read(b)});
  EXPECT_EQ(conflicts(World::write(b)).size(), 8U);
  const Point write = world_.submit(0, {World::write(b)});
  EXPECT_EQ(conflicts(World::write(b)), (Points{write}));
}

TEST_F(AccessMapTest, OnlyTheBytesTouchedConflict) {
  Buffer& b = buffer(100);
  const Point left = world_.submit(0, {part(b, 0, 50, AccessMode::write)});
  const Point right = world_.submit(1, {part(b, 50, 50, AccessMode::write)});
  EXPECT_EQ(conflicts(part(b, 0, 50, AccessMode::read)), (Points{left}));
  EXPECT_EQ(conflicts(part(b, 49, 1, AccessMode::read)), (Points{left}));
  EXPECT_EQ(conflicts(part(b, 50, 1, AccessMode::read)), (Points{right}));
  EXPECT_EQ(conflicts(part(b, 49, 2, AccessMode::read)), (Points{left, right}));
}

// One write of everything makes one range of many.
TEST_F(AccessMapTest, AWriteOfEverythingGoesBackToOneRange) {
  Buffer& b = buffer(100);
  for (std::uint64_t i = 0; i != 10; ++i) {
    world_.submit(static_cast<QueueIndex>(i % 3), {part(b, 10 * i, 5, AccessMode::write)});
  }
  EXPECT_EQ(b.map.ranges(), 20U);
  world_.submit(0, {World::write(b)});
  EXPECT_EQ(b.map.ranges(), 1U);
}

// Four rows of 2 bytes, 10 apart: the gaps are not touched.
TEST_F(AccessMapTest, RowsWithGapsTouchTheirBytesOnly) {
  Buffer& b = buffer(100);
  const Access rows{&b, 3, 2, 4, 10, AccessMode::write};
  const Point write = world_.submit(0, {rows});
  for (std::uint64_t byte = 0; byte != 100; ++byte) {
    const bool touched = byte < 43 && (byte % 10 == 3 || byte % 10 == 4);
    EXPECT_EQ(conflicts(part(b, byte, 1, AccessMode::read)), touched ? Points{write} : Points{})
        << byte;
  }
  const Access between{&b, 5, 8, 4, 10, AccessMode::write};
  EXPECT_TRUE(conflicts(between).empty());
}

TEST_F(AccessMapTest, RowsWithoutGapsAreOneRange) {
  Buffer& b = buffer(100);
  world_.submit(0, {Access{&b, 0, 10, 10, 10, AccessMode::write}});
  EXPECT_EQ(b.map.ranges(), 1U);
}

// Above 64 rows the gaps count as touched: more order, never less.
TEST_F(AccessMapTest, VeryManyRowsCountAsAllBetween) {
  Buffer& b = buffer(1000);
  const Point write = world_.submit(0, {Access{&b, 100, 1, 65, 2, AccessMode::write}});
  EXPECT_EQ(conflicts(part(b, 101, 1, AccessMode::read)), (Points{write}));
  EXPECT_TRUE(conflicts(part(b, 229, 1, AccessMode::read)).empty());
}

// Tokens order with tokens everywhere in the allocation, and with the accesses of their own range.
TEST_F(AccessMapTest, TokensOrderWithTokensAndWithTheirRange) {
  Buffer& b = buffer(100);
  const Point none = world_.submit(0, {part(b, 0, 0, AccessMode::token)});
  const Point write = world_.submit(1, {part(b, 0, 50, AccessMode::write)});
  EXPECT_EQ(conflicts(part(b, 0, 0, AccessMode::token)), (Points{none}));
  EXPECT_EQ(conflicts(part(b, 60, 10, AccessMode::token)), (Points{none}));
  EXPECT_EQ(conflicts(World::token(b)), (Points{none, write}));
  EXPECT_EQ(conflicts(World::read(b)), (Points{write}));

  const Point all = world_.submit(2, {World::token(b)});
  EXPECT_EQ(conflicts(World::read(b)), (Points{all}));
}

TEST_F(AccessMapTest, TokensWorkOnAnAllocationWithoutBytes) {
  Buffer& b = world_.add_buffer(nullptr, 0, 0);
  const Point first = world_.submit(0, {World::token(b)});
  EXPECT_EQ(conflicts(World::token(b)), (Points{first}));
  EXPECT_TRUE(conflicts(World::write(b)).empty());
  PointSet left;
  b.map.points(left, world_.table());
  EXPECT_TRUE(left.empty());
}

// An access of no bytes touches nothing, wherever it points.
TEST_F(AccessMapTest, AnAccessOfNoBytesOrdersNothing) {
  Buffer& b = buffer(100);
  world_.submit(0, {World::write(b)});
  EXPECT_TRUE(conflicts(part(b, 100, 0, AccessMode::write)).empty());
  EXPECT_TRUE(conflicts(Access{&b, 0, 10, 0, 10, AccessMode::write}).empty());
  world_.submit(1, {part(b, 40, 0, AccessMode::write)});
  EXPECT_EQ(b.map.ranges(), 1U);
}

// A birth is a write of everything: what a new buffer's first users must be ordered after.
TEST_F(AccessMapTest, ABirthIsAWriteOfAllBytes) {
  Buffer& b = buffer(100);
  const Point birth = world_.submit_empty(0);
  b.map.set_birth(birth);
  EXPECT_EQ(conflicts(part(b, 99, 1, AccessMode::read)), (Points{birth}));
}

// 256 tiles, each read by some queues and written by one: ranges are joined, and no point gets
// lost.
TEST_F(AccessMapTest, JoiningManyRangesLosesNoPoint) {
  Buffer& b = buffer(256);
  for (std::uint64_t i = 0; i != 256; ++i) {
    const std::uint64_t tile = i * 37 % 256;
    const auto writer = static_cast<QueueIndex>(tile % 2);
    world_.submit(writer, {part(b, tile, 1, AccessMode::read_write)});
    const auto reader = static_cast<QueueIndex>(2 + tile % 5);
    world_.submit(reader, {part(b, tile, 1, AccessMode::read)});
    EXPECT_LE(b.map.ranges(), order::kRangesMax);
  }
  for (std::uint64_t i = 0; i != 256; ++i) {
    world_.submit(7, {part(b, i, 1, i % 2 == 0 ? AccessMode::read : AccessMode::write)});
  }
  EXPECT_EQ(world_.findings().unordered, 0U);
}

// Even bytes last written by one queue and odd ones by another: joined ranges hold two writes each,
// and so does the one range that is left when all are alike.
TEST_F(AccessMapTest, OneJoinedRangeMayHoldSeveralWrites) {
  Buffer& b = buffer(120);
  const Point even = world_.submit(0, {Access{&b, 0, 1, 60, 2, AccessMode::write}});
  const Point odd = world_.submit(1, {Access{&b, 1, 1, 60, 2, AccessMode::write}});
  EXPECT_EQ(b.map.ranges(), 1U);
  EXPECT_EQ(conflicts(part(b, 7, 1, AccessMode::read)), (Points{even, odd}));
  const Point read = world_.submit(2, {World::read(b)});
  EXPECT_EQ(conflicts(World::write(b)), (Points{even, odd, read}));
}

// The same on the path of a queue that is at home everywhere.
TEST_F(AccessMapTest, TheHomePathJoinsToo) {
  World world(WorldOptions{.queues = 2, .home_path = true, .start = Serial{}});
  Buffer& b = world.add_buffer(&world.add_block(256), 256, 0);
  for (std::uint64_t i = 0; i != 1000; ++i) {
    world.submit(0, {part(b, i * 37 % 256, 1, AccessMode::read_write)});
    EXPECT_LE(b.map.ranges(), order::kRangesMax);
  }
  world.submit(1, {World::read(b)});
  EXPECT_EQ(world.findings().unordered, 0U);
  EXPECT_EQ(world.findings().waits, 1U);
}

// Readers of which all but the last few have passed make room.
TEST_F(AccessMapTest, PassedPointsAreFoldedAway) {
  Buffer& b = buffer(100);
  world_.submit(0, {World::write(b)});
  ASSERT_TRUE(world_.pass(0));
  for (QueueIndex q = 1; q != 8; ++q) {
    world_.submit(q, {World::read(b)});
    EXPECT_TRUE(conflicts(World::read(b)).empty());
    ASSERT_TRUE(world_.pass(q));
  }
  EXPECT_LE(conflicts(World::write(b)).size(), 4U);
  PointSet left;
  b.map.points(left, world_.table());
  EXPECT_TRUE(left.empty());
}

// Ranges that differ only in what has passed become one.
TEST_F(AccessMapTest, PassedRangesAreJoined) {
  Buffer& b = buffer(100);
  for (std::uint64_t i = 0; i != 50; ++i) {
    const auto queue = static_cast<QueueIndex>(i % 2);
    world_.submit(queue, {part(b, 2 * i, 1, AccessMode::write)});
    ASSERT_TRUE(world_.pass(queue));
    EXPECT_LE(b.map.ranges(), 20U);
  }
}

// The record of a buffer is made anew for the next allocation.
TEST_F(AccessMapTest, ResetForgetsTheFormerAllocation) {
  Buffer& b = buffer(100);
  world_.submit(0, {part(b, 10, 10, AccessMode::write), part(b, 0, 0, AccessMode::token)});
  b.map.reset(50);
  EXPECT_EQ(b.map.size_bytes(), 50U);
  EXPECT_EQ(b.map.ranges(), 1U);
  EXPECT_TRUE(conflicts(part(b, 0, 50, AccessMode::token)).empty());
}

}  // namespace
}  // namespace thalweg::test
