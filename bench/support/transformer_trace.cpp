// SPDX-License-Identifier: Apache-2.0

#include "support/transformer_trace.hpp"

#include <array>
#include <cinttypes>
#include <utility>

#include "support/draw.hpp"

namespace thalweg::bench {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

class Maker {
 public:
  explicit Maker(const TraceOptions& options) : options_(options), draw_(options.seed) {}

  std::vector<TraceStep> make() {
    const std::uint64_t w = options_.width;
    for (const std::uint64_t words :
         {3 * w * w, 3 * w, w * w, w, 4 * w * w, 4 * w, 4 * w * w, w, w, w, w, w})
      weights_.push_back(2 * words);  // 16 bits each.
    for (std::uint64_t layer = 0; layer != options_.layers; ++layer) {
      for (const std::uint64_t size : weights_) {
        take(size, 0);
        take(4 * size, 0);  // Two moments of 32 bits.
      }
    }
    for (std::uint64_t step = 0; step != options_.steps; ++step) train();
    return std::move(trace_);
  }

 private:
  std::uint32_t take(std::uint64_t size_bytes, std::uint64_t stream) {
    const auto block = static_cast<std::uint32_t>(sizes_.size());
    sizes_.push_back(size_bytes);
    streams_.push_back(static_cast<std::uint32_t>(stream));
    trace_.push_back({block, streams_[block], size_bytes, true});
    return block;
  }
  void give(std::uint32_t block) {
    trace_.push_back({block, streams_[block], sizes_[block], false});
  }

  void train() {
    std::uint64_t length = options_.length;
    if (options_.variable) length = 256 + 32 * draw_.below((options_.length - 256) / 32 + 1);
    std::vector<std::vector<std::uint32_t>> kept;
    for (std::uint64_t layer = 0; layer != options_.layers; ++layer)
      kept.push_back(forwards(length, layer % options_.streams));
    std::vector<std::uint32_t> gradients;
    for (std::uint64_t layer = options_.layers; layer-- != 0;)
      backwards(length, layer % options_.streams, kept[layer], gradients);
    for (const std::uint32_t block : gradients) give(block);
  }

  std::vector<std::uint32_t> forwards(std::uint64_t length, std::uint64_t stream) {
    const std::uint64_t tokens = options_.batch * length;
    const std::uint64_t row = tokens * options_.width;  // An element for each token and channel.
    const std::array sizes{2 * row,    8 * tokens, 6 * row,
                           2 * row,    2 * row,    4 * options_.batch * options_.heads * length,
                           2 * row,    row,        2 * row,
                           8 * tokens, 8 * row,    8 * row,
                           2 * row,    row};
    std::vector<std::uint32_t> kept;
    for (const std::uint64_t size : sizes) {
      kept.push_back(take(size, stream));
      if (draw_.below(3) == 0) give(take(2 * row + 512 * draw_.below(64), stream));
    }
    give(take((4 + draw_.below(29)) * kMiB, stream));
    return kept;
  }

  void backwards(std::uint64_t length, std::uint64_t stream, const std::vector<std::uint32_t>& kept,
                 std::vector<std::uint32_t>& gradients) {
    const std::uint32_t flow = take(2 * options_.batch * length * options_.width, stream);
    for (auto saved = kept.rbegin(); saved != kept.rend(); ++saved) {
      const std::uint32_t gradient = take(sizes_[*saved], stream);
      if (draw_.below(2) == 0) give(take((1 + draw_.below(16)) * kMiB, stream));
      give(*saved);
      give(gradient);
    }
    for (const std::uint64_t size : weights_) gradients.push_back(take(size, stream));
    give(flow);
  }

  const TraceOptions options_;
  Draw draw_;
  std::vector<std::uint64_t> weights_;
  std::vector<std::uint64_t> sizes_;  // By block.
  std::vector<std::uint32_t> streams_;
  std::vector<TraceStep> trace_;
};

}  // namespace

std::vector<TraceStep> transformer_trace(const TraceOptions& options) {
  return Maker(options).make();
}

void print_csv(const std::vector<TraceStep>& trace, std::FILE* file) {
  std::fputs("Thread,Time,Action,Pointer,Size,Stream\n", file);
  std::uint64_t row = 0;
  for (const TraceStep& step : trace) {
    // A block's address is made up: no two have the same.
    const std::uint64_t pointer = 0x10000 + (std::uint64_t{step.block} + 1) * 256;
    std::fprintf(file, "1,%06" PRIu64 ".%03" PRIu64 ",%s,0x%" PRIx64 ",%" PRIu64 ",%" PRIu32 "\n",
                 row / 1000, row % 1000, step.taken ? "allocate" : "free", pointer, step.size_bytes,
                 step.stream);
    ++row;
  }
}

}  // namespace thalweg::bench
