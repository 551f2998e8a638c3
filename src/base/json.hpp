// SPDX-License-Identifier: Apache-2.0
//
// base/json.hpp - a text as JSON has it.

#pragma once

#include <string>
#include <string_view>

namespace thalweg::detail {

// In quotes. What JSON cannot hold is replaced: each byte that is no part of well-formed UTF-8 by
// U+FFFD.
std::string json_string(std::string_view text);

}  // namespace thalweg::detail
