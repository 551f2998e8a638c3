// SPDX-License-Identifier: Apache-2.0
//
// sync/timeline.hpp - a counter that only goes up, and those who wait for it.
//
//   who raises it    value.exchange(v)         then  min_wait.load() <= v ?  fire the ripe waiters
//   who waits        min_wait.exchange(w)      then  value.load() >= w ?     take itself out again
//
// Both sides write with a sequentially consistent read-modify-write and then read the other's word,
// so at least one sees the other: no waiter is missed. Fences would do too, but ThreadSanitizer
// does not understand them.
//
// A waiter is an object of the one who waits: nothing is allocated. It is fired outside the lock,
// once, by the thread that raised the value.
//
// Threads:    all methods from any thread, except that raises of one timeline by `advance` come
//             from one thread at a time.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "sync/lock.hpp"
#include "thalweg/base/pass_watch.hpp"
#include "thalweg/base/task.hpp"

namespace thalweg::sync {

class alignas(64) Timeline {
 public:
  using Waiter = TimelineWaiter;

  constexpr explicit Timeline(std::uint64_t value = 0) noexcept : value_(value) {}
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  // Memory ordering: acquire; pairs with advance() and raise().
  std::uint64_t value() const noexcept { return value_.load(std::memory_order_acquire); }
  bool reached(std::uint64_t value) const noexcept { return this->value() >= value; }

  // As reached() and value(), of somebody who answers the host: a watch is told.
  bool answers(std::uint64_t value) const noexcept {
    tell(value);
    return reached(value);
  }
  std::uint64_t answered_value() const noexcept {
    tell(PassWatch::kEverything);
    return value();
  }

  // Null: nobody is told. Set while nobody asks.
  void watch(PassWatch* watch) noexcept { watch_.store(watch, std::memory_order_relaxed); }

  // For whoever tests it alone: the word that value() reads.
  const std::atomic<std::uint64_t>& word() const noexcept { return value_; }

  // An object of whoever raises it, for those who wait and could help; null when there is none.
  // Memory ordering: release in set_owner() pairs with acquire here.
  void* owner() const noexcept { return owner_.load(std::memory_order_acquire); }
  void set_owner(void* owner) noexcept { owner_.store(owner, std::memory_order_release); }

  // Raises the value. REQUIRES: it does not go down, and nobody else raises it now.
  void advance(std::uint64_t value) noexcept {
    value_.exchange(value, std::memory_order_seq_cst);
    if (min_wait_.load(std::memory_order_seq_cst) <= value) [[unlikely]]
      fire_ripe();
  }

  // Raises the value from any thread. False, and nothing done, when it would go down.
  bool raise(std::uint64_t value) noexcept;

  // Adds `waiter`, which stays where it is until it fires or is removed. False, and nothing added,
  // when its value is reached already.
  bool add(Waiter& waiter) noexcept;

  // Takes `waiter` out. False when it was taken to be fired: it fires, or has fired.
  bool remove(Waiter& waiter) noexcept;

 private:
  static constexpr std::uint64_t kNobody = std::numeric_limits<std::uint64_t>::max();

  void tell(std::uint64_t value) const noexcept {
    PassWatch* const watch = watch_.load(std::memory_order_relaxed);
    if (watch != nullptr) [[unlikely]]
      watch->asked(value);
  }
  void fire_ripe() noexcept;
  void unlink(Waiter& waiter) noexcept THALWEG_REQUIRES(lock_);
  void update_min_wait() noexcept THALWEG_REQUIRES(lock_);

  std::atomic<std::uint64_t> value_;
  std::atomic<std::uint64_t> min_wait_{kNobody};  // Least value in the list.
  std::atomic<PassWatch*> watch_{nullptr};

  alignas(64) std::atomic<void*> owner_{nullptr};
  SpinLock lock_{Rank::waiters};
  Waiter* first_ THALWEG_GUARDED_BY(lock_) = nullptr;
};

// The timelines of all queues of the process, by queue index. An index is used again by a later
// queue, which goes on counting where the former one stopped: an old serial is simply one that has
// passed. Never destroyed.
inline constexpr std::size_t kQueueTimelines = std::size_t{1} << 16;

namespace detail {
// Zero pages until an index is used.
extern Timeline queue_timelines[kQueueTimelines];
}  // namespace detail

inline Timeline& queue_timeline(std::uint16_t queue) noexcept {
  return detail::queue_timelines[queue];
}

}  // namespace thalweg::sync
