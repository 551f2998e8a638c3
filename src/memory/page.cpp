// SPDX-License-Identifier: Apache-2.0

#include "thalweg/memory/page.hpp"

#include <algorithm>
#include <unordered_map>

namespace thalweg::memory {

bool Page::open_to(const Orders& taker) noexcept {
  points_.remove_if([&taker](order::Point point) { return taker.passed(point); });
  return std::all_of(points_.begin(), points_.end(),
                     [&taker](order::Point point) { return taker.covers(point); });
}

// What the holder comes after is said by its own point.
void Page::add_point(const Orders& holder) {
  points_.remove_if([&holder](order::Point point) { return holder.has_covered(point); });
  points_.add(holder.end());
}

void Page::drop(BlockHandle block, order::PointSet uses, const Orders& home, bool home_holds) {
  uses.remove_if([&home](order::Point point) { return home.passed(point); });
  if (uses.empty()) {
    blocks_.free(block);
    return;
  }
  uses.remove_if([&home](order::Point point) { return home.has_covered(point); });
  if (uses.empty() && home_holds) {
    blocks_.free(block);
    add_point(home);
    return;
  }
  uses.add(home.end());
  const std::uint64_t size_bytes = blocks_.find(block)->size_bytes;
  waiting_.push_back({block, size_bytes, std::move(uses)});
  waiting_bytes_ += size_bytes;
}

void Page::collect(const Orders& holder, std::size_t most) {
  for (most = std::min(most, waiting_.size()); most != 0; --most) {
    if (next_ >= waiting_.size()) next_ = 0;
    order::PointSet& points = waiting_[next_].points;
    points.remove_if([&holder](order::Point point) { return holder.passed(point); });
    const bool ready = std::all_of(points.begin(), points.end(), [&holder](order::Point point) {
      return holder.has_covered(point);
    });
    if (!ready) {
      ++next_;
      continue;
    }
    blocks_.free(waiting_[next_].block);
    if (!points.empty()) add_point(holder);
    erase(next_);
  }
}

void Page::collect(Orders::Passed over) {
  for (std::size_t at = waiting_.size(); at-- != 0;) {
    waiting_[at].points.remove_if(over);
    if (!waiting_[at].points.empty()) continue;
    blocks_.free(waiting_[at].block);
    erase(at);
  }
}

void Page::erase(std::size_t at) noexcept {
  waiting_bytes_ -= waiting_[at].size_bytes;
  if (at + 1 != waiting_.size()) waiting_[at] = std::move(waiting_.back());
  waiting_.pop_back();
}

std::optional<Page::Run> Page::find_run(std::uint64_t size_bytes,
                                        std::uint64_t alignment_bytes) const {
  const std::uint64_t granule = blocks_.granule_bytes();
  const std::uint64_t alignment = std::max(alignment_bytes, granule);
  if (size_bytes > blocks_.size_bytes() || (alignment & (alignment - 1)) != 0) return std::nullopt;
  const std::uint64_t size = std::max((size_bytes + granule - 1) / granule * granule, granule);
  std::unordered_map<std::uint32_t, const Waiting*> by_slot;
  for (const Waiting& each : waiting_) by_slot.emplace(each.block.slot, &each);
  std::optional<Run> found;
  std::optional<OffsetSpan> first;  // Of the row that `span` is in.
  blocks_.for_each([&](const OffsetSpan& span) {
    if (found) return;
    if (span.live && by_slot.find(span.handle.slot) == by_slot.end()) return first.reset();
    if (!first) first = span;
    const std::uint64_t end = span.offset + span.size_bytes;
    // Blocks at the front without an aligned byte are not needed.
    while (first->offset + first->size_bytes <=
               (first->offset + alignment - 1) / alignment * alignment &&
           first->handle != span.handle)
      first = blocks_.behind(*first);
    const std::uint64_t at = (first->offset + alignment - 1) / alignment * alignment;
    if (at < end && end - at >= size) found = Run{*first, at, size, {}};
  });
  if (!found) return found;
  for (std::optional<OffsetSpan> span = found->first; span && span->offset < found->offset + size;
       span = blocks_.behind(*span))
    found->points.add(span->live ? by_slot.at(span->handle.slot)->points : points_);
  return found;
}

std::optional<OffsetBlock> Page::take_run(const Run& run) {
  const std::uint64_t end = run.offset + run.size_bytes;
  // Each block of the row may be cut on both sides.
  std::size_t blocks = 0;
  for (std::optional<OffsetSpan> span = run.first; span && span->offset < end;
       span = blocks_.behind(*span))
    blocks += 2;
  if (!blocks_.make_room(blocks)) return std::nullopt;
  std::optional<BlockHandle> taken;
  for (std::optional<OffsetSpan> span = run.first; span && span->offset < end;) {
    const std::uint64_t from = std::max(span->offset, run.offset);
    const std::uint64_t to = std::min(span->offset + span->size_bytes, end);
    const BlockHandle part =
        span->live ? take_waiting(*span, from, to) : blocks_.claim(*span, from, to - from).handle;
    span = blocks_.behind({part, from, to - from, true});
    if (taken)
      blocks_.join(*taken, part);
    else
      taken = part;
  }
  return blocks_.find(*taken);
}

// Of a waiting block these bytes wait no longer; those before and behind them do.
BlockHandle Page::take_waiting(const OffsetSpan& span, std::uint64_t from, std::uint64_t to) {
  const auto found = std::find_if(waiting_.begin(), waiting_.end(),
                                  [&](const Waiting& each) { return each.block == span.handle; });
  const auto at = static_cast<std::size_t>(found - waiting_.begin());
  const order::PointSet points = waiting_[at].points;
  erase(at);
  const auto wait = [&](BlockHandle block, std::uint64_t size_bytes) {
    waiting_.push_back({block, size_bytes, points});
    waiting_bytes_ += size_bytes;
  };
  BlockHandle part = span.handle;
  if (from != span.offset) {
    wait(part, from - span.offset);
    part = blocks_.split(part, from - span.offset).handle;
  }
  const std::uint64_t end = span.offset + span.size_bytes;
  if (to != end) wait(blocks_.split(part, to - from).handle, end - to);
  return part;
}

}  // namespace thalweg::memory
