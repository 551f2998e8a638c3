// SPDX-License-Identifier: Apache-2.0
//
// thalweg/base/clock.hpp - time as the runtime sees it, and deadlines.
//
// A device has one clock: the machine's, or a VirtualClock (base/virtual_clock.hpp) that a test or
// a simulation moves.

#pragma once

#include <chrono>
#include <optional>
#include <ratio>

#include "thalweg/base/export.hpp"

namespace thalweg {

class Clock;

// Someone who waits for a moment of a clock. It belongs to whoever waits: nothing is allocated.
struct Alarm {
  std::chrono::nanoseconds when{0};

  // Called once, without a lock, on the thread that moved the clock there, or by `add` when the
  // moment is over. The alarm may be gone when it returns.
  void (*fire)(Alarm&) noexcept = nullptr;

  // The clock's own.
  Alarm* next = nullptr;
  Alarm* previous = nullptr;
  const Clock* clock = nullptr;  // That holds it.
};

// Threads: all methods from any thread.
class THALWEG_EXPORT Clock {
 public:
  virtual ~Clock() = default;

  // Time since a fixed moment in the past. Never goes back.
  virtual std::chrono::nanoseconds now() const noexcept = 0;

  // Adds `alarm`, which stays where it is until it fires or is removed. False, and nothing added:
  // this clock goes by itself, at the pace of the machine's, and whoever waits measures the time;
  // or the alarm has no `fire`, or waits already.
  virtual bool add(Alarm& alarm) const noexcept {
    static_cast<void>(alarm);
    return false;
  }

  // Takes `alarm` out. False when it is not in here: it was never added, or it fires or has fired.
  virtual bool remove(Alarm& alarm) const noexcept {
    static_cast<void>(alarm);
    return false;
  }
};

// How long a call may wait, counted from the call, by the device's clock. The default waits without
// limit. A deadline of zero or less tests and does not wait.
class Deadline {
 public:
  constexpr Deadline() noexcept = default;

  // A duration of more nanoseconds than there are is the longest, or the least, that there is; one
  // that is not a number is zero.
  template <class Rep, class Period>
  constexpr Deadline(std::chrono::duration<Rep, Period> within) noexcept
      : within_(saturated(within)) {}

  constexpr const std::optional<std::chrono::nanoseconds>& within() const noexcept {
    return within_;
  }

 private:
  template <class Rep, class Period>
  static constexpr std::chrono::nanoseconds saturated(
      std::chrono::duration<Rep, Period> within) noexcept {
    using std::chrono::nanoseconds;
    const std::chrono::duration<double, std::nano> rough(within);
    if (rough != rough) return nanoseconds::zero();  // Not a number: over.
    if (rough >= nanoseconds::max()) return nanoseconds::max();
    if (rough <= nanoseconds::min()) return nanoseconds::min();
    return std::chrono::duration_cast<nanoseconds>(within);
  }

  std::optional<std::chrono::nanoseconds> within_;
};

}  // namespace thalweg
