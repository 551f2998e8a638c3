// SPDX-License-Identifier: Apache-2.0
//
// os/real_clock.hpp - the machine's clock.

#pragma once

#include <chrono>
#include <memory>
#include <utility>

#include "thalweg/base/clock.hpp"

namespace thalweg::os {

class RealClock final : public Clock {
 public:
  std::chrono::nanoseconds now() const noexcept override {
    return std::chrono::steady_clock::now().time_since_epoch();
  }
};

// `clock`, or the machine's when it is null.
inline std::shared_ptr<const Clock> clock_or_real(std::shared_ptr<const Clock> clock) {
  return clock != nullptr ? std::move(clock) : std::make_shared<const RealClock>();
}

}  // namespace thalweg::os
