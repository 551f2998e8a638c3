// SPDX-License-Identifier: Apache-2.0
//
// os/real_clock.hpp - the machine's clock.

#pragma once

#include "thalweg/base/clock.hpp"

namespace thalweg::os {

class RealClock final : public Clock {
 public:
  std::chrono::nanoseconds now() const noexcept override {
    return std::chrono::steady_clock::now().time_since_epoch();
  }
};

}  // namespace thalweg::os
