// SPDX-License-Identifier: Apache-2.0
//
// backends/cpu/device.hpp - the cpu backend: models EventStreamBackend.
//
// A wait is exact: a queue waits for the serial it needs and for nothing behind it. Fences are
// serials and cost nothing.

#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "backends/cpu/fence.hpp"
#include "backends/cpu/queue.hpp"
#include "backends/cpu/storage.hpp"
#include "backends/cpu/workers.hpp"
#include "thalweg/backend/event_stream_backend.hpp"

namespace thalweg::cpu {

struct Options {
  WorkerOptions workers;
  std::shared_ptr<const Clock> clock;    // Not null.
  std::uint64_t memory_limit_bytes = 0;  // Not 0.
  StorageSource device_storage;
  StorageSource host_storage;
};

// What streams of one device share.
struct Shared {
  Shared(Workers& threads, const Options& options);
  ~Shared();

  const std::shared_ptr<const Clock> clock;  // What the workers use.
  Workers& workers;
  backend::MemoryPool<DeviceStorage> device_pool;
  backend::MemoryPool<HostStorage> host_pool;
};

class Stream {
 public:
  using Fence = cpu::Fence;
  using DeviceStorage = cpu::DeviceStorage;
  using HostStorage = cpu::HostStorage;
  using Signal = Queue*;

  Stream(Shared& shared, Queue& queue, const order::QueueOrder& order) noexcept;
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&& other) noexcept;
  ~Stream();

  backend::MemoryManagement<DeviceStorage>& device_memory() noexcept { return device_memory_; }
  backend::MemoryManagement<HostStorage>& host_memory() noexcept { return host_memory_; }
  backend::PendingDropQueue<Fence>& drop_queue() noexcept { return drop_queue_; }
  Signal signal() const noexcept { return queue_; }
  static Result<Fence> fence(Signal signal) {
    return Fence(signal->timeline(), Serial{signal->published()}, signal->workers().clock());
  }

  Queue& queue() noexcept { return *queue_; }

 private:
  Queue* queue_;  // Null after a move.
  backend::MemoryManagement<DeviceStorage> device_memory_;
  backend::MemoryManagement<HostStorage> host_memory_;
  backend::PendingDropQueue<Fence> drop_queue_;
};

class Factory {
 public:
  using Stream = cpu::Stream;

  explicit Factory(Shared& shared) noexcept : shared_(&shared) {}

  // Errors: out_of_memory, when the device has Workers::kQueuesMax streams or the system no memory.
  Result<Stream> create(const backend::StreamRequest& request);

 private:
  Shared* shared_;
};

class Backend {
 public:
  using Stream = cpu::Stream;
  using Factory = cpu::Factory;

  static constexpr bool kHostAddresses = true;
  static constexpr bool kCopiesBetweenDevices = true;

  static Result<Backend> create(const Options& options);

  Factory& factory() noexcept { return factory_; }
  PriorityRange priority_range() const noexcept { return Workers::kPriorities; }
  backend::DriverCounters counters() const noexcept { return shared_->workers.counters(); }
  backend::MemorySource& device_pool() noexcept { return shared_->device_pool; }
  backend::MemorySource& host_pool() noexcept { return shared_->host_pool; }

  static Result<void> submit(Stream& stream, const neutral::Task& task, Serial serial) {
    return stream.queue().append(task, serial);
  }

  static Result<Serial> wait_for(Stream& stream, Stream& source, Serial serial) {
    stream.queue().owe(order::Point(source.queue().index(), serial));
    return serial;
  }

  static Result<Fence> fence(Stream::Signal signal) { return Stream::fence(signal); }
  static void announce(Stream& stream) noexcept { stream.queue().announce(); }
  static bool close_idle(Stream& stream) noexcept { return stream.queue().close_idle(); }
  Result<void> wait(order::Point point, Deadline deadline) {
    return shared_->workers.wait(point, deadline);
  }

  // An opaque id, never 0 and never used again.
  static std::uintptr_t raw(const Stream& stream) noexcept { return stream.signal()->native_id(); }

 private:
  explicit Backend(std::unique_ptr<Shared> shared) noexcept
      : shared_(std::move(shared)), factory_(*shared_) {}

  std::unique_ptr<Shared> shared_;
  Factory factory_;
};

static_assert(backend::EventStreamBackend<Backend>);

}  // namespace thalweg::cpu
