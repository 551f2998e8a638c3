// SPDX-License-Identifier: Apache-2.0
//
// contract/support/row.hpp - a row of the contract, written once for all backends.
//
//   CONTRACT_ROW(S8, DestroyingABusyStreamNeitherBlocksNorCancels) {
//     const Stream s = stream();
//     EXPECT_...
//   }
//
// Each row is one test on each device of each backend, named Label.S8_Destroying..., with an id
// that is unique in the suite. A row that would hang or crash on a device that cannot have it
// checks that first, and fails. What a row's tasks touch is shared with them: the row may end
// early.

#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <source_location>
#include <stdexcept>
#include <string>
#include <utility>

#include "contract/support/backend_under_test.hpp"
#include "contract/support/counting_driver.hpp"
#include "contract/support/refusal.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::contract {

using test::comes_true;
using test::kLimit;
using test::message;
using test::refusal;

// What need() throws: the row has failed, and the runner says so.
class Unmet : public std::runtime_error {
 public:
  Unmet(const Error& error, const std::source_location& where);
};

// The value, or the end of the row as a failure. For calls that the row is not about; on the row's
// own thread.
template <class T>
T need(Result<T> result, std::source_location where = std::source_location::current()) {
  if (!result) throw Unmet(result.error(), where);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// A device, and what is counted on it.
struct Opened {
  Device device;
  std::shared_ptr<Control> control;
};

// What a row works on.
class Bench {
 public:
  Bench(const BackendUnderTest& backend, const DeviceUnderTest& device)
      : backend_(&backend), device_(&device) {}

  const BackendUnderTest& backend() const noexcept { return *backend_; }
  const DeviceUnderTest& under_test() const noexcept { return *device_; }

  // Opens the device. Once more, it is another device.
  Result<Opened> open(const std::function<void(runtime::OpenOptions&)>& change = {}) const;

 private:
  const BackendUnderTest* backend_;
  const DeviceUnderTest* device_;
};

class Row {
 public:
  Row(Bench bench, Opened opened) : bench_(bench), opened_(std::move(opened)) {}
  Row(const Row&) = delete;
  Row& operator=(const Row&) = delete;
  virtual ~Row() = default;

  virtual void run() = 0;

 protected:
  const Device& device() const noexcept { return opened_.device; }
  Control& control() const noexcept { return *opened_.control; }

  // The row's handle of the device: device() is invalid afterwards.
  Device take_device() noexcept { return std::exchange(opened_.device, Device()); }

  const BackendUnderTest& backend() const noexcept { return bench_.backend(); }
  const DeviceUnderTest& under_test() const noexcept { return bench_.under_test(); }

  // A new stream of the device, and one of a priority.
  Stream stream() const { return need(Stream::create(device())); }
  Stream stream(int priority) const { return need(Stream::with_priority(device(), priority)); }
  Event event() const { return need(Event::create(device())); }

  // As test::comes_true. A backend without threads goes on in calls: one is made each time.
  template <class Condition>
  bool comes_true(Condition condition) const {
    return test::comes_true([&] {
      if (!backend().own_threads && device().valid()) static_cast<void>(device().poll());
      return condition();
    });
  }

  // Another device of the backend.
  Opened second_device() const { return need(bench_.open()); }
  const Bench& bench() const noexcept { return bench_; }

 private:
  const Bench bench_;
  Opened opened_;
};

struct RowInfo {
  std::string id;
  std::string claim;
  std::string file;
  int line = 0;
  std::unique_ptr<Row> (*make)(Bench, Opened) = nullptr;

  std::string test_name() const { return id + "_" + claim; }
};

// Makes the row known. Returns true. Before main().
bool add_row(RowInfo row);

template <class R>
std::unique_ptr<Row> make_row(Bench bench, Opened opened) {
  return std::make_unique<R>(bench, std::move(opened));
}

}  // namespace thalweg::contract

#define CONTRACT_ROW(id, claim)                                                     \
  class Row_##id final : public ::thalweg::contract::Row {                          \
   public:                                                                          \
    using Row::Row;                                                                 \
    void run() override;                                                            \
  };                                                                                \
  [[maybe_unused]] const bool row_##id##_added = ::thalweg::contract::add_row(      \
      {#id, #claim, __FILE__, __LINE__, &::thalweg::contract::make_row<Row_##id>}); \
  void Row_##id::run()
