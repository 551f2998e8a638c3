// SPDX-License-Identifier: Apache-2.0

#include "sync/timeline.hpp"

#include <algorithm>

namespace thalweg::sync {

constinit Timeline detail::queue_timelines[kQueueTimelines];

bool Timeline::raise(std::uint64_t value) noexcept {
  std::uint64_t present = value_.load(std::memory_order_relaxed);
  do {
    if (value < present) return false;
  } while (!value_.compare_exchange_weak(present, value, std::memory_order_seq_cst));
  if (min_wait_.load(std::memory_order_seq_cst) <= value) fire_ripe();
  return true;
}

bool Timeline::add(Waiter& waiter) noexcept {
  Locked locked(lock_);
  waiter.previous = nullptr;
  waiter.next = first_;
  if (first_ != nullptr) first_->previous = &waiter;
  first_ = &waiter;
  // Only the holder of the lock writes it.
  const std::uint64_t least = min_wait_.load(std::memory_order_relaxed);
  min_wait_.exchange(std::min(least, waiter.value), std::memory_order_seq_cst);
  if (value_.load(std::memory_order_seq_cst) < waiter.value) return true;
  unlink(waiter);
  update_min_wait();
  return false;
}

bool Timeline::remove(Waiter& waiter) noexcept {
  Locked locked(lock_);
  if (waiter.previous == nullptr && first_ != &waiter) return false;
  unlink(waiter);
  update_min_wait();
  return true;
}

void Timeline::fire_ripe() noexcept {
  Waiter* ripe = nullptr;
  {
    Locked locked(lock_);
    const std::uint64_t value = value_.load(std::memory_order_seq_cst);
    for (Waiter* waiter = first_; waiter != nullptr;) {
      Waiter* const next = waiter->next;
      if (waiter->value <= value) {
        unlink(*waiter);
        waiter->next = ripe;
        ripe = waiter;
      }
      waiter = next;
    }
    update_min_wait();
  }
  while (ripe != nullptr) {
    Waiter* const next = ripe->next;
    ripe->fire(*ripe);
    ripe = next;
  }
}

// Leaves `previous` null, which with `first_` elsewhere is the mark of a waiter that is in no list.
void Timeline::unlink(Waiter& waiter) noexcept {
  if (waiter.next != nullptr) waiter.next->previous = waiter.previous;
  if (waiter.previous != nullptr) {
    waiter.previous->next = waiter.next;
  } else {
    first_ = waiter.next;
  }
  waiter.previous = nullptr;
  waiter.next = nullptr;
}

void Timeline::update_min_wait() noexcept {
  std::uint64_t least = kNobody;
  for (const Waiter* waiter = first_; waiter != nullptr; waiter = waiter->next)
    least = std::min(least, waiter->value);
  min_wait_.exchange(least, std::memory_order_seq_cst);
}

}  // namespace thalweg::sync
