// SPDX-License-Identifier: Apache-2.0
//
// thalweg/base/forked.hpp - whether this process is a child of one that used the runtime.
//
// A child has none of its parent's other threads, and locks that one of them held stay locked for
// good. So nothing of the runtime takes a lock, waits or runs the program's code in such a child:
// calls are refused with `unavailable`, queries answer without looking, and handles are dropped
// without an end. A fork before the first use, and one that does not run the handlers of
// pthread_atfork (vfork, posix_spawn), concerns nobody.

#pragma once

#include <atomic>
#include <source_location>

#include "thalweg/base/error.hpp"
#include "thalweg/base/export.hpp"

namespace thalweg::detail {

// Written once, by the only thread there is.
THALWEG_EXPORT extern std::atomic<bool> forked_child;

inline bool forked() noexcept { return forked_child.load(std::memory_order_relaxed); }

// The refusal of every call in a forked child.
THALWEG_EXPORT Error forked_error(std::source_location site);

}  // namespace thalweg::detail
