// SPDX-License-Identifier: Apache-2.0
//
// thalweg/device.hpp - an opened backend device.
//
// Threads:    every method may be called from any thread; one Device object must not be assigned or
//             destroyed while another thread uses that object.
// Ownership:  a Device is a counted handle. Streams, buffers, events and futures keep what they
//             need of it alive: handles may go in any order. The last one neither waits nor
//             cancels: work that is enqueued still runs.
// Errors:     a moved-from or default-made Device gives invalid_handle. In a child that was forked
//             after the first use everything gives unavailable, or answers that nothing is there
//             (base/forked.hpp).

#pragma once

#include <memory>
#include <source_location>
#include <string_view>

#include "thalweg/base/clock.hpp"
#include "thalweg/base/result.hpp"
#include "thalweg/base/storage.hpp"
#include "thalweg/interface.hpp"
#include "thalweg/statistics.hpp"
#include "thalweg/waits.hpp"

namespace thalweg {

struct DeviceOptions {
  // Most bytes of device memory that may be reserved; 0: what the device has.
  std::uint64_t memory_limit_bytes = 0;

  // Functions of the program's that memory is taken from, of the device and of the host, in place
  // of the device's own; and those that are told of it.
  StorageTable device_storage;
  StorageTable host_storage;
  StorageHooks storage_hooks;

  // Whether a thread that waits may run copies, fills and kernels that what it waits for depends
  // on. They then run on the waiting thread: with its stack, its thread-locals and the locks it
  // holds.
  bool helping = true;

  // Leaves waits out for what has passed. Off, the waits placed depend on the program alone and not
  // on timing: for tests and for comparing programs.
  bool skip_passed = true;

  // Refuses a stream's wait for an event that was never recorded, with event_not_recorded. Off, it
  // waits for nothing.
  bool strict_events = false;

  // Counts busy time; costs two readings of the clock a task.
  bool measure_busy = false;

  // Microseconds of delay, drawn at random from [0, n], before each task: shakes out missing
  // dependencies. 0: none.
  std::uint32_t random_delay_us = 0;

  // What deadlines, the ledger and busy times are measured by; null: the machine's clock.
  std::shared_ptr<const Clock> clock = nullptr;
};

class [[nodiscard]] THALWEG_EXPORT Device {
 public:
  Device() noexcept = default;

  // Opens "backend" or "backend?option=value&option=value". For cpu the options are `workers` (0 is
  // refused, at most 256; default: the processors this process may use, at least 2), `memory`
  // (bytes, or with the unit KiB, MiB, GiB), `helping`, `skip_passed`, `strict_events`,
  // `measure_busy` (on or off) and `random_delay_us`. For sim they are `seed` (0 to 2^64 - 1: draws
  // which stream goes on and when; the same program of one thread does the same with the same
  // seed), `memory` (default 1 GiB), `copy_engines` (0 to 64; 0: as many as are needed), `faults`
  // ("alloc:3,launch:2+": the third allocation is refused, and every launch from the second on;
  // "run:2,lost:5": the second task fails, and the device is lost before the fifth; "seed:7": some
  // calls are refused; explore.hpp has all sites), `skip_passed` and `strict_events`. A simulated
  // device has no threads: its tasks and callbacks run inside calls of its host, on the calling
  // thread and with the locks it holds, and what it finds to be wrong (explore.hpp) goes to the
  // error sink. It takes no memory from storage tables.
  // What the name says wins over `options`. Opening a backend twice gives two devices. Slow: may
  // start threads and load drivers.
  // Errors: invalid_argument, naming the option, its value and the limit; not_found, naming the
  //         backends there are; unavailable, with the reason.
  static Result<Device> open(std::string_view name, const DeviceOptions& options = {},
                             std::source_location site = std::source_location::current());

  // Waits on the host until everything enqueued on all streams so far has passed; work put on
  // Stream::raw() counts as touch() and native() say.
  // Errors: timeout; wait_forbidden; device_lost.
  Result<void> synchronize(Deadline deadline = {},
                           std::source_location site = std::source_location::current()) const;

  // Ends the device for everybody who has a handle to it: waits on the host until what is enqueued
  // has passed, and gives cached memory back. From its beginning on new work, streams, buffers and
  // views are refused with invalid_handle; handles may go as before. Past the deadline it gives up
  // with a report: the device stays closed, and what has not passed keeps its memory until it does.
  // A second call waits again.
  // Errors: timeout, naming the streams with work left; wait_forbidden, where it would have to wait,
  //         and nothing is closed.
  Result<void> close(Deadline deadline = {},
                     std::source_location site = std::source_location::current()) const;

  // Lets finished work give back what it holds. True when nothing is enqueued that has not passed.
  // Never waits.
  bool poll() const noexcept;

  // Gives cached memory back to the system until at most `keep_bytes` are cached. Returns the bytes
  // given back. Never waits for the device.
  std::uint64_t trim(std::uint64_t keep_bytes = 0) const noexcept;

  // {0, 0} for an invalid handle too.
  PriorityRange priority_range() const noexcept;

  // What else is left undone when a task fails; `task` for an invalid handle too. A device that is
  // lost leaves undone all that has not passed.
  FailureScope failure_scope() const noexcept;

  Statistics statistics() const;

  // The failures of this device's streams that some bytes carry, be they another device's, the
  // oldest first. One goes when the last of its bytes is written, or belongs to nobody any more and
  // all that was submitted by then has passed. Who is given the list counts as told of none. Never
  // waits.
  std::vector<LivingFailure> failures() const;

  // Of device memory, and of the page-locked memory of uploads and HostArrays.
  MemoryUsage memory_usage() const;
  MemoryUsage host_memory_usage() const;
  WaitLedger wait_ledger() const;

  std::string_view name() const noexcept;
  std::string_view backend() const noexcept;
  DeviceId id() const noexcept;
  bool valid() const noexcept { return static_cast<bool>(core_); }

  // Whether both are handles to the same opened device.
  friend bool operator==(const Device& a, const Device& b) noexcept { return a.core_ == b.core_; }

  // For the runtime.
  explicit Device(Ref<detail::DeviceCore> core) noexcept : core_(std::move(core)) {}
  detail::DeviceCore* core() const noexcept { return core_.get(); }

 private:
  Ref<detail::DeviceCore> core_;
};

}  // namespace thalweg
