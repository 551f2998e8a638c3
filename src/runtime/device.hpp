// SPDX-License-Identifier: Apache-2.0
//
// runtime/device.hpp - a device's core: its streams, its memory, its ledger.

#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/imports.hpp"
#include "runtime/ledger.hpp"
#include "runtime/registry.hpp"
#include "thalweg/backend/driver.hpp"
#include "thalweg/base/forked.hpp"
#include "thalweg/interface.hpp"
#include "thalweg/runtime/open.hpp"

namespace thalweg::runtime {

class Event;
class Queue;

// Streams, allocations, events and timelines each hold a reference: it ends when no work is left.
class Device final : public thalweg::detail::DeviceCore {
 public:
  using Site = thalweg::detail::Site;

  // REQUIRES: the backend has a name.
  Device(std::unique_ptr<backend::Driver> driver, const OpenOptions& options);
  ~Device() override;

  DeviceId id() const noexcept override { return id_; }
  std::string_view name() const noexcept override { return name_; }
  std::string_view backend() const noexcept override { return backend_; }
  PriorityRange priority_range() const noexcept override { return driver_->priority_range(); }
  Result<Ref<thalweg::detail::QueueCore>> create_queue(const StreamOptions& options,
                                                       Site site) override;
  Result<Ref<thalweg::detail::QueueCore>> adopt_queue(NativeHandle handle, Ownership ownership,
                                                      const StreamOptions& options,
                                                      Site site) override;
  Result<Ref<thalweg::detail::EventCore>> create_event(bool timed, Site site) override;
  Result<Ref<thalweg::detail::TimelineCore>> create_timeline(std::uint64_t value,
                                                             Site site) override;
  Result<Ref<thalweg::detail::AllocationCore>> adopt_memory(void* address, std::uint64_t size_bytes,
                                                            UniqueFunction& deleter,
                                                            Site site) override;
  Result<void> synchronize(Deadline deadline, Site site) override;
  bool poll() noexcept override;
  std::uint64_t trim(std::uint64_t keep_bytes) noexcept override;
  Statistics statistics() const override;
  Result<void> close(Deadline deadline, Site site) override;
  std::vector<LivingFailure> failures() const override;
  MemoryUsage memory_usage(MemoryKind kind) const override;
  WaitLedger wait_ledger() const override {
    return thalweg::detail::forked() ? WaitLedger() : ledger_.records();
  }
  bool passed(order::Point point) const noexcept override {
    turn(Site::current());
    return runtime::passed(point);
  }
  Result<void> wait(order::Point point, WaitReason reason, Deadline deadline, Site site) override;
  void on_passed(order::Point point, UniqueFunction function) override;

  FailureScope failure_scope() const noexcept override { return driver_->failure_scope(); }

  // See backend::Driver::wait.
  std::optional<Result<void>> wait_for(neutral::Timeline& timeline, std::uint64_t value,
                                       Deadline deadline) {
    return driver_->wait(timeline, value, deadline);
  }

  // wait() for each of the points, all within the deadline.
  Result<void> wait_all(const order::PointSet& points, WaitReason reason, Deadline deadline,
                        Site site);

  bool strict_events() const noexcept { return strict_events_; }
  const backend::Driver& driver() const noexcept { return *driver_; }

  // Devices whose addresses mean the same share one.
  Imports::Space address_space() const noexcept {
    return driver_->host_addresses() ? 0 : id_.value;
  }

  const Clock& clock() const noexcept { return *clock_; }

  Error closed_error(Site site) const;

  bool lost() const noexcept { return loss_ != nullptr && loss_->happened(); }

  // Whether close() was called. Memory ordering: relaxed; a submission on another thread comes
  // before or after it, and close() waits for what comes before.
  bool closed() const noexcept { return closed_.load(std::memory_order_relaxed); }

  // Refuses with device_lost, and with the cause, once the device is lost. What is submitted is
  // refused by the backend.
  Result<void> alive(Site site) const {
    if (!lost()) [[likely]]
      return {};
    return lost_error(site);
  }

  // The same, and with invalid_handle once it is closed: of what begins something new.
  Result<void> usable(Site site) const {
    if (closed()) [[unlikely]]
      return closed_error(site);
    return alive(site);
  }

  // Null, but for a simulated device.
  backend::Observer* observer() const noexcept { return observer_; }

  // At the beginning of a call, and where it holds no lock: a simulated device may go on.
  void turn(Site site) const noexcept {
    if (observer_ != nullptr) [[unlikely]]
      observer_->turn(site);
  }

  // Refuses a wait where waiting is forbidden, and where the deadline is over already.
  Result<void> may_block(WaitReason reason, Deadline deadline, Site site) const;

  // Runs `wait()`, which blocks, and puts it in the ledger; refuses where waiting is forbidden, and
  // with `timeout` where the deadline is over already.
  template <class Wait>
  Result<void> blocked(WaitReason reason, Deadline deadline, Site site, Wait&& wait) {
    THALWEG_TRY(may_block(reason, deadline, site));
    const std::chrono::nanoseconds began = clock_->now();
    Result<void> waited = std::forward<Wait>(wait)();
    ledger_.add(reason, site, clock_->now() - began);
    if (!waited) return std::move(waited).error().at(site);
    return waited;
  }

  // Memory of both kinds. The storage may be asked for more under this lock: it is the pools' own,
  // and nothing that submits waits for it but reserves.
  template <class F>
  decltype(auto) with_memory(F&& function) {
    const sync::Locked memory(memory_);
    return std::forward<F>(function)();
  }

  // The block's owner is gone; what comes after `uses` may have it.
  void take_back(const backend::Block& block, order::PointSet uses);

  // `queue` ends; keeps its counters.
  void forget(Queue& queue) noexcept;

  // Takes back an event that nobody holds.
  void recycle(Event* event) noexcept;

 private:
  struct Queues {
    // Room for as many as most programs have.
    Queues() { live.reserve(8); }

    std::vector<Queue*> live;
    Statistics ended;  // Sum over queues that are gone.
  };

  using MakeStream = std::function<Result<std::unique_ptr<backend::DriverStream>>(
      const backend::StreamRequest& request)>;

  // Events that wait to be used again: owned.
  struct Events {
    std::vector<Event*> free;
    std::uint64_t made = 0;
  };
  static constexpr std::size_t kEventsKept = 1024;

  Result<Ref<thalweg::detail::QueueCore>> make_queue(const StreamOptions& options,
                                                     const MakeStream& make, Site site);
  bool any_ended() const;
  Error lost_error(Site site) const;
  Result<void> wait_passed(order::Point point, WaitReason reason, Deadline deadline, Site site);
  order::PointSet work_left(std::string* words) const;
  Error too_late(order::Point point) const;

  const std::shared_ptr<const Clock> clock_;  // First: the driver may use it to its end.
  const std::unique_ptr<backend::Driver> driver_;
  backend::Observer* const observer_;
  const backend::Loss* const loss_;
  const std::string backend_;
  const std::string name_;
  const bool skip_passed_;
  const bool strict_events_;
  const DeviceId id_ = make_id<DeviceId>();
  std::atomic<bool> closed_{false};

  Ledger ledger_;
  mutable sync::Mutex memory_{sync::Rank::memory};
  mutable sync::Guarded<Queues> queues_{sync::Rank::registry};
  sync::Guarded<Events> events_{sync::Rank::ledger};
};

}  // namespace thalweg::runtime
