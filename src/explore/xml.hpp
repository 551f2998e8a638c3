// SPDX-License-Identifier: Apache-2.0
//
// explore/xml.hpp - any bytes as text of an XML document.
//
// Names come from the program: they may hold anything. What is no character of XML (control
// characters, what is not UTF-8) becomes U+FFFD.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace thalweg::xml {

// The bytes of the first character; those of a broken one are 1. 0 for no text.
std::size_t first_bytes(std::string_view text) noexcept;

// How many characters there are.
std::size_t count(std::string_view text) noexcept;

// The first `count_max` characters.
std::string_view first(std::string_view text, std::size_t count_max) noexcept;

// The text with an ellipsis at the end where it is longer than `count_max` characters.
std::string shortened(std::string_view text, std::size_t count_max);

// For between tags, and for attributes in quotes.
std::string escaped(std::string_view text);

}  // namespace thalweg::xml
