// SPDX-License-Identifier: Apache-2.0
//
// backends/sim/flat_map.hpp - a map that is one sorted row, and keeps its room when it is cleared.
//
// For some hundred elements: one that is added or taken out moves those behind it. The functions
// are those of std::map, but iterators hold only until the next change.

#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

namespace thalweg::sim {

template <class Key, class T>
class FlatMap {
 public:
  static_assert(std::is_trivially_copyable_v<Key> && std::is_trivially_copyable_v<T>);

  using Row = std::vector<std::pair<Key, T>>;
  using iterator = typename Row::iterator;
  using const_iterator = typename Row::const_iterator;

  iterator begin() noexcept { return row_.begin(); }
  iterator end() noexcept { return row_.end(); }
  const_iterator begin() const noexcept { return row_.begin(); }
  const_iterator end() const noexcept { return row_.end(); }

  iterator lower_bound(Key key) noexcept {
    return std::lower_bound(row_.begin(), row_.end(), key, before);
  }
  const_iterator lower_bound(Key key) const noexcept {
    return std::lower_bound(row_.begin(), row_.end(), key, before);
  }
  iterator find(Key key) noexcept {
    const iterator at = lower_bound(key);
    return at != end() && at->first == key ? at : end();
  }
  const_iterator find(Key key) const noexcept {
    const const_iterator at = lower_bound(key);
    return at != end() && at->first == key ? at : end();
  }
  bool contains(Key key) const noexcept { return find(key) != end(); }

  // Where the key is, and whether it is new. One that is known keeps its value.
  std::pair<iterator, bool> emplace(Key key, T value) {
    const iterator at = lower_bound(key);
    if (at != end() && at->first == key) return {at, false};
    return {row_.insert(at, {key, value}), true};
  }

  void insert_or_assign(Key key, T value) {
    if (const auto [at, fresh] = emplace(key, value); !fresh) at->second = value;
  }

  iterator erase(const_iterator at) { return row_.erase(at); }
  iterator erase(const_iterator from, const_iterator to) { return row_.erase(from, to); }
  void clear() noexcept { row_.clear(); }
  void swap(FlatMap& other) noexcept { row_.swap(other.row_); }

 private:
  static bool before(const std::pair<Key, T>& element, Key key) noexcept {
    return element.first < key;
  }

  Row row_;
};

}  // namespace thalweg::sim
