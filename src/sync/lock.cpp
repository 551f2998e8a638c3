// SPDX-License-Identifier: Apache-2.0

#include "sync/lock.hpp"

namespace thalweg::sync {

#if !defined(NDEBUG)
namespace detail {
namespace {
// Bit r: this thread holds a lock of rank r. Two of one rank are never held at once.
thread_local unsigned held = 0;
}  // namespace

void check_rank(Rank rank) noexcept {
  const unsigned bit = 1U << static_cast<unsigned>(rank);
  THALWEG_CHECK(held < bit, "A lock is taken while one of the same or a later rank is held.");
  held |= bit;
}

void pop_rank(Rank rank) noexcept { held &= ~(1U << static_cast<unsigned>(rank)); }

}  // namespace detail
#endif

void SpinLock::lock_slow() noexcept {
  // 200 turns: measured best against yielding at once (docs/design/0002-cpu-backend.md).
  constexpr int kSpins = 200;
  do {
    for (int turn = 0; taken_.load(std::memory_order_relaxed); ++turn) {
      if (turn < kSpins) {
        os::pause();
      } else {
        os::yield();
      }
    }
  } while (taken_.exchange(true, std::memory_order_acquire));
}

}  // namespace thalweg::sync
