// SPDX-License-Identifier: Apache-2.0
//
// runtime/registry.hpp - what the devices of a process share: queue slots and the submission lock.
//
// Locks of a submission, in the order in which they are taken:
//
//   submission   held for every submission that concerns more than one queue
//   queue        one a slot. A task whose allocations are all at home and shared with nobody takes
//                this one alone.
//
// An allocation's access map is guarded by its home queue's lock until another queue touches it,
// and by the submission lock from then on (Allocation::shared). Only who holds the submission lock
// takes the lock of a queue not its own, one at a time: there is no cycle of locks. A serial is
// taken while every map involved is guarded: submissions have one order, and waits only ever point
// back in it.

#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "runtime/failures.hpp"
#include "runtime/kernel_uses.hpp"
#include "runtime/lives.hpp"
#include "sync/lock.hpp"
#include "sync/timeline.hpp"
#include "thalweg/backend/driver.hpp"
#include "thalweg/order/placement.hpp"
#include "thalweg/order/queue_order.hpp"

namespace thalweg::runtime {

// What stays of a queue when it is gone: the slot is used again by another one. Never freed.
struct alignas(64) Slot final : backend::Progress {
  explicit Slot(order::QueueIndex slot_index) noexcept : index(slot_index) {}

  void passed(Serial serial) noexcept override {
    sync::queue_timeline(index).advance(serial.value);
  }

  // While nobody has the queue, or by who holds all its locks.
  void watch(PassWatch* watch) noexcept override {
    sync::queue_timeline(index).watch(watch);
    order.watch(watch);
  }

  const order::QueueIndex index;
  sync::SpinLock lock{sync::Rank::queue};
  order::QueueOrder order;  // Guarded as queue_order.hpp says.
  KernelUses kernels;       // Guarded by the lock.
  Lives lives;              // Guarded by the lock: of the allocations that were made for the queue.
  backend::DriverStream* stream = nullptr;  // Guarded by both locks; null when nobody has the slot.
  alignas(64) StreamOutcomes outcomes;      // Read by workers: apart from what submissions write.
};

class Imports;

class Registry final : public KernelKeeper {
 public:
  // Made on first use, never destroyed.
  static Registry& instance() noexcept;

  // A free slot, opened for a queue.
  // Errors: out_of_memory, when all are in use.
  Result<Slot*> acquire_slot(bool skip_passed);

  // The queue goes, in two steps: nobody finds it from the first on, and its backend's stream may
  // be destroyed; the slot may serve another from the second on. REQUIRES: all its serials have
  // passed.
  void close_slot(Slot& slot) noexcept;
  void free_slot(Slot& slot) noexcept;

  Slot& slot(order::QueueIndex index) noexcept {
    return *slots_[index].load(std::memory_order_acquire);
  }

  sync::SpinLock& submission() noexcept THALWEG_THREAD_ATTRIBUTE(lock_returned(submission_)) {
    return submission_;
  }

  Imports& imports() noexcept { return *imports_; }

  // The kernel lives until every queue that launched it has come that far.
  void let_go(KernelCode& code) noexcept override;

  // Guarded by submission().
  order::QueueTable& table() noexcept { return table_; }
  order::PointSet& candidates() noexcept { return candidates_; }
  order::PointSet& waits() noexcept { return waits_; }

 private:
  Registry();

  Imports* const imports_;
  sync::SpinLock submission_{sync::Rank::submission};
  order::QueueTable table_;
  order::PointSet candidates_;  // Scratch space of the submission that holds the lock.
  order::PointSet waits_;

  std::array<std::atomic<Slot*>, order::QueueTable::kSlots> slots_{};
  struct Indices {
    std::vector<order::QueueIndex> free;
    std::size_t used = 0;  // Indices below it have a slot.
  };
  sync::Guarded<Indices> indices_{sync::Rank::registry};
};

// Whether everything up to the point is over, by the queue's own count. Of somebody who answers the
// host, for a queue of his own device or of one that it may wait for: its watch is told.
inline bool passed(order::Point point) noexcept {
  return sync::queue_timeline(point.queue()).answers(point.serial().value);
}

// The same for anybody, of any queue of the process: nobody is told.
inline bool is_over(order::Point point) noexcept {
  return sync::queue_timeline(point.queue()).reached(point.serial().value);
}

}  // namespace thalweg::runtime
