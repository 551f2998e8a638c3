// SPDX-License-Identifier: Apache-2.0
//
// image_pipeline/files.hpp - PNG and JPEG files to pictures and back.
//
// Errors:     not_found for a file that cannot be read; invalid_argument for one that is no picture,
//             is damaged or claims more pixels than allowed. `name` stands for the picture in
//             messages.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "image_pipeline/image.hpp"
#include "thalweg/base/result.hpp"

namespace thalweg::examples {

// More pixels than this are refused before anything is decoded.
inline constexpr std::uint64_t kPixelsMax = std::uint64_t{1} << 28;

// Files are read whole; longer ones are refused.
inline constexpr std::uint64_t kFileBytesMax = std::uint64_t{1} << 30;

struct ImageSize {
  std::uint64_t width = 0;
  std::uint64_t height = 0;
};

// The bytes of a regular file.
Result<std::vector<std::uint8_t>> read_file(const std::string& path);

// What the picture's header says. Decodes nothing; checks the limit on pixels.
Result<ImageSize> image_size(std::span<const std::uint8_t> file, std::string_view name);

// The picture; grey becomes RGB, transparency is left out, and 16 bits become 8. Checks everything
// that image_size() does, and the checksums of a PNG.
Result<ColorImage> decode(std::span<const std::uint8_t> file, std::string_view name);

// The picture as a PNG file.
Result<std::vector<std::uint8_t>> encode_png(const GreyImage& image);

}  // namespace thalweg::examples
