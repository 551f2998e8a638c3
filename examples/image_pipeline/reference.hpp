// SPDX-License-Identifier: Apache-2.0
//
// image_pipeline/reference.hpp - what the pipeline has to compute, as a plain sequential program.
//
//   grey      (77 r + 150 g + 29 b + 128) / 256
//   blurred   weights 1 4 6 4 1 across and down: (sum + 128) / 256
//   edges     |left to right| + |top to bottom| by Sobel's 3x3 weights, at most 255
//   result    the histogram of the edges made even
//
// Pixels beyond the picture are those of its edge. All arithmetic is of integers, rounded down, so
// that the bytes are the same everywhere. Nothing here uses thalweg.

#pragma once

#include "image_pipeline/image.hpp"

namespace thalweg::examples {

GreyImage reference(const ColorImage& image);

// Its steps.
GreyImage grey(const ColorImage& image);
GreyImage blurred(const GreyImage& image);
GreyImage edges(const GreyImage& image);
GreyImage equalized(const GreyImage& image);

}  // namespace thalweg::examples
