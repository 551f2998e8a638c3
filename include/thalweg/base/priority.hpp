// SPDX-License-Identifier: Apache-2.0
//
// thalweg/base/priority.hpp - the priorities a device's streams can have.

#pragma once

namespace thalweg {

// Lower numbers run first; 0 is the default. {0, 0} means that a device has no priorities.
struct PriorityRange {
  int least = 0;
  int greatest = 0;

  bool contains(int priority) const noexcept { return greatest <= priority && priority <= least; }
  friend bool operator==(const PriorityRange&, const PriorityRange&) noexcept = default;
};

}  // namespace thalweg
