// SPDX-License-Identifier: Apache-2.0
//
// tools/default_image.hpp - the picture of the demo, part of the program so that it is always
// there.

#pragma once

#include <cstdint>
#include <span>

namespace thalweg::tool {

// A PNG file: examples/image_pipeline/default.png.
std::span<const std::uint8_t> default_image() noexcept;

}  // namespace thalweg::tool
