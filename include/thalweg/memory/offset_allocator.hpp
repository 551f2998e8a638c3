// SPDX-License-Identifier: Apache-2.0
//
// thalweg/memory/offset_allocator.hpp - cuts a range of numbers into blocks, in constant time.
//
// It touches no memory but its own: what the numbers are offsets of is the caller's. The range is
// an unbroken row of blocks, each live or free, and two free ones are never neighbours:
//
//   0                                                                   size
//   | live    | free   | live | live  | free            | live | the end (free) |
//
// Sizes are in granules, and rounded up. Free blocks are in lists by size: 32 classes an octave,
// and each of those for the lower and the upper half of what is in use, so that what is far up gets
// the chance to empty. The lists' heads are found by two levels of bitmaps:
//
//   allocate   the head of the request's own class if it fits, lower half first; else the first
//              list with anything larger; else the end. What is left over is free again, unless it
//              is a thirty-second of the request or less: then the block keeps it.
//   free       merges with its neighbours at once.
//
// The end is in no list and is taken last; so the range may grow there at any time, and shrink.
// Before a request is refused the lists are searched to their ends: a free block of its size
// serves.
//
// Source of the design: segregated fit in two levels (Masmano and others, TLSF, 2004); the zones,
// the end outside the lists and the padding were measured (bench/allocator).
//
// Threads:    external synchronization.
// Ownership:  a block belongs to whoever allocated it. A handle that is no longer valid is known as
//             such until its slot has been used 2^31 times more.
// Errors:     as each function says. Allocates on the host only to make room for more blocks than
//             there ever were.
// Cost:       allocate and free are constant, but for the search before a refusal and for
// alignments
//             above the granule.

#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/base/export.hpp"
#include "thalweg/base/result.hpp"

namespace thalweg::memory {

// Which block: its slot, and how often that was used.
struct BlockHandle {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;

  friend bool operator==(const BlockHandle&, const BlockHandle&) noexcept = default;
};

struct OffsetBlock {
  BlockHandle handle;
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;  // At least what was asked for.
};

// A block as for_each() shows it; the handle of a free one is not valid.
struct OffsetSpan {
  BlockHandle handle;
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;
  bool live = false;
};

struct OffsetAllocatorOptions {
  std::uint64_t size_bytes = 0;       // A multiple of the granule; may be 0 and grow.
  std::uint64_t granule_bytes = 256;  // A power of two: what sizes and offsets are multiples of.
  std::uint64_t first_offset = 0;     // Where the range begins; a multiple of the granule.
};

class THALWEG_EXPORT OffsetAllocator {
 public:
  // Granules that a range may have.
  static constexpr std::uint64_t kGranulesMax = (std::uint64_t{1} << 32) - 1;

  // Errors: invalid_argument, for a granule that is no power of two; invalid_size, for a size or an
  //         offset that is no multiple of it, and for a range of more than kGranulesMax granules or
  //         that does not end within 64 bits.
  static Result<OffsetAllocator> create(const OffsetAllocatorOptions& options);

  OffsetAllocator(OffsetAllocator&&) noexcept = default;
  OffsetAllocator& operator=(OffsetAllocator&&) noexcept = default;

  // A block of at least `size_bytes`, at least one granule, whose offset is a multiple of
  // `alignment_bytes`; 0 stands for the granule. None: no free block holds it, or the alignment is
  // no power of two.
  std::optional<OffsetBlock> allocate(std::uint64_t size_bytes, std::uint64_t alignment_bytes = 0);

  // False, and nothing has changed: the handle is of no live block.
  bool free(BlockHandle handle) noexcept;

  // For whoever knows more of live blocks than this does. They ask for room for the blocks they
  // make first: false when the host has no memory for so many.
  bool make_room(std::size_t blocks);

  // Cuts a live block: it keeps `size_bytes`, and the rest is a live block of its own.
  // REQUIRES: room for one; the size is a multiple of the granule and less than the block's.
  OffsetBlock split(BlockHandle block, std::uint64_t size_bytes) noexcept;

  // Two live neighbours are one from now on, by the name of the first.
  void join(BlockHandle first, BlockHandle second) noexcept;

  // These bytes of a free block, which for_each() showed as `span`, become a live one.
  // REQUIRES: room for two; offset and size are multiples of the granule.
  OffsetBlock claim(const OffsetSpan& span, std::uint64_t offset,
                    std::uint64_t size_bytes) noexcept;

  // The live block of the handle; none: there is none.
  std::optional<OffsetBlock> find(BlockHandle handle) const noexcept;

  // Puts more at the end.
  // Errors: invalid_size, as create().
  Result<void> grow(std::uint64_t size_bytes);

  // Cuts off of the end what is free, so far as `keep_bytes` of it, rounded up, are left. Gives
  // back how many bytes that is.
  std::uint64_t shrink(std::uint64_t keep_bytes = 0) noexcept;

  std::uint64_t first_offset() const noexcept { return first_offset_; }
  std::uint64_t granule_bytes() const noexcept { return std::uint64_t{1} << shift_; }
  std::uint64_t size_bytes() const noexcept { return bytes(size_); }
  std::uint64_t live_bytes() const noexcept { return bytes(live_); }
  std::uint64_t free_bytes() const noexcept { return bytes(size_ - live_); }
  std::size_t live_blocks() const noexcept { return live_blocks_; }

  // Where the free end of the range begins.
  std::uint64_t end_offset() const noexcept { return offset_of(nodes_[kEnd].off); }

  // The greatest size that allocate() serves. Looks through one list.
  std::uint64_t largest_free_bytes() const noexcept;

  // Calls `function(const OffsetSpan&)` for each block, by rising offset. It may not allocate or
  // free.
  template <class F>
  void for_each(F function) const {
    for (std::uint32_t slot = nodes_[kBegin].next;; slot = nodes_[slot].next) {
      if (nodes_[slot].size != 0) function(span_of(slot));
      if (slot == kEnd) return;
    }
  }

  // The one behind it; none: it was the last.
  std::optional<OffsetSpan> behind(const OffsetSpan& span) const noexcept;

  // What is wrong with the bookkeeping, for tests; empty: nothing. Looks at everything.
  std::string fault() const;

 private:
  // By class: 32 an octave, of sizes up to 2^32 granules; and two zones each.
  static constexpr std::uint32_t kMantissaBits = 5;
  static constexpr std::uint32_t kClasses = (32 - kMantissaBits + 1) << kMantissaBits;
  static constexpr std::uint32_t kBins = kClasses * 2;
  static constexpr std::uint32_t kWords = kBins / 64;
  static_assert(kBins % 64 == 0 && kWords <= 64);

  // In place of a bin: whoever is in none.
  static constexpr std::uint32_t kLive = 0xffffffff;
  static constexpr std::uint32_t kNotListed = 0xfffffffe;  // The end; and slots that are not used.

  // Slots that are always there. The one before the first block is of no size, and so stands for
  // the head of an empty list as well: it fits nobody.
  static constexpr std::uint32_t kBegin = 0;
  static constexpr std::uint32_t kEnd = 1;

  // What is left over of a request, in relation to it, that its block keeps.
  static constexpr std::uint32_t kPaddingShift = 5;

  // In a cache line, whatever the slot.
  struct alignas(32) Node {
    std::uint32_t off = 0;   // Granules.
    std::uint32_t size = 0;  // Granules.
    std::uint32_t prev = 0;  // Slots of the neighbours.
    std::uint32_t next = 0;
    std::uint32_t bin_prev = 0;  // Of the list; of its head this one may be anything.
    std::uint32_t bin_next = 0;  // Also of the slots that are not used.
    std::uint32_t gen = 0;       // Odd while it is live.
    std::uint32_t bin = kNotListed;
  };
  static_assert(sizeof(Node) == 32);

  OffsetAllocator(std::uint32_t shift, std::uint64_t first_offset);

  OffsetSpan span_of(std::uint32_t slot) const noexcept {
    const Node& node = nodes_[slot];
    return {{slot, node.gen}, offset_of(node.off), bytes(node.size), node.bin == kLive};
  }
  std::uint64_t bytes(std::uint64_t granules) const noexcept { return granules << shift_; }
  std::uint64_t offset_of(std::uint32_t granule) const noexcept {
    return first_offset_ + bytes(granule);
  }
  static std::uint32_t class_of(std::uint32_t size) noexcept;
  std::uint32_t bin_of(const Node& node) const noexcept;
  std::uint32_t listed_from(std::uint32_t bin) const noexcept;

  void push(std::uint32_t slot) noexcept;
  void pop(std::uint32_t slot, std::uint32_t bin) noexcept;
  void unlink(std::uint32_t slot) noexcept;
  std::uint32_t take_slot() noexcept;
  void release_slot(std::uint32_t slot) noexcept;
  bool make_slots();

  // What is left over and no more than `padding_max` granules stays with the block.
  OffsetBlock take_front(std::uint32_t slot, std::uint32_t size,
                         std::uint32_t padding_max) noexcept;
  OffsetBlock take_end(std::uint32_t size) noexcept;
  OffsetBlock hand_out(std::uint32_t slot) noexcept;
  void free_into_end(std::uint32_t slot) noexcept;
  void free_into_list(std::uint32_t slot) noexcept;
  void renew_zones() noexcept;
  std::uint32_t find_in_own_class(std::uint32_t size) const noexcept;
  std::optional<OffsetBlock> allocate_aligned(std::uint32_t size, std::uint64_t alignment_bytes);
  std::uint32_t padding_before(const Node& node, std::uint64_t alignment_bytes) const noexcept;
  void cut_front(std::uint32_t slot, std::uint32_t size) noexcept;

  std::uint64_t top_ = 0;                      // A bit for each word that has one.
  std::array<std::uint64_t, kWords> words_{};  // A bit for each list that is not empty.
  std::array<std::uint32_t, kBins> heads_{};   // kBegin: empty.
  std::uint64_t zone_factor_ = 0;              // Above 2^32 times a granule: the upper zone.
  std::uint32_t zone_end_ = 0;                 // Up to here the factor is meant for.
  std::uint32_t shift_ = 0;
  std::uint32_t slot_free_ = 0;  // Slots that are not used; 0: none.
  std::vector<Node> nodes_;
  std::uint64_t first_offset_ = 0;
  std::uint64_t size_ = 0;  // Granules.
  std::uint64_t live_ = 0;  // Granules.
  std::size_t live_blocks_ = 0;
};

}  // namespace thalweg::memory
