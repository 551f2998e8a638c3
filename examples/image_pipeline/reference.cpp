// SPDX-License-Identifier: Apache-2.0

#include "image_pipeline/reference.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace thalweg::examples {
namespace {

GreyImage same_size(std::uint32_t width, std::uint32_t height) {
  return {width, height, std::vector<std::uint8_t>(std::size_t{width} * height)};
}

// The index `offset` away from `index`, held inside [0, count).
std::size_t held(std::size_t index, int offset, std::size_t count) {
  const auto moved = static_cast<std::ptrdiff_t>(index) + offset;
  return static_cast<std::size_t>(
      std::clamp<std::ptrdiff_t>(moved, 0, static_cast<std::ptrdiff_t>(count) - 1));
}

}  // namespace

GreyImage grey(const ColorImage& image) {
  GreyImage result = same_size(image.width, image.height);
  const std::uint8_t* from = image.rgb.data();
  for (std::uint8_t& to : result.grey) {
    to = static_cast<std::uint8_t>((77u * from[0] + 150u * from[1] + 29u * from[2] + 128u) / 256u);
    from += 3;
  }
  return result;
}

GreyImage blurred(const GreyImage& image) {
  const std::size_t width = image.width;
  const std::size_t height = image.height;
  std::vector<std::uint16_t> across(image.grey.size());
  for (std::size_t y = 0; y < height; ++y) {
    const std::uint8_t* const row = image.grey.data() + y * width;
    for (std::size_t x = 0; x < width; ++x)
      across[y * width + x] = static_cast<std::uint16_t>(
          row[held(x, -2, width)] + 4 * row[held(x, -1, width)] + 6 * row[x] +
          4 * row[held(x, 1, width)] + row[held(x, 2, width)]);
  }
  GreyImage result = same_size(image.width, image.height);
  for (std::size_t y = 0; y < height; ++y) {
    std::array<const std::uint16_t*, 5> rows;
    for (int i = 0; i < 5; ++i)
      rows[static_cast<std::size_t>(i)] = across.data() + held(y, i - 2, height) * width;
    for (std::size_t x = 0; x < width; ++x)
      result.grey[y * width + x] = static_cast<std::uint8_t>(
          (rows[0][x] + 4 * rows[1][x] + 6 * rows[2][x] + 4 * rows[3][x] + rows[4][x] + 128) / 256);
  }
  return result;
}

GreyImage edges(const GreyImage& image) {
  const std::size_t width = image.width;
  const std::size_t height = image.height;
  GreyImage result = same_size(image.width, image.height);
  for (std::size_t y = 0; y < height; ++y) {
    const std::uint8_t* const above = image.grey.data() + held(y, -1, height) * width;
    const std::uint8_t* const row = image.grey.data() + y * width;
    const std::uint8_t* const below = image.grey.data() + held(y, 1, height) * width;
    for (std::size_t x = 0; x < width; ++x) {
      const std::size_t left = held(x, -1, width);
      const std::size_t right = held(x, 1, width);
      const int across =
          above[right] + 2 * row[right] + below[right] - above[left] - 2 * row[left] - below[left];
      const int down =
          below[left] + 2 * below[x] + below[right] - above[left] - 2 * above[x] - above[right];
      result.grey[y * width + x] =
          static_cast<std::uint8_t>(std::min(std::abs(across) + std::abs(down), 255));
    }
  }
  return result;
}

GreyImage equalized(const GreyImage& image) {
  std::array<std::uint64_t, 256> counts{};
  for (const std::uint8_t value : image.grey) ++counts[value];
  const std::uint64_t first = *std::find_if(counts.begin(), counts.end(), [](auto n) { return n; });
  const std::uint64_t others = image.grey.size() - first;

  GreyImage result = image;
  if (others == 0) return result;  // One value alone stays as it is.
  std::array<std::uint8_t, 256> lookup{};
  std::uint64_t up_to = 0;
  for (std::size_t value = 0; value < 256; ++value) {
    up_to += counts[value];
    if (up_to > 0)
      lookup[value] = static_cast<std::uint8_t>(((up_to - first) * 255 + others / 2) / others);
  }
  for (std::uint8_t& value : result.grey) value = lookup[value];
  return result;
}

GreyImage reference(const ColorImage& image) { return equalized(edges(blurred(grey(image)))); }

}  // namespace thalweg::examples
