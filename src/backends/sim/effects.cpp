// SPDX-License-Identifier: Apache-2.0

#include "backends/sim/effects.hpp"

#include <algorithm>

namespace thalweg::sim {
namespace {

template <class List>
bool has(const List& places, Place place) noexcept {
  return std::find(places.begin(), places.end(), place) != places.end();
}

bool asks(const Effects& asker, Place done) noexcept {
  return done.position != 0 &&
         std::any_of(asker.asked.begin(), asker.asked.end(), [done](Place asked) {
           return asked == done || (asked.position == 0 && asked.queue == done.queue);
         });
}

bool share_bytes(const Effects& a, const Effects& b) noexcept {
  if ((a.any_bytes && !b.bytes.empty()) || (b.any_bytes && !a.bytes.empty())) return true;
  for (const Effects::Bytes& x : a.bytes)
    for (const Effects::Bytes& y : b.bytes)
      if ((x.written || y.written) && x.begin < y.end && y.begin < x.end) return true;
  return false;
}

bool share_timeline(const Effects& a, const Effects& b) noexcept {
  for (const Effects::Mark& x : a.marks)
    for (const Effects::Mark& y : b.marks)
      if (x.timeline == y.timeline &&
          (x.use == Effects::Use::raised || y.use == Effects::Use::raised))
        return true;
  return false;
}

}  // namespace

void Effects::clear() noexcept {
  process = kNobody;
  program = any_bytes = pools = seen = all = calls = engine = false;
  counted = 0;
  done = {};
  bytes.clear();
  marks.clear();
  asked.clear();
  enqueued.clear();
  awaited.clear();
}

bool dependent(const Effects& a, const Effects& b) noexcept {
  return a.all || b.all || (a.program && (b.program || b.seen)) || (a.seen && b.program) ||
         (a.pools && b.pools) || (a.calls && b.calls) || (a.engine && b.engine) ||
         (a.counted & b.counted) != 0 || asks(a, b.done) || asks(b, a.done) || enables(a, b) ||
         share_bytes(a, b) || share_timeline(a, b);
}

bool enables(const Effects& a, const Effects& b) noexcept {
  if (b.done.position != 0 && has(a.enqueued, b.done)) return true;
  if (a.done.position != 0 && has(b.awaited, a.done)) return true;
  for (const Effects::Mark& x : a.marks)
    for (const Effects::Mark& y : b.marks)
      if (x.use == Effects::Use::raised && y.use == Effects::Use::awaited &&
          x.timeline == y.timeline && x.from < y.to && y.to <= x.to)
        return true;
  return false;
}

}  // namespace thalweg::sim
