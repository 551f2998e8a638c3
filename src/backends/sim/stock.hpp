// SPDX-License-Identifier: Apache-2.0
//
// backends/sim/stock.hpp - what one explored world leaves to the next on the same thread.
//
// An exploration makes a world for each run, and runs last some microseconds: most of that would be
// allocations. Only room is handed on, nothing that a run could see.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "backends/sim/flat_map.hpp"
#include "backends/sim/queue.hpp"
#include "backends/sim/world.hpp"

namespace thalweg::sim {

struct Stock {
  static constexpr std::size_t kOpsMax = 1024;
  static constexpr std::size_t kStatesMax = 64;

  std::vector<std::unique_ptr<Op>> ops;
  std::vector<Op*> free_ops;  // All of them.
  std::vector<std::unique_ptr<Queue::State>> states;
  std::unique_ptr<std::byte[]> world;  // The memory of a world, or null.

  // Lists of a world, empty.
  std::vector<std::unique_ptr<Queue>> queues;
  std::vector<std::uint32_t> positions;
  std::vector<Process> ready;
  std::vector<Arena*> arenas;
  FlatMap<std::uint64_t, Live> allocations;
  FlatMap<std::uint64_t, std::uint64_t> by_address;

  // How many the last world had, at most kOpsMax. What is kept of each goes to whoever looks at the
  // run.
  std::size_t submissions = 0;

  // Of this thread; null when the thread is about to end.
  static Stock* here() noexcept;
};

}  // namespace thalweg::sim
