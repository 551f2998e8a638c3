// SPDX-License-Identifier: Apache-2.0
//
// Memory of a simulated device: what is handed out does not overlap, and comes at the same offsets
// each time.

#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <vector>

#include "backends/sim/storage.hpp"
#include "support/random.hpp"

namespace thalweg::sim {
namespace {

using test::Random;

constexpr std::uint64_t kLimit = std::uint64_t{1} << 20;
constexpr std::uint64_t kPage = backend::kAlignmentBytesMax;

// Takes and gives at random; the offsets of all that was taken, in order.
std::vector<std::uint64_t> use_at_random(Arena& arena, std::uint64_t seed) {
  Random random(seed);
  std::map<std::uint64_t, std::uint64_t> taken;  // Offset and size.
  std::vector<std::uint64_t> offsets;
  std::uint64_t alive = 0;
  for (int i = 0; i != 500; ++i) {
    if (!taken.empty() && random.chance(45)) {
      const auto at =
          std::next(taken.begin(), random.below(static_cast<std::uint32_t>(taken.size())));
      const std::uint64_t address = arena.first() + at->first;
      EXPECT_FALSE(arena.give(address, at->second + 256));
      EXPECT_TRUE(arena.give(address, at->second));
      EXPECT_FALSE(arena.give(address, at->second)) << "A double release.";
      alive -= at->second;
      taken.erase(at);
      continue;
    }
    const std::uint64_t size =
        random.chance(70) ? random.between(1, 16) * 256ULL : random.between(1, 5) * kPage;
    std::byte* const memory = arena.take(size);
    if (memory == nullptr) continue;
    EXPECT_EQ(memory[0], std::byte{0xcd});
    EXPECT_EQ(memory[size - 1], std::byte{0xcd});
    memory[0] = memory[size - 1] = std::byte{1};
    const std::uint64_t offset = reinterpret_cast<std::uint64_t>(memory) - arena.first();
    EXPECT_EQ(offset % (size >= kPage ? kPage : 256), 0U);
    EXPECT_LE(offset + size + Arena::kGapBytes, arena.size_bytes());
    const auto next = taken.lower_bound(offset);
    EXPECT_TRUE(next == taken.end() || offset + size + Arena::kGapBytes <= next->first);
    EXPECT_TRUE(next == taken.begin() ||
                std::prev(next)->first + std::prev(next)->second + Arena::kGapBytes <= offset);
    taken.emplace(offset, size);
    offsets.push_back(offset);
    alive += size;
    EXPECT_EQ(arena.alive_bytes(), alive);
    EXPECT_GE(arena.used_bytes(), offset + size);
  }
  for (const auto& [offset, size] : taken) EXPECT_TRUE(arena.give(arena.first() + offset, size));
  EXPECT_EQ(arena.alive_bytes(), 0U);
  return offsets;
}

TEST(Arena, BytesHaveOneOwnerAndTheSameOffsetsEachTime) {
  std::vector<std::vector<std::uint64_t>> first;
  for (int round = 0; round != 3; ++round) {
    for (std::uint64_t seed = 1; seed != 20; ++seed) {
      const auto arena =
          Arena::create(kLimit, seed % 2 == 0 ? MemoryKind::host : MemoryKind::device);
      ASSERT_NE(arena, nullptr);
      const std::vector<std::uint64_t> offsets = use_at_random(*arena, seed);
      if (round == 0) {
        first.push_back(offsets);
      } else {
        EXPECT_EQ(offsets, first.at(seed - 1));
      }
    }
  }
}

TEST(Arena, WhatWasGivenBackCanBeTakenInOnePieceAgain) {
  const auto arena = Arena::create(4 * kPage, MemoryKind::device);
  ASSERT_NE(arena, nullptr);
  std::vector<std::byte*> pages;
  for (int i = 0; i != 4; ++i) pages.push_back(arena->take(kPage));
  const std::uint64_t used = arena->used_bytes();
  EXPECT_EQ(arena->take(arena->size_bytes()), nullptr);
  for (const int i : {0, 2, 1, 3})
    EXPECT_TRUE(
        arena->give(reinterpret_cast<std::uint64_t>(pages.at(static_cast<std::size_t>(i))), kPage));
  EXPECT_EQ(arena->take(4 * kPage), pages[0]);
  EXPECT_EQ(arena->used_bytes(), used);
}

TEST(Arena, WhatNobodyTookIsNotGivenBack) {
  const auto arena = Arena::create(kLimit, MemoryKind::device);
  ASSERT_NE(arena, nullptr);
  std::byte* const memory = arena->take(1024);
  const auto address = reinterpret_cast<std::uint64_t>(memory);
  EXPECT_FALSE(arena->give(address + 256, 256));
  EXPECT_FALSE(arena->give(address - 256, 256));
  EXPECT_FALSE(arena->give(address, 512));
  EXPECT_TRUE(arena->contains(address));
  EXPECT_FALSE(arena->contains(arena->first() + arena->size_bytes()));
  EXPECT_FALSE(arena->contains(arena->first() - 1));
}

}  // namespace
}  // namespace thalweg::sim
