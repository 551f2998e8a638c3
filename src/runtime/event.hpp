// SPDX-License-Identifier: Apache-2.0
//
// runtime/event.hpp - an event: the point of its latest record, and its time where it has one.
//
// Event objects go back to their device when the last handle is gone, and are used again.

#pragma once

#include <atomic>
#include <utility>

#include "runtime/device.hpp"
#include "sync/lock.hpp"
#include "thalweg/base/forked.hpp"

namespace thalweg::runtime {

class Event final : public thalweg::detail::EventCore {
 public:
  Event() noexcept = default;

  // Starts an event that was never recorded. REQUIRES: nobody holds it.
  void open(Ref<Device> device, bool timed) noexcept;

  // The same for one that was used before.
  void reopen(Ref<Device> device, bool timed) noexcept {
    revive();
    open(std::move(device), timed);
  }

  EventState query() const noexcept override {
    if (thalweg::detail::forked()) return EventState::lost;
    device_->turn(thalweg::detail::Site::current());
    const order::Point latest = point();
    if (latest == kNever) return EventState::not_recorded;
    if (device_->lost()) return EventState::lost;
    return passed(latest) ? EventState::done : EventState::not_yet;
  }

  Result<void> wait(Deadline deadline, thalweg::detail::Site site) override {
    if (thalweg::detail::forked()) return thalweg::detail::forked_error(site);
    const order::Point latest = point();
    return latest == kNever ? device_->alive(site)
                            : device_->wait(latest, WaitReason::event, deadline, site);
  }

  Result<std::chrono::nanoseconds> until(const EventCore& later,
                                         thalweg::detail::Site site) const override;
  Result<void> on_complete(UniqueFunction function, thalweg::detail::Site site) override;

  thalweg::detail::DeviceCore& device() const noexcept override { return *device_; }
  Device& owner() const noexcept { return *device_; }
  bool timed() const noexcept { return timed_; }

  // None when never recorded, which nobody waits for.
  order::Point latest() const noexcept {
    const order::Point latest = point();
    return latest == kNever ? order::Point() : latest;
  }

  // Called under the lock of the queue that records. A null `time`: the record has none.
  // Memory ordering: release; pairs with the acquire of whoever reads the point.
  void set(order::Point point, Ref<neutral::Stamp> time);

 private:
  // A record on a queue that never had anything is a point too: the serial 0 of that queue. So
  // "never" is a serial that no queue reaches.
  static constexpr order::Point kNever{order::QueueIndex{0xffff}, Serial{kSerialMax}};

  // The latest record of a timed event.
  struct Timed {
    order::Point point = kNever;
    Ref<neutral::Stamp> time;
  };

  void last_reference_gone() noexcept override;

  order::Point point() const noexcept { return point_.load(std::memory_order_acquire); }
  Timed record() const {
    return record_.with([](const Timed& record) { return record; });
  }

  // Constant while it is open.
  Ref<Device> device_;
  bool timed_ = false;

  std::atomic<order::Point> point_{kNever};
  sync::Guarded<Timed, sync::SpinLock> record_{sync::Rank::ledger};
};

}  // namespace thalweg::runtime
