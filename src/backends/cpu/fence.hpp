// SPDX-License-Identifier: Apache-2.0
//
// backends/cpu/fence.hpp - a serial of a queue. Recording one costs nothing.

#pragma once

#include "sync/parking.hpp"
#include "sync/timeline.hpp"
#include "thalweg/base/clock.hpp"
#include "thalweg/base/ids.hpp"
#include "thalweg/base/result.hpp"

namespace thalweg::cpu {

class Fence {
 public:
  // REQUIRES: `clock` outlives it.
  Fence(sync::Timeline& timeline, Serial serial, const Clock& clock) noexcept
      : timeline_(&timeline), serial_(serial), clock_(&clock) {}

  bool passed() const noexcept { return timeline_->reached(serial_.value); }

  Result<void> wait(Deadline deadline) const {
    if (sync::wait_until(*timeline_, serial_.value, deadline, *clock_)) return {};
    return Error(ErrorKind::timeout, "The deadline came before the fence had passed.");
  }

 private:
  sync::Timeline* timeline_;
  Serial serial_;
  const Clock* clock_;
};

}  // namespace thalweg::cpu
