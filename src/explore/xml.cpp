// SPDX-License-Identifier: Apache-2.0

#include "explore/xml.hpp"

#include <cstdint>

#include "base/utf8.hpp"

namespace thalweg::xml {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";
constexpr std::string_view kEllipsis = "\xe2\x80\xa6";

// What XML 1.0 allows: none of the control characters.
bool allowed(std::uint32_t code) noexcept {
  if (code < 0x20) return code == '\t' || code == '\n' || code == '\r';
  return code != 0xfffe && code != 0xffff;
}

// Bytes of the first character; 0 where there is no allowed one.
std::size_t good_bytes(std::string_view text) noexcept {
  const detail::Utf8Character character = detail::first_utf8(text);
  return allowed(character.code) ? character.bytes : 0;
}

std::string_view escape_of(std::string_view character) noexcept {
  if (character == "&") return "&amp;";
  if (character == "<") return "&lt;";
  if (character == ">") return "&gt;";
  if (character == "\"") return "&quot;";
  if (character == "'") return "&#39;";
  return character;
}

}  // namespace

std::size_t first_bytes(std::string_view text) noexcept {
  if (text.empty()) return 0;
  const std::size_t bytes = good_bytes(text);
  return bytes == 0 ? 1 : bytes;
}

std::size_t count(std::string_view text) noexcept {
  std::size_t characters = 0;
  for (; !text.empty(); ++characters) text.remove_prefix(first_bytes(text));
  return characters;
}

std::string_view first(std::string_view text, std::size_t count_max) noexcept {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count_max && bytes < text.size(); ++i)
    bytes += first_bytes(text.substr(bytes));
  return text.substr(0, bytes);
}

std::string shortened(std::string_view text, std::size_t count_max) {
  if (count(text) <= count_max) return std::string(text);
  return std::string(first(text, count_max - 1)) + std::string(kEllipsis);
}

std::string escaped(std::string_view text) {
  std::string safe;
  while (!text.empty()) {
    const std::string_view character = text.substr(0, first_bytes(text));
    safe += good_bytes(text) == 0 ? kReplacement : escape_of(character);
    text.remove_prefix(character.size());
  }
  return safe;
}

}  // namespace thalweg::xml
