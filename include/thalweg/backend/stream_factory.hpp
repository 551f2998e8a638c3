// SPDX-License-Identifier: Apache-2.0
//
// thalweg/backend/stream_factory.hpp - concept: what makes a backend's streams.

#pragma once

#include <concepts>
#include <string_view>

#include "thalweg/base/pass_watch.hpp"
#include "thalweg/base/result.hpp"
#include "thalweg/order/queue_order.hpp"

namespace thalweg::backend {

// Where a stream's backend reports how far the stream has come.
class Progress {
 public:
  // Everything up to `serial` has passed: its effects are visible to whoever sees the report.
  // Serials never go down. Called from one thread at a time, without a lock of the backend's.
  virtual void passed(Serial serial) noexcept = 0;

  // From now on `watch` is told when somebody asks how far the queue is; null: nobody. Called
  // before the stream is given to the runtime, and after it was taken back.
  virtual void watch(PassWatch* watch) noexcept { static_cast<void>(watch); }

 protected:
  ~Progress() = default;
};

class Outcomes;  // thalweg/backend/outcomes.hpp

// What the runtime says about a stream it wants. The references outlive the stream.
struct StreamRequest {
  int priority = 0;  // Within the backend's range.
  std::string_view name;
  order::QueueIndex index = 0;  // The queue's slot; used again when the stream is gone.
  Serial start;                 // The first task has the serial after this one.
  Progress* progress = nullptr;
  const order::QueueOrder* order = nullptr;
  Outcomes* outcomes = nullptr;  // What becomes of its tasks.
};

// `create(request)` leaves nothing behind when it fails.
template <class F>
concept StreamFactory = requires(F& factory, const StreamRequest& request) {
  typename F::Stream;
  { factory.create(request) } -> std::same_as<Result<typename F::Stream>>;
};

}  // namespace thalweg::backend
