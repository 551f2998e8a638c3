// SPDX-License-Identifier: Apache-2.0
//
// thalweg/backend/loss.hpp - whether a device is lost, and why.
//
// A backend that can lose its device has one, and lets it happen once. From then on it refuses what
// is submitted, lets what is enqueued end with the error device_lost and without running, and the
// runtime answers its callers with the cause.
//
// Threads:    happened() and cause() from any thread; happen() from one.
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
  bool happened() const noexcept { return happened_.load(std::memory_order_acquire); }

  // REQUIRES: it happened.
  const Error& cause() const noexcept { return *cause_; }

  // REQUIRES: it has not happened; `cause` is of the kind device_lost.
  void happen(Error cause) {
    cause_ = std::move(cause);
    happened_.store(true, std::memory_order_release);
  }

 private:
  std::optional<Error> cause_;
  std::atomic<bool> happened_{false};
};

}  // namespace thalweg::backend
