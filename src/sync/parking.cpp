// SPDX-License-Identifier: Apache-2.0

#include "sync/parking.hpp"

#include "os/futex.hpp"
#include "os/thread.hpp"

namespace thalweg::sync {

std::optional<TimePoint> end_of(Deadline deadline) noexcept {
  if (!deadline.within()) return std::nullopt;
  const TimePoint now = std::chrono::steady_clock::now();
  if (deadline.within()->count() <= 0) return now;
  if (*deadline.within() > TimePoint::max() - now) return std::nullopt;
  return now + *deadline.within();
}

Sleeper::Sleeper(Timeline& timeline, std::uint64_t wanted) noexcept : timeline_(timeline) {
  value = wanted;
  fire = &wake;
  if (!timeline_.add(*this)) word_.store(kReached, std::memory_order_relaxed);
}

Sleeper::~Sleeper() {
  if ((word_.load(std::memory_order_acquire) & kReached) != 0) return;
  if (timeline_.remove(*this)) return;
  // Taken to be fired: the memory stays until that has happened.
  while ((word_.load(std::memory_order_acquire) & kReached) == 0) os::yield();
}

// After the word is written the sleeper may be gone; futex_wake uses the address alone.
void Sleeper::wake(TimelineWaiter& waiter) noexcept {
  std::atomic<std::uint32_t>* const word = &static_cast<Sleeper&>(waiter).word_;
  word->fetch_or(kReached, std::memory_order_release);
  os::futex_wake(word, 1);
}

Sleeper::Woken Sleeper::sleep(std::optional<TimePoint> end) noexcept {
  for (;;) {
    const std::uint32_t word = word_.load(std::memory_order_acquire);
    if ((word & kReached) != 0) return Woken::reached;
    if ((word & kNudged) != 0) {
      word_.fetch_and(~kNudged, std::memory_order_acquire);
      return Woken::nudged;
    }
    std::optional<std::chrono::nanoseconds> left;
    if (end) {
      left = *end - std::chrono::steady_clock::now();
      if (left->count() <= 0) return Woken::timeout;
    }
    os::futex_wait(word_, 0, left);
  }
}

bool Sleeper::nudge() noexcept {
  const bool first = (word_.fetch_or(kNudged, std::memory_order_release) & kNudged) == 0;
  if (first) os::futex_wake(&word_, 1);
  return first;
}

bool wait_until(Timeline& timeline, std::uint64_t value, Deadline deadline) noexcept {
  if (timeline.reached(value)) return true;
  const std::optional<TimePoint> end = end_of(deadline);
  Sleeper sleeper(timeline, value);
  return sleeper.sleep(end) == Sleeper::Woken::reached;
}

}  // namespace thalweg::sync
