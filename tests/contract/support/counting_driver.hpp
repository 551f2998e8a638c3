// SPDX-License-Identifier: Apache-2.0
//
// contract/support/counting_driver.hpp - counts what the runtime asks of a backend, and refuses on
// request.
//
//   runtime  ->  CountingDriver  ->  the backend's driver
//                      |
//                   Control          held by the test; outlives the device
//
// It stands between the runtime and any Driver, forwards every call, and needs nothing of the
// backend: counts and refusals are the same on all of them.
//
// Threads:    a Control may be read and told to refuse from any thread.
// Ownership:  the driver and its streams share the Control with the test.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "thalweg/backend/driver.hpp"

namespace thalweg::contract {

// The calls of backend/driver.hpp, one enumerator a function.
enum class Call : std::uint8_t {
  // Of a Driver.
  create_stream,
  adopt_stream,
  host_wait,  // Driver::wait.
  query,      // What only asks: priorities, counters, pools, raw.
  // Of a DriverStream.
  submit,
  wait_for,
  keep,
  poll,
  flush,
  clear,
  find,
  grow,
  announce,
  close_idle,
};

inline constexpr std::size_t kCalls = static_cast<std::size_t>(Call::close_idle) + 1;
inline constexpr std::size_t kTaskKinds = static_cast<std::size_t>(neutral::TaskKind::last) + 1;

class Control {
 public:
  // How often the runtime called, refused calls included. Without an argument: all calls.
  std::uint64_t calls(Call call) const noexcept { return calls_[index(call)]; }
  std::uint64_t calls() const noexcept;

  // Tasks of a kind that the backend took.
  std::uint64_t submits(neutral::TaskKind kind) const noexcept {
    return submits_[static_cast<std::size_t>(kind)];
  }

  // Fences the backend says it recorded, as far as the runtime has called since.
  std::uint64_t fences() const noexcept { return fences_; }

  std::uint64_t streams_created() const noexcept { return streams_created_; }
  std::uint64_t streams_destroyed() const noexcept { return streams_destroyed_; }
  bool driver_destroyed() const noexcept { return driver_destroyed_; }

  // The slot that was given to the latest stream asked for, refused ones included.
  order::QueueIndex latest_index() const noexcept { return latest_index_; }

  // The nth `call` from now on, and those that follow until there were `times`, answer `error`
  // instead of reaching the backend. The end of a stream (TaskKind::last) is never refused.
  // REQUIRES: `call` is create_stream, adopt_stream, host_wait, submit, wait_for, find or grow; `nth` and `times`
  // are at least 1.
  void refuse(Call call, Error error, std::uint64_t nth = 1, std::uint64_t times = 1);

  // The device shows `range` instead of its own. Before the device is used.
  void pretend(PriorityRange range);

 private:
  friend class CountingDriver;
  friend class CountingStream;

  struct Refusal {
    std::uint64_t before = 0;  // Calls that still go through.
    std::uint64_t times = 0;   // 0: nothing is refused.
    std::optional<Error> error;
  };

  static constexpr std::size_t index(Call call) noexcept { return static_cast<std::size_t>(call); }
  void count(Call call) noexcept { ++calls_[index(call)]; }
  std::optional<Error> refused(Call call);
  std::optional<PriorityRange> pretended() const;

  std::array<std::atomic<std::uint64_t>, kCalls> calls_{};
  std::array<std::atomic<std::uint64_t>, kTaskKinds> submits_{};
  std::atomic<std::uint64_t> fences_{0};
  std::atomic<std::uint64_t> streams_created_{0};
  std::atomic<std::uint64_t> streams_destroyed_{0};
  std::atomic<order::QueueIndex> latest_index_{0};
  std::atomic<bool> driver_destroyed_{false};
  std::atomic<bool> armed_{false};  // Whether any refusal is left: calls take no lock without.

  mutable std::mutex mutex_;
  std::array<Refusal, kCalls> refusals_;     // Guarded by `mutex_`.
  std::optional<PriorityRange> priorities_;  // Guarded by `mutex_`.
};

class CountingStream final : public backend::DriverStream {
 public:
  CountingStream(std::unique_ptr<backend::DriverStream> inner, std::shared_ptr<Control> control);
  ~CountingStream() override;

  Result<void> submit(const neutral::Task& task, Serial serial) override;
  Result<Serial> wait_for(backend::DriverStream& source, Serial serial) override;
  void keep(Ref<Counted> item, std::uint64_t size_bytes) override;
  void poll(backend::Items& freed) override;
  void flush(backend::Items& freed) override;
  void clear(backend::Items& freed) override;
  std::uint64_t fences() const override;
  Result<backend::Found> find(MemoryKind kind, std::uint64_t size_bytes,
                              const backend::ReserveOptions& options) override;
  Result<backend::Block> grow(MemoryKind kind, std::uint64_t rounded_bytes,
                              std::uint64_t size_bytes) override;
  void announce() noexcept override;
  bool close_idle() noexcept override;
  std::uintptr_t raw() const noexcept override;
  const void* type() const noexcept override { return type_; }

 private:
  void count_fences();

  std::unique_ptr<backend::DriverStream> inner_;
  const std::shared_ptr<Control> control_;
  const void* const type_;    // One for each type of inner streams, and not theirs: see type_of().
  std::uint64_t fences_ = 0;  // Counted so far. Guarded by the queue's lock.
};

class CountingDriver final : public backend::Driver {
 public:
  CountingDriver(std::unique_ptr<backend::Driver> inner, std::shared_ptr<Control> control);
  ~CountingDriver() override;

  PriorityRange priority_range() const noexcept override;
  Result<std::unique_ptr<backend::DriverStream>> create_stream(
      const backend::StreamRequest& request) override;
  backend::DriverCounters counters() const noexcept override;
  std::optional<Result<void>> wait(order::Point point, Deadline deadline) override;
  std::optional<Result<void>> wait(neutral::Timeline& timeline, std::uint64_t value,
                                   Deadline deadline) override;
  backend::Observer* observer() noexcept override;
  const backend::Loss* loss() const noexcept override;
  FailureScope failure_scope() const noexcept override;
  bool host_addresses() const noexcept override;
  bool copies_between_devices() const noexcept override;
  Result<std::unique_ptr<backend::DriverStream>> adopt_stream(
      std::uintptr_t handle, Ownership ownership, const backend::StreamRequest& request) override;
  const void* type() const noexcept override { return type_; }
  backend::MemorySource& device_memory() noexcept override;
  backend::MemorySource& host_memory() noexcept override;

 private:
  template <class Make>
  Result<std::unique_ptr<backend::DriverStream>> make_stream(Call call,
                                                             const backend::StreamRequest& request,
                                                             Make make);

  std::unique_ptr<backend::Driver> inner_;
  const std::shared_ptr<Control> control_;
  const void* const type_;  // As in CountingStream.
};

}  // namespace thalweg::contract
