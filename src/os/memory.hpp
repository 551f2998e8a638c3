// SPDX-License-Identifier: Apache-2.0
//
// os/memory.hpp - aligned and page-locked memory.

#pragma once

#include <cstddef>
#include <cstdint>

namespace thalweg::os {

// Null when the system has none left. REQUIRES: a power of two; bytes > 0.
void* allocate_aligned(std::size_t bytes, std::size_t alignment_bytes) noexcept;
void free_aligned(void* memory) noexcept;

// Keeps the pages in memory. False when the system does not allow it.
bool lock_pages(void* memory, std::size_t bytes) noexcept;
void unlock_pages(void* memory, std::size_t bytes) noexcept;

// A range of addresses, near `hint` where that is free: memory comes when it is touched, as zeros.
// Null when the system has none.
void* reserve_addresses(std::uint64_t hint, std::size_t bytes) noexcept;
void release_addresses(void* memory, std::size_t bytes) noexcept;

// Gives the memory of the range back; the addresses stay.
void discard_memory(void* memory, std::size_t bytes) noexcept;

std::size_t page_bytes() noexcept;

// Of the machine; 0 when unknown.
std::uint64_t physical_memory_bytes() noexcept;

}  // namespace thalweg::os
