// SPDX-License-Identifier: Apache-2.0

#include "thalweg/backend/memory_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

namespace thalweg::backend {

void UsageCounter::grow(std::uint64_t bytes) noexcept {
  numbers_.reserved += bytes;
  numbers_.reserved_peak = std::max(numbers_.reserved_peak, numbers_.reserved);
}

void UsageCounter::shrink(std::uint64_t bytes) noexcept { numbers_.reserved -= bytes; }

void UsageCounter::hand_out(const Block& block) noexcept {
  ++numbers_.blocks;
  numbers_.live += block.size_bytes;
  numbers_.padding += block.size_bytes - block.requested_bytes;
  numbers_.live_peak = std::max(numbers_.live_peak, numbers_.live);
}

void UsageCounter::take_back(const Block& block) noexcept {
  --numbers_.blocks;
  numbers_.live -= block.size_bytes;
  numbers_.padding -= block.size_bytes - block.requested_bytes;
}

Result<std::uint64_t> round_request(std::uint64_t size_bytes, const ReserveOptions& options,
                                    std::uint64_t alignment, std::uint64_t granularity) {
  const std::uint64_t wanted = options.alignment_bytes;
  if (wanted != 0 && (!std::has_single_bit(wanted) || wanted > kAlignmentBytesMax))
    return Error(ErrorKind::invalid_argument,
                 fmt::format("An alignment of {} bytes is not a power of two of at most {}.",
                             wanted, kAlignmentBytesMax));
  const std::uint64_t least = wanted > alignment ? kAlignmentBytesMax : granularity;
  const std::uint64_t padding = granularity - 1;
  if (size_bytes > std::numeric_limits<std::uint64_t>::max() - padding)
    return Error(ErrorKind::invalid_size,
                 fmt::format("A size of {} bytes cannot be rounded up to a multiple of {}.",
                             size_bytes, granularity));
  return std::max((size_bytes + padding) & ~padding, least);
}

Error over_limit(std::uint64_t size_bytes, const MemoryUsageNumbers& usage,
                 std::uint64_t limit_bytes) {
  return Error(
      ErrorKind::out_of_memory,
      fmt::format("Reserving {} bytes goes above the limit of {} bytes: {} are live in {} blocks, "
                  "and {} are kept because tasks still use them.",
                  size_bytes, limit_bytes, usage.live, usage.blocks, usage.reserved - usage.live));
}

}  // namespace thalweg::backend
