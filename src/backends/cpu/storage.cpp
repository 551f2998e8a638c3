// SPDX-License-Identifier: Apache-2.0

#include "backends/cpu/storage.hpp"

#include <fmt/format.h>

#include "os/memory.hpp"

namespace thalweg::cpu {

Result<backend::StorageHandle> DeviceStorage::alloc(std::uint64_t size_bytes) {
  const std::uint64_t alignment =
      size_bytes >= backend::kAlignmentBytesMax ? backend::kAlignmentBytesMax : this->alignment();
  void* const memory = os::allocate_aligned(size_bytes, alignment);
  if (memory == nullptr)
    return Error(ErrorKind::out_of_memory,
                 fmt::format("The system has no {} bytes left.", size_bytes));
  return backend::StorageHandle{reinterpret_cast<std::uintptr_t>(memory), size_bytes};
}

void DeviceStorage::dealloc(const backend::StorageHandle& handle) noexcept {
  os::free_aligned(reinterpret_cast<void*>(handle.id));
}

Result<backend::StorageHandle> HostStorage::alloc(std::uint64_t size_bytes) {
  Result<backend::StorageHandle> handle = memory_.alloc(size_bytes);
  if (handle && lockable_)
    lockable_ = os::lock_pages(reinterpret_cast<void*>(handle->id), size_bytes);
  return handle;
}

void HostStorage::dealloc(const backend::StorageHandle& handle) noexcept {
  os::unlock_pages(reinterpret_cast<void*>(handle.id), handle.size_bytes);
  memory_.dealloc(handle);
}

}  // namespace thalweg::cpu
