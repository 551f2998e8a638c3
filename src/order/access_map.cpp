// SPDX-License-Identifier: Apache-2.0

#include "thalweg/order/access_map.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/plant.hpp"

namespace thalweg::order {
namespace {

// Ranges at which a map first looks for points that have passed.
constexpr std::size_t kFoldMin = 8;

bool contiguous(const Access& access) {
  return access.rows == 1 || access.pitch <= access.row_bytes || access.rows > kRowsExactMax;
}

// Calls `function(begin, end)` for the bytes of the access, in ascending order.
template <class Function>
void for_each_span(const Access& access, Function function) {
  if (contiguous(access)) return function(access.offset, access.end());
  std::uint64_t begin = access.offset;
  for (std::uint64_t row = 0; row != access.rows; ++row, begin += access.pitch) {
    function(begin, begin + access.row_bytes);
  }
}

const Frontier& frontier_of(Point point, const QueueTable& table) {
  const QueueOrder* const taker = table.at(point.queue());
  THALWEG_CHECK(taker != nullptr, "A task of a queue that is not in the table is entered.");
  return taker->frontier();
}

bool reads_count(const Access& access) {
  return access.writes() && !plant::planted(plant::Bug::missing_write_after_read);
}

}  // namespace

// A task being entered.
struct AccessMap::Entry {
  Point point;
  const Frontier* frontier;  // Null: every point in the map is ordered before `point`.
  const QueueTable* table;   // Null: nothing is known to have passed.

  bool after(Point other) const {
    return other.queue() == point.queue() || frontier == nullptr || frontier->covers(other);
  }
  bool passed(Point other) const { return table != nullptr && table->passed(other); }

  // The task was made to wait for each write that had not passed, so asking costs an atomic load
  // only where the answer is almost surely yes.
  bool needless_write(Point write) const { return !after(write) && passed(write); }
};

// Ranges tile the bytes of the allocation: sorted, the first begins at 0, each ends where the next
// one begins, and no two neighbours are alike after a call.
struct AccessMap::Ranges {
  struct Range {
    std::uint64_t begin = 0;
    PointSet writes;
    PointSet reads;

    bool alike(const Range& other) const { return writes == other.writes && reads == other.reads; }
    void join(const Range& other) {
      writes.add(other.writes);
      reads.add(other.reads);
    }
    void enter_write(const Entry& entry);
    void enter_read(const Entry& entry);
  };

  // The range that holds the byte at `position`.
  std::size_t find(std::uint64_t position) const;

  // The range that begins at `position`, which is made if there is none.
  std::size_t split(std::uint64_t position);

  // One past the last range of those from `first` on that end at `position`.
  std::size_t split_end(std::size_t first, std::uint64_t position, std::uint64_t size_bytes);

  void cut(std::size_t at, std::uint64_t position);
  void enter_write(std::size_t first, std::size_t last, const Entry& entry);
  void enter_read(std::size_t first, std::size_t last, const Entry& entry);
  void join_alike(std::size_t first, std::size_t last);
  void join_alike();
  void fold(const Entry& entry);
  void halve();

  std::vector<Range> list;
  std::size_t fold_above = kFoldMin;
};

void AccessMap::Ranges::Range::enter_write(const Entry& entry) {
  writes.clear();
  writes.add(entry.point);
  reads.clear();
}

void AccessMap::Ranges::Range::enter_read(const Entry& entry) {
  if (std::find(writes.begin(), writes.end(), entry.point) != writes.end()) return;
  writes.remove_if([&entry](Point write) { return entry.needless_write(write); });
  reads.remove_if([&entry](Point read) { return entry.after(read); });
  // Reads of other queues are seldom over: looking at each doubling is cheap and bounds the set.
  if (reads.size() >= kReadsInline && std::has_single_bit(reads.size())) {
    reads.remove_if([&entry](Point read) { return entry.passed(read); });
  }
  reads.add(entry.point);
}

std::size_t AccessMap::Ranges::find(std::uint64_t position) const {
  const auto after =
      std::upper_bound(list.begin(), list.end(), position,
                       [](std::uint64_t value, const Range& range) { return value < range.begin; });
  return static_cast<std::size_t>(after - list.begin()) - 1;
}

std::size_t AccessMap::Ranges::split(std::uint64_t position) {
  const std::size_t at = find(position);
  if (list[at].begin == position) return at;
  cut(at, position);
  return at + 1;
}

std::size_t AccessMap::Ranges::split_end(std::size_t first, std::uint64_t position,
                                         std::uint64_t size_bytes) {
  std::size_t last = first + 1;
  while (last != list.size() && list[last].begin < position) ++last;
  const std::uint64_t end = last == list.size() ? size_bytes : list[last].begin;
  if (end != position) cut(last - 1, position);
  return last;
}

// Cuts a range in two.
void AccessMap::Ranges::cut(std::size_t at, std::uint64_t position) {
  Range upper = list[at];
  upper.begin = position;
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(at + 1), std::move(upper));
}

void AccessMap::Ranges::enter_write(std::size_t first, std::size_t last, const Entry& entry) {
  list[first].enter_write(entry);
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(first + 1),
             list.begin() + static_cast<std::ptrdiff_t>(last));
  join_alike(first, first + 1);
}

void AccessMap::Ranges::enter_read(std::size_t first, std::size_t last, const Entry& entry) {
  for (std::size_t at = first; at != last; ++at) list[at].enter_read(entry);
  join_alike(first, last);
}

// Joins alike neighbours at the lower bounds of the ranges from `first` to `last`, both included.
void AccessMap::Ranges::join_alike(std::size_t first, std::size_t last) {
  for (std::size_t at = std::min(last + 1, list.size()); at-- > std::max<std::size_t>(first, 1);) {
    if (list[at].alike(list[at - 1])) list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

// Folds away what has passed, then joins neighbours while there are too many.
void AccessMap::Ranges::fold(const Entry& entry) {
  if (entry.table != nullptr) {
    const auto passed = [&entry](Point point) { return entry.passed(point); };
    for (Range& range : list) {
      range.writes.remove_if(passed);
      range.reads.remove_if(passed);
    }
  }
  join_alike();
  while (list.size() > kRangesMax) halve();
  fold_above = std::clamp(2 * list.size(), kFoldMin, kRangesMax);
}

void AccessMap::Ranges::join_alike() {
  const auto last = std::unique(list.begin(), list.end(),
                                [](const Range& a, const Range& b) { return a.alike(b); });
  list.erase(last, list.end());
}

// Joins the ranges in pairs.
void AccessMap::Ranges::halve() {
  const std::size_t count = (list.size() + 1) / 2;
  for (std::size_t pair = 0; pair != count; ++pair) {
    if (pair != 0) list[pair] = std::move(list[2 * pair]);
    if (2 * pair + 1 < list.size()) list[pair].join(list[2 * pair + 1]);
  }
  list.resize(count);
  join_alike();
}

AccessMap::AccessMap() noexcept = default;

AccessMap::~AccessMap() = default;

void AccessMap::reset(std::uint64_t size_bytes) {
  THALWEG_CHECK(size_bytes <= kSizeMax, "An allocation is larger than an access map can describe.");
  head_ = size_bytes;
  write_ = Point();
  token_ = Point();
  if (ranges_) ranges_->list.clear();
}

void AccessMap::set_birth(Point point) noexcept {
  THALWEG_ASSERT(!ranged() && write_.none() && read_count() == 0, "A used allocation is born.");
  if (size_bytes() != 0) write_ = point;
}

std::size_t AccessMap::ranges() const noexcept { return ranged() ? ranges_->list.size() : 1; }

void AccessMap::collect_reads(PointSet& out) const {
  if (plant::planted(plant::Bug::missing_write_after_read)) return;
  for (std::uint64_t i = 0; i != read_count(); ++i) out.add(reads_[i]);
}

void AccessMap::collect_token(const Access& access, PointSet& out) const {
  out.add(token_);
  if (!touches_bytes(access)) return;
  out.add(write_);
  collect_reads(out);
}

void AccessMap::collect_ranged(const Access& access, PointSet& out) const {
  if (access.mode == AccessMode::token) out.add(token_);
  if (!touches_bytes(access)) return;
  THALWEG_ASSERT(access.end() <= size_bytes(), "An access ends behind its allocation.");
  const bool with_reads = reads_count(access);
  for_each_span(access, [&](std::uint64_t begin, std::uint64_t end) {
    const std::vector<Ranges::Range>& list = ranges_->list;
    for (std::size_t at = ranges_->find(begin); at != list.size() && list[at].begin < end; ++at) {
      out.add(list[at].writes);
      if (with_reads) out.add(list[at].reads);
    }
  });
}

// A read of everything while the map is inline.
void AccessMap::apply_read(Point point, const QueueTable& table) {
  const Entry entry{point, &frontier_of(point, table), &table};
  if (enter_inline_read(entry)) return;
  to_ranges();
  ranges_->enter_read(0, 1, entry);
}

void AccessMap::apply_general(const Access& access, Point point, const QueueTable& table) {
  enter(access, Entry{point, &frontier_of(point, table), &table});
}

void AccessMap::apply_home_general(const Access& access, Point point) {
  enter(access, Entry{point, nullptr, nullptr});
}

void AccessMap::enter(const Access& access, const Entry& entry) {
  THALWEG_ASSERT(access.offset <= size_bytes() && access.end() <= size_bytes(),
                 "An access ends behind its allocation.");
  if (access.mode == AccessMode::token) token_ = entry.point;
  if (!touches_bytes(access)) return;
  if (!ranged()) {
    if (contiguous(access) && access.offset == 0 && access.end() == size_bytes()) {
      if (access.writes()) return enter_write(access, entry.point);
      if (enter_inline_read(entry)) return;
    }
    to_ranges();
  }
  enter_ranged(access, entry);
}

// False if there is no room, and then nothing but what has passed was taken out.
bool AccessMap::enter_inline_read(const Entry& entry) {
  if (write_ == entry.point) return true;
  if (!write_.none() && entry.needless_write(write_)) write_ = Point();
  std::size_t count = 0;
  for (std::size_t i = 0; i != read_count(); ++i) {
    if (!entry.after(reads_[i])) reads_[count++] = reads_[i];
  }
  if (count == kReadsInline) {
    Point* const last =
        std::remove_if(reads_, reads_ + count, [&entry](Point read) { return entry.passed(read); });
    count = static_cast<std::size_t>(last - reads_);
    if (count == kReadsInline) return false;
  }
  reads_[count] = entry.point;
  set_read_count(count + 1);
  return true;
}

void AccessMap::enter_ranged(const Access& access, const Entry& entry) {
  Ranges& ranges = *ranges_;
  for_each_span(access, [&](std::uint64_t begin, std::uint64_t end) {
    const std::size_t first = ranges.split(begin);
    const std::size_t last = ranges.split_end(first, end, size_bytes());
    if (access.writes()) {
      ranges.enter_write(first, last, entry);
    } else {
      ranges.enter_read(first, last, entry);
    }
  });
  if (ranges.list.size() > ranges.fold_above) ranges.fold(entry);
  if (ranges.list.size() == 1) to_inline();
}

void AccessMap::to_ranges() {
  if (!ranges_) ranges_ = std::make_unique<Ranges>();
  Ranges::Range all;
  all.writes.add(write_);
  for (std::uint64_t i = 0; i != read_count(); ++i) all.reads.add(reads_[i]);
  ranges_->list.clear();
  ranges_->list.push_back(std::move(all));
  ranges_->fold_above = kFoldMin;
  write_ = Point();
  set_read_count(kRanged);
}

// Goes back to the inline form if the only range fits.
void AccessMap::to_inline() {
  const Ranges::Range& all = ranges_->list.front();
  if (all.writes.size() > 1 || all.reads.size() > kReadsInline) return;
  if (!all.writes.empty()) write_ = *all.writes.begin();
  std::copy(all.reads.begin(), all.reads.end(), reads_);
  set_read_count(all.reads.size());
  ranges_->list.clear();
}

void AccessMap::points(PointSet& out, const QueueTable& table) const {
  const auto add = [&](Point point) {
    if (!table.passed(point)) out.add(point);
  };
  if (ranged()) {
    for (const Ranges::Range& range : ranges_->list) {
      for (const Point write : range.writes) add(write);
      for (const Point read : range.reads) add(read);
    }
  } else {
    add(write_);
    for (std::uint64_t i = 0; i != read_count(); ++i) add(reads_[i]);
  }
}

}  // namespace thalweg::order
