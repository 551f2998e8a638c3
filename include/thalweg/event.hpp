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

#include <chrono>
#include <source_location>
#include <utility>

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

  // Runs `function` once, when the record that is the latest now has passed, on a thread of the
  // runtime, inside a NoWaitScope. Callbacks run one after the other: a long one delays the rest.
  // Errors: event_not_recorded; device_lost.
  Result<void> on_complete(UniqueFunction function,
                           std::source_location site = std::source_location::current()) const;

  // Waits on the host for the latest record; returns at once when there is none.
  // Errors: timeout; wait_forbidden; invalid_handle; device_lost.
  Result<void> wait(Deadline deadline = {},
                    std::source_location site = std::source_location::current()) const;

  bool valid() const noexcept { return static_cast<bool>(core_); }
  detail::EventCore* core() const noexcept { return core_.get(); }

 protected:
  explicit Event(Ref<detail::EventCore> core) noexcept : core_(std::move(core)) {}

 private:
  Ref<detail::EventCore> core_;
};

// An Event whose records also note the device's time. A record takes a turn of the stream.
class [[nodiscard]] THALWEG_EXPORT TimedEvent : public Event {
 public:
  TimedEvent() noexcept = default;

  // Never waits.
  static Result<TimedEvent> create(const Device& device,
                                   std::source_location site = std::source_location::current());

 private:
  explicit TimedEvent(Ref<detail::EventCore> core) noexcept : Event(std::move(core)) {}
};

// The time from the latest record of `from` to that of `to`, by the device's clock; below zero when
// `to` came first. Never waits.
// Errors: invalid_handle; context_mismatch for events of two devices; and in this order, whichever
//         event they are about: timing_disabled, when the device has no timer; event_not_recorded;
//         not_ready, when a record has not passed.
THALWEG_EXPORT Result<std::chrono::nanoseconds> elapsed(
    const TimedEvent& from, const TimedEvent& to,
    std::source_location site = std::source_location::current());

}  // namespace thalweg
