// SPDX-License-Identifier: Apache-2.0
//
// thalweg/backend/device_stream.hpp - concept: the state a backend's stream carries.
//
// All of it moves in step with the work on the stream, which is why it is the stream's and not the
// device's: the memory its tasks see, the memory it stages transfers through, and the frees that
// wait for what is enqueued.

#pragma once

#include <concepts>
#include <type_traits>

#include "thalweg/backend/compute_storage.hpp"
#include "thalweg/backend/fence.hpp"
#include "thalweg/backend/memory_management.hpp"
#include "thalweg/backend/pending_drop_queue.hpp"

namespace thalweg::backend {

// `signal()` is a copyable name of the stream, so that `fence(signal)` can record a fence while the
// stream's own members are in use: draining the drop queue needs a new fence for each generation.
// Threads: the runtime calls all of them under the queue's lock.
template <class S>
concept DeviceStream =
    std::movable<S> && requires(S& stream, const S& constant, typename S::Signal signal) {
      requires Fence<typename S::Fence>;
      requires ComputeStorage<typename S::DeviceStorage>;
      requires ComputeStorage<typename S::HostStorage>;
      requires std::is_trivially_copyable_v<typename S::Signal>;
      { stream.device_memory() } -> std::same_as<MemoryManagement<typename S::DeviceStorage>&>;
      { stream.host_memory() } -> std::same_as<MemoryManagement<typename S::HostStorage>&>;
      { stream.drop_queue() } -> std::same_as<PendingDropQueue<typename S::Fence>&>;
      { constant.signal() } -> std::same_as<typename S::Signal>;
      { S::fence(signal) } -> std::same_as<Result<typename S::Fence>>;
    };

}  // namespace thalweg::backend
