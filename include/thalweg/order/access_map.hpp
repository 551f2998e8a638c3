// SPDX-License-Identifier: Apache-2.0
//
// thalweg/order/access_map.hpp - who last touched which bytes of an allocation.
//
// The bytes are cut in ranges; each has its last write and the reads since:
//
//   bytes    0          100                 400        512
//            |  W: A@7   |  W: B@3           |  W: A@9  |
//            |  R: -     |  R: A@8, C@2      |  R: B@4  |
//
// A read conflicts with the writes of the ranges it touches, anything else with the writes and the
// reads. While one range covers everything, it is held in the object itself, and so are up to four
// reads. The reads of a range are an antichain: none of them is known to be ordered before another.
//
// A token orders like a read_write of its range; besides, all tokens of an allocation are ordered
// with one another, whatever their ranges, also when they or the allocation have no bytes.
//
// What is kept may be more than was declared, never less: above kRangesMax ranges neighbours are
// joined, and more than kRowsExactMax rows with gaps count as all the bytes between. A joined range
// may hold several writes, one for each queue. Points that have passed are folded away on the way.
//
// Threads:    external synchronization: the lock that guards the allocation's record.
// Errors:     none. The caller has checked that accesses lie in the allocation, without overflow.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "thalweg/base/access.hpp"
#include "thalweg/base/check.hpp"
#include "thalweg/base/export.hpp"
#include "thalweg/order/point.hpp"
#include "thalweg/order/queue_order.hpp"

namespace thalweg::order {

inline constexpr std::size_t kRangesMax = 64;
inline constexpr std::uint64_t kRowsExactMax = 64;

class THALWEG_EXPORT AccessMap {
 public:
  static constexpr std::uint64_t kSizeMax = (std::uint64_t{1} << 56) - 1;

  AccessMap() noexcept;
  AccessMap(const AccessMap&) = delete;
  AccessMap& operator=(const AccessMap&) = delete;
  ~AccessMap();

  // Starts an allocation nobody has touched. Keeps the room of the former one.
  // REQUIRES: size_bytes <= kSizeMax.
  void reset(std::uint64_t size_bytes);

  // One write at `point` covers all bytes: they may be used by what is ordered after it. An
  // allocation without bytes has no former users, and ignores it.
  //
  // REQUIRES: nothing since reset().
  void set_birth(Point point) noexcept;

  // Adds to `out` the points that `access` must be ordered after; some may have passed. An access
  // of no bytes that is not a token has none.
  void collect(const Access& access, PointSet& out) const {
    if (ranged()) [[unlikely]] {
      collect_ranged(access, out);
    } else if (access.mode == AccessMode::token) [[unlikely]] {
      collect_token(access, out);
    } else if (touches_bytes(access)) {
      if (!write_.none()) out.add(write_);
      if (read_count() != 0 && access.writes()) collect_reads(out);
    }
  }

  // Enters `access`, made by the task with serial `point`.
  // REQUIRES: the queue of `point` is in `table`, and its frontier is that of `point`: all accesses
  // of the task were collected and their waits merged before, and no wait was placed since.
  void apply(const Access& access, Point point, const QueueTable& table) {
    if (ranged() || !covers_all(access)) [[unlikely]] {
      apply_general(access, point, table);
    } else if (access.mode != AccessMode::read) {
      enter_write(access, point);
    } else if (is_only_of(point.queue())) {
      enter_only_read(point);
    } else {
      apply_read(point, table);
    }
  }

  // The same for a caller who knows that each point in the map is one of the queue of `point` or
  // covered by that queue's frontier: then nothing has to be collected either.
  void apply_home(const Access& access, Point point) {
    if (ranged() || !covers_all(access)) [[unlikely]] {
      apply_home_general(access, point);
    } else if (access.mode != AccessMode::read) {
      enter_write(access, point);
    } else {
      enter_only_read(point);
    }
  }

  // Adds all points on bytes that have not passed: what the end of the allocation must remember
  // until its bytes are used again. A token of no bytes leaves nothing behind.
  void points(PointSet& out, const QueueTable& table) const;

  std::uint64_t size_bytes() const noexcept { return head_ & kSizeMax; }

  // How many ranges the bytes are cut in.
  std::size_t ranges() const noexcept;

 private:
  struct Ranges;
  struct Entry;

  static constexpr int kSizeBits = 56;
  static constexpr std::uint64_t kReadsInline = 4;
  static constexpr std::uint64_t kRanged = 0xff;

  static bool touches_bytes(const Access& access) noexcept {
    return access.row_bytes != 0 && access.rows != 0;
  }

  // One row of all bytes. Other ways to say the same take the general path.
  bool covers_all(const Access& access) const noexcept {
    return access.row_bytes == size_bytes() && access.rows == 1 && access.row_bytes != 0;
  }

  std::uint64_t read_count() const noexcept { return head_ >> kSizeBits; }
  void set_read_count(std::uint64_t count) noexcept { head_ = size_bytes() | count << kSizeBits; }
  bool ranged() const noexcept { return read_count() == kRanged; }

  void enter_write(const Access& access, Point point) noexcept {
    THALWEG_ASSERT(access.offset == 0, "An access ends behind its allocation.");
    if (access.mode == AccessMode::token) token_ = point;
    write_ = point;
    set_read_count(0);
  }

  // No point of another queue is in the map, nor more than one read.
  bool is_only_of(QueueIndex queue) const noexcept {
    return (write_.queue() == queue || write_.none()) &&
           (read_count() == 0 || (read_count() == 1 && reads_[0].queue() == queue));
  }

  // A read that replaces all others. A task that wrote the bytes as well is in the map already.
  void enter_only_read(Point point) noexcept {
    if (write_ == point) return;
    reads_[0] = point;
    set_read_count(1);
  }

  void collect_reads(PointSet& out) const;
  void collect_token(const Access& access, PointSet& out) const;
  void collect_ranged(const Access& access, PointSet& out) const;
  void apply_read(Point point, const QueueTable& table);
  void apply_general(const Access& access, Point point, const QueueTable& table);
  void apply_home_general(const Access& access, Point point);
  void enter(const Access& access, const Entry& entry);
  bool enter_inline_read(const Entry& entry);
  void enter_ranged(const Access& access, const Entry& entry);
  void to_ranges();
  void to_inline();

  // Size and count in one word, written and read as a whole: a store of one byte of it would hold
  // up the next load of all. A count of kRanged: `ranges_` holds writes and reads.
  std::uint64_t head_ = 0;
  Point write_;
  Point token_;  // The last token.
  Point reads_[kReadsInline];
  std::unique_ptr<Ranges> ranges_;  // Kept once made.
};

static_assert(sizeof(AccessMap) <= 64);

}  // namespace thalweg::order
