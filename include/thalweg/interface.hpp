// SPDX-License-Identifier: Apache-2.0
//
// thalweg/interface.hpp - the one erased interface under the classes of the API.
//
// Not for programs: Device, Stream and the others are thin handles to these. One compiled runtime
// implements them for every backend.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <string_view>

#include "thalweg/base/access.hpp"
#include "thalweg/base/clock.hpp"
#include "thalweg/base/failure.hpp"
#include "thalweg/base/memory_kind.hpp"
#include "thalweg/base/native.hpp"
#include "thalweg/base/priority.hpp"
#include "thalweg/base/ref.hpp"
#include "thalweg/base/result.hpp"
#include "thalweg/base/task.hpp"
#include "thalweg/base/unique_function.hpp"
#include "thalweg/order/point.hpp"
#include "thalweg/statistics.hpp"
#include "thalweg/waits.hpp"

namespace thalweg {

struct StreamOptions {
  int priority = 0;
  std::string_view name;  // For reports; copied. May be empty.

  // Most bytes of host memory that tasks may hold that are enqueued and have not passed; 0: what
  // there is. A task counts kRoomTaskBytes, its packed arguments, and what an upload copies or
  // takes. Beyond it submissions are refused with `queue_full`; see Stream::wait_for_room. A task
  // is always accepted when nothing is outstanding, however large it is.
  std::uint64_t room_bytes = 0;

  // Two slots of a cpu queue: a task and its bookkeeping. What is kept of each view, some tens of
  // bytes, is not counted, and what a host function captures is the program's.
  static constexpr std::uint64_t kRoomTaskBytes = 128;
};

struct AllocationOptions {
  // A power of two of at most 4096; 0 takes the device's own (256 on cpu).
  std::uint64_t alignment_bytes = 0;
  std::string_view tag;  // For reports; copied.
};

enum class EventState : std::uint8_t { not_recorded, not_yet, done, lost };

namespace detail {

using Site = std::source_location;

class DeviceCore;

// Bytes the host has the use of until `unmap(ticket)`.
struct HostMapping {
  std::byte* address = nullptr;
  std::uint64_t ticket = 0;  // 0: no bytes.
};

// An allocation and its count of handles. The last one makes a deferred free of it.
class AllocationCore : public Counted, public Allocation {
 public:
  virtual DeviceCore& device() const noexcept = 0;

  // Of memory that the program made: where its addresses mean the same, as a number. None of
  // others.
  virtual std::optional<std::uint64_t> adopted_in() const noexcept = 0;

  // Opens a view for the host, once all tasks that conflict with `mode` have passed; tasks that
  // conflict with it are refused from the call on. Gives not_ready where it would have to wait and
  // may not.
  virtual Result<HostMapping> map(std::uint64_t offset, std::uint64_t size_bytes, AccessMode mode,
                                  bool may_wait, Deadline deadline, Site site) = 0;
  virtual void unmap(std::uint64_t ticket) noexcept = 0;
};

// A point that was recorded, or none. Guarded by the runtime.
class EventCore : public Counted {
 public:
  virtual EventState query() const noexcept = 0;
  virtual Result<void> wait(Deadline deadline, Site site) = 0;
  virtual Result<void> on_complete(UniqueFunction function, Site site) = 0;
  virtual DeviceCore& device() const noexcept = 0;

  // The time from this event's record to that of `later`.
  virtual Result<std::chrono::nanoseconds> until(const EventCore& later, Site site) const = 0;
};

class TimelineCore : public neutral::Timeline {
 public:
  // value(), for the program: a call of the host like others.
  virtual std::uint64_t asked_value() const noexcept = 0;
  virtual Result<void> signal(std::uint64_t value, Site site) = 0;
  virtual Result<void> wait(std::uint64_t value, Deadline deadline, Site site) = 0;
  virtual DeviceCore& device() const noexcept = 0;
};

// A queue and the state that moves in step with it.
class QueueCore : public Counted {
 public:
  virtual DeviceCore& device() const noexcept = 0;
  virtual QueueId id() const noexcept = 0;
  virtual int priority() const noexcept = 0;
  virtual std::string_view name() const noexcept = 0;
  virtual NativeHandle raw() const noexcept = 0;

  // Validates the accesses, places the waits, and hands the task to the backend. `keep` lives until
  // the task has passed. On refusal nothing has changed but waits already placed.
  virtual Result<order::Point> submit(neutral::Task& task, Ref<Counted> keep) = 0;

  // submit() of an upload whose bytes are copied before it returns.
  virtual Result<order::Point> upload_copy(neutral::Task& task) = 0;

  virtual Result<void> record(EventCore& event, Site site) = 0;
  virtual Result<void> wait_event(const EventCore& event, Site site) = 0;
  virtual Result<void> wait_queue(const QueueCore& other, Site site) = 0;
  virtual Result<void> wait_timeline(TimelineCore& timeline, std::uint64_t value, Site site) = 0;
  virtual Result<void> signal_timeline(TimelineCore& timeline, std::uint64_t value, Site site) = 0;
  virtual Result<void> synchronize(Deadline deadline, Site site) = 0;
  virtual Result<void> wait_for_room(Deadline deadline, std::uint64_t size_bytes, Site site) = 0;

  // Runs `function` on a thread of the runtime's once `serial` has passed.
  virtual Result<void> on_passed(Serial serial, UniqueFunction function, Site site) = 0;
  virtual Result<Ref<AllocationCore>> allocate(MemoryKind kind, std::uint64_t size_bytes,
                                               const AllocationOptions& options, Site site) = 0;
};

class DeviceCore : public Counted {
 public:
  virtual DeviceId id() const noexcept = 0;
  virtual std::string_view name() const noexcept = 0;     // As it was opened: "cpu?workers=4".
  virtual std::string_view backend() const noexcept = 0;  // "cpu".
  virtual PriorityRange priority_range() const noexcept = 0;
  virtual FailureScope failure_scope() const noexcept = 0;
  virtual Result<Ref<QueueCore>> create_queue(const StreamOptions& options, Site site) = 0;
  virtual Result<Ref<QueueCore>> adopt_queue(NativeHandle handle, Ownership ownership,
                                             const StreamOptions& options, Site site) = 0;
  virtual Result<Ref<EventCore>> create_event(bool timed, Site site) = 0;
  virtual Result<Ref<TimelineCore>> create_timeline(std::uint64_t value, Site site) = 0;

  // `deleter` is moved from when the memory is taken over, and only then.
  virtual Result<Ref<AllocationCore>> adopt_memory(void* address, std::uint64_t size_bytes,
                                                   UniqueFunction& deleter, Site site) = 0;
  virtual Result<void> synchronize(Deadline deadline, Site site) = 0;
  virtual bool poll() noexcept = 0;
  virtual std::uint64_t trim(std::uint64_t keep_bytes) noexcept = 0;
  virtual Statistics statistics() const = 0;
  virtual Result<void> close(Deadline deadline, Site site) = 0;
  virtual std::vector<LivingFailure> failures() const = 0;

  virtual MemoryUsage memory_usage(MemoryKind kind) const = 0;
  virtual WaitLedger wait_ledger() const = 0;

  virtual bool passed(order::Point point) const noexcept = 0;
  virtual Result<void> wait(order::Point point, WaitReason reason, Deadline deadline,
                            Site site) = 0;

  // Runs `function` on a thread of the runtime's once `point` has passed.
  virtual void on_passed(order::Point point, UniqueFunction function) = 0;
};

}  // namespace detail
}  // namespace thalweg
