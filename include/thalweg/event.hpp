// SPDX-License-Identifier: Apache-2.0
//
// thalweg/event.hpp - a user's mark in a stream.
//
// A wait binds to the record that was the latest when the wait was submitted; a later record
// changes nothing for it. An event carries order, never failure.
//
// Threads:    every method, and Stream::record and Stream::wait_event on it, may be called from any
//             thread. Each call is atomic.
// Ownership:  a counted handle: a copy is the same event. It may be dropped once the wait is
//             submitted.

#pragma once

#include <source_location>

#include "thalweg/device.hpp"

namespace thalweg {

class [[nodiscard]] THALWEG_EXPORT Event {
 public:
  Event() noexcept = default;

  // Never waits.
  static Result<Event> create(const Device& device,
                              std::source_location site = std::source_location::current());

  // Where the latest record is: not_recorded, not_yet or done; lost with its device, and for an
  // invalid handle. Never waits.
  EventState query() const noexcept;

  // Waits on the host for the latest record; returns at once when there is none.
  // Errors: timeout; wait_forbidden; invalid_handle.
  Result<void> wait(Deadline deadline = {},
                    std::source_location site = std::source_location::current()) const;

  bool valid() const noexcept { return static_cast<bool>(core_); }
  detail::EventCore* core() const noexcept { return core_.get(); }

 private:
  explicit Event(Ref<detail::EventCore> core) noexcept : core_(std::move(core)) {}

  Ref<detail::EventCore> core_;
};

}  // namespace thalweg
