// SPDX-License-Identifier: Apache-2.0

#include "sync/parking.hpp"

#include "os/futex.hpp"
#include "os/thread.hpp"

namespace thalweg::sync {

std::optional<Moment> end_of(Deadline deadline, const Clock& clock) noexcept {
  if (!deadline.within()) return std::nullopt;
  const std::chrono::nanoseconds now = clock.now();
  if (deadline.within()->count() <= 0) return Moment{&clock, now};
  if (*deadline.within() > std::chrono::nanoseconds::max() - now) return std::nullopt;
  return Moment{&clock, now + *deadline.within()};
}

// An alarm on the stack of the thread that sleeps.
struct Sleeper::Limit : Alarm {
  Limit(Sleeper& sleeper, std::chrono::nanoseconds end) noexcept : owner(sleeper) {
    when = end;
    fire = [](Alarm& alarm) noexcept { static_cast<Limit&>(alarm).owner.set(kExpired); };
  }
  Sleeper& owner;
};

Sleeper::Sleeper(Timeline& timeline, std::uint64_t wanted) noexcept : timeline_(timeline) {
  value = wanted;
  fire = &wake;
  if (!timeline_.add(*this)) word_.store(kReached, std::memory_order_relaxed);
}

Sleeper::~Sleeper() {
  if ((word_.load(std::memory_order_acquire) & kReached) != 0) return;
  if (timeline_.remove(*this)) return;
  wait_for(kReached);
}

void Sleeper::wake(TimelineWaiter& waiter) noexcept { static_cast<Sleeper&>(waiter).set(kReached); }

// After the word is written the sleeper may be gone; futex_wake uses the address alone.
void Sleeper::set(std::uint32_t bit) noexcept {
  std::atomic<std::uint32_t>* const word = &word_;
  word->fetch_or(bit, std::memory_order_release);
  os::futex_wake(word, 1);
}

// Somebody was taken to be fired: the memory stays until that has happened.
void Sleeper::wait_for(std::uint32_t bit) const noexcept {
  while ((word_.load(std::memory_order_acquire) & bit) == 0) os::yield();
}

Sleeper::Woken Sleeper::sleep(const std::optional<Moment>& end) noexcept {
  if (!end) return sleep_while(nullptr);
  // What is over already is a test: the clock is not asked for an alarm.
  if (end->over()) return sleep_while(&*end);
  Limit limit(*this, end->time);
  if (!end->clock->add(limit)) return sleep_while(&*end);
  const Woken woken = sleep_while(nullptr);
  if (!end->clock->remove(limit)) {
    wait_for(kExpired);
    word_.fetch_and(~kExpired, std::memory_order_relaxed);
  }
  return woken;
}

// Sleeps while no bit of the word is set and `end`, if any, is not over.
Sleeper::Woken Sleeper::sleep_while(const Moment* end) noexcept {
  for (;;) {
    const std::uint32_t word = word_.load(std::memory_order_acquire);
    if ((word & kReached) != 0) return Woken::reached;
    if ((word & kNudged) != 0) {
      word_.fetch_and(~kNudged, std::memory_order_acquire);
      return Woken::nudged;
    }
    if ((word & kExpired) != 0) return Woken::timeout;
    std::optional<std::chrono::nanoseconds> left;
    if (end != nullptr) {
      left = end->time - end->clock->now();
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

bool wait_until(Timeline& timeline, std::uint64_t value, Deadline deadline,
                const Clock& clock) noexcept {
  if (timeline.reached(value)) return true;
  const std::optional<Moment> end = end_of(deadline, clock);
  Sleeper sleeper(timeline, value);
  return sleeper.sleep(end) == Sleeper::Woken::reached;
}

}  // namespace thalweg::sync
