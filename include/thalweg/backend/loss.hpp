// SPDX-License-Identifier: Apache-2.0
//
// thalweg/backend/loss.hpp - whether a device is lost, and why.
//
// A backend that can lose its device has one, and lets it happen once. From then on it refuses what
// is submitted with the cause. What is enqueued ends without running, and as if it had been its
// turn, so that whoever finds a point passed finds the bytes behind it bad:
//
//   for each task, in an order that each queue and each wait allows:
//     Outcomes::failed(cause, uses)
//     its completion is told the cause, once; its callable is destroyed
//     its point passes
//
// Its waits for work of other devices are kept: what lies behind its point may rely on them. A wait
// for a timeline ends. The runtime makes one failure of all that a device leaves unwritten at its
// loss, and answers its callers with the cause.
//
// Threads:    any.
// Ownership:  the backend's; it lives as long as the device.

#pragma once

#include <atomic>
#include <optional>
#include <utility>

#include "thalweg/base/error.hpp"

namespace thalweg::backend {

class Loss {
 public:
  // Memory ordering: acquire; pairs with the release of happen().
  bool happened() const noexcept { return state_.load(std::memory_order_acquire) == State::lost; }

  // REQUIRES: it happened.
  const Error& cause() const noexcept { return *cause_; }

  // False: it has happened already, or is about to on another thread; the first cause stays.
  // REQUIRES: `cause` is of the kind device_lost.
  // Memory ordering: release, so that whoever sees it sees the cause.
  bool happen(Error cause) {
    State present = State::present;
    if (!state_.compare_exchange_strong(present, State::told, std::memory_order_relaxed))
      return false;
    cause_ = std::move(cause);
    state_.store(State::lost, std::memory_order_release);
    return true;
  }

 private:
  enum class State : unsigned char { present, told, lost };

  std::optional<Error> cause_;
  std::atomic<State> state_{State::present};
};

}  // namespace thalweg::backend
