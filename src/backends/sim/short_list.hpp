// SPDX-License-Identifier: Apache-2.0
//
// backends/sim/short_list.hpp - a list that seldom has more than a few elements, which lie in it.

#pragma once

#include <array>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace thalweg::sim {

template <class T, std::size_t kInline>
class ShortList {
 public:
  static_assert(std::is_trivially_copyable_v<T>);

  ShortList() = default;
  ShortList(const ShortList&) = default;
  ~ShortList() = default;

  // A vector is slow to copy, also when there is nothing in it.
  ShortList& operator=(const ShortList& other) {
    size_ = other.size_;
    inline_ = other.inline_;
    if (!more_.empty() || !other.more_.empty()) more_ = other.more_;
    return *this;
  }

  void push_back(const T& value) {
    if (size_ < kInline) {
      inline_[size_] = value;
    } else {
      if (size_ == kInline) more_.assign(inline_.begin(), inline_.end());
      more_.push_back(value);
    }
    ++size_;
  }

  template <class List>
  void assign(const List& list) {
    clear();
    for (const T& value : list) push_back(value);
  }

  void clear() noexcept {
    size_ = 0;
    more_.clear();
  }

  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }
  const T* begin() const noexcept { return size_ <= kInline ? inline_.data() : more_.data(); }
  const T* end() const noexcept { return begin() + size_; }

 private:
  std::size_t size_ = 0;
  std::array<T, kInline> inline_{};
  std::vector<T> more_;  // All of them, when they are more.
};

}  // namespace thalweg::sim
