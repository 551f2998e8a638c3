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
#include <memory>
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
  std::optional<Error> skip(std::span<const failure::Use> uses, const failure::TaskWords& words,
                            bool told) noexcept;
  void prove(std::span<const failure::Use> uses) noexcept;
  bool fail(Error& error, DeviceId device, std::span<const failure::Use> uses) noexcept;

  // `unwritten`, when the host would read a bad byte.
  std::optional<Error> read(const failure::Use& use, std::source_location site);

  // The bytes are nobody's any more. May be called under a lock of lower rank; gives back what goes
  // without one.
  [[nodiscard]] std::vector<Error> forget(const failure::Use& use) noexcept;

  // The allocation has no handle any more; `uses`: the points of its tasks.
  void drop(AllocationId allocation, const order::PointSet& uses) noexcept;

  // Forgets what is carried by allocations that are gone and used by nobody.
  void collect() noexcept;

  // Those of one device.
  std::vector<LivingFailure> living(DeviceId device) const;

  // Who is told of a device's failures that are forgotten unheard; null: the error sink.
  void observe(DeviceId device, std::shared_ptr<backend::Observer> observer);

  // A call of the program's was refused because the device is lost.
  void told_of_loss(DeviceId device) noexcept;

  // The device is gone.
  void end_loss(DeviceId device) noexcept;

 private:
  // What tasks leave unwritten because their device is lost has one failure.
  struct Lost {
    FailureId failure;           // The latest: none, or it may be forgotten.
    std::optional<Error> cause;  // With its news. None: no task has met the loss.
    bool told = false;           // Of no use once there is a cause.
  };

  struct Graph {
    failure::ErrorGraph errors;
    std::map<DeviceId, Lost> lost;
    std::size_t collect_at = kCarriersMin;           // Carriers from which on is collected unasked.
    std::function<void(failure::ErrorGraph&)> late;  // Planted: what is entered too late.
  };
  static constexpr std::size_t kCarriersMin = 256;

  class FailureNews;

  void lose(Error& error, DeviceId device, std::span<const failure::Use> uses) noexcept;

  // Puts down what has changed. What is forgotten goes behind the lock.
  template <class F>
  decltype(auto) change(F&& function) noexcept;

  std::vector<Error> put_down(Graph& graph) noexcept;
  void tell(DeviceId device, const Error& root) noexcept;

  using Observers = std::map<DeviceId, std::shared_ptr<backend::Observer>>;

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

  bool failed(Error& error, std::span<const failure::Use> uses) noexcept override {
    return Failures::instance().fail(error, device_, uses);
  }

 private:
  std::optional<Error> skip(std::span<const failure::Use> uses, std::string_view task,
                            std::source_location site, bool told) noexcept override {
    return Failures::instance().skip(uses, {task, stream_, site}, told);
  }
  void prove(std::span<const failure::Use> uses) noexcept override {
    Failures::instance().prove(uses);
  }

  DeviceId device_;
  std::string stream_;
};

}  // namespace thalweg::runtime
