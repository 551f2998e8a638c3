// SPDX-License-Identifier: Apache-2.0
//
// thalweg/order/queue_order.hpp - what a queue is ordered after, now and at each earlier serial.
//
// A wait that is placed on a queue holds for what the queue takes from then on. So the frontier of
// a queue changes only where a wait was placed, and a row is kept for each such place:
//
//   serial      1    2    3    4    5    6    7
//   queue A     x    x    W    x    x    W    x          W: waits were placed before it
//   rows        |---- -----|------- -----|--- ---->      first serials 0, 3, 6
//               frontier F0  F1            F2 = frontier()
//
// Who waits for A@4 is ordered after F1. It is *not* ordered after F2, the present frontier: A@4
// may finish long before A@6 starts. frontier_at(4) therefore gives F1.
//
// Rows whose serials have all passed are recycled. Where one more would exceed kRowsMax rows, or
// about kRowWordsMax words in all of them, the oldest falls off: who waits for a serial of a fallen
// row learns less than there is to know, which is safe and may cost a wait later.
//
// Threads:    no lock here. `last` is guarded by the queue's lock, frontier and rows by the
//             submission lock; whoever places a wait holds both. `passed` may be called by whoever
//             may read the QueueTable.
// Ownership:  owns its rows. The word of `open` outlives the QueueOrder's time in a table.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "thalweg/base/check.hpp"
#include "thalweg/base/export.hpp"
#include "thalweg/base/ids.hpp"
#include "thalweg/base/pass_watch.hpp"
#include "thalweg/order/frontier.hpp"
#include "thalweg/order/point.hpp"

namespace thalweg::order {

// Most rows a queue keeps, and the words in all of them beyond which it makes no room for more.
inline constexpr std::size_t kRowsMax = 1024;
inline constexpr std::size_t kRowWordsMax = std::size_t{1} << 19;

class THALWEG_EXPORT QueueOrder {
 public:
  QueueOrder() = default;
  QueueOrder(const QueueOrder&) = delete;
  QueueOrder& operator=(const QueueOrder&) = delete;

  // Starts a queue on the slot `index`, ordered after nothing. The word `passed` holds the serial
  // up to which everything is over; null: nothing after `start` ever counts as passed.
  //
  // REQUIRES: every serial of the slot's former queues has passed and is at most `start`.
  void open(QueueIndex index, const std::atomic<std::uint64_t>* passed, Serial start);

  // Frees the rows. frontier() and frontier_at() may not be called until the next open().
  void close() noexcept;

  QueueIndex index() const noexcept { return index_; }

  // The serial of the latest thing enqueued.
  Serial last() const noexcept { return last_; }

  // The serial of the thing about to be enqueued.
  Serial take() noexcept {
    ++last_.value;
    THALWEG_ASSERT(last_.value <= kSerialMax, "The serials of a queue are used up.");
    return last_;
  }

  Point tail() const noexcept { return Point(index_, last_); }

  // What is ordered before the next thing enqueued. Valid until the next wait of this queue.
  const Frontier& frontier() const noexcept { return row(newest_).frontier; }

  // What is ordered before the things enqueued with serial `n` and later, as far as it is known;
  // null when nothing is. Valid until the next wait of this queue.
  const Frontier* frontier_at(Serial n) const noexcept {
    if (row(newest_).first <= n) return &row(newest_).frontier;
    return older_frontier_at(n);
  }

  // A wait was placed since the last serial was taken. tail() is then *not* ordered after that
  // wait: take a serial (an empty task) before tail() is used as an event, a birth or what a drop
  // remembers.
  bool wait_owed() const noexcept { return row(newest_).first > last_; }

  // Memory ordering: acquire; pairs with the release of whoever raises the word.
  bool passed(Serial n) const noexcept {
    if (n <= start_) return true;
    if (passed_ == nullptr) return false;
    if (watch_ != nullptr) [[unlikely]]
      watch_->asked(n.value);
    return n.value <= passed_->load(std::memory_order_acquire);
  }

  // Told of each question from now on; null: nobody is. Set while nobody asks.
  void watch(PassWatch* watch) noexcept { watch_ = watch; }

  // The queue's next thing is ordered after `point` and after `row`, which may be null.
  // merge_wait() of placement.hpp finds the row. REQUIRES: the row is not one of this queue.
  void learn(Point point, const Frontier* row);

 private:
  struct Row {
    Serial first;  // Holds for this serial and all after it, up to the next row's first.
    Frontier frontier;
  };

  Row& row(std::size_t number) noexcept { return rows_[number & (rows_.size() - 1)]; }
  const Row& row(std::size_t number) const noexcept { return rows_[number & (rows_.size() - 1)]; }

  std::size_t row_count() const noexcept { return newest_ - oldest_ + 1; }
  const Frontier* older_frontier_at(Serial n) const noexcept;
  void append_row();
  void recycle_rows() noexcept;
  void make_room();

  // Constant while open.
  const std::atomic<std::uint64_t>* passed_ = nullptr;
  Serial start_;
  QueueIndex index_ = 0;
  PassWatch* watch_ = nullptr;

  // Guarded by the queue's lock.
  Serial last_;

  // Guarded by the submission lock. A ring whose size is a power of two; rows oldest_ to newest_
  // are in use, by number modulo the size, and their first serials go up. Never empty while open.
  std::size_t oldest_ = 0;
  std::size_t newest_ = 0;
  std::vector<Row> rows_;
};

// Who is at each slot. One for the process, half a mebibyte: keep it in static storage.
//
// Threads:  at() and passed() may run beside set() of other slots. The entry of a slot changes, and
//           its QueueOrder opens, closes or ends, only while no submission runs that may meet a
//           point of the slot, its former queues' included: under the submission lock.
class THALWEG_EXPORT QueueTable {
 public:
  static constexpr std::size_t kSlots = std::size_t{1} << 16;

  QueueTable() = default;
  QueueTable(const QueueTable&) = delete;
  QueueTable& operator=(const QueueTable&) = delete;

  // Null for a free slot.
  // Memory ordering: acquire; pairs with the release in set().
  QueueOrder* at(QueueIndex index) const noexcept {
    return slots_[index].load(std::memory_order_acquire);
  }

  // REQUIRES: a queue that leaves has passed all its serials.
  void set(QueueIndex index, QueueOrder* queue) noexcept {
    slots_[index].store(queue, std::memory_order_release);
  }

  // True for no point, and for every point of a free slot.
  bool passed(Point point) const noexcept {
    const QueueOrder* const queue = at(point.queue());
    return point.none() || queue == nullptr || queue->passed(point.serial());
  }

 private:
  std::array<std::atomic<QueueOrder*>, kSlots> slots_{};
};

}  // namespace thalweg::order
