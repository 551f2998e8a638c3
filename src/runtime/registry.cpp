// SPDX-License-Identifier: Apache-2.0

#include "runtime/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "os/process.hpp"
#include "runtime/imports.hpp"

namespace thalweg::runtime {

Registry& Registry::instance() noexcept {
  static Registry& registry = *new Registry;
  return registry;
}

Registry::Registry() : imports_(new Imports) { os::watch_forks(); }

Result<Slot*> Registry::acquire_slot(bool skip_passed) {
  Slot* const slot = indices_.with([this](Indices& indices) -> Slot* {
    if (!indices.free.empty()) {
      // The lowest: vector clocks are as wide as the greatest index in use.
      std::pop_heap(indices.free.begin(), indices.free.end(), std::greater<>());
      const order::QueueIndex index = indices.free.back();
      indices.free.pop_back();
      return slots_[index].load(std::memory_order_relaxed);
    }
    if (indices.used == slots_.size()) return nullptr;
    const auto index = static_cast<order::QueueIndex>(indices.used++);
    auto* const fresh = new Slot(index);
    slots_[index].store(fresh, std::memory_order_release);
    return fresh;
  });
  if (slot == nullptr)
    return Error(ErrorKind::out_of_memory,
                 fmt::format("A process has at most {} streams at a time.", slots_.size()));
  const sync::Timeline& timeline = sync::queue_timeline(slot->index);
  const sync::Locked submission(submission_);
  const sync::Locked queue(slot->lock);
  slot->order.open(slot->index, skip_passed ? &timeline.word() : nullptr, Serial{timeline.value()});
  table_.set(slot->index, &slot->order);
  return slot;
}

void Registry::close_slot(Slot& slot) noexcept {
  const sync::Locked submission(submission_);
  const sync::Locked queue(slot.lock);
  table_.set(slot.index, nullptr);
  slot.order.close();
  slot.stream = nullptr;
}

void Registry::free_slot(Slot& slot) noexcept {
  indices_.with([&slot](Indices& indices) {
    indices.free.push_back(slot.index);
    std::push_heap(indices.free.begin(), indices.free.end(), std::greater<>());
  });
}

}  // namespace thalweg::runtime
