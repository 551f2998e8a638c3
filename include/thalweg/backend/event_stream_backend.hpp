// SPDX-License-Identifier: Apache-2.0
//
// thalweg/backend/event_stream_backend.hpp - concept: a backend whose streams wait for one another.
//
// A backend is its factory, the pools of its memory (device_pool() and host_pool()) and three
// functions:
//
//   submit(stream, task, serial)      enqueues `task`, which has that serial. Called under the
//                                     queue's lock and in the order of serials; never blocks. On
//                                     refusal nothing has happened but waits already placed.
//   wait_for(stream, source, serial)  makes what is submitted to `stream` from now on wait, on the
//                                     device, until `source` has passed `serial`, and gives back
//                                     the serial it really waits for, which may be later.
//   fence(signal)                     records a fence behind what is enqueued.
//
// The backend says what has passed through the Progress of the stream's request, and asks its
// Outcomes before it runs a task: see outcomes.hpp. It may have more:
//
//   priority_range()                  where streams have priorities.
//   announce(stream)                  called after submit without any lock: wakes who will run it.
//   wait(point, deadline)             blocks the host, and may help; without it the runtime sleeps
//                                     until the Progress of the point's queue has come that far.
//   wait(timeline, value, deadline)   the same until a timeline of the program's is at a value.
//   observer()                        for a device that is simulated: see observer.hpp.
//   loss()                            where the device can be lost: see loss.hpp.
//   close_idle(stream)                true when nothing is left to run: then nothing was submitted
//                                     as `last`, and the stream is destroyed at once.
//   raw(stream)                       the native handle of the queue.
//   factory().adopt(handle, ownership, request)
//                                     a stream of a queue that the program made with the backend's
//                                     own means; it is destroyed with the stream when it is owned.
//   kHostAddresses                    true: an address of its memory is one of the process, and the
//                                     host may read and write there when no task does.
//   kCopiesBetweenDevices             true: a copy's two sides may be on two devices of this type.
//   kFailureScope                     what else a failing task leaves undone; without it: nothing.
//   counters()                        see DriverCounters.

#pragma once

#include <concepts>

#include "thalweg/backend/device_stream.hpp"
#include "thalweg/backend/stream_factory.hpp"
#include "thalweg/base/task.hpp"

namespace thalweg::backend {

template <class B>
concept EventStreamBackend =
    requires(B& backend, typename B::Stream& stream, typename B::Stream& source,
             const neutral::Task& task, Serial serial, typename B::Stream::Signal signal) {
      requires DeviceStream<typename B::Stream>;
      requires StreamFactory<typename B::Factory>;
      requires std::same_as<typename B::Factory::Stream, typename B::Stream>;
      { backend.factory() } -> std::same_as<typename B::Factory&>;
      { B::submit(stream, task, serial) } -> std::same_as<Result<void>>;
      { B::wait_for(stream, source, serial) } -> std::same_as<Result<Serial>>;
      { B::fence(signal) } -> std::same_as<Result<typename B::Stream::Fence>>;
      { backend.device_pool() } -> std::convertible_to<MemorySource&>;
      { backend.host_pool() } -> std::convertible_to<MemorySource&>;
    };

}  // namespace thalweg::backend
