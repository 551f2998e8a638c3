// SPDX-License-Identifier: Apache-2.0
//
// runtime/timeline.hpp - a timeline of the program's.

#pragma once

#include <cstdint>

#include "runtime/device.hpp"
#include "sync/timeline.hpp"

namespace thalweg::runtime {

class Timeline final : public thalweg::detail::TimelineCore {
 public:
  using Site = thalweg::detail::Site;

  Timeline(Ref<Device> device, std::uint64_t value) noexcept
      : device_(std::move(device)), timeline_(value) {}
  ~Timeline() override;

  std::uint64_t value() const noexcept override { return timeline_.value(); }
  std::uint64_t asked_value() const noexcept override;
  bool add(TimelineWaiter& waiter) noexcept override { return timeline_.add(waiter); }
  bool raise(std::uint64_t value) noexcept override { return timeline_.raise(value); }
  Result<void> signal(std::uint64_t value, Site site) override;
  Result<void> wait(std::uint64_t value, Deadline deadline, Site site) override;
  thalweg::detail::DeviceCore& device() const noexcept override { return *device_; }

 private:
  const Ref<Device> device_;
  sync::Timeline timeline_;
};

}  // namespace thalweg::runtime
