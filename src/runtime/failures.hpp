// SPDX-License-Identifier: Apache-2.0
//
// runtime/failures.hpp - the failures of the process, and which bytes carry them.
//
// Threads:    any, without a lock.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sync/lock.hpp"
#include "thalweg/backend/observer.hpp"
#include "thalweg/backend/outcomes.hpp"
#include "thalweg/failure/error_graph.hpp"

namespace thalweg::runtime {

class Failures {
 public:
  // Made on first use, never destroyed.
  static Failures& instance() noexcept;

  // Whether some byte is bad.
  const std::atomic<bool>& any() const noexcept { return any_; }

  // See backend::Outcomes.
  std::optional<Error> skip(std::span<const failure::Use> uses,
                            const failure::TaskWords& words) noexcept;
  void prove(std::span<const failure::Use> uses) noexcept;
  bool fail(const Error& error, DeviceId device, bool told,
            std::span<const failure::Use> uses) noexcept;

  // `unwritten`, when the host would read a bad byte.
  std::optional<Error> read(const failure::Use& use, std::source_location site);

  // The program was given an `unwritten`.
  void told(const Error& error) noexcept;

  // The bytes are nobody's any more.
  void forget(const failure::Use& use) noexcept {
    if (any_.load(std::memory_order_acquire)) prove({&use, 1});
  }

  // The allocation has no handle any more; `uses`: the points of its tasks.
  void drop(AllocationId allocation, const order::PointSet& uses) noexcept;

  // Forgets what is carried by allocations that are gone and used by nobody.
  void collect() noexcept;

  // Those of one device.
  std::vector<LivingFailure> living(DeviceId device) const;

  // Who is told of a device's failures that are forgotten unheard; null: the error sink.
  void observe(DeviceId device, backend::Observer* observer);

 private:
  struct Graph {
    failure::ErrorGraph errors;
    std::size_t collect_at = kCarriersMin;           // Carriers from which on is collected unasked.
    std::function<void(failure::ErrorGraph&)> late;  // Planted: what is entered too late.
  };
  static constexpr std::size_t kCarriersMin = 256;

  // Puts down what has changed, and tells what nobody was told of.
  template <class F>
  decltype(auto) change(F&& function) noexcept;

  void tell(DeviceId device, const Error& root) noexcept;

  using Observers = std::map<DeviceId, backend::Observer*>;

  std::atomic<bool> any_{false};
  sync::Guarded<Graph> graph_{sync::Rank::failures};
  sync::Guarded<Observers> observers_{sync::Rank::failures};
};

// A stream's part in it.
class StreamOutcomes final : public backend::Outcomes {
 public:
  StreamOutcomes() noexcept : Outcomes(Failures::instance().any()) {}

  // REQUIRES: no task of a stream that had it before is left.
  void open(DeviceId device, std::string_view stream) {
    device_ = device;
    stream_ = stream;
  }

  bool failed(const Error& error, std::span<const failure::Use> uses, bool told) noexcept override {
    return Failures::instance().fail(error, device_, told, uses);
  }

 private:
  std::optional<Error> skip(std::span<const failure::Use> uses, std::string_view task,
                            std::source_location site) noexcept override {
    return Failures::instance().skip(uses, {task, stream_, site});
  }
  void prove(std::span<const failure::Use> uses) noexcept override {
    Failures::instance().prove(uses);
  }

  DeviceId device_;
  std::string stream_;
};

}  // namespace thalweg::runtime
