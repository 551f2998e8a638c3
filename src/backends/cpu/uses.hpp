// SPDX-License-Identifier: Apache-2.0
//
// backends/cpu/uses.hpp - what a task reads and writes, kept in its slot for when something fails.
//
//   all of an allocation    life | mode
//   a part of one           life | 4 | mode, offset, bytes of a row << 2 | rows follow
//   by record               id << 3 | 4 | mode, offset, bytes of a row << 2 | 2 | rows follow
//   rows                    ..., rows, pitch
//
// Written for every task and read for hardly any, so it is short. The id of an allocation is not in
// it: its life is not another's before the task has passed. More uses than kUsesMax lie elsewhere.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "backends/cpu/slot.hpp"
#include "thalweg/backend/outcomes.hpp"
#include "thalweg/failure/error_graph.hpp"

namespace thalweg::cpu {

inline constexpr std::size_t kUsesMax = 32;
inline constexpr std::uint8_t kUsesElsewhere = 255;

struct UsesElsewhere {
  std::vector<failure::Use> all;
};

// Bytes that suffice for the uses of a task with as many accesses.
constexpr std::size_t uses_bytes_max(std::size_t accesses) noexcept {
  constexpr std::size_t words = 5;
  if (!backend::kOutcomesKept) return 0;
  return accesses > kUsesMax ? sizeof(UsesElsewhere) : accesses * words * sizeof(std::uint64_t);
}

// Bits of the first word, below the life, and of the third one.
static_assert(alignof(AllocationLife) == 8 && static_cast<int>(AccessMode::token) == 3);
inline constexpr std::uint64_t kModeBits = 3;
inline constexpr std::uint64_t kUsePart = 4;
inline constexpr std::uint64_t kUseRows = 1;
inline constexpr std::uint64_t kUseById = 2;

inline std::byte* uses_address(Slot& slot) noexcept { return body_address(slot) + slot.uses_at; }

// One by one: a block of them would be put together elsewhere first, and then copied.
inline std::byte* write_word(std::byte* to, std::uint64_t word) noexcept {
  std::memcpy(to, &word, sizeof(word));
  return to + sizeof(word);
}

// A use of less than all of an allocation, or of none that has a life. Gives the end of what it
// wrote.
[[gnu::noinline]] inline std::byte* write_part(std::byte* to, const Access& access) noexcept {
  const Allocation& of = *access.allocation;
  const std::uint64_t by_id = of.life == nullptr ? kUseById : 0;
  const std::uint64_t rows = access.rows != 1 ? kUseRows : 0;
  const std::uint64_t owner =
      by_id != 0 ? of.record.value << 3 : reinterpret_cast<std::uintptr_t>(of.life);
  to = write_word(to, owner | kUsePart | static_cast<std::uint64_t>(access.mode));
  to = write_word(to, of.record_offset + access.offset);
  to = write_word(to, access.row_bytes << 2 | by_id | rows);
  if (rows == 0) return to;
  return write_word(write_word(to, access.rows), access.pitch);
}

[[gnu::cold]] inline void write_uses_elsewhere(Slot& slot, std::span<const Access> accesses) {
  UsesElsewhere elsewhere;
  for (const Access& access : accesses)
    if (backend::has_outcome(access)) elsewhere.all.push_back(backend::use_of(access));
  new (uses_address(slot)) UsesElsewhere(std::move(elsewhere));
  slot.uses = kUsesElsewhere;
}

// Writes all accesses, and gives the end of what it wrote: which of them has an outcome is asked
// when they are read. REQUIRES: uses_bytes_max(accesses.size()) at slot.uses_at.
inline std::byte* write_uses(Slot& slot, std::span<const Access> accesses) {
  std::byte* to = uses_address(slot);
  if (!backend::kOutcomesKept) return to;
  if (accesses.size() > kUsesMax) [[unlikely]] {
    write_uses_elsewhere(slot, accesses);
    return to + sizeof(UsesElsewhere);
  }
  slot.uses = static_cast<std::uint8_t>(accesses.size());
  for (const Access& access : accesses) {
    const Allocation& of = *access.allocation;
    // Nothing keeps the life of an allocation of no bytes while the task is there.
    const bool all = access.row_bytes == of.size_bytes && access.row_bytes != 0 &&
                     access.rows == 1 && access.offset == 0;
    if (!all || of.life == nullptr) [[unlikely]] {
      to = write_part(to, access);
      continue;
    }
    to = write_word(
        to, reinterpret_cast<std::uintptr_t>(of.life) | static_cast<std::uint64_t>(access.mode));
  }
  return to;
}

// What the task reads and writes. REQUIRES: it has not passed.
[[gnu::cold]] inline std::vector<failure::Use> uses_of(Slot& slot) {
  if (slot.uses == kUsesElsewhere)
    return std::launder(reinterpret_cast<UsesElsewhere*>(uses_address(slot)))->all;
  std::vector<failure::Use> uses;
  const std::byte* from = uses_address(slot);
  const auto next = [&from] {
    std::uint64_t word = 0;
    std::memcpy(&word, from, sizeof(word));
    from += sizeof(word);
    return word;
  };
  for (std::uint8_t i = 0; i != slot.uses; ++i) {
    failure::Use use;
    const std::uint64_t owner = next();
    use.mode = static_cast<AccessMode>(owner & kModeBits);
    std::uint64_t shape = 0;
    if ((owner & kUsePart) != 0) {
      use.offset = next();
      shape = next();
      use.row_bytes = shape >> 2;
    }
    if ((shape & kUseById) != 0) {
      use.allocation = AllocationId{owner >> 3};
    } else {
      use.life = reinterpret_cast<const AllocationLife*>(owner & ~(kModeBits | kUsePart));
      use.allocation = use.life->owner();
    }
    if ((owner & kUsePart) == 0) use.row_bytes = use.life->size_bytes();
    if ((shape & kUseRows) != 0) {
      use.rows = next();
      use.pitch = next();
    }
    if (use.mode != AccessMode::token && use.row_bytes != 0 && use.rows != 0 && use.allocation)
      uses.push_back(use);
  }
  return uses;
}

inline void destroy_uses(Slot& slot) noexcept {
  if (slot.uses == kUsesElsewhere) [[unlikely]]
    std::launder(reinterpret_cast<UsesElsewhere*>(uses_address(slot)))->~UsesElsewhere();
}

}  // namespace thalweg::cpu
