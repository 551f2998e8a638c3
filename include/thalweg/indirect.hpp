// SPDX-License-Identifier: Apache-2.0
//
// thalweg/indirect.hpp - a grid that the device reads when a launch's turn comes.

#pragma once

#include <concepts>
#include <cstdint>
#include <source_location>
#include <type_traits>
#include <utility>

#include "thalweg/base/grid.hpp"
#include "thalweg/buffer.hpp"

namespace thalweg {

// A View or an Array of one Extent, with the place in the user's program where it was written, as a
// Grid has it: `launch_indirect(kernel, extents.view(i, 1), ...)` makes one. It counts a handle.
class IndirectGrid {
 public:
  template <Viewable V>
    requires std::same_as<std::remove_const_t<ElementOf<V>>, Extent>
  IndirectGrid(const V& extent, std::source_location site = std::source_location::current())
      : extent_(view_of(extent)), site_(site) {}

  const View<const Extent>& extent() const noexcept { return extent_; }
  const std::source_location& site() const noexcept { return site_; }

 private:
  template <class V>
  static View<const Extent> view_of(const V& extent) noexcept {
    if constexpr (std::convertible_to<const V&, View<const Extent>>) {
      return extent;
    } else {
      return extent.view();
    }
  }

  View<const Extent> extent_;
  std::source_location site_;
};

}  // namespace thalweg
