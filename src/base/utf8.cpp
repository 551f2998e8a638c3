// SPDX-License-Identifier: Apache-2.0

#include "base/utf8.hpp"

namespace thalweg::detail {
namespace {

std::uint32_t byte_of(char c) noexcept { return static_cast<unsigned char>(c); }

// Bytes of a character that begins with `lead`; 0 for none.
std::size_t bytes_after(std::uint32_t lead) noexcept {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead < 0xe0) return 2;
  if (lead >= 0xe0 && lead < 0xf0) return 3;
  if (lead >= 0xf0 && lead < 0xf5) return 4;
  return 0;
}

bool well_formed(std::uint32_t code, std::size_t bytes) noexcept {
  constexpr std::uint32_t kFirst[] = {0, 0, 0x80, 0x800, 0x10000};
  return code >= kFirst[bytes] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
}

}  // namespace

Utf8Character first_utf8(std::string_view text) noexcept {
  const std::uint32_t lead = byte_of(text.front());
  const std::size_t bytes = bytes_after(lead);
  if (bytes == 0 || bytes > text.size()) return {};
  std::uint32_t code = bytes == 1 ? lead : lead & (0xffu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    const std::uint32_t next = byte_of(text[i]);
    if ((next & 0xc0) != 0x80) return {};
    code = code << 6 | (next & 0x3f);
  }
  if (!well_formed(code, bytes)) return {};
  return {bytes, code};
}

}  // namespace thalweg::detail
