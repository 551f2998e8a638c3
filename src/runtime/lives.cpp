// SPDX-License-Identifier: Apache-2.0

#include "runtime/lives.hpp"

#include <algorithm>
#include <utility>

#include "runtime/registry.hpp"

namespace thalweg::runtime {
namespace {

bool over(const order::PointSet& points) noexcept {
  return std::all_of(points.begin(), points.end(), is_over);
}

}  // namespace

Life* Lives::take() noexcept {
  if (free_ != nullptr) return std::exchange(free_, free_->next);
  // One that is used for long is not in the way of those behind it. With two looks at most every
  // other one is waited for in vain: there are twice as many as are in use, and no more.
  for (int look = 0; look != 2 && ending_ != nullptr; ++look) {
    Life* const first = std::exchange(ending_, ending_->next);
    if (over(first->uses)) return first;
    wait(*first);
  }
  return nullptr;
}

void Lives::wait(Life& life) noexcept {
  life.next = nullptr;
  (ending_ != nullptr ? ending_last_->next : ending_) = &life;
  ending_last_ = &life;
}

void Lives::end(Life& life, const order::PointSet& uses) noexcept {
  life.uses = uses;
  life.end();
  if (over(uses))
    life.next = std::exchange(free_, &life);
  else
    wait(life);
}

}  // namespace thalweg::runtime
