// SPDX-License-Identifier: Apache-2.0

#include "thalweg/order/point.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace thalweg::order {

PointSet& PointSet::operator=(const PointSet& other) {
  if (this == &other) return *this;
  if (other.size_ > capacity_) {
    size_ = 0;  // Nothing to carry over.
    grow(other.size_);
  }
  std::copy(other.begin(), other.end(), data());
  size_ = other.size_;
  return *this;
}

PointSet& PointSet::operator=(PointSet&& other) noexcept {
  if (this == &other) return *this;
  if (other.heap_) {
    heap_ = std::move(other.heap_);
    capacity_ = std::exchange(other.capacity_, kInline);
  } else {
    std::copy(other.begin(), other.end(), data());
  }
  size_ = std::exchange(other.size_, 0);
  return *this;
}

void PointSet::grow(std::uint32_t count_min) {
  const std::uint32_t capacity = std::max(count_min, 2 * capacity_);
  auto heap = std::make_unique<Point[]>(capacity);
  std::copy(begin(), end(), heap.get());
  heap_ = std::move(heap);
  capacity_ = capacity;
}

}  // namespace thalweg::order
