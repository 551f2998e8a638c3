// SPDX-License-Identifier: Apache-2.0
//
// image_pipeline/pipeline.hpp - the program of reference.hpp on several streams of a device.
//
// The picture is cut into bands of rows, dealt to the streams in turn. Blur and edges read rows of
// the neighbouring bands, which other streams write, and the histogram needs all of them:
//
//   band 0, stream 0   upload - grey - blur - edges - count \              / apply - read
//                                    X      X                 > lookup  -<
//   band 1, stream 1   upload - grey - blur - edges - count /              \ apply - read
//
// No line between two streams is drawn by this program: every array is whole, each task is given
// the rows it touches, and the runtime finds the order from that.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "image_pipeline/image.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::examples {

// Runs `image` once. The result is there when it returns: it waits for its futures and for nothing
// else. After an error, work may still be in flight.
// REQUIRES: at least one stream, all of one device; 1 <= bands <= rows of the image.
Result<GreyImage> run_pipeline(const std::vector<Stream>& streams, const ColorImage& image,
                               std::uint32_t bands);

// Device memory that a run holds at most, before rounding.
std::uint64_t pipeline_bytes(std::uint64_t width, std::uint64_t height, std::uint64_t bands);

struct MeasureOptions {
  std::string device = "cpu";  // As Device::open() takes it.
  std::uint32_t streams = 1;
  std::uint32_t bands = 1;
  std::uint32_t repeats = 1;

  // Asked before each repeat; false ends the measurement with the error `cancelled`. May be empty.
  std::function<bool()> go_on;
};

// Counts are of all repeats together.
struct Measurement {
  std::vector<std::chrono::nanoseconds> times;  // Of each repeat, shortest first.
  double overlap = 0;                           // Streams busy on average while any is; 0: unknown.
  std::uint64_t waits_placed = 0;
  std::uint64_t waits_passed = 0;
  std::uint64_t waits_covered = 0;
  std::map<std::string, std::uint64_t, std::less<>> host_waits;  // By reason.
  std::uint64_t live_peak_bytes = 0;
  std::uint64_t reserved_peak_bytes = 0;
  bool equal = true;  // Whether every repeat gave the expected picture.
  GreyImage result;   // Of the last repeat.

  // REQUIRES: there are times.
  std::chrono::nanoseconds median() const { return times[times.size() / 2]; }
  std::chrono::nanoseconds low() const { return times.front(); }
  std::chrono::nanoseconds high() const { return times.back(); }
};

// Opens a device of its own, runs the pipeline `repeats` times on it and compares each result with
// `expected`. Nothing is in flight when it returns.
Result<Measurement> measure(const MeasureOptions& options, const ColorImage& image,
                            const GreyImage& expected);

}  // namespace thalweg::examples
