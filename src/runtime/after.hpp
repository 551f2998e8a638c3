// SPDX-License-Identifier: Apache-2.0
//
// runtime/after.hpp - something to do once, when everything up to each of some points has passed.
//
//   points   A@7  B@3  C@9          a waiter in the timeline of each that has not passed
//              \    |    /
//               left: 3 -> 0        whoever takes the last one calls happen()
//
// Threads:    any. No lock is held when happen() is called.

#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "thalweg/backend/observer.hpp"
#include "thalweg/base/task.hpp"
#include "thalweg/base/unique_function.hpp"
#include "thalweg/order/point.hpp"

namespace thalweg::runtime {

class After {
 public:
  After() = default;
  After(const After&) = delete;
  After& operator=(const After&) = delete;
  virtual ~After() = default;

  // Takes over `after`, whose happen() runs on the thread that lets the last of the points pass, or
  // on this one when all have passed.
  static void arm(std::unique_ptr<After> after, const order::PointSet& points);

 private:
  struct Waiter : TimelineWaiter {
    After* after = nullptr;
  };

  // Short, and does not wait: others stand behind it.
  virtual void happen() noexcept = 0;

  void one_less() noexcept;

  std::vector<Waiter> waiters_;
  std::atomic<std::size_t> left_{0};
};

// Calls `function` here. What it throws goes to the error sink; a child of a fork in it ends here.
void call_now(UniqueFunction& function) noexcept;

// Runs `function` on a thread of the runtime, one after the other in the order of the calls, inside
// a NoWaitScope. What it throws goes to the error sink.
void call_later(UniqueFunction function);

// The same once all points have passed. `observer`, if any, runs it in its own way; it is asked
// while the last of the points passes.
void call_after(const order::PointSet& points, UniqueFunction function,
                backend::Observer* observer);

}  // namespace thalweg::runtime
