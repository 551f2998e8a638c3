// SPDX-License-Identifier: Apache-2.0

#include "image_pipeline/pipeline.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace thalweg::examples {
namespace {

constexpr std::uint64_t kValues = 256;  // Of a byte.

// What a kernel that reads neighbours has to know about the rows it is given.
struct Window {
  std::uint64_t width = 0;
  std::uint64_t rows = 0;   // Of the view that is read.
  std::uint64_t above = 0;  // Of these, before the first row that is written.
};

// The index `offset` away from `index`, held inside [0, count).
constexpr std::uint64_t held(std::uint64_t index, int offset, std::uint64_t count) noexcept {
  const auto moved = static_cast<std::int64_t>(index) + offset;
  return static_cast<std::uint64_t>(
      std::clamp<std::int64_t>(moved, 0, static_cast<std::int64_t>(count) - 1));
}

// One picture on its way. A cell of a kernel is a row. Each stage is submitted for all bands before
// the next one: a band then finds the rows of its neighbours already claimed by their writers.
// Arrays are handed from stage to stage and dropped at the end of the one that reads them last,
// with that work still in flight.
class Run {
 public:
  Run(const std::vector<Stream>& streams, const ColorImage& image, std::uint32_t bands)
      : streams_(streams), image_(image), bands_(bands) {}

  Result<GreyImage> all() const {
    THALWEG_TRY_ASSIGN(auto rgb, upload());
    THALWEG_TRY_ASSIGN(auto grey, to_grey(std::move(rgb)));
    THALWEG_TRY_ASSIGN(auto across, blur_across(std::move(grey)));
    THALWEG_TRY_ASSIGN(auto blurred, blur_down(std::move(across)));
    THALWEG_TRY_ASSIGN(auto edges, find_edges(std::move(blurred)));
    THALWEG_TRY_ASSIGN(auto lookup, make_lookup(edges));
    THALWEG_TRY_ASSIGN(auto result, apply(std::move(edges), std::move(lookup)));
    return download(result);
  }

 private:
  // Rows [first, last) of the picture, and the stream that makes them.
  struct Band {
    const Stream& stream;
    std::uint64_t first;
    std::uint64_t last;
    std::uint64_t rows() const { return last - first; }
  };

  Band band(std::uint32_t number) const {
    const std::uint64_t height = image_.height;
    return {streams_[number % streams_.size()], height * number / bands_,
            height * (number + 1) / bands_};
  }

  // The band's part of an array of `per_pixel` elements a pixel.
  template <class T>
  View<T> rows_of(const Array<T>& array, const Band& band, std::uint64_t per_pixel = 1) const {
    const std::uint64_t row = image_.width * per_pixel;
    return array.view(band.first * row, band.rows() * row);
  }

  // The band's rows and `reach` more on either side, as far as the picture goes.
  template <class T>
  std::pair<View<const T>, Window> around(const Array<T>& array, const Band& band,
                                          std::uint64_t reach) const {
    const std::uint64_t first = band.first - std::min(reach, band.first);
    const std::uint64_t last = std::min<std::uint64_t>(band.last + reach, image_.height);
    return {array.view(first * image_.width, (last - first) * image_.width),
            Window{image_.width, last - first, band.first - first}};
  }

  template <class T>
  Result<Array<T>> array(std::uint64_t count, std::string_view tag) const {
    return Array<T>::create(streams_.front(), count, {.tag = tag});
  }

  std::uint64_t pixels() const { return std::uint64_t{image_.width} * image_.height; }

  // Submits `task(band)` for every band.
  template <class F>
  Result<void> for_each_band(F task) const {
    for (std::uint32_t number = 0; number < bands_; ++number) THALWEG_TRY(task(band(number)));
    return {};
  }

  Result<Array<std::uint8_t>> upload() const {
    THALWEG_TRY_ASSIGN(auto rgb, array<std::uint8_t>(pixels() * 3, "rgb"));
    THALWEG_TRY(for_each_band([&](const Band& band) {
      const auto to = rows_of(rgb, band, 3);
      return band.stream.upload(to, std::span(image_.rgb).subspan(to.offset_bytes(), to.count()));
    }));
    return rgb;
  }

  Result<Array<std::uint8_t>> to_grey(Array<std::uint8_t> rgb) const {
    const auto code = kernel("grey", [](Cell at, std::span<const std::uint8_t> from,
                                        Out<std::uint8_t> to, std::uint64_t width) {
      const std::uint8_t* const pixels_of_row = from.data() + at.x * width * 3;
      std::uint8_t* const row = to.data() + at.x * width;
      for (std::uint64_t x = 0; x != width; ++x) {
        const std::uint8_t* const pixel = pixels_of_row + x * 3;
        row[x] = static_cast<std::uint8_t>(
            (77u * pixel[0] + 150u * pixel[1] + 29u * pixel[2] + 128u) / 256u);
      }
    });
    THALWEG_TRY_ASSIGN(auto grey, array<std::uint8_t>(pixels(), "grey"));
    THALWEG_TRY(for_each_band([&](const Band& band) {
      return band.stream.launch(code, band.rows(), rows_of(rgb, band, 3), rows_of(grey, band),
                                image_.width);
    }));
    return grey;
  }

  Result<Array<std::uint16_t>> blur_across(Array<std::uint8_t> grey) const {
    const auto code = kernel("blur across", [](Cell at, std::span<const std::uint8_t> from,
                                               Out<std::uint16_t> to, std::uint64_t width) {
      const std::uint8_t* const in = from.data() + at.x * width;
      std::uint16_t* const out = to.data() + at.x * width;
      const auto blur = [in](std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d,
                             std::uint64_t e) {
        return static_cast<std::uint16_t>(in[a] + 4 * in[b] + 6 * in[c] + 4 * in[d] + in[e]);
      };
      const auto at_border = [&](std::uint64_t x) {
        out[x] =
            blur(held(x, -2, width), held(x, -1, width), x, held(x, 1, width), held(x, 2, width));
      };
      const std::uint64_t inner = std::min<std::uint64_t>(2, width);
      const std::uint64_t inner_end = std::max(inner, width - inner);
      for (std::uint64_t x = 0; x != inner; ++x) at_border(x);
      for (std::uint64_t x = inner; x < inner_end; ++x)
        out[x] = blur(x - 2, x - 1, x, x + 1, x + 2);
      for (std::uint64_t x = inner_end; x < width; ++x) at_border(x);
    });
    THALWEG_TRY_ASSIGN(auto across, array<std::uint16_t>(pixels(), "blurred across"));
    THALWEG_TRY(for_each_band([&](const Band& band) {
      return band.stream.launch(code, band.rows(), rows_of(grey, band), rows_of(across, band),
                                image_.width);
    }));
    return across;
  }

  Result<Array<std::uint8_t>> blur_down(Array<std::uint16_t> across) const {
    const auto code = kernel("blur down", [](Cell at, std::span<const std::uint16_t> from,
                                             Out<std::uint8_t> to, Window window) {
      const auto row = [&](int offset) {
        return from.data() + held(at.x + window.above, offset, window.rows) * window.width;
      };
      const std::uint16_t* const in[] = {row(-2), row(-1), row(0), row(1), row(2)};
      std::uint8_t* const out = to.data() + at.x * window.width;
      for (std::uint64_t x = 0; x != window.width; ++x)
        out[x] = static_cast<std::uint8_t>(
            (in[0][x] + 4 * in[1][x] + 6 * in[2][x] + 4 * in[3][x] + in[4][x] + 128) / 256);
    });
    THALWEG_TRY_ASSIGN(auto blurred, array<std::uint8_t>(pixels(), "blurred"));
    THALWEG_TRY(for_each_band([&](const Band& band) {
      const auto [rows, window] = around(across, band, 2);
      return band.stream.launch(code, band.rows(), rows, rows_of(blurred, band), window);
    }));
    return blurred;
  }

  Result<Array<std::uint8_t>> find_edges(Array<std::uint8_t> blurred) const {
    const auto code = kernel("edges", [](Cell at, std::span<const std::uint8_t> from,
                                         Out<std::uint8_t> to, Window window) {
      const auto row = [&](int offset) {
        return from.data() + held(at.x + window.above, offset, window.rows) * window.width;
      };
      const std::uint8_t* const above = row(-1);
      const std::uint8_t* const here = row(0);
      const std::uint8_t* const below = row(1);
      std::uint8_t* const out = to.data() + at.x * window.width;
      const auto edge = [&](std::uint64_t left, std::uint64_t x, std::uint64_t right) {
        const int across = above[right] - above[left] + 2 * (here[right] - here[left]) +
                           below[right] - below[left];
        const int down =
            below[left] - above[left] + 2 * (below[x] - above[x]) + below[right] - above[right];
        const int strength = (across < 0 ? -across : across) + (down < 0 ? -down : down);
        out[x] = static_cast<std::uint8_t>(std::min(strength, 255));
      };
      const std::uint64_t last = window.width - 1;
      edge(0, 0, std::min<std::uint64_t>(1, last));
      for (std::uint64_t x = 1; x < last; ++x) edge(x - 1, x, x + 1);
      if (last != 0) edge(last - 1, last, last);
    });
    THALWEG_TRY_ASSIGN(auto edges, array<std::uint8_t>(pixels(), "edges"));
    THALWEG_TRY(for_each_band([&](const Band& band) {
      const auto [rows, window] = around(blurred, band, 1);
      return band.stream.launch(code, band.rows(), rows, rows_of(edges, band), window);
    }));
    return edges;
  }

  // A histogram for each band, and one lookup table from all of them.
  Result<Array<std::uint8_t>> make_lookup(const Array<std::uint8_t>& edges) const {
    const auto count =
        kernel("count", [](Cell, std::span<const std::uint8_t> from, Out<std::uint32_t> to) {
          std::array<std::uint32_t, kValues> counts{};
          for (const std::uint8_t value : from) ++counts[value];
          std::copy(counts.begin(), counts.end(), to.begin());
        });
    THALWEG_TRY_ASSIGN(auto histograms, array<std::uint32_t>(bands_ * kValues, "histograms"));
    for (std::uint32_t number = 0; number < bands_; ++number) {
      const Band here = band(number);
      THALWEG_TRY(here.stream.launch(count, 1, rows_of(edges, here),
                                     histograms.view(number * kValues, kValues)));
    }

    const auto reduce = kernel(
        "lookup",
        [](Cell, std::span<const std::uint32_t> histograms_of_bands, Out<std::uint8_t> table) {
          std::array<std::uint64_t, kValues> up_to{};
          for (std::size_t i = 0; i < histograms_of_bands.size(); ++i)
            up_to[i % kValues] += histograms_of_bands[i];
          const std::uint64_t first =
              *std::find_if(up_to.begin(), up_to.end(), [](auto n) { return n; });
          for (std::size_t value = 1; value < kValues; ++value) up_to[value] += up_to[value - 1];
          const std::uint64_t others = up_to.back() - first;
          for (std::size_t value = 0; value < kValues; ++value) {
            const std::uint64_t above = std::max(up_to[value], first) - first;
            table[value] = others == 0
                               ? static_cast<std::uint8_t>(value)
                               : static_cast<std::uint8_t>((above * 255 + others / 2) / others);
          }
        });
    THALWEG_TRY_ASSIGN(auto lookup, array<std::uint8_t>(kValues, "lookup"));
    THALWEG_TRY(streams_.front().launch(reduce, 1, histograms, lookup));
    return lookup;
  }

  Result<Array<std::uint8_t>> apply(Array<std::uint8_t> edges, Array<std::uint8_t> lookup) const {
    const auto code = kernel("apply", [](Cell at, std::span<const std::uint8_t> from,
                                         std::span<const std::uint8_t> table, Out<std::uint8_t> to,
                                         std::uint64_t width) {
      const std::uint8_t* const in = from.data() + at.x * width;
      std::uint8_t* const out = to.data() + at.x * width;
      for (std::uint64_t x = 0; x != width; ++x) out[x] = table[in[x]];
    });
    THALWEG_TRY_ASSIGN(auto result, array<std::uint8_t>(pixels(), "result"));
    THALWEG_TRY(for_each_band([&](const Band& band) {
      return band.stream.launch(code, band.rows(), rows_of(edges, band), lookup,
                                rows_of(result, band), image_.width);
    }));
    return result;
  }

  Result<GreyImage> download(const Array<std::uint8_t>& result) const {
    std::vector<Future<std::vector<std::uint8_t>>> parts;
    for (std::uint32_t number = 0; number < bands_; ++number) {
      const Band here = band(number);
      parts.push_back(here.stream.read(rows_of(result, here)));
    }
    GreyImage image{image_.width, image_.height, {}};
    image.grey.reserve(pixels());
    for (auto& part : parts) {
      THALWEG_TRY_ASSIGN(const auto rows, part.get());
      image.grey.insert(image.grey.end(), rows.begin(), rows.end());
    }
    return image;
  }

  const std::vector<Stream>& streams_;
  const ColorImage& image_;
  const std::uint32_t bands_;
};

std::map<std::string, std::uint64_t, std::less<>> by_reason(const WaitLedger& ledger) {
  std::map<std::string, std::uint64_t, std::less<>> counts;
  for (const WaitRecord& record : ledger) counts[std::string(name(record.reason))] += record.count;
  return counts;
}

Result<void> repeat(const MeasureOptions& options, const std::vector<Stream>& streams,
                    const ColorImage& image, const GreyImage& expected, Measurement& measured) {
  for (std::uint32_t i = 0; i < options.repeats; ++i) {
    if (options.go_on && !options.go_on())
      return Error(ErrorKind::cancelled, "The measurement is ended on request.");
    const auto start = std::chrono::steady_clock::now();
    THALWEG_TRY_ASSIGN(measured.result, run_pipeline(streams, image, options.bands));
    measured.times.push_back(std::chrono::steady_clock::now() - start);
    measured.equal = measured.equal && measured.result == expected;
  }
  std::sort(measured.times.begin(), measured.times.end());
  return {};
}

}  // namespace

Result<GreyImage> run_pipeline(const std::vector<Stream>& streams, const ColorImage& image,
                               std::uint32_t bands) {
  return Run(streams, image, bands).all();
}

std::uint64_t pipeline_bytes(std::uint64_t width, std::uint64_t height, std::uint64_t bands) {
  // rgb, grey, blurred across, blurred, edges and result; none may have passed when the last is
  // made.
  constexpr std::uint64_t kBytesPerPixel = 3 + 1 + 2 + 1 + 1 + 1;
  return width * height * kBytesPerPixel + bands * kValues * sizeof(std::uint32_t) + kValues;
}

Result<Measurement> measure(const MeasureOptions& options, const ColorImage& image,
                            const GreyImage& expected) {
  // A device of its own, so that its counts and peaks are of this measurement alone.
  THALWEG_TRY_ASSIGN(const Device device, Device::open(options.device, {.measure_busy = true}));
  std::vector<Stream> streams;
  for (std::uint32_t i = 0; i < options.streams; ++i) {
    THALWEG_TRY_ASSIGN(streams.emplace_back(), Stream::create(device));
  }

  Measurement measured;
  const Result<void> repeated = repeat(options, streams, image, expected, measured);

  const Statistics counts = device.statistics();
  if (counts.busy_any_ns > 0)
    measured.overlap =
        static_cast<double>(counts.busy_sum_ns) / static_cast<double>(counts.busy_any_ns);
  measured.waits_placed = counts.waits_placed;
  measured.waits_passed = counts.waits_passed;
  measured.waits_covered = counts.waits_covered;
  measured.host_waits = by_reason(device.wait_ledger());
  const MemoryUsage memory = device.memory_usage();
  measured.live_peak_bytes = memory.live_peak_bytes;
  measured.reserved_peak_bytes = memory.reserved_peak_bytes;

  THALWEG_TRY(device.synchronize());
  THALWEG_TRY(repeated);
  return measured;
}

}  // namespace thalweg::examples
