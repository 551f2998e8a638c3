// SPDX-License-Identifier: Apache-2.0
//
// thalweg/order/point.hpp - a place in a queue, and a set of such places.
//
// A queue counts what is enqueued on it; the n-th thing has serial n, and the Point {queue, n}
// stands for "everything up to the n-th". So of two points of one queue the later one says it all,
// and a PointSet keeps at most one for each queue.
//
// Threads:    plain values; a PointSet needs external synchronization.
// Ownership:  a PointSet owns its points. It keeps the room it once had: nothing allocates when
// warm.

#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "thalweg/base/export.hpp"
#include "thalweg/base/ids.hpp"

namespace thalweg::order {

// A slot of the process-wide QueueTable. Slots are recycled, and the serials of a slot only ever go
// up: a point of a slot's former queue is one that has passed.
using QueueIndex = std::uint16_t;

//   63        48 47                              0
//   |  queue    |             serial             |
class Point {
 public:
  // No point: always passed, ordered before everything.
  constexpr Point() noexcept = default;

  // REQUIRES: serial <= kSerialMax.
  constexpr Point(QueueIndex queue, Serial serial) noexcept
      : word_(std::uint64_t{queue} << kSerialBits | serial.value) {}

  constexpr QueueIndex queue() const noexcept {
    return static_cast<QueueIndex>(word_ >> kSerialBits);
  }
  constexpr Serial serial() const noexcept { return Serial{word_ & kSerialMax}; }

  // Serial 0, whatever the queue: what was there before the first thing.
  constexpr bool none() const noexcept { return (word_ & kSerialMax) == 0; }

  // By queue, then by serial. Written out: nvcc makes nothing of defaulted ones.
  friend constexpr bool operator==(Point a, Point b) noexcept { return a.word_ == b.word_; }
  friend constexpr auto operator<=>(Point a, Point b) noexcept { return a.word_ <=> b.word_; }

 private:
  static constexpr int kSerialBits = 48;

  std::uint64_t word_ = 0;
};

// At most one point for each queue, the latest; in the order of queues.
class THALWEG_EXPORT PointSet {
 public:
  PointSet() noexcept = default;
  PointSet(const PointSet& other) { *this = other; }
  PointSet(PointSet&& other) noexcept { *this = std::move(other); }
  PointSet& operator=(const PointSet& other);
  PointSet& operator=(PointSet&& other) noexcept;
  ~PointSet() = default;

  // Takes `point` unless it is none or the set holds a later one of its queue.
  void add(Point point) {
    Point* const points = data();
    std::size_t at = size_;
    while (at != 0 && points[at - 1].queue() > point.queue()) --at;
    if (at != 0 && points[at - 1].queue() == point.queue()) {
      points[at - 1] = std::max(points[at - 1], point);
    } else if (!point.none()) {
      insert(at, point);
    }
  }

  void add(const PointSet& points) {
    for (const Point point : points) add(point);
  }

  // Takes out each point for which `predicate(point)` is true.
  template <class Predicate>
  void remove_if(Predicate predicate) {
    Point* const last = std::remove_if(data(), data() + size_, predicate);
    size_ = static_cast<std::uint32_t>(last - data());
  }

  // Keeps the room.
  void clear() noexcept { size_ = 0; }

  const Point* begin() const noexcept { return data(); }
  const Point* end() const noexcept { return data() + size_; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }

  friend bool operator==(const PointSet& a, const PointSet& b) noexcept {
    return a.size_ == b.size_ && std::equal(a.begin(), a.end(), b.begin());
  }

 private:
  static constexpr std::uint32_t kInline = 4;

  Point* data() noexcept { return heap_ ? heap_.get() : inline_; }
  const Point* data() const noexcept { return heap_ ? heap_.get() : inline_; }

  void insert(std::size_t at, Point point) {
    if (size_ == capacity_) [[unlikely]]
      grow(size_ + 1);
    Point* const points = data();
    for (std::size_t i = size_; i != at; --i) points[i] = points[i - 1];
    points[at] = point;
    ++size_;
  }

  void grow(std::uint32_t count_min);

  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = kInline;
  std::unique_ptr<Point[]> heap_;  // Null while `inline_` holds the points.
  Point inline_[kInline];
};

static_assert(sizeof(Point) == 8);

}  // namespace thalweg::order
