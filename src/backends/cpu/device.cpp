// SPDX-License-Identifier: Apache-2.0

#include "backends/cpu/device.hpp"

#include <fmt/format.h>

#include <utility>

namespace thalweg::cpu {
namespace {

bool passed(order::Point point) {
  return sync::queue_timeline(point.queue()).reached(point.serial().value);
}

}  // namespace

Shared::Shared(Workers& threads, const Options& options)
    : clock(options.clock),
      workers(threads),
      device_pool(DeviceStorage(options.device_storage), &passed, options.memory_limit_bytes),
      host_pool(HostStorage(options.host_storage), &passed, options.memory_limit_bytes) {}

Shared::~Shared() { workers.stop(); }

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
  queue_->timeline().set_owner(nullptr);
  queue_->workers().remove(queue_->place());
  Queue::release(queue_);
}

Result<Stream> Factory::create(const backend::StreamRequest& request) {
  Queue* const queue = Queue::acquire();
  if (queue == nullptr)
    return Error(ErrorKind::out_of_memory, "The system has no memory for another stream.");
  const std::uint32_t place = shared_->workers.add(*queue);
  if (place == Workers::kQueuesMax) {
    Queue::release(queue);
    return Error(
        ErrorKind::out_of_memory,
        fmt::format("A cpu device has at most {} streams at a time.", Workers::kQueuesMax));
  }
  const int level = request.priority - Workers::kPriorities.greatest;
  queue->open(shared_->workers, *request.outcomes, request.index, place, level, request.start);
  queue->timeline().set_owner(queue);
  return Stream(*shared_, *queue, *request.order);
}

Result<Backend> Backend::create(const Options& options) {
  THALWEG_TRY_ASSIGN(Workers * workers, Workers::start(options.workers, *options.clock));
  return Backend(std::make_unique<Shared>(*workers, options));
}

}  // namespace thalweg::cpu
