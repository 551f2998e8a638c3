// SPDX-License-Identifier: Apache-2.0
//
// backends/sim/fence.hpp - a serial of a simulated queue.

#pragma once

#include <memory>

#include "backends/sim/world.hpp"
#include "thalweg/base/clock.hpp"
#include "thalweg/base/result.hpp"

namespace thalweg::sim {

class Fence {
 public:
  // `never`: a fault; it does not pass. The world and the queue outlive it.
  Fence(World& world, order::Point point, bool never) noexcept
      : world_(&world), point_(point), never_(never) {}

  bool passed() const noexcept {
    return !never_ && sync::queue_timeline(point_.queue()).answers(point_.serial().value);
  }

  // One that never passes takes the whole deadline.
  Result<void> wait(Deadline deadline) const;

 private:
  World* world_;
  order::Point point_;
  bool never_;
};

}  // namespace thalweg::sim
