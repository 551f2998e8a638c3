// SPDX-License-Identifier: Apache-2.0
//
// thalweg/order/frontier.hpp - a vector clock: what something is ordered after.
//
//   queue       0    1    2    3
//   frontier  [ 7 ][ 0 ][ 12 ]        after serial 7 of queue 0 and serial 12 of queue 2
//
// Dense, and as wide as the greatest queue it holds something for: indices are given out from the
// lowest, so the width follows the number of queues in use.
//
// Threads:    external synchronization.
// Ownership:  owns its words, and keeps the room it once had.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "thalweg/base/export.hpp"
#include "thalweg/base/ids.hpp"
#include "thalweg/order/point.hpp"

namespace thalweg::order {

class THALWEG_EXPORT Frontier {
 public:
  // 0 for a queue of which nothing is known.
  Serial of(QueueIndex queue) const noexcept {
    return queue < serials_.size() ? Serial{serials_[queue]} : Serial{};
  }

  // No point is covered by every frontier.
  bool covers(Point point) const noexcept { return point.serial() <= of(point.queue()); }

  // Never lowers.
  void raise(Point point);
  void merge(const Frontier& other);

  void clear() noexcept { serials_.clear(); }
  bool empty() const noexcept { return serials_.empty(); }

  // Queues from this index on have nothing.
  std::size_t width() const noexcept { return serials_.size(); }

 private:
  std::vector<std::uint64_t> serials_;
};

}  // namespace thalweg::order
