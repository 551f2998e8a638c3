// SPDX-License-Identifier: Apache-2.0

#include "unit/runtime/allocations.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define THALWEG_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define THALWEG_TEST_SANITIZED 1
#endif
#endif

namespace thalweg::test {
namespace {
thread_local std::uint64_t count = 0;
std::atomic<std::uint64_t> count_of_all{0};
}  // namespace

std::uint64_t allocations() noexcept { return count; }
std::uint64_t allocations_of_all() noexcept { return count_of_all.load(std::memory_order_relaxed); }

#if defined(THALWEG_TEST_SANITIZED)
const bool kAllocationsCounted = false;
#else
const bool kAllocationsCounted = true;

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  ++count;
  count_of_all.fetch_add(1, std::memory_order_relaxed);
  if (bytes == 0) bytes = 1;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes);
  void* memory = nullptr;
  return posix_memalign(&memory, alignment, bytes) == 0 ? memory : nullptr;
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  void* const memory = allocate(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
#endif

}  // namespace thalweg::test

#if !defined(THALWEG_TEST_SANITIZED)
using thalweg::test::allocate;
using thalweg::test::allocate_or_throw;

// The array forms of the standard library call these.
void* operator new(std::size_t bytes) { return allocate_or_throw(bytes, 1); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
#endif
