// SPDX-License-Identifier: Apache-2.0
//
// sync/parking.hpp - a thread of the host that sleeps until a timeline has reached a value.

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "sync/timeline.hpp"
#include "thalweg/base/clock.hpp"

namespace thalweg::sync {

// A moment by a clock.
struct Moment {
  const Clock* clock;
  std::chrono::nanoseconds time;

  bool over() const noexcept { return clock->now() >= time; }
};

// When a deadline counted from now ends. Without one the clock is not read.
std::optional<Moment> end_of(Deadline deadline, const Clock& clock) noexcept;

// A sleeper on the stack of the thread that sleeps. It is added to a timeline in its constructor.
class Sleeper : private TimelineWaiter {
 public:
  enum class Woken : std::uint8_t { reached, nudged, timeout };

  Sleeper(Timeline& timeline, std::uint64_t wanted) noexcept;
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  ~Sleeper();

  // Sleeps until the value is reached, somebody nudges, or `end`. A nudge is taken once.
  Woken sleep(const std::optional<Moment>& end) noexcept;

  // Wakes the sleeper although the value is not reached. True when that took a system call. From
  // any thread, while the sleeper is known to live.
  bool nudge() noexcept;

  // For lists of sleepers.
  Sleeper* next_sleeper = nullptr;
  Sleeper* previous_sleeper = nullptr;
  std::uint64_t help_epoch = 0;  // The call for help it was woken for last.

 private:
  // Bits of word_.
  static constexpr std::uint32_t kReached = 1;
  static constexpr std::uint32_t kNudged = 2;
  static constexpr std::uint32_t kExpired = 4;

  struct Limit;

  static void wake(TimelineWaiter& waiter) noexcept;
  void set(std::uint32_t bit) noexcept;
  void wait_for(std::uint32_t bit) const noexcept;
  Woken sleep_while(const Moment* end) noexcept;

  Timeline& timeline_;
  std::atomic<std::uint32_t> word_{0};
};

// Sleeps until `timeline` has reached `value`. False when the deadline came first, by `clock`.
bool wait_until(Timeline& timeline, std::uint64_t value, Deadline deadline,
                const Clock& clock) noexcept;

}  // namespace thalweg::sync
