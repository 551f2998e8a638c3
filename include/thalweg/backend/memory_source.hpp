// SPDX-License-Identifier: Apache-2.0
//
// thalweg/backend/memory_source.hpp - blocks, and the part of a pool that does not depend on a
// storage.

#pragma once

#include <cstdint>
#include <string_view>

#include "thalweg/backend/compute_storage.hpp"
#include "thalweg/base/export.hpp"
#include "thalweg/base/result.hpp"
#include "thalweg/order/point.hpp"

namespace thalweg::backend {

struct ReserveOptions {
  std::uint64_t alignment_bytes = 0;  // 0: the storage's own.
  std::string_view tag;               // For reports.
  bool passed_only = false;  // Only what no task uses any more: the host will touch it at once.
};

class MemorySource;

struct Block {
  StorageHandle handle;
  StorageResource resource;
  std::uint64_t size_bytes = 0;       // As reserved, padding included.
  std::uint64_t requested_bytes = 0;  // By the present owner.

  // Former uses have not passed, and all of them come before the home queue's next task.
  bool in_use_on_home = false;

  MemorySource* source = nullptr;  // Where it goes back to.
};

// Bytes; reserved = live + pending + cached. Those that depend on what has passed are filled in by
// usage().
struct MemoryUsageNumbers {
  std::uint64_t blocks = 0;  // Live ones.
  std::uint64_t live = 0;
  std::uint64_t padding = 0;  // Contained in live.
  std::uint64_t pending = 0;
  std::uint64_t cached = 0;
  std::uint64_t reserved = 0;
  std::uint64_t live_peak = 0;
  std::uint64_t reserved_peak = 0;
  std::uint64_t limit = 0;
};

// What a block goes back to. Threads: external synchronization.
class MemorySource {
 public:
  // The bytes may be used again by what comes after `uses`.
  virtual void release(const Block& block, order::PointSet uses) = 0;
  virtual std::uint64_t trim(std::uint64_t keep_bytes) = 0;
  virtual MemoryUsageNumbers usage() const = 0;

  // Whether one of `size_bytes` bytes from `address` is the source's, in use or not.
  virtual bool contains(std::uint64_t address, std::uint64_t size_bytes) const = 0;
  virtual ~MemorySource() = default;
};

class THALWEG_EXPORT UsageCounter {
 public:
  void grow(std::uint64_t bytes) noexcept;
  void shrink(std::uint64_t bytes) noexcept;
  void hand_out(const Block& block) noexcept;
  void take_back(const Block& block) noexcept;
  const MemoryUsageNumbers& numbers() const noexcept { return numbers_; }

 private:
  MemoryUsageNumbers numbers_;
};

// The size reserved for a request: a multiple of the granularity, at least one.
// Above the storage's own alignment it is at least kAlignmentBytesMax, which makes it aligned to
// that.
// Errors: invalid_size, when rounding up overflows; invalid_argument, when the alignment is no power
//         of two or above kAlignmentBytesMax.
THALWEG_EXPORT Result<std::uint64_t> round_request(std::uint64_t size_bytes,
                                                   const ReserveOptions& options,
                                                   std::uint64_t alignment,
                                                   std::uint64_t granularity);

// The refusal of a request that the limit does not allow.
THALWEG_EXPORT Error over_limit(std::uint64_t size_bytes, const MemoryUsageNumbers& usage,
                                std::uint64_t limit_bytes);

}  // namespace thalweg::backend
