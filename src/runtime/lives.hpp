// SPDX-License-Identifier: Apache-2.0
//
// runtime/lives.hpp - the lives of the allocations of one queue: which of them are still there.
//
// A life goes to the next allocation when all uses of the one before have passed. So until then it
// says whose it was and where that one's uses end, and a task keeps the life in place of the id.
//
// Threads:    external synchronization, by the lock of the queue.
// Ownership:  lives are never freed.

#pragma once

#include "sync/lock.hpp"
#include "thalweg/base/access.hpp"
#include "thalweg/order/point.hpp"

namespace thalweg::runtime {

struct Life : AllocationLife {
  explicit Life(sync::SpinLock& home_lock) noexcept : lock(home_lock) {}

  sync::SpinLock& lock;  // Of the queue: guards the rest.
  order::PointSet uses;  // Of the owner, when it ended.
  Life* next = nullptr;
};

class Lives {
 public:
  // One that may begin again; null: there is none, and a new one is needed.
  Life* take() noexcept;

  // It ends, with the points of what may use the allocation still.
  void end(Life& life, const order::PointSet& uses) noexcept;

 private:
  void wait(Life& life) noexcept;

  Life* free_ = nullptr;    // Their uses have passed.
  Life* ending_ = nullptr;  // Theirs may have not. In a row.
  Life* ending_last_ = nullptr;
};

}  // namespace thalweg::runtime
