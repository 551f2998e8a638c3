// SPDX-License-Identifier: Apache-2.0
//
// thalweg/order/placement.hpp - which waits a task needs, and what its queue learns from them.
//
// The caller's part is drawn in docs/design/0001-ordering.md:
//
//   collect each access  ->  choose_waits  ->  the backend waits, merge_wait for each  ->  take a
//   serial  ->  apply each access
//
// Threads:    none of its own: the caller holds the submission lock and the taker's lock.

#pragma once

#include <cstdint>

#include "thalweg/base/export.hpp"
#include "thalweg/order/point.hpp"
#include "thalweg/order/queue_order.hpp"

namespace thalweg::order {

// What became of the candidates on other queues.
struct WaitCounts {
  std::uint64_t placed = 0;   // Chosen.
  std::uint64_t passed = 0;   // Over already.
  std::uint64_t covered = 0;  // Implied by an earlier wait of the taker, or by a chosen one.
};

// Sets `waits` to the candidates that `taker` has to wait for, and adds to `counts`. Left out are
// those on the taker's own queue, covered by its frontier, passed, or covered by another one in
// `waits`. The result is minimal: leaving one out would leave it unordered, as long as no row fell
// off. REQUIRES: `waits` is not `candidates`.
THALWEG_EXPORT void choose_waits(const QueueOrder& taker, const PointSet& candidates,
                                 const QueueTable& table, PointSet& waits, WaitCounts& counts);

// The backend has agreed that what `taker` takes next waits for `covered`, which may be later than
// the point asked for: the taker is now ordered after it and after what was before it when it was
// submitted. The wait is owed until a serial is taken.
// REQUIRES: `covered` is on another queue, and nothing after that queue's `last`.
THALWEG_EXPORT void merge_wait(QueueOrder& taker, Point covered, QueueTable& table);

}  // namespace thalweg::order
