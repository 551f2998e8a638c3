// SPDX-License-Identifier: Apache-2.0
//
// base/device_name.hpp - names of devices: "backend?option=value&option=value".

#pragma once

#include <cstdint>
#include <source_location>
#include <string_view>
#include <utility>
#include <vector>

#include "thalweg/base/result.hpp"

namespace thalweg::device_name {

struct DeviceName {
  std::string_view backend;
  std::vector<std::pair<std::string_view, std::string_view>> options;  // In the order of the name.
};

// The views are into `name`.
// Errors: invalid_argument for an option without a value, without a name, or given twice.
Result<DeviceName> parse_name(std::string_view name, std::source_location site);

// The value of an option. Errors: invalid_argument, naming the option, the value and what is
// allowed.
Result<std::uint64_t> parse_count(std::string_view option, std::string_view value,
                                  std::uint64_t least, std::uint64_t most,
                                  std::source_location site);
Result<bool> parse_switch(std::string_view option, std::string_view value,
                          std::source_location site);

// Bytes: a number, with KiB, MiB, GiB or nothing behind it.
Result<std::uint64_t> parse_bytes(std::string_view option, std::string_view value,
                                  std::source_location site);

}  // namespace thalweg::device_name
