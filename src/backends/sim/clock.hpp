// SPDX-License-Identifier: Apache-2.0
//
// backends/sim/clock.hpp - how much each queue has done: a vector clock over the slots of a world.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace thalweg::sim {

// By slot, the position up to which everything is known to have come before. Those of the first
// slots lie in the object: most programs have no others.
class VectorClock {
 public:
  VectorClock() = default;
  VectorClock(const VectorClock&) = default;
  VectorClock(VectorClock&&) noexcept = default;
  VectorClock& operator=(VectorClock&&) noexcept = default;
  ~VectorClock() = default;

  // A vector is slow to copy, also when there is nothing in it.
  VectorClock& operator=(const VectorClock& other) {
    first_ = other.first_;
    if (!more_.empty() || !other.more_.empty()) more_ = other.more_;
    return *this;
  }

  std::uint32_t of(std::size_t slot) const noexcept {
    if (slot < kInline) return first_[slot];
    return slot - kInline < more_.size() ? more_[slot - kInline] : 0;
  }

  void set(std::size_t slot, std::uint32_t position) {
    if (slot < kInline) {
      first_[slot] = position;
      return;
    }
    if (slot - kInline >= more_.size()) more_.resize(slot - kInline + 1);
    more_[slot - kInline] = position;
  }

  void join(const VectorClock& other) {
    for (std::size_t i = 0; i != kInline; ++i) first_[i] = std::max(first_[i], other.first_[i]);
    if (other.more_.size() > more_.size()) more_.resize(other.more_.size());
    for (std::size_t i = 0; i != other.more_.size(); ++i)
      more_[i] = std::max(more_[i], other.more_[i]);
  }

  void clear() noexcept {
    first_ = {};
    more_.clear();
  }

 private:
  static constexpr std::size_t kInline = 8;

  std::array<std::uint32_t, kInline> first_{};
  std::vector<std::uint32_t> more_;
};

}  // namespace thalweg::sim
