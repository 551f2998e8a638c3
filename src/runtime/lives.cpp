// SPDX-License-Identifier: Apache-2.0

#include "runtime/lives.hpp"

#include <algorithm>
#include <utility>

#include "sync/timeline.hpp"

namespace thalweg::runtime {
namespace {

// Nobody is told that it was asked: no answer depends on it.
bool over(const order::PointSet& points) noexcept {
  return std::all_of(points.begin(), points.end(), [](order::Point point) {
    return sync::queue_timeline(point.queue()).reached(point.serial().value);
  });
}

}  // namespace

Life* Lives::take() noexcept {
  if (free_ != nullptr) return std::exchange(free_, free_->next);
  if (ending_ == nullptr || !over(ending_->uses)) return nullptr;
  return std::exchange(ending_, ending_->next);
}

void Lives::end(Life& life, const order::PointSet& uses) noexcept {
  life.uses = uses;
  life.next = nullptr;
  life.end();
  if (over(uses)) {
    life.next = std::exchange(free_, &life);
  } else {
    (ending_ != nullptr ? ending_last_->next : ending_) = &life;
    ending_last_ = &life;
  }
}

}  // namespace thalweg::runtime
