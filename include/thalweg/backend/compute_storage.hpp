// SPDX-License-Identifier: Apache-2.0
//
// thalweg/backend/compute_storage.hpp - concept: where memory of one kind comes from.

#pragma once

#include <concepts>
#include <cstdint>

#include "thalweg/base/result.hpp"

namespace thalweg::backend {

// The largest alignment that can be asked for, in bytes: the page of the systems we run on.
inline constexpr std::uint64_t kAlignmentBytesMax = 4096;

// One allocation of a storage.
struct StorageHandle {
  std::uint64_t id = 0;  // The storage's own name for it.
  std::uint64_t size_bytes = 0;
};

// What the bytes of a handle are for tasks: an address, a backend's object, or both.
struct StorageResource {
  std::uint64_t address = 0;
  void* object = nullptr;
};

// `alignment()` is that of every allocation and `granularity()` what sizes are rounded up to, both
// in bytes and powers of two; an allocation of at least kAlignmentBytesMax bytes is aligned to
// that. `alloc(bytes)` gets a multiple of the granularity, at least one, and gives out_of_memory
// when the system has none left. `dealloc` may be deferred until `flush`.
//
// Threads:    one at a time; the runtime locks.
template <class S>
concept ComputeStorage =
    requires(S& storage, std::uint64_t size_bytes, const StorageHandle& handle) {
      { storage.alignment() } -> std::same_as<std::uint64_t>;
      { storage.granularity() } -> std::same_as<std::uint64_t>;
      { storage.alloc(size_bytes) } -> std::same_as<Result<StorageHandle>>;
      { storage.get(handle) } -> std::same_as<StorageResource>;
      { storage.dealloc(handle) } -> std::same_as<void>;
      { storage.flush() } -> std::same_as<void>;
    };

}  // namespace thalweg::backend
