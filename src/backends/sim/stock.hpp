// SPDX-License-Identifier: Apache-2.0
//
// backends/sim/stock.hpp - what one explored world leaves to the next on the same thread.
//
// An exploration makes a world for each run, and runs last some microseconds: most of that would be
// allocations. Only room is handed on, nothing that a run could see.

#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "backends/sim/queue.hpp"

namespace thalweg::sim {

struct Stock {
  static constexpr std::size_t kOpsMax = 1024;
  static constexpr std::size_t kStatesMax = 64;

  std::vector<std::unique_ptr<Op>> ops;
  std::vector<Queue::State> states;
  std::unique_ptr<std::byte[]> world;  // The memory of a world, or null.

  // Of this thread; null when the thread is about to end.
  static Stock* here() noexcept;
};

}  // namespace thalweg::sim
