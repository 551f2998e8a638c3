// SPDX-License-Identifier: Apache-2.0
//
// thalweg/backend/driver.hpp - the table of virtual functions the runtime calls.
//
// A backend does not derive from these: it models EventStreamBackend, and MultiStream derives for
// it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "thalweg/backend/loss.hpp"
#include "thalweg/backend/memory_source.hpp"
#include "thalweg/backend/observer.hpp"
#include "thalweg/backend/stream_factory.hpp"
#include "thalweg/base/clock.hpp"
#include "thalweg/base/failure.hpp"
#include "thalweg/base/memory_kind.hpp"
#include "thalweg/base/native.hpp"
#include "thalweg/base/priority.hpp"
#include "thalweg/base/ref.hpp"
#include "thalweg/base/result.hpp"
#include "thalweg/base/task.hpp"

namespace thalweg::backend {

// What a backend counts besides the runtime. Since the device was opened.
struct DriverCounters {
  std::uint64_t futex_wakes = 0;
  std::uint64_t tasks_failed = 0;
  std::uint64_t tasks_cancelled = 0;
  std::uint64_t tasks_skipped = 0;
  std::uint64_t busy_any_ns = 0;
  std::uint64_t busy_sum_ns = 0;
};

// A step of a reserve: what was found, or the size that has to be grown.
struct Found {
  bool found = false;
  Block block;
  std::uint64_t rounded_bytes = 0;
};

using Items = std::vector<Ref<Counted>>;

class DriverStream {
 public:
  virtual ~DriverStream() = default;

  // Under the queue's lock.
  virtual Result<void> submit(const neutral::Task& task, Serial serial) = 0;
  virtual Result<Serial> wait_for(DriverStream& source, Serial serial) = 0;
  virtual void keep(Ref<Counted> item, std::uint64_t size_bytes) = 0;
  virtual void poll(Items& freed) = 0;   // Takes out what has passed, when enough is staged.
  virtual void flush(Items& freed) = 0;  // Closes what is staged, and polls.
  virtual void clear(Items& freed) = 0;  // REQUIRES: all has passed.
  virtual std::uint64_t fences() const = 0;

  // Under the queue's lock and the memory's.
  virtual Result<Found> find(MemoryKind kind, std::uint64_t size_bytes,
                             const ReserveOptions& options) = 0;
  // Under the memory's lock alone.
  virtual Result<Block> grow(MemoryKind kind, std::uint64_t rounded_bytes,
                             std::uint64_t size_bytes) = 0;

  // Without a lock.
  virtual void announce() noexcept = 0;
  virtual bool close_idle() noexcept = 0;
  virtual std::uintptr_t raw() const noexcept = 0;

  // The address of a variable that only streams of one type share.
  virtual const void* type() const noexcept = 0;
};

class Driver {
 public:
  virtual ~Driver() = default;
  virtual PriorityRange priority_range() const noexcept = 0;
  virtual Result<std::unique_ptr<DriverStream>> create_stream(const StreamRequest& request) = 0;
  virtual DriverCounters counters() const noexcept = 0;

  // Blocks until `point` has passed, in the backend's own way; nothing when it has none: the
  // runtime then sleeps until Progress says so. The queue of the point may be closing, and may be
  // one of another device of this type. Without a lock.
  virtual std::optional<Result<void>> wait(order::Point point, Deadline deadline) = 0;

  // As wait(), until `timeline` is at `value` or above.
  virtual std::optional<Result<void>> wait(neutral::Timeline& timeline, std::uint64_t value,
                                           Deadline deadline) = 0;

  // Told of the host's calls; null: nobody is. The same for the device's life.
  virtual Observer* observer() noexcept = 0;

  // Null: this device is never lost. The same for the device's life.
  virtual const Loss* loss() const noexcept = 0;

  virtual FailureScope failure_scope() const noexcept = 0;

  // What of this kind of device is fixed. See the optional members of event_stream_backend.hpp.
  virtual bool host_addresses() const noexcept = 0;
  virtual bool copies_between_devices() const noexcept = 0;

  // Makes a stream of a native queue of the program's.
  virtual Result<std::unique_ptr<DriverStream>> adopt_stream(std::uintptr_t handle,
                                                             Ownership ownership,
                                                             const StreamRequest& request) = 0;

  // The address of a variable that only drivers of one type share: their streams can wait for one
  // another.
  virtual const void* type() const noexcept = 0;

  // Pools of this device's memory. Under the memory's lock.
  virtual MemorySource& device_memory() noexcept = 0;
  virtual MemorySource& host_memory() noexcept = 0;
};

}  // namespace thalweg::backend
