// SPDX-License-Identifier: Apache-2.0
//
// backends/sim/storage.hpp - memory of a simulated device: one range of addresses, handed out from
// the front.
//
// The addresses are of the process, and the same in each run as far as the system allows it; what
// traces show is the offset from the start, which always is. Fresh memory holds one pattern.
//
// Threads:    external synchronization, as the pools that use it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "backends/sim/flat_map.hpp"
#include "thalweg/backend/compute_storage.hpp"
#include "thalweg/base/memory_kind.hpp"
#include "thalweg/base/storage.hpp"

namespace thalweg::sim {

class World;

// The addresses of one kind of memory of one device. It waits for the next device when this one
// ends: making it anew takes longer than a whole run.
class Arena {
 public:
  struct KeepForNext {
    void operator()(Arena* arena) const noexcept;
  };
  using Owner = std::unique_ptr<Arena, KeepForNext>;

  // Null when the system has no room for `limit_bytes`.
  static Owner create(std::uint64_t limit_bytes, MemoryKind kind);
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Behind what is taken lie so many bytes that nobody gets: who writes there has gone too far.
  static constexpr std::uint64_t kGapBytes = 256;

  // `size_bytes` is a multiple of the granularity. Null when there is no room.
  std::byte* take(std::uint64_t size_bytes) noexcept;

  // False when nobody has the bytes.
  bool give(std::uint64_t address, std::uint64_t size_bytes) noexcept;

  std::byte* base() const noexcept { return base_; }
  std::uint64_t first() const noexcept { return reinterpret_cast<std::uint64_t>(base_); }
  std::uint64_t used_bytes() const noexcept { return used_; }  // The front that was ever taken.
  std::uint64_t alive_bytes() const noexcept { return alive_; }
  std::uint64_t size_bytes() const noexcept { return size_; }
  MemoryKind kind() const noexcept { return kind_; }

  // Its number in its world, from 1. Addresses may differ from run to run.
  std::uint64_t number() const noexcept { return number_; }
  void set_number(std::uint64_t number) noexcept { number_ = number; }
  bool contains(std::uint64_t address) const noexcept {
    return address >= first() && address - first() < size_;
  }

  // What the bytes should be: what tasks wrote that said so. Null where it is not kept.
  std::byte* expected() noexcept { return expected_; }

 private:
  Arena(std::byte* base, std::byte* expected, std::uint64_t size_bytes, MemoryKind kind) noexcept
      : base_(base), expected_(expected), size_(size_bytes), kind_(kind) {}

  static Arena* make(std::uint64_t hint, std::uint64_t size_bytes, MemoryKind kind);

  // As new, but for what the memory holds.
  void clear() noexcept;

  std::byte* const base_;
  std::byte* const expected_;
  const std::uint64_t size_;
  const MemoryKind kind_;
  std::uint64_t number_ = 0;
  std::uint64_t used_ = 0;
  std::uint64_t alive_ = 0;
  FlatMap<std::uint64_t, std::uint64_t> taken_;  // Offset and size.
  FlatMap<std::uint64_t, std::uint64_t> free_;   // Below used_, neighbours joined.
};

template <MemoryKind kKind>
class Storage {
 public:
  // `arena` and `world` outlive it.
  Storage(World& world, Arena& arena, const StorageHooks& hooks) noexcept
      : world_(&world), arena_(&arena), hooks_(hooks) {}

  std::uint64_t alignment() const noexcept { return 256; }
  std::uint64_t granularity() const noexcept { return kKind == MemoryKind::host ? 4096 : 256; }
  Result<backend::StorageHandle> alloc(std::uint64_t size_bytes);
  backend::StorageResource get(const backend::StorageHandle& handle) const noexcept {
    return {handle.id, nullptr};
  }
  void dealloc(const backend::StorageHandle& handle) noexcept;
  void flush() noexcept {}

 private:
  World* world_;
  Arena* arena_;
  StorageHooks hooks_;
};

using DeviceStorage = Storage<MemoryKind::device>;
using HostStorage = Storage<MemoryKind::host>;
extern template class Storage<MemoryKind::device>;
extern template class Storage<MemoryKind::host>;

}  // namespace thalweg::sim
