// SPDX-License-Identifier: Apache-2.0
//
// runtime/allocation.hpp - an allocation, its record of accesses, and its deferred free.

#pragma once

#include <cstdint>

#include "runtime/registry.hpp"
#include "thalweg/backend/memory_source.hpp"
#include "thalweg/interface.hpp"
#include "thalweg/order/access_map.hpp"

namespace thalweg::runtime {

class Device;

// On cache lines of its own: streams of different threads enter accesses in neighbouring ones.
class alignas(64) Allocation final : public thalweg::detail::AllocationCore {
 public:
  // Takes over `block`, which is empty for an allocation of no bytes.
  Allocation(Ref<Device> device, Slot& home, const backend::Block& block, std::uint64_t size_bytes);

  thalweg::detail::DeviceCore& device() const noexcept override;
  Device& owner() const noexcept { return *device_; }

  Slot& home() const noexcept { return home_; }

  // Whether a queue other than home has touched it. Written under both locks, read under either.
  bool shared() const noexcept { return shared_; }

  // From here on the map is guarded by the submission lock. REQUIRES: the caller holds that one,
  // and no lock of a queue.
  void share() noexcept;

  // Guarded by the home queue's lock, or by the submission lock once shared.
  order::AccessMap& map() noexcept { return map_; }

 private:
  void last_reference_gone() noexcept override;

  const Ref<Device> device_;
  Slot& home_;
  const backend::Block block_;
  bool shared_ = false;
  order::AccessMap map_;
};

}  // namespace thalweg::runtime
