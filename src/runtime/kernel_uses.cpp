// SPDX-License-Identifier: Apache-2.0

#include "runtime/kernel_uses.hpp"

#include <algorithm>
#include <memory>

#include "runtime/after.hpp"
#include "runtime/registry.hpp"

namespace thalweg::runtime {
namespace {

// A kernel that nobody holds any more, while queues may still run it.
class Farewell final : public After {
 public:
  explicit Farewell(KernelCode& code) noexcept : code_(code) {}

 private:
  void happen() noexcept override { code_.destroy(); }

  KernelCode& code_;
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
  order::PointSet launches;
  const std::size_t used = indices_.with([](const Indices& indices) { return indices.used; });
  for (std::size_t i = 0; i != used; ++i) {
    Slot& slot = this->slot(static_cast<order::QueueIndex>(i));
    const sync::Locked queue(slot.lock);
    const order::Point last(slot.index, slot.kernels.remove(code));
    if (!passed(last)) launches.add(last);
  }
  After::arm(std::make_unique<Farewell>(code), launches);
}

}  // namespace thalweg::runtime
