// SPDX-License-Identifier: Apache-2.0
//
// The plain values of base: grids, accesses, ids, deadlines, priorities.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <thread>
#include <unordered_set>
#include <vector>

#include "thalweg/base/access.hpp"
#include "thalweg/base/clock.hpp"
#include "thalweg/base/grid.hpp"
#include "thalweg/base/ids.hpp"
#include "thalweg/base/priority.hpp"

namespace thalweg::test {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

// A grid is as wide as what it was made of, whatever the integers' types, and 1 where nothing is
// said.
TEST(Grid, IsMadeOfOneTwoOrThreeCounts) {
  EXPECT_EQ(Grid(5).extent(), (Extent{5, 1, 1}));
  EXPECT_EQ(Grid(5U, std::int8_t{2}).extent(), (Extent{5, 2, 1}));
  EXPECT_EQ(Grid(std::uint64_t{5}, 2, 3L).extent(), (Extent{5, 2, 3}));
  EXPECT_EQ(Grid(Extent{0, 4, 1}).extent(), (Extent{0, 4, 1}));
  EXPECT_EQ(Grid(kMax).extent().x, kMax);
  EXPECT_FALSE(Grid(kMax).negative());
}

// A count below zero in any place marks the grid; one that merely looks large does not.
TEST(Grid, RemembersNegativeCounts) {
  EXPECT_TRUE(Grid(-1).negative());
  EXPECT_TRUE(Grid(4, -1).negative());
  EXPECT_TRUE(Grid(-4, 1).negative());
  EXPECT_TRUE(Grid(4, 4, std::int64_t{-1}).negative());
  EXPECT_TRUE(Grid(std::numeric_limits<std::int64_t>::min()).negative());
  EXPECT_FALSE(Grid(0, 0, 0).negative());
}

// The call site of a launch is where its grid was written.
TEST(Grid, CarriesTheCallSite) {
  const Grid grid(4);
  EXPECT_EQ(grid.site().line(), std::source_location::current().line() - 1);
}

// end() is one past the last row's last byte: the pitch counts between rows only.
TEST(Access, EndIsOnePastTheLastRow) {
  Access access;
  access.offset = 100;
  access.row_bytes = 10;
  EXPECT_EQ(access.end(), 110U);
  access.pitch = 64;
  EXPECT_EQ(access.end(), 110U);
  access.rows = 3;
  EXPECT_EQ(access.end(), 100U + 2 * 64 + 10);
  access.rows = 0;
  EXPECT_EQ(access.end(), 100U);
  access.rows = 3;
  access.row_bytes = 0;
  EXPECT_EQ(access.end(), 100U + 2 * 64);
}

// Everything but a read counts as writing, and an address is the allocation's and the offset.
TEST(Access, OnlyAReadDoesNotWrite) {
  Allocation allocation;
  allocation.address = 4096;
  Access access;
  access.allocation = &allocation;
  access.offset = 12;
  EXPECT_EQ(access.address(), 4108U);
  EXPECT_FALSE(access.writes());
  for (const AccessMode mode : {AccessMode::write, AccessMode::read_write, AccessMode::token}) {
    access.mode = mode;
    EXPECT_TRUE(access.writes());
  }
}

// Eight threads make ids at once: none is made twice, and none is the one that names nothing.
TEST(Ids, AreUniqueAcrossThreads) {
  constexpr std::size_t kEach = 2000;
  std::array<std::vector<std::uint64_t>, 8> made;
  std::vector<std::thread> threads;
  for (auto& list : made)
    threads.emplace_back([&list] {
      for (std::size_t i = 0; i != kEach; ++i)
        list.push_back(i % 2 == 0 ? make_id<QueueId>().value : make_id<AllocationId>().value);
    });
  for (std::thread& thread : threads) thread.join();
  std::unordered_set<std::uint64_t> all;
  for (const auto& list : made) {
    EXPECT_TRUE(std::is_sorted(list.begin(), list.end()));
    all.insert(list.begin(), list.end());
  }
  EXPECT_EQ(all.size(), made.size() * kEach);
  EXPECT_EQ(all.count(0), 0U);
  EXPECT_FALSE(QueueId());
}

// No deadline waits without limit; zero and less are deadlines too.
TEST(Deadline, HoldsWhatItIsGiven) {
  EXPECT_FALSE(Deadline().within());
  EXPECT_EQ(Deadline(std::chrono::milliseconds(2)).within()->count(), 2'000'000);
  EXPECT_EQ(Deadline(std::chrono::nanoseconds(0)).within()->count(), 0);
  EXPECT_LT(Deadline(std::chrono::seconds(-1)).within()->count(), 0);
}

// The idiom for "for ever", in a unit whose largest value is more nanoseconds than there are, must
// not wrap around and become a deadline that is over already.
TEST(Deadline, TheLargestDurationOfAnyUnitIsNotOver) {
  const auto lasts = [](const Deadline& deadline) {
    return !deadline.within() || deadline.within()->count() > 0;
  };
  EXPECT_TRUE(lasts(Deadline(std::chrono::nanoseconds::max())));
  EXPECT_TRUE(lasts(Deadline(std::chrono::microseconds::max())));
  EXPECT_TRUE(lasts(Deadline(std::chrono::milliseconds::max())));
  EXPECT_TRUE(lasts(Deadline(std::chrono::seconds::max())));
  EXPECT_TRUE(lasts(Deadline(std::chrono::hours::max())));
  EXPECT_TRUE(lasts(Deadline(std::chrono::duration<double>(1e30))));
  EXPECT_FALSE(lasts(Deadline(std::chrono::hours::min())));
}

// The default range holds 0 alone; greater priorities have lower numbers.
TEST(PriorityRange, ContainsFromGreatestToLeast) {
  EXPECT_TRUE(PriorityRange().contains(0));
  EXPECT_FALSE(PriorityRange().contains(1));
  constexpr PriorityRange range{1, -1};
  EXPECT_TRUE(range.contains(-1) && range.contains(0) && range.contains(1));
  EXPECT_FALSE(range.contains(-2) || range.contains(2));
}

}  // namespace
}  // namespace thalweg::test
