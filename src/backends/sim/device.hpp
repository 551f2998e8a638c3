// SPDX-License-Identifier: Apache-2.0
//
// backends/sim/device.hpp - the simulated backend: models EventStreamBackend.
//
// A wait is exact. Native work runs in its turn, as on the cpu; what it puts on its raw queue
// meanwhile runs right there.

#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "backends/sim/fence.hpp"
#include "backends/sim/queue.hpp"
#include "backends/sim/storage.hpp"
#include "backends/sim/world.hpp"
#include "thalweg/backend/event_stream_backend.hpp"

namespace thalweg::sim {

struct Options {
  std::uint64_t memory_limit_bytes = std::uint64_t{1} << 30;
  StorageHooks storage_hooks;
};

// What streams of one device share.
struct Shared {
  Shared(std::shared_ptr<World> world, Arena::Owner device, Arena::Owner host,
         const Options& options);
  ~Shared();

  const std::shared_ptr<World> world;
  const Arena::Owner device_arena;
  const Arena::Owner host_arena;
  backend::MemoryPool<DeviceStorage> device_pool;
  backend::MemoryPool<HostStorage> host_pool;
};

class Stream {
 public:
  using Fence = sim::Fence;
  using DeviceStorage = sim::DeviceStorage;
  using HostStorage = sim::HostStorage;
  using Signal = Queue*;

  Stream(Shared& shared, Queue& queue, const order::QueueOrder& order) noexcept;
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&& other) noexcept;
  ~Stream();

  backend::MemoryManagement<DeviceStorage>& device_memory() noexcept { return device_memory_; }
  backend::MemoryManagement<HostStorage>& host_memory() noexcept { return host_memory_; }
  backend::PendingDropQueue<Fence>& drop_queue() noexcept { return drop_queue_; }
  Signal signal() const noexcept { return queue_; }
  static Result<Fence> fence(Signal signal);

  Queue& queue() noexcept { return *queue_; }

 private:
  Queue* queue_;  // Null after a move.
  backend::MemoryManagement<DeviceStorage> device_memory_;
  backend::MemoryManagement<HostStorage> host_memory_;
  backend::PendingDropQueue<Fence> drop_queue_;
};

class Factory {
 public:
  using Stream = sim::Stream;

  explicit Factory(Shared& shared) noexcept : shared_(&shared) {}
  Result<Stream> create(const backend::StreamRequest& request);

 private:
  Shared* shared_;
};

class Backend {
 public:
  using Stream = sim::Stream;
  using Factory = sim::Factory;

  static constexpr bool kHostAddresses = true;
  static constexpr bool kCopiesBetweenDevices = true;
  static constexpr PriorityRange kPriorities{1, -1};

  // Errors: out_of_memory, when the system has no room for the addresses.
  static Result<Backend> create(std::shared_ptr<World> world, const Options& options);

  Factory& factory() noexcept { return factory_; }
  PriorityRange priority_range() const noexcept { return kPriorities; }
  backend::DriverCounters counters() const noexcept { return shared_->world->counters(); }
  backend::MemorySource& device_pool() noexcept { return shared_->device_pool; }
  backend::MemorySource& host_pool() noexcept { return shared_->host_pool; }
  backend::Observer* observer() noexcept { return shared_->world.get(); }
  const backend::Loss* loss() const noexcept { return &shared_->world->loss(); }

  static Result<void> submit(Stream& stream, const neutral::Task& task, Serial serial) {
    Queue& queue = stream.queue();
    return queue.world().append(queue, task, serial);
  }
  static Result<Serial> wait_for(Stream& stream, Stream& source, Serial serial);
  static Result<Fence> fence(Stream::Signal signal) { return Stream::fence(signal); }
  static void announce(Stream& stream) noexcept { stream.queue().world().announce(); }
  static bool close_idle(Stream& stream) noexcept {
    Queue& queue = stream.queue();
    return queue.world().close_idle(queue);
  }
  Result<void> wait(order::Point point, Deadline deadline) {
    return shared_->world->wait(point, deadline);
  }
  Result<void> wait(neutral::Timeline& timeline, std::uint64_t value, Deadline deadline) {
    return shared_->world->wait(timeline, value, deadline);
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

}  // namespace thalweg::sim
