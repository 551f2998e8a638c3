// SPDX-License-Identifier: Apache-2.0
//
// The demo's pipeline with each of its calls refused once: it ends with the error of that call, and
// leaves nothing behind; where nothing is refused, the picture is the right one.

#include <gtest/gtest.h>

#include <cstdio>

#include "contract/support/sink.hpp"
#include "image_pipeline/pipeline.hpp"
#include "image_pipeline/reference.hpp"
#include "support/program_runner.hpp"
#include "thalweg/explore.hpp"

namespace thalweg::examples {
namespace {

ColorImage small_image() {
  ColorImage image{16, 12, std::vector<std::uint8_t>(std::size_t{16} * 12 * 3)};
  for (std::size_t i = 0; i != image.rgb.size(); ++i)
    image.rgb[i] = static_cast<std::uint8_t>(i * i * 7 + i / 5);
  return image;
}

void run_once(ExploreRun& run, const ColorImage& image, const GreyImage& expected,
              std::size_t count, std::uint32_t bands) {
  std::vector<Stream> streams;
  while (streams.size() != count) {
    Result<Stream> made = Stream::create(run.device());
    if (!made) return run.failed(made.error());
    streams.push_back(*std::move(made));
  }
  const Result<GreyImage> made = run_pipeline(streams, image, bands);
  if (!made) return run.failed(made.error());
  // A task that was accepted and failed is told by nobody here: no future belongs to it.
  const bool all_ran = run.device().statistics().tasks_failed == 0;
  run.check(!all_ran || *made == expected, "the picture is the right one");
}

// Streams and bands of the demo, each call refused once under three schedules.
TEST(PipelineFaultMatrix, EndsWithTheErrorOfTheRefusedCall) {
  const contract::Sink sink;
  const ColorImage image = small_image();
  const GreyImage expected = reference(image);
  for (const std::size_t streams : {1, 2, 4}) {
    for (const std::uint32_t bands : {1u, 4u}) {
      FaultMatrixOptions options;
      options.schedules = static_cast<unsigned>(test::scaled(2));
      options.errors_told = true;
      ExploreProgram program;
      program.actors.emplace_back(
          [&](ExploreRun& run) { run_once(run, image, expected, streams, bands); });
      const FaultMatrix matrix = must(explore_faults(options, program));
      std::printf("%zu streams, %u bands: %s", streams, bands, matrix.report().c_str());
      ASSERT_TRUE(matrix.findings.empty()) << matrix.report();
      ASSERT_TRUE(matrix.complete) << matrix.report();
    }
  }
}

}  // namespace
}  // namespace thalweg::examples
