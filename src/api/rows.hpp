// SPDX-License-Identifier: Apache-2.0
//
// api/rows.hpp - checks of accesses that have rows: what is wrong with one, and whether two meet.

#pragma once

#include <array>
#include <cstdint>
#include <source_location>

#include "thalweg/base/access.hpp"
#include "thalweg/base/export.hpp"
#include "thalweg/base/result.hpp"
#include "thalweg/view2d.hpp"

namespace thalweg::detail {

// Rows that are compared one by one, when the pitches differ.
inline constexpr std::uint64_t kRowsComparedMax = std::uint64_t{1} << 20;

// What is wrong with a view or tile that is not well formed.
Error misuse(const TileParts& view, std::source_location site);

// Errors: invalid_size, unless both have one width and one height.
Result<void> check_same_shape(const TileParts& to, const TileParts& from,
                              std::source_location site);

// The two accesses of a copy, which have as many rows of as many bytes.
// REQUIRES: both are well formed, and so many elements.
std::array<Access, 2> accesses_of_copy(const TileParts& to, const TileParts& from) noexcept;

enum class Meeting : std::uint8_t {
  none,
  some,
  unknown,  // More than kRowsComparedMax rows would have to be compared.
};

// Whether a byte is in both, two accesses of one memory.
// REQUIRES: neither end overflows.
THALWEG_EXPORT Meeting meeting(const Access& a, const Access& b) noexcept;

// Errors: invalid_argument, when a byte is in both, or when that was not found out.
Result<void> check_apart(const Access& to, const Access& from, std::source_location site);

}  // namespace thalweg::detail
