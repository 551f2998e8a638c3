// SPDX-License-Identifier: Apache-2.0

#include "backends/sim/storage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <vector>

#include "backends/sim/world.hpp"
#include "os/memory.hpp"
#include "sync/lock.hpp"

namespace thalweg::sim {
namespace {

// What fresh memory holds.
constexpr int kFresh = 0xcd;

// Pages above this go back to the system with the arena.
constexpr std::uint64_t kKeptBytes = std::uint64_t{1} << 20;

// Where arenas would like to be: high addresses that sanitizers leave to programs.
constexpr std::uint64_t kHint = 0x7d0000000000;
constexpr std::uint64_t kHintStep = 0x4000000000;

// Arenas that are gone, for the next devices. Never destroyed.
class SpareArenas {
 public:
  static SpareArenas& instance() noexcept {
    static SpareArenas& spare = *new SpareArenas;
    return spare;
  }

  // The one that was given last, or null.
  Arena* take(std::uint64_t size_bytes, MemoryKind kind) noexcept {
    const sync::Locked lock(lock_);
    for (auto at = arenas_.rbegin(); at != arenas_.rend(); ++at) {
      if ((*at)->size_bytes() != size_bytes || (*at)->kind() != kind) continue;
      Arena* const arena = *at;
      arenas_.erase(std::next(at).base());
      return arena;
    }
    return nullptr;
  }

  void give(Arena* arena) {
    const sync::Locked lock(lock_);
    arenas_.push_back(arena);
  }

  // Where an arena that is made would like to be.
  std::uint64_t next_hint() noexcept {
    const sync::Locked lock(lock_);
    return kHint + made_++ % 64 * kHintStep;
  }

 private:
  sync::SpinLock lock_{sync::Rank::leaf};
  std::vector<Arena*> arenas_;
  std::uint64_t made_ = 0;
};

}  // namespace

// Room for the least memory there can be in one piece, each with its gap.
Arena::Owner Arena::create(std::uint64_t limit_bytes, MemoryKind kind) {
  const std::uint64_t page = backend::kAlignmentBytesMax;
  const std::uint64_t size = (limit_bytes + page - 1) / page * page * 2 + page;
  SpareArenas& spare = SpareArenas::instance();
  if (Arena* const arena = spare.take(size, kind)) return Owner(arena);
  return Owner(make(spare.next_hint(), size, kind));
}

// What memory should hold is kept for the device's alone.
Arena* Arena::make(std::uint64_t hint, std::uint64_t size_bytes, MemoryKind kind) {
  const bool with_expected = kind == MemoryKind::device;
  void* const base = os::reserve_addresses(hint, size_bytes);
  void* const expected = with_expected ? os::reserve_addresses(0, size_bytes) : nullptr;
  if (base != nullptr && (expected != nullptr || !with_expected))
    return new Arena(static_cast<std::byte*>(base), static_cast<std::byte*>(expected), size_bytes,
                     kind);
  if (base != nullptr) os::release_addresses(base, size_bytes);
  if (expected != nullptr) os::release_addresses(expected, size_bytes);
  return nullptr;
}

void Arena::KeepForNext::operator()(Arena* arena) const noexcept {
  arena->clear();
  SpareArenas::instance().give(arena);
}

void Arena::clear() noexcept {
  if (used_ > kKeptBytes) {
    os::discard_memory(base_, used_);
    if (expected_ != nullptr) os::discard_memory(expected_, used_);
  }
  used_ = 0;
  alive_ = 0;
  taken_.clear();
  free_.clear();
}

// The first place that is large enough: of bytes given back, then behind the front. Sizes of a page
// and more are aligned to one.
std::byte* Arena::take(std::uint64_t size_bytes) noexcept {
  const std::uint64_t alignment =
      size_bytes >= backend::kAlignmentBytesMax ? backend::kAlignmentBytesMax : std::uint64_t{256};
  const auto up = [alignment](std::uint64_t offset) {
    return (offset + alignment - 1) / alignment * alignment;
  };
  std::uint64_t offset = up(used_);
  const std::uint64_t room = size_bytes + kGapBytes;
  for (auto at = free_.begin(); at != free_.end(); ++at) {
    const auto [first, size] = *at;
    const std::uint64_t start = up(first);
    if (start + room > first + size) continue;
    free_.erase(at);
    if (start != first) free_.emplace(first, start - first);
    if (start + room != first + size) free_.emplace(start + room, first + size - start - room);
    offset = start;
    break;
  }
  if (offset + room > size_) return nullptr;
  if (offset > used_) free_.emplace(used_, offset - used_);
  used_ = std::max(used_, offset + room);
  alive_ += size_bytes;
  taken_.emplace(offset, size_bytes);
  std::memset(base_ + offset, kFresh, room);
  if (expected_ != nullptr) std::memset(expected_ + offset, kFresh, room);
  return base_ + offset;
}

bool Arena::give(std::uint64_t address, std::uint64_t size_bytes) noexcept {
  const std::uint64_t offset = address - first();
  const auto taken = taken_.find(offset);
  if (taken == taken_.end() || taken->second != size_bytes) return false;
  taken_.erase(taken);
  alive_ -= size_bytes;
  const std::uint64_t room = size_bytes + kGapBytes;
  auto at = free_.emplace(offset, room).first;
  if (const auto next = std::next(at); next != free_.end() && offset + room == next->first) {
    at->second += next->second;
    free_.erase(next);
  }
  if (at != free_.begin()) {
    const auto previous = std::prev(at);
    if (previous->first + previous->second == at->first) {
      previous->second += at->second;
      free_.erase(at);
    }
  }
  return true;
}

template <MemoryKind kKind>
Result<backend::StorageHandle> Storage<kKind>::alloc(std::uint64_t size_bytes) {
  THALWEG_TRY(world_->call(FaultSite::alloc));
  std::byte* const memory = arena_->take(size_bytes);
  if (memory == nullptr)
    return Error(
        ErrorKind::out_of_memory,
        fmt::format("The simulated device has no {} bytes in one piece left.", size_bytes));
  if (hooks_.taken != nullptr) hooks_.taken(hooks_.context, kKind, memory, size_bytes);
  return backend::StorageHandle{reinterpret_cast<std::uintptr_t>(memory), size_bytes};
}

template <MemoryKind kKind>
void Storage<kKind>::dealloc(const backend::StorageHandle& handle) noexcept {
  if (hooks_.given_back != nullptr)
    hooks_.given_back(hooks_.context, kKind, reinterpret_cast<void*>(handle.id), handle.size_bytes);
  world_->given_back({handle.id, handle.id + handle.size_bytes},
                     arena_->give(handle.id, handle.size_bytes));
}

template class Storage<MemoryKind::device>;
template class Storage<MemoryKind::host>;

}  // namespace thalweg::sim
