// SPDX-License-Identifier: Apache-2.0
//
// api/handle.hpp - the refusal of handles that hold nothing.

#pragma once

#include <source_location>
#include <string>
#include <string_view>

#include "thalweg/base/result.hpp"

namespace thalweg::detail {

inline Error no_handle(std::string_view what, std::source_location site) {
  return Error(ErrorKind::invalid_handle,
               std::string("The ") + std::string(what) + " is moved from or default made.", site);
}

inline Error no_callback(std::source_location site) {
  return Error(ErrorKind::invalid_argument, "A callback is empty.", site);
}

}  // namespace thalweg::detail
