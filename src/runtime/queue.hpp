// SPDX-License-Identifier: Apache-2.0
//
// runtime/queue.hpp - a stream's core: orders what is submitted and hands it to the backend.
//
// The life of a submission is drawn in docs/architecture.md; the locks are those of registry.hpp.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/allocation.hpp"
#include "runtime/registry.hpp"
#include "runtime/room.hpp"
#include "thalweg/backend/driver.hpp"
#include "thalweg/interface.hpp"

namespace thalweg::runtime {

class Device;

class Queue final : public thalweg::detail::QueueCore {
 public:
  using Site = thalweg::detail::Site;

  Queue(Ref<Device> device, Slot& slot, std::unique_ptr<backend::DriverStream> stream,
        const StreamOptions& options);

  thalweg::detail::DeviceCore& device() const noexcept override;
  QueueId id() const noexcept override { return id_; }
  int priority() const noexcept override { return priority_; }
  std::string_view name() const noexcept override { return name_; }
  NativeHandle raw() const noexcept override { return {stream_->raw()}; }

  Result<order::Point> submit(neutral::Task& task, Ref<Counted> keep) override;
  Result<order::Point> upload_copy(neutral::Task& task) override;
  Result<void> record(thalweg::detail::EventCore& event, Site site) override;
  Result<void> wait_event(const thalweg::detail::EventCore& event, Site site) override;
  Result<void> wait_queue(const QueueCore& other, Site site) override;
  Result<void> wait_timeline(thalweg::detail::TimelineCore& timeline, std::uint64_t value,
                             Site site) override;
  Result<void> synchronize(Deadline deadline, Site site) override;
  Result<void> wait_for_room(Deadline deadline, std::uint64_t size_bytes, Site site) override;
  Result<void> on_passed(Serial serial, UniqueFunction function, Site site) override;
  Result<void> signal_timeline(thalweg::detail::TimelineCore& timeline, std::uint64_t value,
                               Site site) override;
  Result<Ref<thalweg::detail::AllocationCore>> allocate(MemoryKind kind, std::uint64_t size_bytes,
                                                        const AllocationOptions& options,
                                                        Site site) override;

  Device& owner() const noexcept { return *device_; }
  Slot& slot() const noexcept { return slot_; }

  // The point behind all that is enqueued, waits included: takes a serial when one is owed.
  Result<order::Point> tail();

  // The same for whoever holds a lock: announce() comes behind it.
  Result<order::Point> unannounced_tail();
  void announce() noexcept { stream_->announce(); }

  // Moves what finished work held to `freed`, to be destroyed without a lock. True when all that is
  // enqueued has passed.
  bool poll(backend::Items& freed);

  // The end of what the program enqueued.
  order::Point end() const {
    const sync::Locked queue(slot_.lock);
    return program_end();
  }

  // No handle is left and all its work has passed: it is about to go.
  bool ended() const;

  // Adds this queue's counters to `sum`.
  void add_to(Statistics& sum) const;

 private:
  class Retirement;

  void last_reference_gone() noexcept override;
  void end_step() noexcept;
  void finalize() noexcept;
  void finalize_idle() noexcept;

  // Where the memory a task touches has its home; nowhere: the task is refused.
  enum class Place : std::uint8_t { home, abroad, nowhere };

  Place place_of(const neutral::Task& task) const noexcept;
  Error misuse(const neutral::Task& task) const;
  ErrorKind mismatch(const Device& other) const noexcept;
  bool shared(const neutral::Task& task) const noexcept THALWEG_REQUIRES(slot_.lock);
  // `room` is what the task takes of a stream's limited room; 0 where there is no limit.
  Result<order::Point> submit_at_home(neutral::Task& task, std::uint64_t room);
  Result<order::Point> submit_ordered(neutral::Task& task, std::uint64_t room);
  Error refused(Error error, Site site) const;
  Result<order::Point> hand_over(neutral::Task& task, const order::QueueTable* table,
                                 std::uint64_t room) THALWEG_REQUIRES(slot_.lock);
  std::uint64_t room_of(std::uint64_t more_bytes) const noexcept {
    return limited_ ? Room::size_of(more_bytes) : 0;
  }
  Result<void> check_room(std::uint64_t room) THALWEG_REQUIRES(slot_.lock);
  void pass_room() THALWEG_REQUIRES(slot_.lock);
  Result<void> place_waits() THALWEG_REQUIRES(slot_.lock);
  Result<void> wait_point(order::Point point) THALWEG_REQUIRES(Registry::instance().submission());
  Result<void> check_signal(const thalweg::detail::TimelineCore& timeline, std::uint64_t value,
                            thalweg::detail::Site site) const;
  Result<void> timeline_task(neutral::TaskKind kind, thalweg::detail::TimelineCore& timeline,
                             std::uint64_t value, Site site);
  Result<order::Point> record_time(neutral::Stamp& time, Site site) THALWEG_REQUIRES(slot_.lock);
  bool may_copy(const neutral::Task& task) const noexcept;
  Result<void> waitable(const Device& other, std::string_view what, Site site) const;
  void keep_devices(const neutral::Task& task);
  Result<order::Point> tail_locked() THALWEG_REQUIRES(slot_.lock);
  order::Point program_end() const noexcept THALWEG_REQUIRES(slot_.lock);
  Result<backend::Block> reserve(MemoryKind kind, std::uint64_t size_bytes,
                                 const backend::ReserveOptions& options);
  Result<backend::Block> try_reserve(MemoryKind kind, std::uint64_t size_bytes,
                                     const backend::ReserveOptions& options);
  order::PointSet everything_before() const;
  void keep(Ref<Counted> item, std::uint64_t size_bytes);

  const Ref<Device> device_;
  Slot& slot_;
  std::unique_ptr<backend::DriverStream> stream_;  // Reset only at the end.
  const QueueId id_ = make_id<QueueId>();
  const int priority_;
  const std::string name_;
  const bool limited_;  // Has a limit of its room.
  std::atomic<int> end_steps_{2};

  bool ending_ THALWEG_GUARDED_BY(slot_.lock) = false;  // No handle is left.
  Serial end_ THALWEG_GUARDED_BY(slot_.lock);           // When ending: the program's last serial.

  Room room_ THALWEG_GUARDED_BY(slot_.lock);  // Used when limited.
  order::WaitCounts waits_ THALWEG_GUARDED_BY(slot_.lock);
  Statistics counters_ THALWEG_GUARDED_BY(slot_.lock);
};

}  // namespace thalweg::runtime
