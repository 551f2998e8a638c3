// SPDX-License-Identifier: Apache-2.0

#include "thalweg/order/frontier.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace thalweg::order {

void Frontier::raise(Point point) {
  if (covers(point)) return;
  if (serials_.size() <= point.queue()) serials_.resize(std::size_t{point.queue()} + 1);
  serials_[point.queue()] = point.serial().value;
}

void Frontier::merge(const Frontier& other) {
  if (serials_.size() < other.serials_.size()) serials_.resize(other.serials_.size());
  std::uint64_t* const mine = serials_.data();
  const std::uint64_t* const theirs = other.serials_.data();
  const std::size_t count = other.serials_.size();
  for (std::size_t i = 0; i != count; ++i) mine[i] = std::max(mine[i], theirs[i]);
}

}  // namespace thalweg::order
