// SPDX-License-Identifier: Apache-2.0
//
// contract/support/backend_under_test.hpp - what a backend says of itself to be tested.
//
//   const bool added = add_backend({
//       .name = "mine",
//       .devices = {{.label = "Mine", .name = "mine?size=3"}},
//       .open = [](const std::string& name) { return ...; },
//       .exceptions = {{"S17", "Mine has one priority."}},
//   });

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/runtime/open.hpp"
#include "thalweg/stream.hpp"

namespace thalweg::contract {

// A row the backend cannot have, and why. The row is run all the same, and a row that is listed and
// passes is a failure.
struct Exception {
  std::string row;     // Its id: "S17".
  std::string reason;  // A sentence.
  std::string device;  // The label of the one device it is for; empty: all of the backend.
};

// One way to open the backend. Each row runs once on each.
struct DeviceUnderTest {
  std::string label;  // Letters and digits: the first part of the names of its tests.
  std::string name;   // What `open` is given.

  // How many host functions run at the same time; 0: unknown, or more than a test can keep busy.
  unsigned runners = 0;
};

// The current context of a thread, where drivers have one.
struct Contexts {
  std::function<void(const Device&)> make_other_current;  // A context not that of the device.
  std::function<std::uintptr_t()> current;
  std::function<std::uintptr_t(const Stream&)> of_stream;
  std::function<std::uintptr_t(const Device&)> of_device;
};

struct BackendUnderTest {
  std::string name;
  std::vector<DeviceUnderTest> devices;

  // A fresh driver for each call, and the options to open it with. `unavailable` skips the tests
  // and says why.
  std::function<Result<runtime::OpenedDriver>(const std::string& name)> open;

  // What the backend is, where rows would hang or race without it.
  bool devices_meet = true;  // Work of one device can wait for work of another.
  bool any_thread = true;    // Calls may come from several threads at the same time.
  bool own_threads = true;   // Work goes on while no thread of the program is in a call.

  // A handle to the device's default stream, where there is one.
  std::function<Result<Stream>(const Device&)> default_stream;
  std::optional<Contexts> contexts;

  std::vector<Exception> exceptions;
};

// Makes the backend known. Returns true. Before main().
bool add_backend(BackendUnderTest backend);

}  // namespace thalweg::contract
