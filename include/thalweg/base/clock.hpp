// SPDX-License-Identifier: Apache-2.0
//
// thalweg/base/clock.hpp - time as the runtime sees it, and deadlines.
//
// A device has one clock: the machine's for real backends, a virtual one for the simulated device.

#pragma once

#include <chrono>
#include <optional>
#include <ratio>

#include "thalweg/base/export.hpp"

namespace thalweg {

class THALWEG_EXPORT Clock {
 public:
  virtual ~Clock() = default;

  // Time since a fixed moment in the past. Never goes back. Threads: any.
  virtual std::chrono::nanoseconds now() const noexcept = 0;
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
