// SPDX-License-Identifier: Apache-2.0

#include "backends/sim/device.hpp"

#include <fmt/format.h>

#include <utility>

namespace thalweg::sim {
namespace {

bool passed(order::Point point) {
  return sync::queue_timeline(point.queue()).answers(point.serial().value);
}

}  // namespace

Result<void> Fence::wait(Deadline deadline) const {
  if (!never_) return world_->wait(point_, deadline);
  if (!deadline.within())
    return Error(ErrorKind::device_lost, "A fence of the simulated device never passes (a fault).");
  return world_->wait(order::Point(point_.queue(), Serial{kSerialMax}), deadline);
}

Shared::Shared(std::shared_ptr<World> shared_world, Arena::Owner device, Arena::Owner host,
               const Options& options)
    : world(std::move(shared_world)),
      device_arena(std::move(device)),
      host_arena(std::move(host)),
      device_pool(DeviceStorage(*world, *device_arena, options.storage_hooks), &passed,
                  options.memory_limit_bytes),
      host_pool(HostStorage(*world, *host_arena, options.storage_hooks), &passed,
                options.memory_limit_bytes) {
  world->attach(*device_arena);
  world->attach(*host_arena);
}

Shared::~Shared() {
  world->detach(*device_arena);
  world->detach(*host_arena);
}

Stream::Stream(Shared& shared, Queue& queue, const order::QueueOrder& order) noexcept
    : queue_(&queue),
      device_memory_(shared.device_pool, order),
      host_memory_(shared.host_pool, order) {}

Stream::Stream(Stream&& other) noexcept
    : queue_(std::exchange(other.queue_, nullptr)),
      device_memory_(other.device_memory_),
      host_memory_(other.host_memory_),
      drop_queue_(std::move(other.drop_queue_)) {}

Stream& Stream::operator=(Stream&& other) noexcept {
  Stream taken(std::move(other));
  std::swap(queue_, taken.queue_);
  std::swap(device_memory_, taken.device_memory_);
  std::swap(host_memory_, taken.host_memory_);
  std::swap(drop_queue_, taken.drop_queue_);
  return *this;
}

Stream::~Stream() {
  if (queue_ == nullptr) return;
  World& world = queue_->world();
  world.remove(*queue_);
}

Result<Fence> Stream::fence(Signal queue) {
  World& world = queue->world();
  THALWEG_TRY_ASSIGN(const auto recorded, world.record_fence(*queue));
  return Fence(world, recorded.first, recorded.second);
}

Result<Stream> Factory::create(const backend::StreamRequest& request) {
  THALWEG_TRY_ASSIGN(Queue * queue, shared_->world->add(request));
  return Stream(*shared_, *queue, *request.order);
}

Result<Backend> Backend::create(std::shared_ptr<World> world, const Options& options) {
  auto device = Arena::create(options.memory_limit_bytes, MemoryKind::device);
  auto host = Arena::create(options.memory_limit_bytes, MemoryKind::host);
  if (!device || !host)
    return Error(ErrorKind::out_of_memory,
                 fmt::format("The system has no room for the memory of a simulated device: {} "
                             "bytes of the device's and {} bytes of the host's.",
                             options.memory_limit_bytes, options.memory_limit_bytes));
  return Backend(
      std::make_unique<Shared>(std::move(world), std::move(device), std::move(host), options));
}

Result<Serial> Backend::wait_for(Stream& stream, Stream& source, Serial serial) {
  Queue& queue = stream.queue();
  THALWEG_TRY(queue.world().owe(queue, order::Point(source.queue().index(), serial)));
  return serial;
}

}  // namespace thalweg::sim
