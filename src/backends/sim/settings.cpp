// SPDX-License-Identifier: Apache-2.0

#include "backends/sim/settings.hpp"

#include <fmt/format.h>

#include <limits>

namespace thalweg::sim {
namespace {

constexpr std::uint64_t kEnginesMax = 64;

Result<void> apply_one(std::string_view option, std::string_view value, Settings& settings,
                       std::source_location site) {
  if (option == "seed") {
    THALWEG_TRY_ASSIGN(settings.seed,
                       device_name::parse_count(option, value, 0,
                                                std::numeric_limits<std::uint64_t>::max(), site));
  } else if (option == "memory") {
    THALWEG_TRY_ASSIGN(settings.device.memory_limit_bytes,
                       device_name::parse_bytes(option, value, site));
  } else if (option == "copy_engines") {
    THALWEG_TRY_ASSIGN(const std::uint64_t engines,
                       device_name::parse_count(option, value, 0, kEnginesMax, site));
    settings.copy_engines = static_cast<std::uint32_t>(engines);
  } else if (option == "faults") {
    THALWEG_TRY_ASSIGN(settings.faults, Faults::parse(value, site));
  } else if (option == "skip_passed") {
    THALWEG_TRY_ASSIGN(settings.skip_passed, device_name::parse_switch(option, value, site));
  } else if (option == "strict_events") {
    THALWEG_TRY_ASSIGN(settings.strict_events, device_name::parse_switch(option, value, site));
  } else {
    return Error(ErrorKind::invalid_argument,
                 fmt::format("Device `sim` has no option `{}`; it has seed, memory, copy_engines, "
                             "faults, skip_passed and strict_events.",
                             option),
                 site);
  }
  return {};
}

}  // namespace

Result<Settings> apply(const device_name::DeviceName& name, Settings settings,
                       std::source_location site) {
  for (const auto& [option, value] : name.options)
    THALWEG_TRY(apply_one(option, value, settings, site));
  return settings;
}

}  // namespace thalweg::sim
