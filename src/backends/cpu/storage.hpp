// SPDX-License-Identifier: Apache-2.0
//
// backends/cpu/storage.hpp - device memory of the cpu, and page-locked memory.

#pragma once

#include <cstdint>

#include "thalweg/backend/compute_storage.hpp"
#include "thalweg/base/memory_kind.hpp"
#include "thalweg/base/storage.hpp"

namespace thalweg::cpu {

// Where a storage's memory comes from: the system, unless the program has functions of its own.
struct StorageSource {
  StorageTable table;
  StorageHooks hooks;
};

// Aligned memory of the process. A handle's id is its address. Memory of the host stays in place
// when the system allows it, and is used all the same when not; what the program gives is not
// locked.
template <MemoryKind kKind>
class Storage {
 public:
  Storage() = default;
  explicit Storage(const StorageSource& source) noexcept : source_(source) {}

  std::uint64_t alignment() const noexcept { return 256; }
  std::uint64_t granularity() const noexcept { return kKind == MemoryKind::host ? 4096 : 256; }
  Result<backend::StorageHandle> alloc(std::uint64_t size_bytes);
  backend::StorageResource get(const backend::StorageHandle& handle) const noexcept {
    return {handle.id, nullptr};
  }
  void dealloc(const backend::StorageHandle& handle) noexcept;
  void flush() noexcept {}

 private:
  void* take(std::uint64_t size_bytes, std::uint64_t alignment_bytes);
  void give(void* memory, std::uint64_t size_bytes) noexcept;

  StorageSource source_;
  bool lockable_ = true;  // False once the system has refused: it is not asked again.
};

using DeviceStorage = Storage<MemoryKind::device>;
using HostStorage = Storage<MemoryKind::host>;
extern template class Storage<MemoryKind::device>;
extern template class Storage<MemoryKind::host>;

}  // namespace thalweg::cpu
