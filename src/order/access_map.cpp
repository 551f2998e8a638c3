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

  // The range that begins at `position`, which is made if there is none; size() at the end.
  std::size_t split(std::uint64_t position, std::uint64_t size_bytes);

  void enter_write(std::size_t first, std::size_t last, const Entry& entry);
  void enter_read(std::size_t first, std::size_t last, const Entry& entry);
  void join_alike(std::size_t first, std::size_t last);
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
  // Reads of other queues are seldom over; looking at each doubling keeps it cheap and the set
  // small.
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

std::size_t AccessMap::Ranges::split(std::uint64_t position, std::uint64_t size_bytes) {
  if (position == size_bytes) return list.size();
  const std::size_t at = find(position);
  if (list[at].begin == position) return at;
  Range upper = list[at];
  upper.begin = position;
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(at + 1), std::move(upper));
  return at + 1;
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
  const auto last = std::unique(list.begin(), list.end(),
                                [](const Range& a, const Range& b) { return a.alike(b); });
  list.erase(last, list.end());
  while (list.size() > kRangesMax) halve();
  fold_above = std::clamp(2 * list.size(), kFoldMin, kRangesMax);
}

// Joins the ranges in pairs.
void AccessMap::Ranges::halve() {
  const std::size_t count = (list.size() + 1) / 2;
  for (std::size_t pair = 0; pair != count; ++pair) {
    if (pair != 0) list[pair] = std::move(list[2 * pair]);
    if (2 * pair + 1 < list.size()) list[pair].join(list[2 * pair + 1]);
  }
  list.resize(count);
}

AccessMap::AccessMap() noexcept : size_bytes_(0), read_count_(0) {}

AccessMap::~AccessMap() = default;

void AccessMap::reset(std::uint64_t size_bytes) {
  THALWEG_CHECK(size_bytes <= kSizeMax, "An allocation is larger than an access map can describe.");
  size_bytes_ = size_bytes & kSizeMax;
  read_count_ = 0;
  write_ = Point();
  token_ = Point();
  if (ranges_) ranges_->list.clear();
}

void AccessMap::set_birth(Point point) noexcept {
  THALWEG_ASSERT(!ranged() && write_.none() && read_count_ == 0, "A used allocation is born.");
  if (size_bytes_ != 0) write_ = point;
}

std::size_t AccessMap::ranges() const noexcept { return ranged() ? ranges_->list.size() : 1; }

void AccessMap::collect_reads(PointSet& out) const {
  if (plant::planted(plant::Bug::missing_write_after_read)) return;
  for (std::uint64_t i = 0; i != read_count_; ++i) out.add(reads_[i]);
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
  const bool with_reads = reads_count(access);
  for_each_span(access, [&](std::uint64_t begin, std::uint64_t end) {
    const std::vector<Ranges::Range>& list = ranges_->list;
    for (std::size_t at = ranges_->find(begin); at != list.size() && list[at].begin < end; ++at) {
      out.add(list[at].writes);
      if (with_reads) out.add(list[at].reads);
    }
  });
}

void AccessMap::apply_general(const Access& access, Point point, const QueueTable& table) {
  const QueueOrder* const taker = table.at(point.queue());
  THALWEG_CHECK(taker != nullptr, "A task of a queue that is not in the table is entered.");
  enter(access, Entry{point, &taker->frontier(), &table});
}

void AccessMap::apply_home_general(const Access& access, Point point) {
  enter(access, Entry{point, nullptr, nullptr});
}

void AccessMap::enter(const Access& access, const Entry& entry) {
  THALWEG_ASSERT(access.offset <= size_bytes_ && access.end() <= size_bytes_,
                 "An access ends behind its allocation.");
  if (access.mode == AccessMode::token) token_ = entry.point;
  if (!touches_bytes(access)) return;
  if (!ranged()) {
    if (contiguous(access) && access.offset == 0 && access.end() == size_bytes_) {
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
  Point* const end = reads_ + read_count_;
  Point* last = std::remove_if(reads_, end, [&entry](Point read) { return entry.after(read); });
  if (last == reads_ + kReadsInline) {
    last = std::remove_if(reads_, last, [&entry](Point read) { return entry.passed(read); });
  }
  const auto count = static_cast<std::uint64_t>(last - reads_);
  if (count == kReadsInline) return false;
  *last = entry.point;
  read_count_ = (count + 1) & kRanged;
  return true;
}

void AccessMap::enter_ranged(const Access& access, const Entry& entry) {
  Ranges& ranges = *ranges_;
  for_each_span(access, [&](std::uint64_t begin, std::uint64_t end) {
    const std::size_t first = ranges.split(begin, size_bytes_);
    const std::size_t last = ranges.split(end, size_bytes_);
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
  for (std::uint64_t i = 0; i != read_count_; ++i) all.reads.add(reads_[i]);
  ranges_->list.clear();
  ranges_->list.push_back(std::move(all));
  ranges_->fold_above = kFoldMin;
  write_ = Point();
  read_count_ = kRanged;
}

// Goes back to the inline form if the only range fits.
void AccessMap::to_inline() {
  const Ranges::Range& all = ranges_->list.front();
  if (all.writes.size() > 1 || all.reads.size() > kReadsInline) return;
  if (!all.writes.empty()) write_ = *all.writes.begin();
  std::copy(all.reads.begin(), all.reads.end(), reads_);
  read_count_ = all.reads.size() & kRanged;
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
    for (std::uint64_t i = 0; i != read_count_; ++i) add(reads_[i]);
  }
}

}  // namespace thalweg::order
