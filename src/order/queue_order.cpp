// SPDX-License-Identifier: Apache-2.0

#include "thalweg/order/queue_order.hpp"

#include <cstddef>
#include <utility>

namespace thalweg::order {
namespace {

constexpr std::size_t kRingMin = 8;

// Who waits usually waits for something recent.
constexpr std::size_t kStepsBack = 4;

}  // namespace

void QueueOrder::open(QueueIndex index, const std::atomic<std::uint64_t>* passed, Serial start) {
  THALWEG_CHECK(start.value <= kSerialMax, "The serials of a queue's slot are used up.");
  THALWEG_CHECK(rows_.empty(), "A queue is opened twice.");
  index_ = index;
  passed_ = passed;
  start_ = start;
  watch_ = nullptr;
  last_ = start;
  rows_.resize(kRingMin);
  oldest_ = 0;
  newest_ = 0;
  row(0).first = start;
}

void QueueOrder::close() noexcept { std::vector<Row>().swap(rows_); }

const Frontier* QueueOrder::older_frontier_at(Serial n) const noexcept {
  // Invariant: the row `after` starts behind n.
  std::size_t after = newest_;
  for (std::size_t step = 0; step != kStepsBack; ++step) {
    if (after == oldest_) return nullptr;
    --after;
    if (row(after).first <= n) return &row(after).frontier;
  }
  if (row(oldest_).first > n) return nullptr;
  std::size_t at = oldest_;  // Invariant: starts at n or before.
  while (after - at > 1) {
    const std::size_t middle = at + (after - at) / 2;
    (row(middle).first <= n ? at : after) = middle;
  }
  return &row(at).frontier;
}

void QueueOrder::learn(Point point, const Frontier* learned) {
  if (!wait_owed()) append_row();
  Frontier& frontier = row(newest_).frontier;
  if (learned != nullptr) frontier.merge(*learned);
  frontier.raise(point);
}

// A copy of the newest row, for the next serial on.
void QueueOrder::append_row() {
  if (row_count() == rows_.size()) {
    recycle_rows();
    if (row_count() == rows_.size()) make_room();
  }
  row(newest_ + 1).first = Serial{last_.value + 1};
  row(newest_ + 1).frontier = row(newest_).frontier;
  ++newest_;
}

void QueueOrder::recycle_rows() noexcept {
  while (oldest_ != newest_ && passed(Serial{row(oldest_ + 1).first.value - 1})) ++oldest_;
}

// Doubles the ring, or lets the oldest row fall off.
void QueueOrder::make_room() {
  const std::size_t size = 2 * rows_.size();
  if (size > kRowsMax || size * row(newest_).frontier.width() > kRowWordsMax) {
    ++oldest_;
    return;
  }
  std::vector<Row> rows(size);
  for (std::size_t number = oldest_; number != newest_ + 1; ++number) {
    rows[number & (size - 1)] = std::move(row(number));
  }
  rows_ = std::move(rows);
}

}  // namespace thalweg::order
