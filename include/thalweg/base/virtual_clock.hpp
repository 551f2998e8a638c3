// SPDX-License-Identifier: Apache-2.0
//
// thalweg/base/virtual_clock.hpp - a clock that stands still until somebody moves it.
//
//   auto clock = std::make_shared<VirtualClock>();
//   Device device = must(Device::open("cpu", {.clock = clock}));
//   ...                          a thread waits with a deadline of 5 ms
//   clock->advance(5ms);         and its wait ends with `timeout`
//
// So deadlines can be tested without waiting for them. advance() goes from alarm to alarm: while
// one fires, now() is the alarm's own moment, and an alarm that is added meanwhile fires in its
// turn.
//
// Threads:    all methods from any thread. Moves of several threads add up, and share the alarms
//             that become due among them.
// Ownership:  an alarm belongs to whoever added it, and is out of the clock before the clock goes.
// Errors:     none. Time stops at the last nanosecond there is, and in a forked child.

#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "thalweg/base/clock.hpp"

namespace thalweg {

class THALWEG_EXPORT VirtualClock final : public Clock {
 public:
  // Begins at `start`, or at zero where that is below.
  explicit VirtualClock(std::chrono::nanoseconds start = {}) noexcept
      : now_(start.count() < 0 ? 0 : start.count()), target_(now_.load()) {}
  VirtualClock(const VirtualClock&) = delete;
  VirtualClock& operator=(const VirtualClock&) = delete;

  // Memory ordering: acquire; pairs with advance().
  std::chrono::nanoseconds now() const noexcept override {
    return std::chrono::nanoseconds(now_.load(std::memory_order_acquire));
  }

  // Moves the time on, and fires the alarms that are due, in the order of their moments and among
  // equal ones in that of their adding. Zero or less moves nothing. Never waits.
  // Memory ordering: what the caller did before happens before what the alarms fire.
  void advance(std::chrono::nanoseconds by) noexcept;

  bool add(Alarm& alarm) const noexcept override;
  bool remove(Alarm& alarm) const noexcept override;

  // How many alarms wait: in a test, how many threads are blocked with a deadline.
  std::size_t alarms() const noexcept;

 private:
  // The mutex guards what follows it. Nothing fires under it.
  mutable std::mutex mutex_;
  std::atomic<std::int64_t> now_;    // Written under the mutex.
  std::chrono::nanoseconds target_;  // Where the moves lead; now_ is on the way there.
  mutable Alarm* first_ = nullptr;   // Sorted by moment, then by the order of adding.
  mutable std::size_t alarms_ = 0;   // In the list.
};

}  // namespace thalweg
