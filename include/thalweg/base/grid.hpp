// SPDX-License-Identifier: Apache-2.0
//
// thalweg/base/grid.hpp - the cells a kernel runs over.

#pragma once

#include <concepts>
#include <cstdint>
#include <source_location>

namespace thalweg {

// Cells in each direction; x runs fastest. A grid with a 0 in it has no cells.
struct Extent {
  std::uint64_t x = 1;
  std::uint64_t y = 1;
  std::uint64_t z = 1;
  friend bool operator==(const Extent&, const Extent&) noexcept = default;
};

// What one launch takes: so many cells, and so many rows in y and layers in z.
inline constexpr std::uint64_t kGridCellsMax = std::uint64_t{1} << 40;
inline constexpr std::uint64_t kGridRowsMax = 0xffffffff;

// Whether a launch takes such a grid.
constexpr bool launchable(const Extent& extent) noexcept {
  std::uint64_t cells = 0;
  return !__builtin_mul_overflow(extent.x, extent.y, &cells) &&
         !__builtin_mul_overflow(cells, extent.z, &cells) && cells <= kGridCellsMax &&
         (extent.y | extent.z) <= kGridRowsMax;
}

// One cell, as a kernel's callable receives it.
struct Cell {
  std::uint64_t x = 0;
  std::uint64_t y = 0;
  std::uint64_t z = 0;
};

// An Extent with the place in the user's program where it was written: what gives a launch, whose
// last parameters are variadic, its call site. `launch(kernel, 1024, ...)` and
// `launch(kernel, {width, height}, ...)` both make one.
class Grid {
 public:
  template <std::integral Int>
  constexpr Grid(Int x, std::source_location site = std::source_location::current())
      : extent_{to_u64(x), 1, 1}, negative_(x < Int{0}), site_(site) {}

  template <std::integral X, std::integral Y>
  constexpr Grid(X x, Y y, std::source_location site = std::source_location::current())
      : extent_{to_u64(x), to_u64(y), 1}, negative_(x < X{0} || y < Y{0}), site_(site) {}

  template <std::integral X, std::integral Y, std::integral Z>
  constexpr Grid(X x, Y y, Z z, std::source_location site = std::source_location::current())
      : extent_{to_u64(x), to_u64(y), to_u64(z)},
        negative_(x < X{0} || y < Y{0} || z < Z{0}),
        site_(site) {}

  constexpr Grid(Extent extent, std::source_location site = std::source_location::current())
      : extent_(extent), site_(site) {}

  constexpr const Extent& extent() const noexcept { return extent_; }
  constexpr const std::source_location& site() const noexcept { return site_; }

  // A count below zero was given; the launch refuses it.
  constexpr bool negative() const noexcept { return negative_; }

 private:
  template <std::integral Int>
  static constexpr std::uint64_t to_u64(Int value) noexcept {
    return static_cast<std::uint64_t>(value);
  }

  Extent extent_;
  bool negative_ = false;
  std::source_location site_;
};

}  // namespace thalweg
