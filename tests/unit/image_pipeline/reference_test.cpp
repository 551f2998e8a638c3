// SPDX-License-Identifier: Apache-2.0
//
// The sequential program of the demo against values worked out by hand: what the pipeline is
// compared with has to be right itself.

#include "image_pipeline/reference.hpp"

#include <gtest/gtest.h>

namespace thalweg::examples {
namespace {

using Bytes = std::vector<std::uint8_t>;

// (77 r + 150 g + 29 b + 128) / 256: 255 of one color each, and the ends of the scale.
TEST(ImageReference, GreyWeighsTheColors) {
  const ColorImage image{5, 1, {255, 0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255}};
  EXPECT_EQ(grey(image).grey, (Bytes{77, 149, 29, 0, 255}));
}

// One bright pixel spreads as the product of the weights 1 4 6 4 1, over 256.
TEST(ImageReference, BlurSpreadsAPointByItsWeights) {
  GreyImage image{5, 5, Bytes(25)};
  image.grey[12] = 255;
  EXPECT_EQ(blurred(image).grey, (Bytes{1, 4,  6,  4,  1,  //
                                        4, 16, 24, 16, 4,  //
                                        6, 24, 36, 24, 6,  //
                                        4, 16, 24, 16, 4,  //
                                        1, 4,  6,  4,  1}));
}

// The edge pixel stands for all that lie beyond it: a 2x1 picture is blurred with weights 11 and 5.
TEST(ImageReference, BlurRepeatsTheEdge) {
  EXPECT_EQ(blurred({2, 1, {0, 160}}).grey, (Bytes{50, 110}));
  EXPECT_EQ(blurred({1, 2, {0, 160}}).grey, (Bytes{50, 110}));
  EXPECT_EQ(blurred({1, 1, {77}}).grey, (Bytes{77}));
}

// A step of 10 from left to right gives 4 * 10 on both of its sides, and one of 100 is cut at 255.
TEST(ImageReference, EdgesFollowSobel) {
  EXPECT_EQ(edges({4, 1, {0, 0, 10, 10}}).grey, (Bytes{0, 40, 40, 0}));
  EXPECT_EQ(edges({1, 4, {0, 0, 100, 100}}).grey, (Bytes{0, 255, 255, 0}));
  // A corner: 3 * 8 across and 3 * 8 down.
  EXPECT_EQ(edges({2, 2, {0, 0, 0, 8}}).grey, (Bytes{16, 32, 32, 48}));
}

// Values spread to the whole scale by their ranks; the lowest one becomes 0.
TEST(ImageReference, EqualizedSpreadsTheValues) {
  EXPECT_EQ(equalized({5, 1, {10, 12, 11, 10, 13}}).grey, (Bytes{0, 170, 85, 0, 255}));
}

TEST(ImageReference, OneValueAloneStaysAsItIs) {
  EXPECT_EQ(equalized({3, 1, {9, 9, 9}}).grey, (Bytes{9, 9, 9}));
}

}  // namespace
}  // namespace thalweg::examples
