// SPDX-License-Identifier: Apache-2.0
//
// thalweg/backend/observer.hpp - what a simulated device learns of the calls of the host.
//
// A real device goes on by itself and sees what is enqueued. A simulated one goes on inside the
// calls of the host, and checks what the runtime does with memory. It gives the runtime an
// Observer; other backends give none and pay one comparison a call.
//
// Threads:    any; no lock of the runtime is held, but where it is said.

#pragma once

#include <memory>
#include <source_location>

#include "thalweg/base/access.hpp"
#include "thalweg/base/memory_kind.hpp"
#include "thalweg/base/task.hpp"
#include "thalweg/base/unique_function.hpp"

namespace thalweg::backend {

class Observer {
 public:
  using Site = std::source_location;

  // A call of the host begins, or comes to a place inside where it holds nothing: the device may go
  // on. May run tasks.
  virtual void turn(Site site) noexcept = 0;

  // `allocation` got its bytes, with `home` as the raw handle of its stream. Not for memory that
  // the program brought.
  virtual void allocated(const Allocation& allocation, MemoryKind kind, std::uintptr_t home,
                         Site site) noexcept = 0;

  // The runtime took bytes for itself, which the host may write from now on, or gave them back.
  virtual void staged(std::uint64_t address, std::uint64_t size_bytes) noexcept = 0;

  // The last handle went. `allocation` is still there. May be called by a task.
  virtual void dropped(const Allocation& allocation) noexcept = 0;

  // The host has the use of the bytes from now on, and until `view_closed` with the same ticket.
  virtual void view_opened(const Access& access, std::uint64_t ticket, Site site) noexcept = 0;
  virtual void view_closed(std::uint64_t ticket) noexcept = 0;

  // The host asked how far `timeline` is, or will raise it to `value` next.
  virtual void timeline_asked(const neutral::Timeline& timeline, std::uint64_t value) noexcept = 0;
  virtual void timeline_raised(const neutral::Timeline& timeline, std::uint64_t from,
                               std::uint64_t to, Site site) noexcept = 0;

  // For somebody who may call it when the device is gone: unheard() alone.
  virtual std::shared_ptr<Observer> share() noexcept = 0;

  // A failure of a task of this device is forgotten, and nobody was told of it.
  virtual void unheard(const Error& error) noexcept = 0;

  // The last handle to `timeline` went: its address may be another one's. May be called by a task.
  virtual void timeline_dropped(const neutral::Timeline& timeline) noexcept = 0;

  // Runs `function` later, in a turn of its own, inside a NoWaitScope. Called by whoever lets the
  // last point pass that it comes after.
  virtual void call_later(UniqueFunction function) noexcept = 0;

 protected:
  ~Observer() = default;
};

}  // namespace thalweg::backend
