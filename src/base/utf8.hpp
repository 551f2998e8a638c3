// SPDX-License-Identifier: Apache-2.0
//
// base/utf8.hpp - the characters of a text that may be any bytes.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace thalweg::detail {

struct Utf8Character {
  std::size_t bytes = 0;  // 0: the text does not begin with a character.
  std::uint32_t code = 0;
};

// The first character of a text that is not empty: no longer form than needed, no surrogates
// (Unicode 15, table 3-7).
Utf8Character first_utf8(std::string_view text) noexcept;

}  // namespace thalweg::detail
