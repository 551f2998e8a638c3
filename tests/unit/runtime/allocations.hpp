// SPDX-License-Identifier: Apache-2.0
//
// unit/runtime/allocations.hpp - how often a thread, or all of them, asked the heap for memory.
//
// Counted by the program's own operator new. A build with a sanitizer keeps the sanitizer's, which
// finds more: `kAllocationsCounted` is false there, and the tests skip.

#pragma once

#include <cstdint>

namespace thalweg::test {

extern const bool kAllocationsCounted;

// By this thread, since it began.
std::uint64_t allocations() noexcept;

// By all threads.
std::uint64_t allocations_of_all() noexcept;

}  // namespace thalweg::test
