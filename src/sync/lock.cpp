// SPDX-License-Identifier: Apache-2.0

#include "sync/lock.hpp"

#include <algorithm>

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

// Looks seldomer and seldomer: a holder that is left alone keeps the line of the lock and those it
// guards, and takes it again and again, which costs a tenth of handing them over each time.
// Measured (docs/design/0004-several-threads.md).
void SpinLock::lock_slow() noexcept {
  constexpr int kPausesMax = 64;
  constexpr int kPausesBeforeYield = 256;
  int paused = 0;
  for (int pauses = 1;; pauses = std::min(2 * pauses, kPausesMax)) {
    for (int i = 0; i != pauses; ++i) os::pause();
    if (!taken_.load(std::memory_order_relaxed) &&
        !taken_.exchange(true, std::memory_order_acquire))
      return;
    if (paused < kPausesBeforeYield) {
      paused += pauses;
    } else {
      os::yield();
    }
  }
}

}  // namespace thalweg::sync
