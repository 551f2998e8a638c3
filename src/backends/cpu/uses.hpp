// SPDX-License-Identifier: Apache-2.0
//
// backends/cpu/uses.hpp - what a task reads and writes, kept in its slot for when something fails.
//
//   word 0      the life of the allocation; its record's id, where it has none
//   word 1      the offset in the record
//   word 2      bytes of a row << 4 | whether word 0 is an id << 3 | whether there are rows << 2 | mode
//   word 3, 4   rows, pitch: only where there are rows
//
// Written for every task and read for hardly any, so it is short. The id of an allocation is not in
// it: its life is not another's before the task has passed. More uses than kUsesMax lie elsewhere.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <vector>

#include "backends/cpu/slot.hpp"
#include "thalweg/backend/outcomes.hpp"
#include "thalweg/failure/error_graph.hpp"

namespace thalweg::cpu {

inline constexpr std::size_t kUsesMax = 32;
inline constexpr std::uint8_t kUsesElsewhere = 255;

inline constexpr std::size_t kUseBytes = 3 * sizeof(std::uint64_t);
inline constexpr std::size_t kRowsBytes = 2 * sizeof(std::uint64_t);

struct UsesElsewhere {
  std::vector<failure::Use> all;
};

// Bytes for the uses of a task with these accesses.
inline std::size_t uses_bytes(std::span<const Access> accesses) noexcept {
  if (accesses.size() > kUsesMax) [[unlikely]]
    return sizeof(UsesElsewhere);
  std::size_t bytes = accesses.size() * kUseBytes;
  for (const Access& access : accesses)
    if (access.rows != 1) [[unlikely]]
      bytes += kRowsBytes;
  return bytes;
}

inline std::byte* uses_address(Slot& slot) noexcept { return body_address(slot) + slot.uses_at; }

// One by one: a block of them would be put together elsewhere first, and then copied.
inline std::byte* write_word(std::byte* to, std::uint64_t word) noexcept {
  std::memcpy(to, &word, sizeof(word));
  return to + sizeof(word);
}

// Writes what is not the common access: one row, of an allocation with a life.
[[gnu::noinline]] inline std::byte* write_other_use(std::byte* to, const Access& access) noexcept {
  const Allocation& of = *access.allocation;
  const std::uint64_t id = of.life == nullptr ? 8 : 0;
  const std::uint64_t rows = access.rows != 1 ? 4 : 0;
  to = write_word(
      to, id != 0 ? of.record.value : static_cast<std::uint64_t>(
                                          reinterpret_cast<std::uintptr_t>(of.life)));
  to = write_word(to, of.record_offset + access.offset);
  to = write_word(to, access.row_bytes << 4 | id | rows | static_cast<std::uint64_t>(access.mode));
  if (rows == 0) return to;
  return write_word(write_word(to, access.rows), access.pitch);
}

[[gnu::cold]] inline void write_uses_elsewhere(Slot& slot, std::span<const Access> accesses) {
  slot.uses = kUsesElsewhere;
  auto* const elsewhere = new (uses_address(slot)) UsesElsewhere;
  for (const Access& access : accesses)
    if (backend::has_outcome(access)) elsewhere->all.push_back(backend::use_of(access));
}

// Writes all accesses: which of them has an outcome is asked when it is read.
// REQUIRES: uses_bytes(accesses) at slot.uses_at.
inline void write_uses(Slot& slot, std::span<const Access> accesses) {
  if (!backend::kOutcomesKept) return;
  if (accesses.size() > kUsesMax) [[unlikely]]
    return write_uses_elsewhere(slot, accesses);
  slot.uses = static_cast<std::uint8_t>(accesses.size());
  std::byte* to = uses_address(slot);
  for (const Access& access : accesses) {
    const Allocation& of = *access.allocation;
    const AllocationLife* const life = of.life;
    if (life == nullptr || access.rows != 1) [[unlikely]] {
      to = write_other_use(to, access);
      continue;
    }
    write_word(to, reinterpret_cast<std::uintptr_t>(life));
    write_word(to + 8, of.record_offset + access.offset);
    write_word(to + 16, access.row_bytes << 4 | static_cast<std::uint64_t>(access.mode));
    to += kUseBytes;
  }
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
    const std::uint64_t of = next();
    use.offset = next();
    const std::uint64_t shape = next();
    use.row_bytes = shape >> 4;
    use.mode = static_cast<AccessMode>(shape & 3);
    if ((shape & 8) == 0) use.life = reinterpret_cast<const AllocationLife*>(of);
    use.allocation = use.life != nullptr ? use.life->owner() : AllocationId{of};
    if ((shape & 4) != 0) {
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
