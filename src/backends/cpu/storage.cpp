// SPDX-License-Identifier: Apache-2.0

#include "backends/cpu/storage.hpp"

#include <fmt/format.h>

#include "os/memory.hpp"

namespace thalweg::cpu {

// A function of the program's that throws has no memory to give.
template <MemoryKind kKind>
void* Storage<kKind>::take(std::uint64_t size_bytes, std::uint64_t alignment_bytes) {
  if (source_.table.alloc == nullptr) return os::allocate_aligned(size_bytes, alignment_bytes);
  try {
    return source_.table.alloc(source_.table.context, size_bytes, alignment_bytes);
  } catch (...) {
    return nullptr;
  }
}

template <MemoryKind kKind>
void Storage<kKind>::give(void* memory, std::uint64_t size_bytes) noexcept {
  if (source_.table.alloc == nullptr) {
    os::free_aligned(memory);
  } else {
    source_.table.free(source_.table.context, memory, size_bytes);
  }
}

template <MemoryKind kKind>
Result<backend::StorageHandle> Storage<kKind>::alloc(std::uint64_t size_bytes) {
  const std::uint64_t alignment =
      size_bytes >= backend::kAlignmentBytesMax ? backend::kAlignmentBytesMax : this->alignment();
  void* const memory = take(size_bytes, alignment);
  if (memory == nullptr)
    return Error(
        ErrorKind::out_of_memory,
        fmt::format("The {} has no {} bytes left.",
                    source_.table.alloc == nullptr ? "system" : "storage table", size_bytes));
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  if ((address & (alignment - 1)) != 0) {
    give(memory, size_bytes);
    return Error(ErrorKind::invalid_argument,
                 fmt::format("The storage table gives address {:#x}, which is not aligned to {} "
                             "bytes.",
                             address, alignment));
  }
  if (kKind == MemoryKind::host && source_.table.alloc == nullptr && lockable_)
    lockable_ = os::lock_pages(memory, size_bytes);
  if (source_.hooks.taken != nullptr)
    source_.hooks.taken(source_.hooks.context, kKind, memory, size_bytes);
  return backend::StorageHandle{address, size_bytes};
}

template <MemoryKind kKind>
void Storage<kKind>::dealloc(const backend::StorageHandle& handle) noexcept {
  void* const memory = reinterpret_cast<void*>(handle.id);
  if (source_.hooks.given_back != nullptr)
    source_.hooks.given_back(source_.hooks.context, kKind, memory, handle.size_bytes);
  if (kKind == MemoryKind::host && source_.table.alloc == nullptr)
    os::unlock_pages(memory, handle.size_bytes);
  give(memory, handle.size_bytes);
}

template class Storage<MemoryKind::device>;
template class Storage<MemoryKind::host>;

}  // namespace thalweg::cpu
