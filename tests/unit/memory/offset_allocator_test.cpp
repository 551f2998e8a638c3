// SPDX-License-Identifier: Apache-2.0
//
// The offset allocator against a model that knows the live blocks and nothing else.

#include "thalweg/memory/offset_allocator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support/model/blocks.hpp"
#include "support/program_runner.hpp"
#include "support/random.hpp"
#include "support/refusal.hpp"

namespace thalweg::test {
namespace {

using memory::BlockHandle;
using memory::OffsetAllocator;
using memory::OffsetAllocatorOptions;
using memory::OffsetBlock;
using memory::OffsetSpan;
using ::testing::HasSubstr;

constexpr std::uint64_t kGranule = 256;

OffsetAllocator allocator(std::uint64_t granules, std::uint64_t first_offset = 0) {
  return must(OffsetAllocator::create({granules * kGranule, kGranule, first_offset}));
}

struct Profile {
  const char* name;
  std::uint32_t granules;
  unsigned live_max;
  std::uint32_t size_max;  // Bytes; drawn by octaves.
  unsigned aligned_of_16;  // So many requests of 16 have an alignment.
  unsigned resized_of_4096;
};

void run(const Profile& profile, std::uint64_t seed, unsigned operations) {
  SCOPED_TRACE(std::string(profile.name) + ", seed " + std::to_string(seed));
  Random random(seed);
  const std::uint64_t first = std::uint64_t{random.below(4)} * 1000 * kGranule;
  OffsetAllocator tested = allocator(profile.granules, first);
  model::Blocks model(kGranule, first, profile.granules * kGranule);
  std::vector<OffsetBlock> live;
  std::vector<BlockHandle> gone;
  for (unsigned i = 0; i != operations; ++i) {
    if (random.below(4096) < profile.resized_of_4096) {
      if (random.below(2) == 0) {
        const std::uint64_t more = std::uint64_t{random.below(profile.granules / 4 + 1)} * kGranule;
        ASSERT_TRUE(tested.grow(more));
        model.resize(model.size() + more);
      } else {
        const std::uint64_t keep = random.below(profile.granules * 64 + 1);
        const std::uint64_t end = first + model.size() - model.end();
        const std::uint64_t expected =
            end - std::min(end, (keep + kGranule - 1) / kGranule * kGranule);
        ASSERT_EQ(tested.shrink(keep), expected);
        model.resize(model.size() - expected);
      }
      ASSERT_EQ(tested.size_bytes(), model.size());
    }
    const bool drops = !live.empty() && (live.size() >= profile.live_max || random.below(2) == 0);
    if (drops) {
      const std::size_t at = random.below(static_cast<std::uint32_t>(live.size()));
      ASSERT_TRUE(tested.free(live[at].handle));
      model.remove(live[at].offset, live[at].size_bytes);
      gone.push_back(live[at].handle);
      live[at] = live.back();
      live.pop_back();
    } else {
      const std::uint64_t asked =
          random.below((profile.size_max >> random.below(18)) | 1) + random.below(64);
      const std::uint64_t alignment =
          random.below(16) < profile.aligned_of_16 ? std::uint64_t{1} << random.below(16) : 0;
      const auto block = tested.allocate(asked, alignment);
      if (block) {
        ASSERT_EQ(model.wrong(block->offset, block->size_bytes, asked, alignment), "")
            << asked << " at " << alignment;
        const auto found = tested.find(block->handle);
        ASSERT_TRUE(found);
        ASSERT_EQ(found->offset, block->offset);
        ASSERT_EQ(found->size_bytes, block->size_bytes);
        model.add(block->offset, block->size_bytes);
        live.push_back(*block);
      } else {
        ASSERT_FALSE(model.fits(asked, alignment))
            << "A request is refused that fits: " << asked << " at " << alignment;
      }
    }
    if (!gone.empty() && random.below(64) == 0) {
      const BlockHandle stale = random.pick(gone);
      ASSERT_FALSE(tested.free(stale));
      ASSERT_FALSE(tested.find(stale));
    }
    ASSERT_EQ(tested.live_bytes(), model.live());
    ASSERT_EQ(tested.live_blocks(), live.size());
    if (random.below(operations / 200 + 1) == 0) {
      ASSERT_EQ(tested.fault(), "");
      ASSERT_EQ(tested.largest_free_bytes(), model.largest(kGranule));
      ASSERT_EQ(tested.end_offset(), model.end());
    }
  }
  for (const OffsetBlock& block : live) ASSERT_TRUE(tested.free(block.handle));
  ASSERT_EQ(tested.fault(), "");
  EXPECT_EQ(tested.end_offset(), first);
  EXPECT_EQ(tested.largest_free_bytes(), tested.size_bytes());
}

// A million random operations on ranges that are wide, tight, ragged and that grow and shrink.
TEST(OffsetAllocator, DoesAsTheModelSays) {
  const Profile profiles[] = {
      {"wide", 1u << 22, 1000, 1 << 20, 0, 0},
      {"tight", 4096, 200, 1 << 18, 0, 0},
      {"crumbs", 512, 400, 1 << 12, 0, 0},
      {"aligned", 1u << 14, 200, 1 << 18, 8, 0},
      {"tight and aligned", 1024, 100, 1 << 16, 8, 0},
      {"resized", 2048, 200, 1 << 17, 2, 64},
      {"full", 64, 64, 1 << 9, 4, 0},
  };
  std::uint64_t seed = 1;
  for (const Profile& profile : profiles)
    run(profile, seed++, static_cast<unsigned>(scaled(150'000)));
}

TEST(OffsetAllocator, TakesWhatIsFreeAgain) {
  OffsetAllocator tested = allocator(100);
  const auto a = tested.allocate(10 * kGranule);
  const auto b = tested.allocate(10 * kGranule);
  const auto c = tested.allocate(10 * kGranule);
  ASSERT_TRUE(a && b && c);
  EXPECT_EQ(tested.end_offset(), 30 * kGranule);
  EXPECT_TRUE(tested.free(b->handle));
  const auto again = tested.allocate(10 * kGranule);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->offset, b->offset);
  EXPECT_EQ(tested.end_offset(), 30 * kGranule);
}

// A free block serves its own size, also when it is not at the head of its list.
TEST(OffsetAllocator, AFullListIsSearchedBeforeARequestIsRefused) {
  OffsetAllocator tested = allocator(1000);
  std::vector<OffsetBlock> blocks;
  // 96 and 97 granules are of one class.
  for (const std::uint64_t size : {97, 1, 96, 1, 97, 1, 96, 1})
    blocks.push_back(*tested.allocate(size * kGranule));
  const auto rest = tested.allocate(tested.largest_free_bytes());
  ASSERT_TRUE(rest);
  for (const std::size_t i : {0u, 2u, 4u, 6u}) ASSERT_TRUE(tested.free(blocks[i].handle));
  EXPECT_TRUE(tested.allocate(97 * kGranule));
  EXPECT_TRUE(tested.allocate(97 * kGranule));
  EXPECT_FALSE(tested.allocate(97 * kGranule));
  EXPECT_TRUE(tested.allocate(96 * kGranule));
}

TEST(OffsetAllocator, AHandleIsKnownAsStale) {
  OffsetAllocator tested = allocator(100);
  const auto a = tested.allocate(1);
  EXPECT_TRUE(tested.free(a->handle));
  EXPECT_FALSE(tested.free(a->handle));
  const auto b = tested.allocate(1);
  EXPECT_EQ(b->handle.slot, a->handle.slot);
  EXPECT_FALSE(tested.free(a->handle));
  EXPECT_FALSE(tested.free(BlockHandle{}));
  EXPECT_FALSE(tested.free(BlockHandle{0xffffffff, 1}));
  EXPECT_FALSE(tested.free(BlockHandle{b->handle.slot, b->handle.generation + 1}));
  EXPECT_TRUE(tested.free(b->handle));
}

TEST(OffsetAllocator, OddRequestsAreRefusedAndNothingChanges) {
  OffsetAllocator tested = allocator(100);
  EXPECT_FALSE(tested.allocate(~std::uint64_t{0}));
  EXPECT_FALSE(tested.allocate(100 * kGranule + 1));
  EXPECT_FALSE(tested.allocate(1, 3));
  EXPECT_FALSE(tested.allocate(1, 768));
  EXPECT_TRUE(tested.allocate(1, std::uint64_t{1} << 63)) << "Offset 0 is aligned to anything.";
  EXPECT_FALSE(tested.allocate(1, std::uint64_t{1} << 63));
  EXPECT_EQ(tested.live_blocks(), 1u);
  const auto none = tested.allocate(0);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->size_bytes, kGranule);
  EXPECT_EQ(tested.fault(), "");
}

TEST(OffsetAllocator, AWholeRangeServesARequestOfItsSize) {
  OffsetAllocator tested = must(OffsetAllocator::create(
      {OffsetAllocator::kGranulesMax * kGranule, kGranule, std::uint64_t{1} << 60}));
  const auto all = tested.allocate(tested.size_bytes());
  ASSERT_TRUE(all);
  EXPECT_EQ(all->offset, std::uint64_t{1} << 60);
  EXPECT_FALSE(tested.allocate(1));
  EXPECT_TRUE(tested.free(all->handle));
  const auto high = tested.allocate(tested.size_bytes() - kGranule);
  const auto last = tested.allocate(1);
  ASSERT_TRUE(high && last);
  EXPECT_TRUE(tested.free(high->handle));
  EXPECT_EQ(tested.fault(), "");
}

TEST(OffsetAllocator, WhatCannotBeARangeIsRefused) {
  const auto made = [](const OffsetAllocatorOptions& options) {
    return message(OffsetAllocator::create(options));
  };
  EXPECT_THAT(made({1024, 100, 0}), HasSubstr("granule of 100 bytes"));
  EXPECT_THAT(made({1024, 0, 0}), HasSubstr("granule of 0 bytes"));
  EXPECT_THAT(made({1000, 256, 0}), HasSubstr("1000 bytes"));
  EXPECT_THAT(made({1024, 256, 100}), HasSubstr("offset 100"));
  EXPECT_THAT(made({std::uint64_t{1} << 40, 256, 0}), HasSubstr("4294967296 granules"));
  EXPECT_THAT(made({1024, 256, ~std::uint64_t{0} - 255}), HasSubstr("64 bits"));
  OffsetAllocator tested = allocator(1);
  EXPECT_EQ(refusal(tested.grow(1)), "invalid_size");
  EXPECT_EQ(refusal(tested.grow(~std::uint64_t{0} - 255)), "invalid_size");
  EXPECT_EQ(tested.size_bytes(), kGranule);
  EXPECT_TRUE(tested.allocate(1));
}

TEST(OffsetAllocator, ShowsItsBlocksByRisingOffset) {
  OffsetAllocator tested = allocator(100, 512);
  const auto a = tested.allocate(10 * kGranule);
  const auto b = tested.allocate(20 * kGranule);
  EXPECT_TRUE(tested.free(a->handle));
  std::vector<OffsetSpan> spans;
  tested.for_each([&spans](const OffsetSpan& span) { spans.push_back(span); });
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_FALSE(spans[0].live);
  EXPECT_EQ(spans[0].offset, 512u);
  EXPECT_EQ(spans[0].size_bytes, 10 * kGranule);
  EXPECT_TRUE(spans[1].live);
  EXPECT_EQ(spans[1].handle, b->handle);
  EXPECT_FALSE(spans[2].live);
  EXPECT_EQ(spans[2].offset, 512 + 30 * kGranule);
}

// What is known of live blocks by their owner: they are cut, joined, and free bytes are had by
// place.
TEST(OffsetAllocator, LiveBlocksAreCutAndJoined) {
  OffsetAllocator tested = allocator(100);
  const auto block = tested.allocate(30 * kGranule);
  ASSERT_TRUE(block && tested.make_room(8));
  const OffsetBlock rest = tested.split(block->handle, 10 * kGranule);
  EXPECT_EQ(rest.offset, block->offset + 10 * kGranule);
  EXPECT_EQ(rest.size_bytes, 20 * kGranule);
  EXPECT_EQ(tested.find(block->handle)->size_bytes, 10 * kGranule);
  EXPECT_EQ(tested.live_blocks(), 2u);
  EXPECT_EQ(tested.live_bytes(), 30 * kGranule);
  EXPECT_EQ(tested.fault(), "");
  tested.join(block->handle, rest.handle);
  EXPECT_FALSE(tested.free(rest.handle));
  EXPECT_EQ(tested.find(block->handle)->size_bytes, 30 * kGranule);
  EXPECT_EQ(tested.live_blocks(), 1u);
  EXPECT_EQ(tested.fault(), "");
  // Of the end, with a gap before it, and of a hole.
  std::optional<OffsetSpan> span;
  const auto last = [&] { tested.for_each([&](const OffsetSpan& each) { span = each; }); };
  last();
  const OffsetBlock far = tested.claim(*span, 50 * kGranule, 10 * kGranule);
  EXPECT_EQ(far.offset, 50 * kGranule);
  EXPECT_EQ(tested.fault(), "");
  tested.for_each([&](const OffsetSpan& each) {
    if (!each.live && each.offset < far.offset) span = each;
  });
  const OffsetBlock middle = tested.claim(*span, 35 * kGranule, 5 * kGranule);
  EXPECT_EQ(middle.offset, 35 * kGranule);
  EXPECT_EQ(middle.size_bytes, 5 * kGranule);
  EXPECT_EQ(tested.largest_free_bytes(), 40 * kGranule);
  EXPECT_EQ(tested.fault(), "");
  for (const BlockHandle handle : {block->handle, far.handle, middle.handle})
    EXPECT_TRUE(tested.free(handle));
  EXPECT_EQ(tested.end_offset(), 0u);
  EXPECT_EQ(tested.fault(), "");
}

}  // namespace
}  // namespace thalweg::test
