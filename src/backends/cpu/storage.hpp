// SPDX-License-Identifier: Apache-2.0
//
// backends/cpu/storage.hpp - device memory of the cpu, and page-locked memory.

#pragma once

#include <cstdint>

#include "thalweg/backend/compute_storage.hpp"

namespace thalweg::cpu {

// Aligned memory of the process. A handle's id is its address.
class DeviceStorage {
 public:
  std::uint64_t alignment() const noexcept { return 256; }
  std::uint64_t granularity() const noexcept { return 256; }
  Result<backend::StorageHandle> alloc(std::uint64_t size_bytes);
  backend::StorageResource get(const backend::StorageHandle& handle) const noexcept {
    return {handle.id, nullptr};
  }
  void dealloc(const backend::StorageHandle& handle) noexcept;
  void flush() noexcept {}
};

// Memory that stays in place when the system allows it; it is used all the same when not.
class HostStorage {
 public:
  std::uint64_t alignment() const noexcept { return memory_.alignment(); }
  std::uint64_t granularity() const noexcept { return 4096; }
  Result<backend::StorageHandle> alloc(std::uint64_t size_bytes);
  backend::StorageResource get(const backend::StorageHandle& handle) const noexcept {
    return memory_.get(handle);
  }
  void dealloc(const backend::StorageHandle& handle) noexcept;
  void flush() noexcept {}

 private:
  DeviceStorage memory_;
  bool lockable_ = true;  // False once the system has refused: it is not asked again.
};

}  // namespace thalweg::cpu
