// SPDX-License-Identifier: Apache-2.0

#include "thalweg/failure/error_graph.hpp"

#include <algorithm>
#include <iterator>
#include <unordered_set>

#include "thalweg/base/check.hpp"

namespace thalweg::failure {
namespace {

// Calls `function(begin, end)` for the rows of a use that have bytes, in rising order; rows without
// gaps are one. It may end this by false.
template <class Function>
bool for_rows(const Use& use, Function function) {
  if (use.rows == 0 || use.row_bytes == 0) return true;
  if (use.rows == 1) return function(use.offset, use.offset + use.row_bytes);
  if (use.pitch <= use.row_bytes)
    return function(use.offset, use.offset + (use.rows - 1) * use.pitch + use.row_bytes);
  for (std::uint64_t row = 0; row != use.rows; ++row) {
    const std::uint64_t begin = use.offset + row * use.pitch;
    if (!function(begin, begin + use.row_bytes)) return false;
  }
  return true;
}

// The first of `ranges` that ends behind `begin`.
template <class Ranges>
auto first_behind(Ranges& ranges, std::uint64_t begin) {
  auto at = ranges.upper_bound(begin);
  if (at != ranges.begin() && std::prev(at)->second.end > begin) --at;
  return at;
}

FailedBytes all_of(const Use& use) {
  FailedBytes bytes{use.allocation, use.offset, 0, use.life == nullptr};
  for_rows(use, [&bytes](std::uint64_t, std::uint64_t end) {
    bytes.size_bytes = end - bytes.offset;
    return true;
  });
  return bytes;
}

}  // namespace

std::optional<ErrorGraph::Bad> ErrorGraph::first_bad(std::span<const Use> uses) const {
  std::optional<Bad> bad;
  for (const Use& use : uses) {
    if (!use.reads()) continue;
    const auto carrier = carriers_.find(use.allocation);
    if (carrier == carriers_.end()) continue;
    const Ranges& ranges = carrier->second.ranges;
    for_rows(use, [&](std::uint64_t begin, std::uint64_t end) {
      const auto at = first_behind(ranges, begin);
      if (at == ranges.end() || at->first >= end) return at != ranges.end();
      const std::uint64_t first = std::max(begin, at->first);
      bad =
          Bad{at->second.taint,
              {use.allocation, first, std::min(end, at->second.end) - first, use.life == nullptr}};
      return false;
    });
    if (bad) return bad;
  }
  return bad;
}

void ErrorGraph::prove(std::span<const Use> uses) {
  for (const Use& use : uses) {
    if (!use.writes()) continue;
    const auto carrier = carriers_.find(use.allocation);
    if (carrier == carriers_.end()) continue;
    for_rows(use, [&](std::uint64_t begin, std::uint64_t end) {
      clear(carrier->second, begin, end);
      return true;
    });
    remove_if_clean(carrier);
  }
}

bool ErrorGraph::taints(std::span<const Use> uses) noexcept {
  return std::any_of(uses.begin(), uses.end(), [](const Use& use) {
    return use.writes() && use.rows != 0 && use.row_bytes != 0;
  });
}

FailureId ErrorGraph::fail(const Error& root, DeviceId device, std::span<const Use> uses,
                           FailureId same) {
  if (!taints(uses)) return {};
  const bool lives = nodes_.find(same) != nodes_.end();
  const auto failure = lives ? same : make_id<FailureId>();
  if (!lives) nodes_.emplace(failure, Node{root, device, 0, 0, 0, {}});
  taint(uses, {failure, 0, 0});
  return failure;
}

void ErrorGraph::skip(const Bad& input, const TaskWords& task, std::span<const Use> uses) {
  const auto node = nodes_.find(input.taint.failure);
  THALWEG_CHECK(node != nodes_.end(), "A task is skipped for a failure that is forgotten.");
  ++node->second.skips;
  // Nothing is reached by way of a task that writes nothing.
  if (!taints(uses)) return;
  const std::uint64_t number = ++node->second.recorded;
  std::vector<Record>& records = node->second.records;
  if (records.size() < kRecordsKept) records.resize(std::min(number + 1, kRecordsKept));
  Record& record = records[number % kRecordsKept];
  record.number = number;
  record.task.task = task.task;
  record.task.stream = task.stream;
  record.task.site = task.site;
  record.task.input = input.bytes;
  record.input = input.taint;
  record.outputs.clear();
  for (const Use& use : uses)
    if (use.writes()) record.outputs.push_back(all_of(use));
  taint(uses, {input.taint.failure, number, input.taint.depth + 1});
}

void ErrorGraph::taint(std::span<const Use> uses, const Taint& taint) {
  // What held the failure so far may be written over: it is kept until this is done.
  ++nodes_.at(taint.failure).carriers;
  for (const Use& use : uses) {
    if (!use.writes()) continue;
    for_rows(use, [&](std::uint64_t begin, std::uint64_t end) {
      Carrier& carrier = carriers_[use.allocation];
      carrier.life = use.life;
      set(carrier, begin, end, taint);
      return true;
    });
  }
  release(taint.failure);
}

// One carrier less has the failure.
void ErrorGraph::release(FailureId failure) {
  const auto node = nodes_.find(failure);
  if (--node->second.carriers != 0) return;
  forgotten_.push_back(std::move(node->second.root));
  nodes_.erase(node);
}

void ErrorGraph::set(Carrier& carrier, std::uint64_t begin, std::uint64_t end, const Taint& taint) {
  // Before the old ones go: then what is the carrier's only reason stays one.
  count_up(carrier, taint.failure);
  clear(carrier, begin, end);
  // Neighbours that are bad in the same way are one range.
  Ranges& ranges = carrier.ranges;
  auto next = ranges.lower_bound(begin);
  if (next != ranges.end() && next->first == end && next->second.taint == taint) {
    end = next->second.end;
    next = ranges.erase(next);
    count_down(carrier, taint.failure);
  }
  if (next != ranges.begin()) {
    Range& before = std::prev(next)->second;
    if (before.end == begin && before.taint == taint) {
      before.end = end;
      return count_down(carrier, taint.failure);
    }
  }
  ranges.emplace_hint(next, begin, Range{end, taint});
}

void ErrorGraph::clear(Carrier& carrier, std::uint64_t begin, std::uint64_t end) {
  Ranges& ranges = carrier.ranges;
  for (auto at = first_behind(ranges, begin); at != ranges.end() && at->first < end;) {
    const Range old = at->second;
    if (old.end > end) {
      ranges.emplace(end, old);
      count_up(carrier, old.taint.failure);
    }
    if (at->first < begin) {
      at->second.end = begin;
      ++at;
    } else {
      at = ranges.erase(at);
      count_down(carrier, old.taint.failure);
    }
  }
}

// One range of the carrier more has the failure.
void ErrorGraph::count_up(Carrier& carrier, FailureId failure) {
  if (carrier.failures[failure]++ == 0) ++nodes_.at(failure).carriers;
}

// One range of the carrier less has the failure.
void ErrorGraph::count_down(Carrier& carrier, FailureId failure) {
  const auto count = carrier.failures.find(failure);
  if (--count->second != 0) return;
  carrier.failures.erase(count);
  release(failure);
}

void ErrorGraph::remove_if_clean(Carriers::iterator carrier) {
  if (carrier->second.ranges.empty()) carriers_.erase(carrier);
}

// Owners.

std::vector<std::pair<AllocationId, const AllocationLife*>> ErrorGraph::gone() const {
  std::vector<std::pair<AllocationId, const AllocationLife*>> all;
  for (const auto& [allocation, carrier] : carriers_)
    if (!carrier.dropped && carrier.life != nullptr && !carrier.life->is_of(allocation))
      all.emplace_back(allocation, carrier.life);
  return all;
}

void ErrorGraph::drop(AllocationId allocation, const order::PointSet& uses) {
  const auto carrier = carriers_.find(allocation);
  if (carrier == carriers_.end()) return;
  if (!carrier->second.dropped) dropped_.push_front(allocation);
  carrier->second.dropped = true;
  carrier->second.uses = uses;
}

void ErrorGraph::shed(Carriers::iterator carrier) {
  for (const auto& [failure, count] : carrier->second.failures) release(failure);
  carriers_.erase(carrier);
}

// Reports.

std::vector<FailureReport> ErrorGraph::reports(std::span<const Use> uses) const {
  std::vector<FailureReport> reports;
  std::unordered_set<FailureId> known;
  for (const Use& use : uses) {
    if (!use.reads()) continue;
    const auto carrier = carriers_.find(use.allocation);
    if (carrier == carriers_.end()) continue;
    const Ranges& ranges = carrier->second.ranges;
    for_rows(use, [&](std::uint64_t begin, std::uint64_t end) {
      for (auto at = first_behind(ranges, begin); at != ranges.end() && at->first < end; ++at) {
        const Taint& taint = at->second.taint;
        if (!known.insert(taint.failure).second) continue;
        const Node& node = nodes_.at(taint.failure);
        const std::uint64_t first = std::max(begin, at->first);
        FailureReport& report = reports.emplace_back(FailureReport{
            taint.failure,
            node.root,
            {use.allocation, first, std::min(end, at->second.end) - first, use.life == nullptr},
            node.carriers,
            node.skips,
            {},
            0});
        follow(node, taint, report);
      }
      return true;
    });
  }
  return reports;
}

// From the bytes to the root. A record's input is older than the record: the walk ends.
void ErrorGraph::follow(const Node& node, Taint taint, FailureReport& report) const {
  while (taint.record != 0) {
    const std::size_t place = taint.record % kRecordsKept;
    if (place >= node.records.size() || node.records[place].number != taint.record) {
      report.chain_dropped = taint.depth;
      return;
    }
    const Record& record = node.records[place];
    report.chain.push_back(record.task);
    taint = record.input;
  }
}

std::vector<LivingFailure> ErrorGraph::living() const {
  std::vector<LivingFailure> all;
  for (const auto& [failure, node] : nodes_)
    all.push_back({failure, node.device, node.root, node.carriers, node.skips});
  return all;
}

std::size_t ErrorGraph::ranges() const noexcept {
  std::size_t count = 0;
  for (const auto& [allocation, carrier] : carriers_) count += carrier.ranges.size();
  return count;
}

}  // namespace thalweg::failure
