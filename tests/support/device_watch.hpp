// SPDX-License-Identifier: Apache-2.0
//
// tests/support/device_watch.hpp - says when nothing is left of devices: they, their streams and
// workers, and their memory.
//
// It is the clock of the devices, which each of them holds to its end, and it counts their storage.

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "support/refusal.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {

class DeviceWatch {
 public:
  // May be called again.
  Device open(const std::string& name) const {
    DeviceOptions options;
    options.clock = seen_;
    options.storage_hooks = {
        [](void* seen, MemoryKind, const void*, std::uint64_t size) { bytes(seen) += size; },
        [](void* seen, MemoryKind, const void*, std::uint64_t size) { bytes(seen) -= size; },
        seen_.get()};
    return must(Device::open(name, options));
  }

  bool gone() const { return seen_.use_count() == 1 && seen_->bytes == 0; }

  // Waits for it; false when something stays.
  bool ends() const {
    return comes_true([this] { return gone(); });
  }

 private:
  struct Seen final : Clock {
    std::chrono::nanoseconds now() const noexcept override {
      return std::chrono::steady_clock::now().time_since_epoch();
    }
    std::atomic<std::uint64_t> bytes{0};
  };
  static std::atomic<std::uint64_t>& bytes(void* seen) { return static_cast<Seen*>(seen)->bytes; }

  std::shared_ptr<Seen> seen_ = std::make_shared<Seen>();
};

}  // namespace thalweg::test
