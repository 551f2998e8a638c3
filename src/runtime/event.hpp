// SPDX-License-Identifier: Apache-2.0
//
// runtime/event.hpp - an event: the point of its latest record.

#pragma once

#include <atomic>
#include <utility>

#include "runtime/device.hpp"

namespace thalweg::runtime {

class Event final : public thalweg::detail::EventCore {
 public:
  explicit Event(Ref<Device> device) noexcept : device_(std::move(device)) {}

  EventState query() const noexcept override {
    const order::Point latest = point();
    if (latest == kNever) return EventState::not_recorded;
    return passed(latest) ? EventState::done : EventState::not_yet;
  }

  Result<void> wait(Deadline deadline, thalweg::detail::Site site) override {
    const order::Point latest = point();
    return latest == kNever ? Result<void>()
                            : device_->wait(latest, WaitReason::event, deadline, site);
  }

  thalweg::detail::DeviceCore& device() const noexcept override { return *device_; }
  Device& owner() const noexcept { return *device_; }

  // None when never recorded, which nobody waits for.
  order::Point latest() const noexcept {
    const order::Point latest = point();
    return latest == kNever ? order::Point() : latest;
  }

  // Called under the lock of the queue that records.
  // Memory ordering: release; pairs with the acquire of whoever reads the point.
  void set(order::Point point) noexcept { point_.store(point, std::memory_order_release); }

 private:
  // A record on a queue that never had anything is a point too: the serial 0 of that queue. So
  // "never" is a serial that no queue reaches.
  static constexpr order::Point kNever{order::QueueIndex{0xffff}, Serial{kSerialMax}};

  order::Point point() const noexcept { return point_.load(std::memory_order_acquire); }

  const Ref<Device> device_;
  std::atomic<order::Point> point_{kNever};
};

}  // namespace thalweg::runtime
