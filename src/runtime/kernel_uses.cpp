// SPDX-License-Identifier: Apache-2.0

#include "runtime/kernel_uses.hpp"

#include <algorithm>
#include <atomic>
#include <memory>

#include "runtime/registry.hpp"
#include "sync/timeline.hpp"

namespace thalweg::runtime {
namespace {

// A kernel that nobody holds any more, and the queues that may still run it.
struct Farewell {
  struct Waiter : TimelineWaiter {
    Farewell* farewell = nullptr;
    order::QueueIndex queue = 0;
  };

  // Memory ordering: acquire and release: every run happens before the end.
  void one_less() noexcept {
    if (left.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    code->destroy();
    delete this;
  }

  KernelCode* code = nullptr;
  std::atomic<std::size_t> left{0};
  std::vector<Waiter> waiters;
};

}  // namespace

void KernelUses::add_other(const KernelCode& code, Serial serial) {
  const auto at = std::find_if(uses_.begin(), uses_.end(),
                               [&code](const Use& use) { return use.code == &code; });
  latest_ = static_cast<std::size_t>(at - uses_.begin());
  if (at != uses_.end()) {
    at->last = serial;
    return;
  }
  uses_.push_back({&code, serial});
  code.kept_by(Registry::instance());
}

Serial KernelUses::remove(const KernelCode& code) noexcept {
  const auto at = std::find_if(uses_.begin(), uses_.end(),
                               [&code](const Use& use) { return use.code == &code; });
  if (at == uses_.end()) return Serial{};
  const Serial last = at->last;
  uses_.erase(at);
  return last;
}

void Registry::let_go(KernelCode& code) noexcept {
  std::vector<Farewell::Waiter> waiters;
  const std::size_t used = indices_.with([](const Indices& indices) { return indices.used; });
  for (std::size_t i = 0; i != used; ++i) {
    Slot& slot = this->slot(static_cast<order::QueueIndex>(i));
    Serial last;
    {
      const sync::Locked queue(slot.lock);
      last = slot.kernels.remove(code);
    }
    if (passed(order::Point(slot.index, last))) continue;
    Farewell::Waiter& waiter = waiters.emplace_back();
    waiter.value = last.value;
    waiter.queue = slot.index;
    waiter.fire = [](TimelineWaiter& fired) noexcept {
      static_cast<Farewell::Waiter&>(fired).farewell->one_less();
    };
  }
  if (waiters.empty()) return code.destroy();
  auto* const farewell = new Farewell;
  farewell->code = &code;
  farewell->waiters = std::move(waiters);
  // One more for this thread: it is in the list of waiters until the end.
  farewell->left.store(farewell->waiters.size() + 1, std::memory_order_relaxed);
  for (Farewell::Waiter& waiter : farewell->waiters) {
    waiter.farewell = farewell;
    if (!sync::queue_timeline(waiter.queue).add(waiter)) farewell->one_less();
  }
  farewell->one_less();
}

}  // namespace thalweg::runtime
