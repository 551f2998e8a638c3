// SPDX-License-Identifier: Apache-2.0
//
// backends/cpu/queue.hpp - one in-order queue: a producer, a consumer, and a state between them.
//
//   submit (under the queue's lock)          whoever runs it: a worker, or a thread that waits
//     write the slot, its waits                READY -> RUNNING by compare-and-swap
//     published.exchange(serial)               for each slot: waits passed? else park on the first
//                                              open
//   announce (without a lock)                                one; run; timeline.advance(serial)
//     IDLE -> READY, ready bit, maybe wake     none left: IDLE, look at `published` again
//
//   IDLE -> READY -> RUNNING -> IDLE | READY (stopped early) | PARKED -> READY (the wait is over)
//
// Invariants
//   * Only who moved the state to RUNNING touches the consumer's part, until it moves it on.
//   * `published` is exchanged before `state` is read, and `state` is exchanged to IDLE before
//     `published` is read again: at least one side sees the other, and no task is left behind.
//   * After moving to IDLE the consumer's part belongs to whoever takes the queue next: it is read
//   anew. * A parked queue is in the list of exactly one timeline and in no other place.
//   * Queues are never freed, only used again: a stale pointer or a stale ready bit finds a queue
//     whose state or index says that there is nothing to do.
//
// Threads:    append, announce and owe under the queue's lock (announce: any time); run by one at a
//             time, which the state sees to.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stop_token>
#include <vector>

#include "backends/cpu/slot.hpp"
#include "sync/timeline.hpp"
#include "thalweg/backend/outcomes.hpp"
#include "thalweg/base/result.hpp"
#include "thalweg/order/point.hpp"

namespace thalweg::cpu {

class Workers;
enum class Wake : std::uint8_t;

class Queue : private TimelineWaiter {
 public:
  enum class State : std::uint32_t { idle, ready, running, parked, closed };

  // Why run() came back. The queue is not touched afterwards but for `stopped`, which leaves it
  // RUNNING.
  enum class End : std::uint8_t {
    drained,  // Nothing is left; the queue is idle.
    parked,   // It waits for something, and somebody makes it ready later.
    stopped,  // The limit, the quantum, or a task that this thread must not run. Still RUNNING.
    closed,   // The last task has run.
  };

  // What whoever runs the queue may do.
  struct Permit {
    std::uint64_t serial_max = std::numeric_limits<std::uint64_t>::max();
    std::uint32_t tasks_max = std::numeric_limits<std::uint32_t>::max();
    bool host_functions = false;  // And the last task.
  };

  // A queue that is in use by nobody. Null when the system has no memory left.
  static Queue* acquire() noexcept;

  // Gives it back. REQUIRES: it is idle or closed, and nothing is appended.
  static void release(Queue* queue) noexcept;

  // Starts using it. REQUIRES: acquired, not opened.
  void open(Workers& workers, backend::Outcomes& outcomes, order::QueueIndex index,
            std::uint32_t place, int level, Serial start) noexcept;

  // Enqueues a task with its serial and all waits owed.
  // Errors: out_of_memory; then nothing has happened but waits already placed.
  Result<void> append(const neutral::Task& task, Serial serial);

  // What is appended next waits for `point`.
  void owe(order::Point point);

  // Sees to it that somebody runs what was appended.
  void announce() noexcept;

  // Closes a queue that has nothing to run and is in nobody's hands. REQUIRES: nobody submits.
  bool close_idle() noexcept {
    State idle = State::idle;
    return state_.compare_exchange_strong(idle, State::closed, std::memory_order_acq_rel);
  }

  // REQUIRES: the caller moved the state to RUNNING.
  End run(const Permit& permit) noexcept;

  // Moves READY to RUNNING.
  bool take() noexcept {
    State ready = State::ready;
    return state_.compare_exchange_strong(ready, State::running, std::memory_order_acquire);
  }

  // RUNNING to READY, with a ready bit and a wake-up where nobody is awake.
  void give_back(Wake wake) noexcept;

  State state() const noexcept { return state_.load(std::memory_order_acquire); }

  // What a parked queue waits for; none: a timeline of the program's.
  order::Point parked_on() const noexcept { return parked_on_.load(std::memory_order_acquire); }

  order::QueueIndex index() const noexcept { return index_.load(std::memory_order_acquire); }
  Workers& workers() const noexcept { return *workers_; }
  std::uint32_t place() const noexcept { return place_; }
  sync::Timeline& timeline() const noexcept { return sync::queue_timeline(index()); }

  std::uintptr_t native_id() const noexcept { return native_id_; }

  // A hint: what comes next is a host function, which only workers run.
  bool for_worker() const noexcept { return for_worker_.load(std::memory_order_relaxed); }

  // The serial of the latest task appended.
  std::uint64_t published() const noexcept { return published_.load(std::memory_order_acquire); }

 private:
  Queue() noexcept = default;

  // Room for a slot and up to so many extra ones in one segment; null when the system has no memory
  // left. Then it is taken, with as many extra ones as are needed.
  Slot* next_slot(std::size_t extra_max) noexcept;
  void take_slot(Slot& slot, std::size_t extra) noexcept;
  bool append_waits() noexcept;
  Segment* new_segment() noexcept;

  Slot* front() noexcept;
  void recycle(Segment* segment) noexcept;
  void free_segments() noexcept;
  bool park(order::Point point) noexcept;
  bool park_at_gate(const TimelineBody& gate) noexcept;
  End finish(Slot& slot, std::uint64_t serial) noexcept;
  static void unpark(TimelineWaiter& waiter) noexcept;

  // Producer.
  Segment* tail_segment_ = nullptr;
  std::size_t tail_ = 0;
  Segment* spare_ = nullptr;  // Linked by next.
  std::vector<order::Point> owed_;

  // Between the two.
  alignas(64) std::atomic<std::uint64_t> published_{0};
  alignas(64) std::atomic<State> state_{State::idle};
  std::atomic<order::Point> parked_on_{};
  std::atomic<order::QueueIndex> index_{0};
  std::atomic<bool> for_worker_{false};
  std::atomic<Segment*> returned_{nullptr};  // Pushed by the consumer, taken whole by the producer.
  std::atomic<std::uint32_t> segments_{0};

  // Consumer.
  alignas(64) Segment* head_segment_ = nullptr;
  std::size_t head_ = 0;
  std::uint64_t next_serial_ = 1;
  std::stop_token stop_;  // Of the guard that was passed last.

  // Constant while open.
  Workers* workers_ = nullptr;
  backend::Outcomes* outcomes_ = nullptr;
  std::uint32_t place_ = 0;
  int level_ = 0;
  std::uintptr_t native_id_ = 0;

  Queue* next_free_ = nullptr;  // In the list of queues nobody uses.
};

}  // namespace thalweg::cpu
