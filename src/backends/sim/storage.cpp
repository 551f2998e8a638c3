// SPDX-License-Identifier: Apache-2.0

#include "backends/sim/storage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <mutex>
#include <optional>
#include <vector>

#include "backends/sim/world.hpp"
#include "os/memory.hpp"

namespace thalweg::sim {
namespace {

// What fresh memory holds.
constexpr int kFresh = 0xcd;

// Pages above this go back to the system with the arena.
constexpr std::uint64_t kKeptBytes = std::uint64_t{1} << 20;

// Where arenas would like to be: high addresses that sanitizers leave to programs.
constexpr std::uint64_t kHint = 0x7d0000000000;
constexpr std::uint64_t kHintStep = 0x4000000000;

struct Range {
  std::byte* base;
  std::byte* expected;
  std::uint64_t size_bytes;
};

// Ranges of arenas that are gone, for the next ones. Never destroyed.
class Stock {
 public:
  static Stock& instance() noexcept {
    static Stock& stock = *new Stock;
    return stock;
  }

  std::optional<Range> take(std::uint64_t size_bytes, bool with_expected) {
    const std::lock_guard lock(mutex_);
    for (auto at = free_.rbegin(); at != free_.rend(); ++at) {
      if (at->size_bytes != size_bytes || (at->expected != nullptr) != with_expected) continue;
      const Range range = *at;
      free_.erase(std::next(at).base());
      return range;
    }
    return make(kHint + made_++ % 64 * kHintStep, size_bytes, with_expected);
  }

  void give(const Range& range, std::uint64_t used_bytes) noexcept {
    if (used_bytes > kKeptBytes) {
      os::discard_memory(range.base, used_bytes);
      if (range.expected != nullptr) os::discard_memory(range.expected, used_bytes);
    }
    const std::lock_guard lock(mutex_);
    free_.push_back(range);
  }

 private:
  static std::optional<Range> make(std::uint64_t hint, std::uint64_t size_bytes,
                                   bool with_expected) {
    void* const base = os::reserve_addresses(hint, size_bytes);
    void* const expected = with_expected ? os::reserve_addresses(0, size_bytes) : nullptr;
    if (base != nullptr && (expected != nullptr || !with_expected))
      return Range{static_cast<std::byte*>(base), static_cast<std::byte*>(expected), size_bytes};
    if (base != nullptr) os::release_addresses(base, size_bytes);
    if (expected != nullptr) os::release_addresses(expected, size_bytes);
    return std::nullopt;
  }

  std::mutex mutex_;
  std::vector<Range> free_;
  std::uint64_t made_ = 0;
};

}  // namespace

std::unique_ptr<Arena> Arena::create(std::uint64_t limit_bytes, MemoryKind kind) {
  const std::uint64_t page = backend::kAlignmentBytesMax;
  const std::uint64_t size = (limit_bytes + page - 1) / page * page;
  const auto range = Stock::instance().take(size, kind == MemoryKind::device);
  if (!range) return nullptr;
  return std::unique_ptr<Arena>(new Arena(range->base, range->expected, size, kind));
}

Arena::~Arena() { Stock::instance().give({base_, expected_, size_}, used_); }

// The first place that is large enough: of bytes given back, then behind the front. Sizes of a page
// and more are aligned to one.
std::byte* Arena::take(std::uint64_t size_bytes) noexcept {
  const std::uint64_t alignment =
      size_bytes >= backend::kAlignmentBytesMax ? backend::kAlignmentBytesMax : std::uint64_t{256};
  const auto up = [alignment](std::uint64_t offset) {
    return (offset + alignment - 1) / alignment * alignment;
  };
  std::uint64_t offset = up(used_);
  for (auto at = free_.begin(); at != free_.end(); ++at) {
    const auto [first, size] = *at;
    const std::uint64_t start = up(first);
    if (start + size_bytes > first + size) continue;
    free_.erase(at);
    if (start != first) free_.emplace(first, start - first);
    if (start + size_bytes != first + size)
      free_.emplace(start + size_bytes, first + size - start - size_bytes);
    offset = start;
    break;
  }
  if (offset + size_bytes > size_) return nullptr;
  if (offset > used_) free_.emplace(used_, offset - used_);
  used_ = std::max(used_, offset + size_bytes);
  alive_ += size_bytes;
  taken_.emplace(offset, size_bytes);
  std::memset(base_ + offset, kFresh, size_bytes);
  if (expected_ != nullptr) std::memset(expected_ + offset, kFresh, size_bytes);
  return base_ + offset;
}

bool Arena::give(std::uint64_t address, std::uint64_t size_bytes) noexcept {
  const std::uint64_t offset = address - first();
  const auto taken = taken_.find(offset);
  if (taken == taken_.end() || taken->second != size_bytes) return false;
  taken_.erase(taken);
  alive_ -= size_bytes;
  auto at = free_.emplace(offset, size_bytes).first;
  if (const auto next = std::next(at); next != free_.end() && offset + size_bytes == next->first) {
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
