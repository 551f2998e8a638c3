// SPDX-License-Identifier: Apache-2.0
//
// Room: bytes that are taken until their serial has passed.

#include "runtime/room.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace thalweg::test {
namespace {

using runtime::Room;

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

TEST(Room, ATaskHasAFixedSizeAndWhatItBrings) {
  EXPECT_EQ(Room::size_of(0), StreamOptions::kRoomTaskBytes);
  EXPECT_EQ(Room::size_of(24), StreamOptions::kRoomTaskBytes + 24);
  EXPECT_EQ(Room::size_of(kMax), kMax);
  EXPECT_EQ(Room::size_of(kMax - StreamOptions::kRoomTaskBytes), kMax);
}

// To the last byte, and not one more; what has passed is free again.
TEST(Room, FitsUpToTheLimit) {
  Room room(100);
  EXPECT_TRUE(room.fits(100));
  room.add(Serial{5}, 60);
  EXPECT_TRUE(room.fits(40));
  EXPECT_FALSE(room.fits(41));
  EXPECT_FALSE(room.fits(kMax));
  room.add(Serial{6}, 40);
  EXPECT_EQ(room.taken_bytes(), 100U);
  EXPECT_FALSE(room.fits(1));
  room.pass(Serial{4});
  EXPECT_FALSE(room.fits(1));
  room.pass(Serial{5});
  EXPECT_EQ(room.taken_bytes(), 40U);
  EXPECT_TRUE(room.fits(60));
  room.pass(Serial{9});
  EXPECT_EQ(room.taken_bytes(), 0U);
}

// More than the limit fits where nothing is taken, and then nothing else does until it has passed.
TEST(Room, TakesATaskAboveTheLimitAlone) {
  Room room(100);
  EXPECT_TRUE(room.fits(kMax));
  room.add(Serial{1}, 1000);
  EXPECT_FALSE(room.fits(0));
  EXPECT_EQ(room.fits_after(1), Serial{1});
  room.pass(Serial{1});
  EXPECT_TRUE(room.fits(kMax));
}

// The first serial behind which there is enough, and the last for what is above the limit.
TEST(Room, SaysBehindWhichSerialATaskFits) {
  Room room(100);
  EXPECT_EQ(room.fits_after(kMax), Serial{});
  for (std::uint64_t i = 1; i <= 4; ++i) room.add(Serial{10 * i}, 25);
  EXPECT_EQ(room.fits_after(1), Serial{10});
  EXPECT_EQ(room.fits_after(25), Serial{10});
  EXPECT_EQ(room.fits_after(26), Serial{20});
  EXPECT_EQ(room.fits_after(100), Serial{40});
  EXPECT_EQ(room.fits_after(101), Serial{40});
  room.pass(Serial{25});
  EXPECT_EQ(room.fits_after(50), Serial{});
  EXPECT_EQ(room.fits_after(51), Serial{30});
}

}  // namespace
}  // namespace thalweg::test
