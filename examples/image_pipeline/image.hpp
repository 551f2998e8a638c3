// SPDX-License-Identifier: Apache-2.0
//
// image_pipeline/image.hpp - pictures in memory: rows from top to bottom, without gaps.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace thalweg::examples {

struct ColorImage {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::vector<std::uint8_t> rgb;  // Three bytes a pixel.

  friend bool operator==(const ColorImage&, const ColorImage&) = default;
};

struct GreyImage {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::vector<std::uint8_t> grey;  // One byte a pixel.

  friend bool operator==(const GreyImage&, const GreyImage&) = default;
};

}  // namespace thalweg::examples
