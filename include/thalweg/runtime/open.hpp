// SPDX-License-Identifier: Apache-2.0
//
// thalweg/runtime/open.hpp - opens a device of one's own backend.
//
//   Device device = must(runtime::open(MyBackend(...), {.backend = "mine"}));
//
// The backend models EventStreamBackend; everything above it is the runtime that serves the
// backends of the library.

#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "thalweg/backend/driver.hpp"
#include "thalweg/backend/multi_stream.hpp"
#include "thalweg/device.hpp"

namespace thalweg::runtime {

// Whether everything up to `point` is over, as the backends' Progress has said: what a MemoryPool
// asks. Threads: any. Never waits.
THALWEG_EXPORT bool has_passed(order::Point point) noexcept;

struct OpenOptions {
  std::string_view backend;  // "mine"
  std::string_view name;     // "mine?size=3"; empty: as `backend`.
  bool skip_passed = true;   // See DeviceOptions.

  // What deadlines and the ledger are measured by; null: the machine's clock. A backend that waits
  // itself is given the same one by whoever makes it.
  std::shared_ptr<const Clock> clock = nullptr;

  bool strict_events = false;  // See DeviceOptions.
};

// Never waits. Errors: invalid_argument, when `backend` is empty.
THALWEG_EXPORT Result<thalweg::Device> open(
    std::unique_ptr<backend::Driver> driver, const OpenOptions& options,
    std::source_location site = std::source_location::current());

// A driver, and what its device is opened with.
struct OpenedDriver {
  std::unique_ptr<backend::Driver> driver;
  OpenOptions options;
};

// The first half of Device::open: for whoever puts a driver of his own around one of the library's.
//
//   auto opened = must(runtime::open_driver("cpu?workers=1"));
//   auto driver = std::make_unique<MyDriver>(std::move(opened.driver));
//   Device device = must(runtime::open(std::move(driver), opened.options));
//
// The options point to the text of `name`. Slow, and its errors: as Device::open.
THALWEG_EXPORT Result<OpenedDriver> open_driver(
    std::string_view name, const DeviceOptions& options = {},
    std::source_location site = std::source_location::current());

template <backend::EventStreamBackend B>
Result<thalweg::Device> open(B backend, const OpenOptions& options,
                             std::source_location site = std::source_location::current()) {
  return open(std::make_unique<backend::MultiStream<B>>(std::move(backend)), options, site);
}

}  // namespace thalweg::runtime
