// SPDX-License-Identifier: Apache-2.0

#include "runtime/after.hpp"

#include <deque>
#include <utility>

#include "base/callback.hpp"
#include "os/futex.hpp"
#include "os/process.hpp"
#include "os/thread.hpp"
#include "runtime/registry.hpp"
#include "sync/lock.hpp"
#include "sync/timeline.hpp"
#include "thalweg/base/no_wait.hpp"

namespace thalweg::runtime {

void call_now(UniqueFunction& function) noexcept {
  call_reporting(function);
  os::end_forked_child();
}

namespace {

// The thread that callbacks run on. Made on first use, never destroyed.
class Caller {
 public:
  static Caller& instance() noexcept {
    static Caller& caller = *new Caller;
    return caller;
  }

  void add(UniqueFunction function) {
    const bool first = waiting_.with([&function](Waiting& waiting) {
      waiting.functions.push_back(std::move(function));
      return !std::exchange(waiting.started, true);
    });
    added_.fetch_add(1, std::memory_order_release);
    os::futex_wake(&added_, 1);
    if (!first || os::start_thread("thalweg-call", [this] { run(); })) return;
    // Without a thread they run here, and the next call tries again.
    const NoWaitScope no_wait;
    std::deque<UniqueFunction> here = waiting_.with([](Waiting& waiting) {
      waiting.started = false;
      return std::exchange(waiting.functions, {});
    });
    for (UniqueFunction& next : here) call_now(next);
  }

 private:
  struct Waiting {
    std::deque<UniqueFunction> functions;
    bool started = false;
  };

  void run() {
    const NoWaitScope no_wait;
    for (;;) {
      const std::uint32_t added = added_.load(std::memory_order_acquire);
      UniqueFunction next = waiting_.with([](Waiting& waiting) {
        UniqueFunction front;
        if (waiting.functions.empty()) return front;
        front = std::move(waiting.functions.front());
        waiting.functions.pop_front();
        return front;
      });
      if (next) {
        call_now(next);
      } else {
        os::futex_wait(added_, added);
      }
    }
  }

  sync::Guarded<Waiting> waiting_{sync::Rank::ledger};
  std::atomic<std::uint32_t> added_{0};  // The futex word.
};

class Call final : public After {
 public:
  Call(UniqueFunction function, backend::Observer* observer) noexcept
      : function_(std::move(function)), observer_(observer) {}

 private:
  void happen() noexcept override {
    observer_ != nullptr ? observer_->call_later(std::move(function_))
                         : call_later(std::move(function_));
  }

  UniqueFunction function_;
  backend::Observer* const observer_;
};

}  // namespace

void After::arm(std::unique_ptr<After> owned, const order::PointSet& points) {
  After* const after = owned.release();
  after->waiters_.resize(points.size());
  // One more for this thread: the waiters are its own until the end.
  after->left_.store(points.size() + 1, std::memory_order_relaxed);
  auto waiter = after->waiters_.begin();
  for (const order::Point point : points) {
    waiter->after = after;
    waiter->value = point.serial().value;
    waiter->fire = [](TimelineWaiter& fired) noexcept {
      static_cast<Waiter&>(fired).after->one_less();
    };
    // Asked, so that a watch is told what the answer of `add` depends on.
    if (passed(point) || !sync::queue_timeline(point.queue()).add(*waiter)) after->one_less();
    ++waiter;
  }
  after->one_less();
}

// Memory ordering: acquire and release: all that passed happens before happen().
void After::one_less() noexcept {
  if (left_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  happen();
  delete this;
}

void call_later(UniqueFunction function) { Caller::instance().add(std::move(function)); }

void call_after(const order::PointSet& points, UniqueFunction function,
                backend::Observer* observer) {
  After::arm(std::make_unique<Call>(std::move(function), observer), points);
}

}  // namespace thalweg::runtime
