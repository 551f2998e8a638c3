// SPDX-License-Identifier: Apache-2.0

#include "os/memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

namespace thalweg::os {

void* allocate_aligned(std::size_t bytes, std::size_t alignment_bytes) noexcept {
  if (alignment_bytes < alignof(std::max_align_t)) alignment_bytes = alignof(std::max_align_t);
  void* memory = nullptr;
  return posix_memalign(&memory, alignment_bytes, bytes) == 0 ? memory : nullptr;
}

void free_aligned(void* memory) noexcept { std::free(memory); }

bool lock_pages(void* memory, std::size_t bytes) noexcept { return mlock(memory, bytes) == 0; }

void unlock_pages(void* memory, std::size_t bytes) noexcept { munlock(memory, bytes); }

void* reserve_addresses(std::uint64_t hint, std::size_t bytes) noexcept {
  void* const memory = mmap(reinterpret_cast<void*>(hint), bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

void release_addresses(void* memory, std::size_t bytes) noexcept { munmap(memory, bytes); }

void discard_memory(void* memory, std::size_t bytes) noexcept {
  madvise(memory, bytes, MADV_DONTNEED);
}

std::size_t page_bytes() noexcept { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

std::uint64_t physical_memory_bytes() noexcept {
  const long pages = sysconf(_SC_PHYS_PAGES);
  return pages > 0 ? static_cast<std::uint64_t>(pages) * page_bytes() : 0;
}

}  // namespace thalweg::os
