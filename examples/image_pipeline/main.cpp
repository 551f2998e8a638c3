// SPDX-License-Identifier: Apache-2.0
//
// A picture through the pipeline on one, two and four streams: each time the bytes of the
// sequential program. `thalweg demo` does the same with picture files, and measures.

#include <cstdio>

#include "image_pipeline/pipeline.hpp"
#include "image_pipeline/reference.hpp"

int main() {
  using namespace thalweg;
  using namespace thalweg::examples;

  ColorImage image{320, 200, std::vector<std::uint8_t>(320 * 200 * 3)};
  for (std::size_t i = 0; i < image.rgb.size(); ++i)
    image.rgb[i] = static_cast<std::uint8_t>(i / 7 ^ i / 960 * 3);
  const GreyImage expected = reference(image);

  const Device device = must(Device::open("cpu"));
  for (const std::size_t count : {1, 2, 4}) {
    std::vector<Stream> streams;
    while (streams.size() < count) streams.push_back(must(Stream::create(device)));
    const bool equal = must(run_pipeline(streams, image, 10)) == expected;
    std::printf("%zu streams: %s\n", count, equal ? "equal" : "DIFFERENT");
    if (!equal) return 1;
  }
  return 0;
}
