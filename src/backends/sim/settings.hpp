// SPDX-License-Identifier: Apache-2.0
//
// backends/sim/settings.hpp - what the name of a simulated device says: "sim?seed=7&memory=64MiB".

#pragma once

#include <cstdint>
#include <source_location>

#include "backends/sim/device.hpp"
#include "base/device_name.hpp"

namespace thalweg::sim {

struct Settings {
  std::uint64_t seed = 0;
  std::uint32_t copy_engines = 0;
  Faults faults;
  bool skip_passed = true;
  bool strict_events = false;
  Options device;
};

// `settings` with what `name` says over it.
// Errors: invalid_argument, naming the option, its value and what is allowed.
Result<Settings> apply(const device_name::DeviceName& name, Settings settings,
                       std::source_location site);

}  // namespace thalweg::sim
