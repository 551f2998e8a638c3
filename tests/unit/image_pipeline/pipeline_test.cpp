// SPDX-License-Identifier: Apache-2.0
//
// The pipeline of the demo against its sequential program, on small pictures of random bytes.

#include "image_pipeline/pipeline.hpp"

#include <gtest/gtest.h>

#include <random>
#include <utility>

#include "image_pipeline/reference.hpp"

namespace thalweg::examples {
namespace {

ColorImage random_image(std::uint32_t width, std::uint32_t height, std::uint32_t seed) {
  std::mt19937 random(seed);
  ColorImage image{width, height, std::vector<std::uint8_t>(std::size_t{width} * height * 3)};
  // Noise alone would be cut at 255 by the edges nearly everywhere; so half of it is a slope.
  for (std::size_t i = 0; i < image.rgb.size(); ++i)
    image.rgb[i] = static_cast<std::uint8_t>((random() % 64 + i / 3 % width * 2) % 256);
  return image;
}

std::vector<Stream> streams_of(const Device& device, std::size_t count) {
  std::vector<Stream> streams;
  while (streams.size() < count) streams.push_back(must(Stream::create(device)));
  return streams;
}

// Every number of bands, single rows included, is tried on 1 to 4 streams. The device delays each
// task by chance, so that an order nobody asked for would show.
TEST(ImagePipeline, GivesTheBytesOfTheReference) {
  const Device device = must(Device::open("cpu", {.random_delay_us = 20}));
  const ColorImage image = random_image(37, 11, 1);
  const GreyImage expected = reference(image);
  for (const std::size_t count : {1, 2, 3, 4}) {
    const auto streams = streams_of(device, count);
    for (std::uint32_t bands = 1; bands <= image.height; ++bands) {
      SCOPED_TRACE(testing::Message() << count << " streams, " << bands << " bands");
      EXPECT_EQ(must(run_pipeline(streams, image, bands)), expected);
    }
  }
}

// Pictures so thin that every pixel is at an edge.
TEST(ImagePipeline, ThinPicturesWork) {
  const Device device = must(Device::open("cpu"));
  const auto streams = streams_of(device, 4);
  const std::pair<std::uint32_t, std::uint32_t> sizes[] = {{1, 1},  {1, 2}, {2, 1},  {1, 40},
                                                           {40, 1}, {3, 3}, {2, 17}, {64, 2}};
  for (const auto& [width, height] : sizes) {
    const ColorImage image = random_image(width, height, width * 100 + height);
    for (const std::uint32_t bands : {1u, (height + 1) / 2, height}) {
      SCOPED_TRACE(testing::Message() << width << " x " << height << ", " << bands << " bands");
      EXPECT_EQ(must(run_pipeline(streams, image, bands)), reference(image));
    }
  }
}

// Several pictures in turn on the same streams: arrays of one are made of what another has dropped.
TEST(ImagePipeline, PicturesInTurnDoNotDisturbEachOther) {
  const Device device = must(Device::open("cpu", {.random_delay_us = 20}));
  const auto streams = streams_of(device, 3);
  for (std::uint32_t seed = 0; seed < 8; ++seed) {
    const ColorImage image = random_image(50 + seed * 7, 30 - seed * 3, seed);
    EXPECT_EQ(must(run_pipeline(streams, image, 5)), reference(image)) << "seed " << seed;
  }
}

TEST(ImagePipeline, MeasureCountsEachRepeat) {
  const ColorImage image = random_image(64, 48, 3);
  const GreyImage expected = reference(image);
  const Measurement measured =
      must(measure({.streams = 2, .bands = 6, .repeats = 3}, image, expected));
  ASSERT_EQ(measured.times.size(), 3u);
  EXPECT_LE(measured.low(), measured.median());
  EXPECT_LE(measured.median(), measured.high());
  EXPECT_TRUE(measured.equal);
  EXPECT_EQ(measured.result, expected);
  EXPECT_GT(measured.overlap, 0.0);
  EXPECT_GE(measured.live_peak_bytes, image.rgb.size());
  EXPECT_GE(measured.reserved_peak_bytes, measured.live_peak_bytes);
}

// A wrong result has to be seen: the expected picture is changed in one bit.
TEST(ImagePipeline, MeasureSeesADifference) {
  const ColorImage image = random_image(16, 8, 4);
  GreyImage expected = reference(image);
  expected.grey.back() ^= 1;
  EXPECT_FALSE(must(measure({.streams = 2, .bands = 2}, image, expected)).equal);
}

TEST(ImagePipeline, MeasureEndsWhenAsked) {
  const ColorImage image = random_image(16, 8, 5);
  int asked = 0;
  const auto measured = measure({.bands = 2, .repeats = 5, .go_on = [&] { return ++asked < 3; }},
                                image, reference(image));
  ASSERT_FALSE(measured);
  EXPECT_EQ(measured.error().kind(), ErrorKind::cancelled);
  EXPECT_EQ(asked, 3);
}

TEST(ImagePipeline, MeasureRefusesAnUnknownDevice) {
  const ColorImage image = random_image(4, 4, 6);
  const auto measured = measure({.device = "no-such-device"}, image, reference(image));
  ASSERT_FALSE(measured);
  EXPECT_EQ(measured.error().kind(), ErrorKind::not_found);
}

}  // namespace
}  // namespace thalweg::examples
