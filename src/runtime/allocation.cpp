// SPDX-License-Identifier: Apache-2.0

#include "runtime/allocation.hpp"

#include <utility>

#include "base/plant.hpp"
#include "runtime/device.hpp"

namespace thalweg::runtime {

Allocation::Allocation(Ref<Device> device, Slot& home, const backend::Block& block,
                       std::uint64_t bytes)
    : device_(std::move(device)), home_(home), block_(block) {
  id = make_id<AllocationId>();
  size_bytes = bytes;
  address = block.resource.address;
  resource = block.resource.object;
  map_.reset(bytes);
}

thalweg::detail::DeviceCore& Allocation::device() const noexcept { return *device_; }

void Allocation::share() noexcept {
  if (shared_) return;
  const sync::Locked queue(home_.lock);
  shared_ = true;
}

void Allocation::last_reference_gone() noexcept {
  order::PointSet uses;
  Registry& registry = Registry::instance();
  bool shared = false;
  {
    const sync::Locked queue(home_.lock);
    shared = shared_;
    if (!shared) map_.points(uses, registry.table());
  }
  if (shared) {
    const sync::Locked submission(registry.submission());
    map_.points(uses, registry.table());
  }
  if (plant::planted(plant::Bug::free_without_home_point))
    uses.remove_if([this](order::Point point) { return point.queue() == home_.index; });
  if (block_.source != nullptr) device_->take_back(block_, std::move(uses));
  delete this;
}

}  // namespace thalweg::runtime
