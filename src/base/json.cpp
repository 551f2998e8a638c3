// SPDX-License-Identifier: Apache-2.0

#include "base/json.hpp"

#include <fmt/format.h>

#include "base/utf8.hpp"

namespace thalweg::detail {

std::string json_string(std::string_view text) {
  constexpr std::string_view kReplacement = "\xef\xbf\xbd";
  std::string json = "\"";
  while (!text.empty()) {
    const Utf8Character character = first_utf8(text);
    if (character.bytes == 0) {
      json += kReplacement;
    } else if (character.code == '"' || character.code == '\\') {
      json += '\\';
      json += text.front();
    } else if (character.code < 0x20) {
      json += fmt::format("\\u{:04x}", character.code);
    } else {
      json += text.substr(0, character.bytes);
    }
    text.remove_prefix(character.bytes == 0 ? 1 : character.bytes);
  }
  return json + '"';
}

}  // namespace thalweg::detail
