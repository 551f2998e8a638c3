// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "commands.hpp"
#include "default_image.hpp"
#include "image_pipeline/files.hpp"
#include "image_pipeline/pipeline.hpp"
#include "image_pipeline/reference.hpp"
#include "interrupt.hpp"
#include "output_file.hpp"
#include "progress.hpp"
#include "text.hpp"

namespace thalweg::tool {
namespace {

using namespace thalweg::examples;

constexpr std::uint64_t kBandsDefault = 16;

// One row of the table.
struct Row {
  std::string device;
  std::uint32_t streams = 0;
  std::uint32_t bands = 0;
  Measurement measured;
};

struct Report {
  std::string image;
  ColorImage picture;
  std::uint32_t repeats = 0;
  std::vector<std::chrono::nanoseconds> reference_times;  // Shortest first.
  std::vector<Row> rows;

  bool equal() const {
    return std::all_of(rows.begin(), rows.end(), [](const Row& row) { return row.measured.equal; });
  }
};

Error refused(std::string text) { return Error(ErrorKind::invalid_argument, std::move(text)); }

Error interruption() { return Error(ErrorKind::cancelled, "Interrupted."); }

Result<void> check_numbers(const DemoOptions& options) {
  if (options.streams.empty()) return refused("--streams needs at least one number.");
  for (const std::int64_t streams : options.streams)
    if (streams < 1 || streams > kStreamsMax)
      return refused(fmt::format("--streams {} is not between 1 and {}.", streams, kStreamsMax));
  if (options.repeats < 1 || options.repeats > kRepeatsMax)
    return refused(
        fmt::format("--repeat {} is not between 1 and {}.", options.repeats, kRepeatsMax));
  return {};
}

Result<std::uint32_t> bands_for(std::int64_t asked, std::uint64_t rows) {
  if (asked == 0) return static_cast<std::uint32_t>(std::min(kBandsDefault, rows));
  if (asked < 1 || static_cast<std::uint64_t>(asked) > rows)
    return refused(
        fmt::format("--bands {} is not between 1 and {}, the rows of the picture.", asked, rows));
  return static_cast<std::uint32_t>(asked);
}

Result<std::vector<std::string>> devices_for(const DemoOptions& options) {
  if (!options.devices.empty()) return options.devices;
  std::vector<std::string> names;
  std::string reasons;
  for (const BackendInfo& backend : backends()) {
    if (backend.available)
      names.push_back(backend.name);
    else
      reasons += fmt::format(" {}: {}", backend.name, backend.reason);
  }
  if (names.empty()) return Error(ErrorKind::unavailable, "No backend is available." + reasons);
  return names;
}

// Opens each device once, so that a wrong name or a picture too large is known before the work
// starts.
Result<void> check_devices(const std::vector<std::string>& names, const ImageSize& size,
                           std::uint32_t bands) {
  const std::uint64_t needed = pipeline_bytes(size.width, size.height, bands);
  for (const std::string& name : names) {
    THALWEG_TRY_ASSIGN(const Device device, Device::open(name));
    const std::uint64_t limit = device.memory_usage().limit_bytes;
    if (needed > limit)
      return Error(
          ErrorKind::out_of_memory,
          fmt::format("The picture is too large for the device '{}': {} x {} pixels in {} "
                      "bands need {}, and its memory is {}.",
                      name, size.width, size.height, bands, bytes_text(needed), bytes_text(limit)));
  }
  return {};
}

// Overwriting the picture that is being read would lose it.
Result<void> check_out_is_not_image(const DemoOptions& options) {
  std::error_code error;
  if (!options.image.empty() && std::filesystem::equivalent(options.image, options.out, error))
    return refused(fmt::format("--out '{}' is the picture itself.", options.out));
  return {};
}

Result<GreyImage> run_reference(Report& report, Progress& progress) {
  GreyImage expected;
  for (std::uint32_t i = 0; i < report.repeats; ++i) {
    progress.show(fmt::format("sequential reference, {} of {}", i + 1, report.repeats));
    const auto start = std::chrono::steady_clock::now();
    expected = reference(report.picture);
    report.reference_times.push_back(std::chrono::steady_clock::now() - start);
    progress.step();
    if (interrupted()) return interruption();
  }
  std::sort(report.reference_times.begin(), report.reference_times.end());
  return expected;
}

Result<Row> run_row(const std::string& device, std::uint32_t streams, std::uint32_t bands,
                    const Report& report, const GreyImage& expected, Progress& progress) {
  std::uint32_t number = 0;
  const auto go_on = [&] {
    if (number > 0) progress.step();
    progress.show(fmt::format("{}, {} {}, {} of {}", on_one_line(device), streams,
                              streams == 1 ? "stream" : "streams", ++number, report.repeats));
    return !interrupted();
  };
  const MeasureOptions options{device, streams, bands, report.repeats, go_on};
  auto measured = measure(options, report.picture, expected);
  if (interrupted()) return interruption();
  if (!measured) return measured.error().with_context(device);
  progress.step();
  return Row{device, streams, bands, std::move(*measured)};
}

std::string host_waits_text(const Measurement& measured) {
  std::string text;
  for (const auto& [reason, count] : measured.host_waits)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", reason, count);
  return text.empty() ? "none" : text;
}

std::string times_text(const std::vector<std::chrono::nanoseconds>& sorted) {
  return fmt::format("{:.1f} ({:.1f} - {:.1f})", milliseconds(sorted[sorted.size() / 2]),
                     milliseconds(sorted.front()), milliseconds(sorted.back()));
}

std::string table(const Report& report) {
  Table rows({"device", "streams", "bands", "ms (low - high)", "overlap",
              "waits placed/passed/covered", "host waits", "live peak", "reserved", "equal"});
  for (const Row& row : report.rows) {
    const Measurement& m = row.measured;
    rows.add({on_one_line(row.device), std::to_string(row.streams), std::to_string(row.bands),
              times_text(m.times), m.overlap > 0 ? fmt::format("{:.2f}", m.overlap) : "-",
              fmt::format("{} / {} / {}", m.waits_placed, m.waits_passed, m.waits_covered),
              host_waits_text(m), bytes_text(m.live_peak_bytes), bytes_text(m.reserved_peak_bytes),
              m.equal ? "yes" : "NO"});
  }
  return fmt::format(
      "{}: {} x {} pixels, {} {}\n"
      "sequential reference: {} ms\n\n{}\n"
      "overlap: streams busy on average. waits: of tasks for other streams, found by the runtime,\n"
      "in all repeats together. equal: byte for byte what the sequential program computes.\n",
      on_one_line(report.image), report.picture.width, report.picture.height, report.repeats,
      report.repeats == 1 ? "repeat" : "repeats", times_text(report.reference_times), rows.text());
}

std::string json(const Report& report) {
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  for (const Row& row : report.rows) {
    const Measurement& m = row.measured;
    nlohmann::ordered_json host_waits = nlohmann::ordered_json::object();
    for (const auto& [reason, count] : m.host_waits) host_waits[reason] = count;
    runs.push_back(
        {{"device", row.device},
         {"streams", row.streams},
         {"bands", row.bands},
         {"median_ms", milliseconds(m.median())},
         {"low_ms", milliseconds(m.low())},
         {"high_ms", milliseconds(m.high())},
         {"overlap", m.overlap},
         {"waits",
          {{"placed", m.waits_placed}, {"passed", m.waits_passed}, {"covered", m.waits_covered}}},
         {"host_waits", std::move(host_waits)},
         {"live_peak", m.live_peak_bytes},
         {"reserved_peak", m.reserved_peak_bytes},
         {"equal", m.equal}});
  }
  const nlohmann::ordered_json whole = {{"image", report.image},
                                        {"width", report.picture.width},
                                        {"height", report.picture.height},
                                        {"runs", std::move(runs)}};
  // A file's name need not be UTF-8.
  return whole.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

Result<int> demo(const DemoOptions& options) {
  THALWEG_TRY(check_numbers(options));
  std::vector<std::uint8_t> own_bytes;
  if (!options.image.empty()) {
    THALWEG_TRY_ASSIGN(own_bytes, read_file(options.image));
  }
  const std::span<const std::uint8_t> file =
      options.image.empty() ? default_image() : std::span<const std::uint8_t>(own_bytes);

  Report report;
  report.image = options.image.empty() ? "default" : options.image;
  report.repeats = static_cast<std::uint32_t>(options.repeats);
  THALWEG_TRY_ASSIGN(const ImageSize size, image_size(file, report.image));
  THALWEG_TRY_ASSIGN(const std::uint32_t bands, bands_for(options.bands, size.height));
  THALWEG_TRY_ASSIGN(const auto names, devices_for(options));
  THALWEG_TRY(check_devices(names, size, bands));
  THALWEG_TRY(check_out_is_not_image(options));
  THALWEG_TRY_ASSIGN(OutputFile out, OutputFile::open(options.out));

  Progress progress(report.repeats * (1 + names.size() * options.streams.size()));
  progress.show("reading the picture");
  THALWEG_TRY_ASSIGN(report.picture, decode(file, report.image));
  if (interrupted()) return interruption();
  THALWEG_TRY_ASSIGN(const GreyImage expected, run_reference(report, progress));
  for (const std::string& name : names) {
    for (const std::int64_t streams : options.streams) {
      THALWEG_TRY_ASSIGN(
          report.rows.emplace_back(),
          run_row(name, static_cast<std::uint32_t>(streams), bands, report, expected, progress));
    }
  }

  progress.show("writing the picture");
  THALWEG_TRY_ASSIGN(const auto png, encode_png(report.rows.back().measured.result));
  if (interrupted()) return interruption();
  THALWEG_TRY(out.commit(png));
  progress.clear();

  THALWEG_TRY(print(options.json ? json(report)
                                 : fmt::format("{}\nThe picture is in {}\n", table(report),
                                               on_one_line(out.path()))));
  if (report.equal()) return kExitEqual;
  complain("A result differs from that of the sequential program.");
  return kExitDifferent;
}

}  // namespace thalweg::tool
