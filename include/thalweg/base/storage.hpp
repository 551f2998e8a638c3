// SPDX-License-Identifier: Apache-2.0
//
// thalweg/base/storage.hpp - where a device takes its memory from, when the program wants a say.
//
// The functions are called under the lock of the device's memory: they must not call the runtime,
// may block only as long as a system allocator does, and must not throw. What `context` points to
// outlives the device.
//
// Threads:    one call at a time for each device; from any thread.

#pragma once

#include <cstdint>

#include "thalweg/base/memory_kind.hpp"

namespace thalweg {

// Takes the place of the device's own storage. Both functions are given, or neither.
struct StorageTable {
  // `size_bytes` bytes aligned to `alignment_bytes` (a power of two, at most 4096); null when there
  // are none. Kernels and the host reach them as they reach the device's own.
  void* (*alloc)(void* context, std::uint64_t size_bytes, std::uint64_t alignment_bytes) = nullptr;
  void (*free)(void* context, void* memory, std::uint64_t size_bytes) = nullptr;
  void* context = nullptr;
};

// Told of every piece of memory that is taken from a storage or given back, whosever it is.
struct StorageHooks {
  void (*taken)(void* context, MemoryKind kind, const void* memory,
                std::uint64_t size_bytes) = nullptr;
  void (*given_back)(void* context, MemoryKind kind, const void* memory,
                     std::uint64_t size_bytes) = nullptr;
  void* context = nullptr;
};

}  // namespace thalweg
