// SPDX-License-Identifier: Apache-2.0
//
// thalweg/memory/page.hpp - a range of memory cut in blocks, and what whoever takes one comes
// after.
//
// A dropped block may still be used by what is enqueued. It is free at once when the queue that
// holds the page comes after all of that; otherwise it waits, apart from its neighbours, until that
// queue does or the uses have passed:
//
//   A holds the page      A  use -----drop          free: A itself runs later
//                         B  use ----------         used by B as well: it waits
//
// Free blocks carry no points: what the holder's own uses mean for another queue is kept for the
// whole page, one serial a queue. Whoever takes free bytes comes after the points of the page; who
// takes a waiting block, after its points.
//
//   page   | live | free | waits {B@7, A@9} | free          |    points {A@12}
//
// The order in which blocks are freed does not depend on one that is used for long.
//
// Threads:    external synchronization: by whoever holds the page, and guards its queue's order.
// Errors:     none.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "thalweg/base/export.hpp"
#include "thalweg/memory/offset_allocator.hpp"
#include "thalweg/order/point.hpp"
#include "thalweg/order/queue_order.hpp"

namespace thalweg::memory {

// What a queue comes after.
class Orders {
 public:
  using Passed = bool (*)(order::Point);

  // `over` says whether a point has passed. REQUIRES: both outlive *this.
  Orders(const order::QueueOrder& queue, Passed over) noexcept : queue_(&queue), over_(over) {}

  // Whether what it enqueues next comes after the point.
  bool covers(order::Point point) const noexcept {
    return point.queue() == queue_->index() || queue_->frontier().covers(point) || over_(point);
  }

  // Whether its end() does: a wait that no serial carries yet does not count.
  bool has_covered(order::Point point) const noexcept {
    if (point.queue() == queue_->index()) return true;
    const order::Frontier* const frontier = queue_->frontier_at(queue_->last());
    return (frontier != nullptr && frontier->covers(point)) || over_(point);
  }

  order::Point end() const noexcept { return queue_->tail(); }
  bool passed(order::Point point) const noexcept { return over_(point); }

 private:
  const order::QueueOrder* queue_;
  Passed over_;
};

class THALWEG_EXPORT Page {
 public:
  explicit Page(OffsetAllocator blocks) noexcept : blocks_(std::move(blocks)) {}

  // Its size may change at the end.
  OffsetAllocator& blocks() noexcept { return blocks_; }
  const OffsetAllocator& blocks() const noexcept { return blocks_; }

  // Whether `taker` comes after the points of the page; forgets those that have passed.
  bool open_to(const Orders& taker) noexcept;

  // A block of free bytes. REQUIRES: the taker comes after the points of the page, or waits for
  // them.
  std::optional<OffsetBlock> take(std::uint64_t size_bytes, std::uint64_t alignment_bytes = 0) {
    return blocks_.allocate(size_bytes, alignment_bytes);
  }

  // The points whoever takes free bytes comes after.
  const order::PointSet& points() const noexcept { return points_; }

  // The owner of the block is gone; `uses` are the points of what may use it still, `home` is the
  // queue that it was reserved on, and holds the page or not.
  // REQUIRES: the handle is valid.
  void drop(BlockHandle block, order::PointSet uses, const Orders& home, bool home_holds);

  // Frees what waits for nothing any more. Looks at `most` of the waiting blocks, at others each
  // time. Without a holder each use has to have passed.
  void collect(const Orders& holder, std::size_t most);
  void collect(Orders::Passed over);

  // What may be had with waits: free and waiting bytes in a row.
  struct Run {
    OffsetSpan first;  // Where the row begins, which may be before the bytes.
    std::uint64_t offset = 0;
    std::uint64_t size_bytes = 0;
    order::PointSet points;  // What the taker comes after, or waits for.
  };

  // The first row that holds a request. Looks at the whole page.
  std::optional<Run> find_run(std::uint64_t size_bytes, std::uint64_t alignment_bytes = 0) const;

  // Takes it: what is left over on either side is free or waits as before. None: the host has no
  // memory for more blocks.
  // REQUIRES: nothing has changed since it was found.
  std::optional<OffsetBlock> take_run(const Run& run);

  std::size_t waiting_blocks() const noexcept { return waiting_.size(); }
  std::uint64_t waiting_bytes() const noexcept { return waiting_bytes_; }

 private:
  struct Waiting {
    BlockHandle block;
    std::uint64_t size_bytes = 0;
    order::PointSet points;
  };

  void add_point(const Orders& holder);
  BlockHandle take_waiting(const OffsetSpan& span, std::uint64_t from, std::uint64_t to);
  void erase(std::size_t at) noexcept;

  OffsetAllocator blocks_;
  order::PointSet points_;
  std::vector<Waiting> waiting_;  // Live for the allocator.
  std::size_t next_ = 0;          // Of those, who is looked at next.
  std::uint64_t waiting_bytes_ = 0;
};

}  // namespace thalweg::memory
