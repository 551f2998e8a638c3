// SPDX-License-Identifier: Apache-2.0
//
// thalweg/base/fifo.hpp - a queue of values that costs nothing while it is empty.
//
//   storage   | taken | taken | front |       | back |      What was taken from the front is given
//                               ^ first                     up when it is half of the storage.
//
// A std::deque allocates when it is made and when it is moved from.
//
// Threads:    a plain value.
// Cost:       amortised constant; elements are contiguous.

#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace thalweg {

template <class T>
class Fifo {
 public:
  bool empty() const noexcept { return first_ == items_.size(); }
  std::size_t size() const noexcept { return items_.size() - first_; }

  // REQUIRES: not empty; `i` below size().
  T& front() noexcept { return items_[first_]; }
  const T& front() const noexcept { return items_[first_]; }
  T& back() noexcept { return items_.back(); }
  const T& back() const noexcept { return items_.back(); }
  T& operator[](std::size_t i) noexcept { return items_[first_ + i]; }
  const T& operator[](std::size_t i) const noexcept { return items_[first_ + i]; }

  T* begin() noexcept { return items_.data() + first_; }
  T* end() noexcept { return items_.data() + items_.size(); }
  const T* begin() const noexcept { return items_.data() + first_; }
  const T* end() const noexcept { return items_.data() + items_.size(); }

  void push_back(T value) { items_.push_back(std::move(value)); }

  // REQUIRES: not empty. What the element held goes now.
  void pop_front() {
    T taken = std::move(items_[first_++]);
    static_cast<void>(taken);
    if (first_ == items_.size()) {
      items_.clear();
      first_ = 0;
    } else if (first_ >= kCompactMin && first_ >= items_.size() / 2) {
      items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
  }

  void clear() noexcept {
    items_.clear();
    first_ = 0;
  }

 private:
  static constexpr std::size_t kCompactMin = 16;

  std::vector<T> items_;
  std::size_t first_ = 0;
};

}  // namespace thalweg
