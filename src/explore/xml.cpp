// SPDX-License-Identifier: Apache-2.0

#include "explore/xml.hpp"

#include <cstdint>

namespace thalweg::xml {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";
constexpr std::string_view kEllipsis = "\xe2\x80\xa6";

std::uint32_t byte_of(char c) noexcept { return static_cast<unsigned char>(c); }

// Bytes of a character that begins with `lead`; 0 for none.
std::size_t bytes_after(std::uint32_t lead) noexcept {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead < 0xe0) return 2;
  if (lead >= 0xe0 && lead < 0xf0) return 3;
  if (lead >= 0xf0 && lead < 0xf5) return 4;
  return 0;
}

// What XML 1.0 allows of what has this many bytes in UTF-8: no longer form than needed, no
// surrogates, none of the control characters.
bool allowed(std::uint32_t code, std::size_t bytes) noexcept {
  constexpr std::uint32_t kFirst[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kFirst[bytes] || code > 0x10ffff) return false;
  if (code < 0x20) return code == '\t' || code == '\n' || code == '\r';
  return (code < 0xd800 || code > 0xdfff) && code != 0xfffe && code != 0xffff;
}

// Bytes of the first character; 0 where there is no allowed one.
std::size_t good_bytes(std::string_view text) noexcept {
  const std::uint32_t lead = byte_of(text.front());
  const std::size_t bytes = bytes_after(lead);
  if (bytes == 0 || bytes > text.size()) return 0;
  std::uint32_t code = bytes == 1 ? lead : lead & (0xffu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    const std::uint32_t next = byte_of(text[i]);
    if ((next & 0xc0) != 0x80) return 0;
    code = code << 6 | (next & 0x3f);
  }
  return allowed(code, bytes) ? bytes : 0;
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
