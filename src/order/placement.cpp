// SPDX-License-Identifier: Apache-2.0

#include "thalweg/order/placement.hpp"

#include <algorithm>
#include <cstddef>

#include "base/plant.hpp"
#include "thalweg/base/check.hpp"

namespace thalweg::order {
namespace {

const Frontier* frontier_of(Point point, const QueueTable& table) {
  const QueueOrder* const source = table.at(point.queue());
  return source == nullptr ? nullptr : source->frontier_at(point.serial());
}

// Takes out of `waits` what another of them is ordered after. Being ordered after is a strict
// order, so for each point taken out one stays that is after it, whatever the sequence of the
// comparisons.
void drop_implied(const QueueTable& table, PointSet& waits) {
  for (const Point* at = waits.begin(); at != waits.end();) {
    const Point by = *at;
    const Frontier* const before = frontier_of(by, table);
    ++at;
    if (before == nullptr || before->empty()) continue;
    const std::size_t count = waits.size();
    waits.remove_if([before](Point point) { return before->covers(point); });
    if (waits.size() != count) at = std::upper_bound(waits.begin(), waits.end(), by);
  }
}

}  // namespace

void choose_waits(const QueueOrder& taker, const PointSet& candidates, const QueueTable& table,
                  PointSet& waits, WaitCounts& counts) {
  waits.clear();
  const Frontier& frontier = taker.frontier();
  for (const Point point : candidates) {
    if (point.queue() == taker.index()) continue;
    if (frontier.covers(point)) {
      ++counts.covered;
    } else if (table.passed(point)) {
      ++counts.passed;
    } else {
      waits.add(point);
    }
  }
  if (waits.size() > 1) {
    const std::size_t count = waits.size();
    drop_implied(table, waits);
    counts.covered += count - waits.size();
  }
  if (plant::planted(plant::Bug::dropped_wait)) {
    waits.remove_if([&counts](Point) { return ++counts.placed % 7 == 0; });
  } else {
    counts.placed += waits.size();
  }
}

void merge_wait(QueueOrder& taker, Point covered, QueueTable& table) {
  THALWEG_ASSERT(covered.queue() != taker.index(), "A queue waits for itself.");
  if (plant::planted(plant::Bug::frontier_not_merged)) return taker.learn(Point(), nullptr);
  const QueueOrder* const source = table.at(covered.queue());
  const Frontier* row = frontier_of(covered, table);
  if (plant::planted(plant::Bug::present_frontier) && source != nullptr) row = &source->frontier();
  taker.learn(covered, row);
}

}  // namespace thalweg::order
