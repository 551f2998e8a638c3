// SPDX-License-Identifier: Apache-2.0
//
// thalweg/backend/memory_management.hpp - a stream's view of one kind of memory, and the pool under
// it.
//
// A block is dropped with the points of its last uses. It is handed out again to a queue for which
// each of those points has passed, lies on the queue itself, or is covered by the queue's frontier;
// no wait is placed for memory. Where not all points had passed, the new owner starts with a birth
// point on its home queue, so that other queues wait for it.
//
//   A  use --- use.                       dropped with {A@2}
//   A                  reserve            at once: A itself runs later
//   B                  reserve            another block, until A has passed 2 or B waited for it
//
// Every allocation of the storage is one block: nothing is split or merged.
//
// Threads:    external synchronization: the runtime's lock of the pool; `find` also reads the home
//             queue's order and needs that queue's lock.
// Cost:       a find looks at each cached block of the size until one is safe.
// Bound:      when memory was taken from the storage, cached bytes are at most the live ones and
//             64 MiB more; see MemoryPool::grow.

#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "thalweg/backend/compute_storage.hpp"
#include "thalweg/backend/memory_source.hpp"
#include "thalweg/order/queue_order.hpp"

namespace thalweg::backend {

template <ComputeStorage S>
class MemoryPool final : public MemorySource {
 public:
  // `passed` tells whether a point is over. `limit_bytes`: most bytes reserved at a time.
  MemoryPool(S storage, bool (*passed)(order::Point), std::uint64_t limit_bytes)
      : storage_(std::move(storage)), passed_(passed), limit_bytes_(limit_bytes) {}
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  // REQUIRES: no task uses the memory any more.
  ~MemoryPool() override {
    for (auto& [size, free] : free_) storage_.dealloc(free.block.handle);
    storage_.flush();
  }

  // The size that is reserved for a request: at least one granule.
  Result<std::uint64_t> round(std::uint64_t size_bytes, const ReserveOptions& options) const {
    return round_request(size_bytes, options, storage_.alignment(), storage_.granularity());
  }

  // A cached block of `rounded` bytes, or at most a quarter more, that is safe for `home`.
  // With `passed_only`, one whose uses have all passed.
  std::optional<Block> find(std::uint64_t rounded, std::uint64_t size_bytes,
                            const order::QueueOrder& home, bool passed_only = false) {
    for (auto it = free_.lower_bound(rounded); it != free_.end(); ++it) {
      if (it->first - rounded > rounded / 4) break;
      Free& free = it->second;
      free.uses.remove_if([this](order::Point point) { return passed_(point); });
      const bool safe = std::all_of(free.uses.begin(), free.uses.end(), [&](order::Point point) {
        return !passed_only && (point.queue() == home.index() || home.frontier().covers(point));
      });
      if (!safe) continue;
      Block block = free.block;
      block.in_use_on_home = !free.uses.empty();
      block.requested_bytes = size_bytes;
      usage_.hand_out(block);
      free_.erase(it);
      return block;
    }
    return std::nullopt;
  }

  // A new block of the storage. Gives cached ones back first where the limit or the bound asks for
  // it.
  Result<Block> grow(std::uint64_t rounded, std::uint64_t size_bytes) {
    const MemoryUsageNumbers& now = usage_.numbers();
    const std::uint64_t slack = std::uint64_t{64} << 20;
    const std::uint64_t cached = now.reserved - now.live;
    if (cached > now.live + slack) trim(now.live + slack);
    if (rounded > limit_bytes_ || now.reserved > limit_bytes_ - rounded)
      trim(limit_bytes_ > now.live + rounded ? limit_bytes_ - now.live - rounded : 0);
    if (rounded > limit_bytes_ || now.reserved > limit_bytes_ - rounded)
      return over_limit(rounded, now, limit_bytes_);
    Result<StorageHandle> handle = storage_.alloc(rounded);
    if (!handle) {
      if (trim(0) == 0) return std::move(handle).error();
      handle = storage_.alloc(rounded);
      if (!handle) return std::move(handle).error();
    }
    usage_.grow(rounded);
    const Block block{*handle, storage_.get(*handle), rounded, size_bytes, false, this};
    pages_.emplace(block.resource.address, rounded);
    usage_.hand_out(block);
    return block;
  }

  void release(const Block& block, order::PointSet uses) override {
    usage_.take_back(block);
    free_.emplace(block.size_bytes, Free{block, std::move(uses)});
  }

  // Gives back cached blocks whose uses have passed, the largest first, until at most `keep_bytes`
  // are cached. Returns the bytes given back.
  std::uint64_t trim(std::uint64_t keep_bytes) override {
    std::uint64_t given = 0;
    std::uint64_t cached = usage_.numbers().reserved - usage_.numbers().live;
    for (auto it = free_.end(); it != free_.begin() && cached > keep_bytes;) {
      --it;
      Free& free = it->second;
      free.uses.remove_if([this](order::Point point) { return passed_(point); });
      if (!free.uses.empty()) continue;
      forget_page(free.block.resource.address);
      storage_.dealloc(free.block.handle);
      usage_.shrink(free.block.size_bytes);
      given += free.block.size_bytes;
      cached -= free.block.size_bytes;
      it = free_.erase(it);
    }
    storage_.flush();
    return given;
  }

  MemoryUsageNumbers usage() const override {
    MemoryUsageNumbers numbers = usage_.numbers();
    for (const auto& [size, free] : free_) {
      const bool over = std::all_of(free.uses.begin(), free.uses.end(), passed_);
      (over ? numbers.cached : numbers.pending) += size;
    }
    numbers.limit = limit_bytes_;
    return numbers;
  }

  bool contains(std::uint64_t address, std::uint64_t size_bytes) const override {
    const auto behind = pages_.lower_bound(address + size_bytes);
    if (behind == pages_.begin()) return false;
    const auto& [first, bytes] = *std::prev(behind);
    return first + bytes > address;
  }

  std::uint64_t alignment() const { return storage_.alignment(); }

 private:
  struct Free {
    Block block;
    order::PointSet uses;  // May hold points that have passed since.
  };

  // Storages without addresses give 0 for all.
  void forget_page(std::uint64_t address) {
    if (const auto page = pages_.find(address); page != pages_.end()) pages_.erase(page);
  }

  S storage_;
  bool (*const passed_)(order::Point);
  const std::uint64_t limit_bytes_;
  std::multimap<std::uint64_t, Free> free_;            // By size.
  std::multimap<std::uint64_t, std::uint64_t> pages_;  // Of the storage: address and size.
  UsageCounter usage_;
};

// What a stream's device_memory() and host_memory() give.
template <ComputeStorage S>
class MemoryManagement {
 public:
  // REQUIRES: both outlive *this.
  MemoryManagement(MemoryPool<S>& pool, const order::QueueOrder& home) noexcept
      : pool_(&pool), home_(&home) {}

  // Memory for work on this stream from now on. Block::in_use_on_home says that the bytes may only
  // be used by what is ordered after the home queue's present end.
  // Errors: invalid_size, when the size cannot be rounded up; invalid_argument for an alignment;
  //         out_of_memory.
  Result<Block> reserve(std::uint64_t size_bytes, const ReserveOptions& options = {}) {
    THALWEG_TRY_ASSIGN(const std::uint64_t rounded, pool_->round(size_bytes, options));
    if (auto block = pool_->find(rounded, size_bytes, *home_, options.passed_only)) return *block;
    return pool_->grow(rounded, size_bytes);
  }

  // reserve() in two steps, for a caller that holds the queue's lock for the first only.
  MemoryPool<S>& pool() noexcept { return *pool_; }
  const order::QueueOrder& home() const noexcept { return *home_; }

 private:
  MemoryPool<S>* pool_;
  const order::QueueOrder* home_;
};

}  // namespace thalweg::backend
