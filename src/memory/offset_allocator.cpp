// SPDX-License-Identifier: Apache-2.0

#include "thalweg/memory/offset_allocator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "thalweg/base/check.hpp"

namespace thalweg::memory {
namespace {

Result<std::uint64_t> granules_of(std::uint64_t first_offset, std::uint64_t size_bytes,
                                  std::uint64_t granule_bytes) {
  if (size_bytes % granule_bytes != 0 || first_offset % granule_bytes != 0)
    return Error(ErrorKind::invalid_size,
                 fmt::format("A range of {} bytes from offset {} is not made of granules of {}.",
                             size_bytes, first_offset, granule_bytes));
  const std::uint64_t granules = size_bytes / granule_bytes;
  if (granules > OffsetAllocator::kGranulesMax || first_offset + size_bytes < first_offset)
    return Error(ErrorKind::invalid_size,
                 fmt::format("A range of {} granules of {} bytes from offset {}: at most {} are "
                             "allowed, and its end is within 64 bits.",
                             granules, granule_bytes, first_offset, OffsetAllocator::kGranulesMax));
  return granules;
}

}  // namespace

// Making one.

OffsetAllocator::OffsetAllocator(std::uint32_t shift, std::uint64_t first_offset)
    : shift_(shift), nodes_(2), first_offset_(first_offset) {
  nodes_[kBegin].next = kEnd;
  nodes_[kEnd].prev = kBegin;
  renew_zones();
}

Result<OffsetAllocator> OffsetAllocator::create(const OffsetAllocatorOptions& options) {
  if (!std::has_single_bit(options.granule_bytes))
    return Error(ErrorKind::invalid_argument,
                 fmt::format("A granule of {} bytes is no power of two.", options.granule_bytes));
  OffsetAllocator allocator(static_cast<std::uint32_t>(std::countr_zero(options.granule_bytes)),
                            options.first_offset);
  THALWEG_TRY(allocator.grow(options.size_bytes));
  return allocator;
}

Result<void> OffsetAllocator::grow(std::uint64_t size_bytes) {
  std::uint64_t all = 0;
  if (__builtin_add_overflow(this->size_bytes(), size_bytes, &all))
    all = ~std::uint64_t{0} - granule_bytes() + 1;
  THALWEG_TRY_ASSIGN(const std::uint64_t granules,
                     granules_of(first_offset_, all, granule_bytes()));
  nodes_[kEnd].size += static_cast<std::uint32_t>(granules - size_);
  size_ = granules;
  return {};
}

std::uint64_t OffsetAllocator::shrink(std::uint64_t keep_bytes) noexcept {
  Node& end = nodes_[kEnd];
  const std::uint64_t keep = std::min<std::uint64_t>(
      end.size, (keep_bytes >> shift_) + (keep_bytes % granule_bytes() != 0));
  const std::uint64_t cut = end.size - keep;
  end.size = static_cast<std::uint32_t>(keep);
  size_ -= cut;
  renew_zones();
  return bytes(cut);
}

// The lists.

std::uint32_t OffsetAllocator::class_of(std::uint32_t size) noexcept {
  if (size < (1u << kMantissaBits)) return size;
  const auto octave = static_cast<std::uint32_t>(std::bit_width(size)) - 1 - kMantissaBits;
  return (octave << kMantissaBits) + (size >> octave);
}

std::uint32_t OffsetAllocator::bin_of(const Node& node) const noexcept {
  const auto zone = static_cast<std::uint32_t>(node.off * zone_factor_ >> 32);
  return class_of(node.size) * 2 + zone;
}

// What is in use may grow by a sixteenth before the zones are cut anew: so the factor is for that.
void OffsetAllocator::renew_zones() noexcept {
  const std::uint64_t used = std::max<std::uint64_t>(nodes_[kEnd].off, 16);
  const std::uint64_t end = std::min(used + used / 16, kGranulesMax);
  zone_end_ = static_cast<std::uint32_t>(end);
  zone_factor_ = ((std::uint64_t{1} << 33) - 1) / (end + 1);
}

// The first list that is not empty, from `bin` on; kBins: none.
std::uint32_t OffsetAllocator::listed_from(std::uint32_t bin) const noexcept {
  std::uint32_t word = bin / 64;
  if (word >= kWords) return kBins;
  std::uint64_t bits = words_[word] & (~std::uint64_t{0} << (bin % 64));
  if (bits == 0) {
    const std::uint64_t above = top_ & (~std::uint64_t{1} << word);
    if (above == 0) return kBins;
    word = static_cast<std::uint32_t>(std::countr_zero(above));
    bits = words_[word];
  }
  return word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
}

// The bits are set whether they were or not: a branch costs more.
void OffsetAllocator::push(std::uint32_t slot) noexcept {
  Node& node = nodes_[slot];
  const std::uint32_t bin = bin_of(node);
  const std::uint32_t old = heads_[bin];
  node.bin = bin;
  node.bin_next = old;
  nodes_[old].bin_prev = slot;
  heads_[bin] = slot;
  words_[bin / 64] |= std::uint64_t{1} << (bin % 64);
  top_ |= std::uint64_t{1} << (bin / 64);
}

// REQUIRES: it is the head. Who follows is not touched: a head is who the list says.
void OffsetAllocator::pop(std::uint32_t slot, std::uint32_t bin) noexcept {
  const std::uint32_t next = nodes_[slot].bin_next;
  heads_[bin] = next;
  if (next != kBegin) return;
  std::uint64_t& word = words_[bin / 64];
  word &= ~(std::uint64_t{1} << (bin % 64));
  if (word == 0) top_ &= ~(std::uint64_t{1} << (bin / 64));
}

void OffsetAllocator::unlink(std::uint32_t slot) noexcept {
  const Node& node = nodes_[slot];
  if (heads_[node.bin] == slot) return pop(slot, node.bin);
  nodes_[node.bin_prev].bin_next = node.bin_next;
  nodes_[node.bin_next].bin_prev = node.bin_prev;
}

// Slots.

// REQUIRES: there is one.
std::uint32_t OffsetAllocator::take_slot() noexcept {
  const std::uint32_t slot = slot_free_;
  slot_free_ = nodes_[slot].bin_next;
  return slot;
}

void OffsetAllocator::release_slot(std::uint32_t slot) noexcept {
  Node& node = nodes_[slot];
  node.bin = kNotListed;
  node.bin_next = slot_free_;
  slot_free_ = slot;
}

// Twice as many as there are.
[[gnu::cold]] bool OffsetAllocator::make_slots() {
  const std::size_t had = nodes_.size();
  const std::size_t now = std::max<std::size_t>(had * 2, 64);
  if (now > kNotListed) return false;
  nodes_.resize(now);
  for (std::size_t slot = now; slot-- != had;) release_slot(static_cast<std::uint32_t>(slot));
  return true;
}

// Taking.

std::optional<OffsetBlock> OffsetAllocator::allocate(std::uint64_t size_bytes,
                                                     std::uint64_t alignment_bytes) {
  if (size_bytes > bytes(size_)) [[unlikely]]
    return std::nullopt;
  // A request of no bytes takes a granule.
  const auto size = static_cast<std::uint32_t>((size_bytes + granule_bytes() - 1) >> shift_) +
                    (size_bytes == 0 ? 1 : 0);
  // Two: a block may be cut on both sides.
  if (slot_free_ == 0 || nodes_[slot_free_].bin_next == 0) [[unlikely]]
    if (!make_slots()) return std::nullopt;
  if (alignment_bytes > granule_bytes()) [[unlikely]]
    return allocate_aligned(size, alignment_bytes);
  if ((alignment_bytes & (alignment_bytes - 1)) != 0 && alignment_bytes != 0) [[unlikely]]
    return std::nullopt;
  const std::uint32_t own = class_of(size) * 2;
  std::uint32_t bin = own;
  if (nodes_[heads_[own]].size < size) {
    bin = own + 1;
    if (nodes_[heads_[bin]].size < size) {
      bin = listed_from(own + 2);
      if (bin == kBins) {
        if (nodes_[kEnd].size >= size) return take_end(size);
        const std::uint32_t slot = find_in_own_class(size);
        if (slot == kBegin) return std::nullopt;
        unlink(slot);
        return take_front(slot, size, size >> kPaddingShift);
      }
    }
  }
  const std::uint32_t slot = heads_[bin];
  pop(slot, bin);
  return take_front(slot, size, size >> kPaddingShift);
}

// REQUIRES: the block is in no list any more.
OffsetBlock OffsetAllocator::take_front(std::uint32_t slot, std::uint32_t size,
                                        std::uint32_t padding_max) noexcept {
  Node& node = nodes_[slot];
  const std::uint32_t rest = node.size - size;
  if (rest > padding_max) {
    const std::uint32_t behind = take_slot();
    Node& left = nodes_[behind];
    left.off = node.off + size;
    left.size = rest;
    left.prev = slot;
    left.next = node.next;
    nodes_[node.next].prev = behind;
    node.next = behind;
    node.size = size;
    push(behind);
  }
  return hand_out(slot);
}

OffsetBlock OffsetAllocator::take_end(std::uint32_t size) noexcept {
  const std::uint32_t slot = take_slot();
  Node& node = nodes_[slot];
  Node& end = nodes_[kEnd];
  node.off = end.off;
  node.size = size;
  node.prev = end.prev;
  node.next = kEnd;
  nodes_[end.prev].next = slot;
  end.prev = slot;
  end.off += size;
  end.size -= size;
  if (end.off > zone_end_) [[unlikely]]
    renew_zones();
  return hand_out(slot);
}

OffsetBlock OffsetAllocator::hand_out(std::uint32_t slot) noexcept {
  Node& node = nodes_[slot];
  node.bin = kLive;
  ++node.gen;
  live_ += node.size;
  ++live_blocks_;
  return {{slot, node.gen}, offset_of(node.off), bytes(node.size)};
}

// Only heads were looked at: one behind them may fit.
[[gnu::cold]] std::uint32_t OffsetAllocator::find_in_own_class(std::uint32_t size) const noexcept {
  const std::uint32_t own = class_of(size) * 2;
  for (const std::uint32_t bin : {own, own + 1})
    for (std::uint32_t slot = heads_[bin]; slot != kBegin; slot = nodes_[slot].bin_next)
      if (nodes_[slot].size >= size) return slot;
  return kBegin;
}

// Granules that a block loses at its front to the alignment; more than it has: it is not served.
std::uint32_t OffsetAllocator::padding_before(const Node& node,
                                              std::uint64_t alignment_bytes) const noexcept {
  const std::uint64_t offset = offset_of(node.off);
  const std::uint64_t missing = (alignment_bytes - offset % alignment_bytes) % alignment_bytes;
  return static_cast<std::uint32_t>(std::min(missing >> shift_, kGranulesMax));
}

// The first that serves, from the own class up; the end comes last.
[[gnu::cold]] std::optional<OffsetBlock> OffsetAllocator::allocate_aligned(
    std::uint32_t size, std::uint64_t alignment_bytes) {
  if (!std::has_single_bit(alignment_bytes)) return std::nullopt;
  const auto serves = [&](const Node& node) {
    return node.size >= size && padding_before(node, alignment_bytes) <= node.size - size;
  };
  for (std::uint32_t bin = listed_from(class_of(size) * 2); bin != kBins;
       bin = listed_from(bin + 1)) {
    for (std::uint32_t slot = heads_[bin]; slot != kBegin; slot = nodes_[slot].bin_next) {
      if (!serves(nodes_[slot])) continue;
      unlink(slot);
      if (const std::uint32_t padding = padding_before(nodes_[slot], alignment_bytes); padding != 0)
        cut_front(slot, padding);
      return take_front(slot, size, size >> kPaddingShift);
    }
  }
  if (!serves(nodes_[kEnd])) return std::nullopt;
  const OffsetSpan end = span_of(kEnd);
  const std::uint32_t padding = padding_before(nodes_[kEnd], alignment_bytes);
  return claim(end, end.offset + bytes(padding), bytes(size));
}

// The first `size` granules become a free block of their own. REQUIRES: the block is in no list.
void OffsetAllocator::cut_front(std::uint32_t slot, std::uint32_t size) noexcept {
  const std::uint32_t front = take_slot();
  Node& node = nodes_[slot];
  Node& left = nodes_[front];
  left.off = node.off;
  left.size = size;
  left.prev = node.prev;
  left.next = slot;
  nodes_[node.prev].next = front;
  node.prev = front;
  node.off += size;
  node.size -= size;
  push(front);
}

// Giving back.

bool OffsetAllocator::free(BlockHandle handle) noexcept {
  const std::uint32_t slot = handle.slot;
  if (slot >= nodes_.size()) [[unlikely]]
    return false;
  Node& node = nodes_[slot];
  if (node.gen != handle.generation || (handle.generation & 1) == 0) [[unlikely]]
    return false;
  ++node.gen;
  live_ -= node.size;
  --live_blocks_;
  node.next == kEnd ? free_into_end(slot) : free_into_list(slot);
  return true;
}

void OffsetAllocator::free_into_end(std::uint32_t slot) noexcept {
  Node& end = nodes_[kEnd];
  std::uint32_t first = slot;
  const std::uint32_t prev = nodes_[slot].prev;
  if (nodes_[prev].bin < kBins) {
    unlink(prev);
    release_slot(slot);
    first = prev;
  }
  const Node& node = nodes_[first];
  end.size += end.off - node.off;
  end.off = node.off;
  end.prev = node.prev;
  nodes_[node.prev].next = kEnd;
  release_slot(first);
}

void OffsetAllocator::free_into_list(std::uint32_t slot) noexcept {
  Node& node = nodes_[slot];
  const std::uint32_t prev = node.prev;
  const std::uint32_t next = node.next;
  if (nodes_[prev].bin < kBins) {
    unlink(prev);
    const Node& before = nodes_[prev];
    node.off = before.off;
    node.size += before.size;
    node.prev = before.prev;
    nodes_[before.prev].next = slot;
    release_slot(prev);
  }
  if (nodes_[next].bin < kBins) {
    unlink(next);
    const Node& behind = nodes_[next];
    node.size += behind.size;
    node.next = behind.next;
    nodes_[behind.next].prev = slot;
    release_slot(next);
  }
  push(slot);
}

// Live blocks.

bool OffsetAllocator::make_room(std::size_t blocks) {
  std::size_t there = 0;
  for (std::uint32_t slot = slot_free_; slot != 0 && there != blocks; slot = nodes_[slot].bin_next)
    ++there;
  while (there < blocks) {
    const std::size_t had = nodes_.size();
    if (!make_slots()) return false;
    there += nodes_.size() - had;
  }
  return true;
}

OffsetBlock OffsetAllocator::split(BlockHandle block, std::uint64_t size_bytes) noexcept {
  const std::uint32_t behind = take_slot();
  Node& node = nodes_[block.slot];
  Node& rest = nodes_[behind];
  const auto size = static_cast<std::uint32_t>(size_bytes >> shift_);
  rest.off = node.off + size;
  rest.size = node.size - size;
  rest.prev = block.slot;
  rest.next = node.next;
  nodes_[node.next].prev = behind;
  node.next = behind;
  node.size = size;
  live_ -= rest.size;  // Counted again.
  return hand_out(behind);
}

void OffsetAllocator::join(BlockHandle first, BlockHandle second) noexcept {
  Node& node = nodes_[first.slot];
  Node& behind = nodes_[second.slot];
  node.size += behind.size;
  node.next = behind.next;
  nodes_[behind.next].prev = first.slot;
  ++behind.gen;
  --live_blocks_;
  release_slot(second.slot);
}

OffsetBlock OffsetAllocator::claim(const OffsetSpan& span, std::uint64_t offset,
                                   std::uint64_t size_bytes) noexcept {
  const std::uint32_t slot = span.handle.slot;
  const auto size = static_cast<std::uint32_t>(size_bytes >> shift_);
  const auto before = static_cast<std::uint32_t>((offset - span.offset) >> shift_);
  if (slot == kEnd) {
    if (before == 0) return take_end(size);
    // What is before it is given back: it has a neighbour then that is live.
    const OffsetBlock front = take_end(before);
    const OffsetBlock block = take_end(size);
    free(front.handle);
    return block;
  }
  unlink(slot);
  if (before != 0) cut_front(slot, before);
  return take_front(slot, size, 0);
}

std::optional<OffsetSpan> OffsetAllocator::behind(const OffsetSpan& span) const noexcept {
  if (span.handle.slot == kEnd) return std::nullopt;
  const std::uint32_t slot = nodes_[span.handle.slot].next;
  if (nodes_[slot].size == 0) return std::nullopt;
  return span_of(slot);
}

// Asking.

std::optional<OffsetBlock> OffsetAllocator::find(BlockHandle handle) const noexcept {
  if (handle.slot >= nodes_.size()) return std::nullopt;
  const Node& node = nodes_[handle.slot];
  if (node.gen != handle.generation || (handle.generation & 1) == 0) return std::nullopt;
  return OffsetBlock{handle, offset_of(node.off), bytes(node.size)};
}

std::uint64_t OffsetAllocator::largest_free_bytes() const noexcept {
  std::uint32_t largest = nodes_[kEnd].size;
  if (top_ != 0) {
    const auto word = static_cast<std::uint32_t>(std::bit_width(top_)) - 1;
    const auto bit = static_cast<std::uint32_t>(std::bit_width(words_[word])) - 1;
    const std::uint32_t pair = (word * 64 + bit) & ~1u;
    for (const std::uint32_t bin : {pair, pair + 1})
      for (std::uint32_t slot = heads_[bin]; slot != kBegin; slot = nodes_[slot].bin_next)
        largest = std::max(largest, nodes_[slot].size);
  }
  return bytes(largest);
}

std::string OffsetAllocator::fault() const {
  std::uint64_t at = 0;
  std::uint64_t live = 0;
  std::size_t live_blocks = 0;
  std::size_t free_blocks = 0;
  std::uint32_t before = kBegin;
  bool before_free = false;
  for (std::uint32_t slot = nodes_[kBegin].next;; slot = nodes_[slot].next) {
    const Node& node = nodes_[slot];
    if (node.off != at) return fmt::format("Slot {} is at {}, not at {}.", slot, node.off, at);
    if (node.prev != before) return fmt::format("Slot {} does not name slot {}.", slot, before);
    if (slot == kEnd) break;
    if (node.size == 0) return fmt::format("Slot {} has no size.", slot);
    const bool is_free = node.bin < kBins;
    if (is_free && before_free) return fmt::format("Slot {} and the one before are free.", slot);
    if (!is_free && node.bin != kLive) return fmt::format("Slot {} is not used.", slot);
    if (((node.gen & 1) != 0) == is_free) return fmt::format("Slot {} is live and free.", slot);
    if (is_free && node.bin / 2 != class_of(node.size))
      return fmt::format("Slot {} of {} granules is in list {}.", slot, node.size, node.bin);
    live += is_free ? 0 : node.size;
    ++(is_free ? free_blocks : live_blocks);
    at += node.size;
    before = slot;
    before_free = is_free;
  }
  if (before_free) return "The end's neighbour is free.";
  at += nodes_[kEnd].size;
  if (at != size_) return fmt::format("The blocks are {} granules of {}.", at, size_);
  if (live != live_ || live_blocks != live_blocks_) return "The sums are wrong.";
  std::size_t listed = 0;
  for (std::uint32_t bin = 0; bin != kBins; ++bin) {
    const bool bit = (words_[bin / 64] >> (bin % 64) & 1) != 0;
    if (bit != (heads_[bin] != kBegin)) return fmt::format("The bit of list {} is wrong.", bin);
    std::uint32_t previous = kBegin;
    for (std::uint32_t slot = heads_[bin]; slot != kBegin; slot = nodes_[slot].bin_next) {
      if (nodes_[slot].bin != bin) return fmt::format("Slot {} is in list {}.", slot, bin);
      if (previous != kBegin && nodes_[slot].bin_prev != previous)
        return fmt::format("Slot {} of list {} does not name the one before.", slot, bin);
      previous = slot;
      if (++listed > free_blocks) return "The lists are longer than what is free.";
    }
  }
  if (listed != free_blocks) return "A free block is in no list.";
  for (std::uint32_t word = 0; word != kWords; ++word)
    if (((top_ >> word & 1) != 0) != (words_[word] != 0)) return "A bit of the top is wrong.";
  std::size_t unused = 0;
  for (std::uint32_t slot = slot_free_; slot != 0; slot = nodes_[slot].bin_next) ++unused;
  if (unused + live_blocks + free_blocks + 2 != nodes_.size()) return "A slot is lost.";
  return {};
}

}  // namespace thalweg::memory
