// SPDX-License-Identifier: Apache-2.0
//
// Picture files: what is read back, and that what is broken is refused with the right words.

#include "image_pipeline/files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thalweg::examples {
namespace {

using testing::HasSubstr;
using Bytes = std::vector<std::uint8_t>;

GreyImage small_image() {
  GreyImage image{9, 7, Bytes(63)};
  for (std::size_t i = 0; i < image.grey.size(); ++i)
    image.grey[i] = static_cast<std::uint8_t>(i * 37);
  return image;
}

std::string message(const Error& error) { return std::string(error.message()); }

TEST(ImageFiles, WhatIsWrittenIsReadBack) {
  const GreyImage image = small_image();
  const ColorImage read = must(decode(must(encode_png(image)), "a.png"));
  ASSERT_EQ(read.width, image.width);
  ASSERT_EQ(read.height, image.height);
  ASSERT_EQ(read.rgb.size(), image.grey.size() * 3);
  for (std::size_t i = 0; i < read.rgb.size(); ++i) EXPECT_EQ(read.rgb[i], image.grey[i / 3]);
}

TEST(ImageFiles, TheDefaultPictureIsLargeAndWhole) {
  const Bytes file = must(read_file(THALWEG_SOURCE_DIR "/examples/image_pipeline/default.png"));
  const ColorImage image = must(decode(file, "default"));
  EXPECT_GE(image.width, 1920u);
  EXPECT_GE(image.height, 1280u);
}

TEST(ImageFiles, EveryTruncationIsRefused) {
  const Bytes file = must(encode_png(small_image()));
  for (std::size_t size = 0; size < file.size(); ++size) {
    const auto result = decode(std::span(file).first(size), "cut.png");
    ASSERT_FALSE(result) << size << " bytes of " << file.size();
    EXPECT_EQ(result.error().kind(), ErrorKind::invalid_argument);
    EXPECT_THAT(message(result.error()), HasSubstr("'cut.png'"));
  }
}

TEST(ImageFiles, EveryFlippedBitIsRefused) {
  const Bytes file = must(encode_png(small_image()));
  for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
    Bytes changed = file;
    changed[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
    EXPECT_FALSE(decode(changed, "flipped.png")) << "bit " << bit;
  }
}

TEST(ImageFiles, TextIsRefused) {
  const std::string text = "This is not a picture, however long one looks at it.\n";
  const auto result = decode(Bytes(text.begin(), text.end()), "a.txt");
  ASSERT_FALSE(result);
  EXPECT_THAT(message(result.error()), HasSubstr("not a PNG or JPEG"));
}

TEST(ImageFiles, AnEmptyFileIsRefused) {
  const auto result = image_size({}, "empty.png");
  ASSERT_FALSE(result);
  EXPECT_THAT(message(result.error()), HasSubstr("empty"));
}

// Older versions of stb, the JPEG reader, write behind their tables for such a file.
TEST(ImageFiles, AJpegTableWithTooManyCodesIsRefused) {
  Bytes file{0xff, 0xd8, 0xff, 0xe0, 0, 4, 0xff, 0xc4, 0xff, 0xc4, 0x10, 0x03, 0x00};
  file.resize(file.size() + 16, 255);  // The counts, of one length of code each.
  file.resize(file.size() + 4080, 1);  // The codes.
  const auto result = image_size(file, "table.jpg");
  ASSERT_FALSE(result);
  EXPECT_THAT(message(result.error()), HasSubstr("too many codes"));
}

// A header alone claims 100000 x 100000 pixels; nothing may be decoded, or asked of memory, for it.
TEST(ImageFiles, TooManyPixelsAreRefusedByTheHeader) {
  Bytes file = must(encode_png(small_image()));
  file.resize(33);
  const Bytes claimed{0, 1, 0x86, 0xa0};
  std::copy(claimed.begin(), claimed.end(), file.begin() + 16);
  std::copy(claimed.begin(), claimed.end(), file.begin() + 20);
  const auto result = image_size(file, "bomb.png");
  ASSERT_FALSE(result);
  EXPECT_THAT(message(result.error()), HasSubstr("100000 x 100000"));
  EXPECT_THAT(message(result.error()), HasSubstr("too large"));
}

TEST(ImageFiles, NoPixelsAreRefused) {
  Bytes file = must(encode_png(small_image()));
  std::fill(file.begin() + 16, file.begin() + 20, std::uint8_t{0});
  EXPECT_FALSE(image_size(file, "nothing.png"));
}

TEST(ImageFiles, WhatIsNoFileIsRefused) {
  const auto missing = read_file("no/such/file.png");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind(), ErrorKind::not_found);
  EXPECT_THAT(message(missing.error()), HasSubstr("no/such/file.png"));
  EXPECT_FALSE(read_file("."));
  EXPECT_FALSE(read_file(""));
}

}  // namespace
}  // namespace thalweg::examples
