// SPDX-License-Identifier: Apache-2.0
//
// backends/sim/clock.hpp - how much each queue has done: a vector clock over the slots of a world.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace thalweg::sim {

// By slot, the position up to which everything is known to have come before. Slots beyond its width
// count as 0.
class VectorClock {
 public:
  std::uint32_t of(std::size_t slot) const noexcept {
    return slot < positions_.size() ? positions_[slot] : 0;
  }

  void set(std::size_t slot, std::uint32_t position) {
    if (slot >= positions_.size()) positions_.resize(slot + 1);
    positions_[slot] = position;
  }

  void join(const VectorClock& other) {
    if (other.positions_.size() > positions_.size()) positions_.resize(other.positions_.size());
    for (std::size_t i = 0; i != other.positions_.size(); ++i)
      positions_[i] = std::max(positions_[i], other.positions_[i]);
  }

  void clear() noexcept { positions_.clear(); }

 private:
  std::vector<std::uint32_t> positions_;
};

}  // namespace thalweg::sim
