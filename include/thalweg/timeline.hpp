// SPDX-License-Identifier: Apache-2.0
//
// thalweg/timeline.hpp - a 64-bit counter that work and the host can wait for.
//
// The host raises it; streams and threads wait until it has reached a value. A closed gate in a
// stream is a wait for a value not reached yet: it occupies no thread, and other streams go on.
//
// Threads:    every method may be called from any thread.
// Ownership:  a counted handle: a copy is the same timeline. A stream that waits keeps it alive.

#pragma once

#include <cstdint>
#include <source_location>

#include "thalweg/device.hpp"

namespace thalweg {

class [[nodiscard]] THALWEG_EXPORT Timeline {
 public:
  Timeline() noexcept = default;

  // Starts at `value`. Never waits.
  static Result<Timeline> create(const Device& device, std::uint64_t value = 0,
                                 std::source_location site = std::source_location::current());

  // Raises the counter. The same value again is fine. Never waits. Allowed in host functions.
  // Memory ordering: what the caller did before happens before what was waiting for the value.
  // Errors: invalid_argument, when `value` is below the present one.
  Result<void> signal(std::uint64_t value,
                      std::source_location site = std::source_location::current()) const;

  // Waits on the host until the counter is at least `value`.
  // Errors: timeout; wait_forbidden; invalid_handle; device_lost.
  Result<void> wait(std::uint64_t value, Deadline deadline = {},
                    std::source_location site = std::source_location::current()) const;

  // The present value; 0 for an invalid handle.
  std::uint64_t value() const noexcept;

  bool valid() const noexcept { return static_cast<bool>(core_); }
  detail::TimelineCore* core() const noexcept { return core_.get(); }

 private:
  explicit Timeline(Ref<detail::TimelineCore> core) noexcept : core_(std::move(core)) {}

  Ref<detail::TimelineCore> core_;
};

}  // namespace thalweg
