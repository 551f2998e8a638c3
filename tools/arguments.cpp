// SPDX-License-Identifier: Apache-2.0

#include "arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "text.hpp"

namespace thalweg::tool {
namespace {

Error refused(std::string text) { return Error(ErrorKind::invalid_argument, std::move(text)); }

Result<std::int64_t> whole_number(std::string_view text, std::string_view option) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::result_out_of_range)
    return refused(std::string(option) + " '" + std::string(text) + "' is out of range.");
  if (error != std::errc() || end != text.data() + text.size())
    return refused(std::string(option) + " '" + std::string(text) + "' is not a whole number.");
  return number;
}

// "1,2,4"
Result<std::vector<std::int64_t>> whole_numbers(std::string_view text, std::string_view option) {
  std::vector<std::int64_t> numbers;
  for (;;) {
    const std::size_t comma = std::min(text.find(','), text.size());
    THALWEG_TRY_ASSIGN(numbers.emplace_back(), whole_number(text.substr(0, comma), option));
    if (comma == text.size()) return numbers;
    text.remove_prefix(comma + 1);
  }
}

// Sets `number` to what was typed, if anything was.
template <class T>
Result<void> read_number(std::string_view text, std::string_view option, std::uint64_t least,
                         std::uint64_t most, T& number) {
  if (text.empty()) return {};
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most)
    return refused(fmt::format("{} '{}' is not a whole number from {} to {}.", option,
                               on_one_line(text), least, most));
  number = static_cast<T>(value);
  return {};
}

Result<std::chrono::nanoseconds> read_seconds(std::string_view text, std::string_view option) {
  constexpr double kMost = 1e6;
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() ||
      !(seconds > 0 && seconds <= kMost))
    return refused(fmt::format("{} '{}' is not a number of seconds above 0, at most {}.", option,
                               on_one_line(text), static_cast<std::uint64_t>(kMost)));
  return std::chrono::nanoseconds(std::llround(seconds * 1e9));
}

// Options that mean nothing to the kind of exploration that was asked for.
Result<void> refuse_together(bool first, std::string_view first_name, bool second,
                             std::string_view second_name) {
  if (!first || !second) return {};
  return refused(fmt::format("{} and {} do not go together.", first_name, second_name));
}

}  // namespace

CLI::App* DemoArguments::add_to(CLI::App& app) {
  CLI::App* const demo = app.add_subcommand(
      "demo",
      "Run a picture through a multi-stream pipeline, and compare each result byte for "
      "byte with a sequential program's");
  demo->add_option("IMAGE", options.image, "A PNG or JPEG file; without it, a picture of ours");
  demo->add_option("--streams", streams, "How many streams, one run for each number")
      ->type_name("N,N,...")
      ->capture_default_str();
  demo->add_option("--bands", bands, "Bands of rows to cut the picture into (default: 16)")
      ->type_name("N");
  demo->add_option("--device", options.devices,
                   "A device to run on, as in cpu or cpu?workers=4; may be given several times "
                   "(default: every backend that is available)")
      ->type_name("NAME")
      ->allow_extra_args(false);
  demo->add_option("--repeat", repeats, "How often to run and measure each")
      ->type_name("N")
      ->capture_default_str();
  demo->add_option("--out", options.out, "Where the resulting picture goes")
      ->type_name("FILE")
      ->capture_default_str();
  demo->add_flag("--json", options.json, "Print one JSON object instead of the table");
  return demo;
}

Result<DemoOptions> DemoArguments::parsed() && {
  THALWEG_TRY_ASSIGN(options.streams, whole_numbers(streams, "--streams"));
  THALWEG_TRY_ASSIGN(options.repeats, whole_number(repeats, "--repeat"));
  if (!bands.empty()) {
    THALWEG_TRY_ASSIGN(options.bands, whole_number(bands, "--bands"));
    if (options.bands == 0) return refused("--bands 0 leaves nothing of the picture.");
  }
  return std::move(options);
}

CLI::App* ExploreArguments::add_to(CLI::App& app) {
  CLI::App* const explore = app.add_subcommand(
      "explore", "Run a scenario on the simulated device under many schedules, or under all");
  explore->add_option("FILE", command.file, "A scenario (docs/scenarios.md); - reads stdin")
      ->required();
  const auto add = [explore](const char* option, std::string& to, const char* words) {
    explore->add_option(option, to, words)->type_name("N");
  };
  explore
      ->add_option("--search", search,
                   "exhaustive (every schedule, or one that is equivalent), random or priorities "
                   "(default: exhaustive)")
      ->type_name("NAME");
  explore->add_flag("--no-reduce", no_reduce, "exhaustive: leave out nothing, for comparing");
  add("--seed", seed, "random, priorities, --faults: where the choices come from (default: 1)");
  add("--runs", runs, "At most so many runs (default: 100000)");
  add("--steps", steps, "Of one run, at most so many choices (default: 10000)");
  add("--preemptions", preemptions, "exhaustive: at most so many switches from who could go on");
  add("--changes", changes, "priorities: changes of priority in a run (default: 3)");
  explore->add_option("--time-limit", time_limit, "End after so many seconds")
      ->type_name("SECONDS");
  schedule =
      explore
          ->add_option("--schedule", command.options.schedule, "Repeat the run with these choices")
          ->type_name("TEXT");
  explore->add_flag("--all", all, "Go on after a finding, and keep the first of each kind");
  explore->add_flag("--faults", faults,
                    "Run it once for each call to the backend, with that call refused");
  explore->add_option("--svg", command.svg, "Draw the last run's lanes to a file")
      ->type_name("FILE");
  explore->add_option("--trace", command.trace, "Write the last run's events to a file")
      ->type_name("FILE");
  explore->add_flag("--json", command.json, "Print one JSON object");
  return explore;
}

Result<void> ExploreArguments::read_search() {
  ExploreOptions& options = command.options;
  const bool replay = schedule->count() > 0;
  THALWEG_TRY(refuse_together(replay, "--schedule", !search.empty(), "--search"));
  THALWEG_TRY(refuse_together(replay, "--schedule", all, "--all"));
  if (replay) options.search = Search::replay;
  if (search.empty() || search == "exhaustive") return {};
  if (search == "random")
    options.search = Search::random;
  else if (search == "priorities")
    options.search = Search::priorities;
  else
    return refused(fmt::format("--search '{}' is none of exhaustive, random and priorities.",
                               on_one_line(search)));
  return {};
}

// An option that the search would take no notice of.
Result<void> ExploreArguments::check_search() const {
  const Search chosen = command.options.search;
  const bool exhaustive = chosen == Search::exhaustive && !faults;
  const bool replay = chosen == Search::replay;
  const auto refuse = [](bool given, std::string_view option, std::string_view owner) {
    return given ? Result<void>(refused(fmt::format("{} is for {} only.", option, owner)))
                 : Result<void>();
  };
  if (!exhaustive) {
    THALWEG_TRY(refuse(no_reduce, "--no-reduce", "--search=exhaustive"));
    THALWEG_TRY(refuse(!preemptions.empty(), "--preemptions", "--search=exhaustive"));
  }
  if (exhaustive || replay)
    THALWEG_TRY(
        refuse(!seed.empty(), "--seed", "--search=random, --search=priorities and --faults"));
  if (chosen != Search::priorities)
    THALWEG_TRY(refuse(!changes.empty(), "--changes", "--search=priorities"));
  THALWEG_TRY(refuse_together(replay, "--schedule", !runs.empty(), "--runs"));
  return refuse_together(replay, "--schedule", !time_limit.empty(), "--time-limit");
}

Result<void> ExploreArguments::check_faults() const {
  for (const auto& [given, name] : std::initializer_list<std::pair<bool, std::string_view>>{
           {schedule->count() > 0, "--schedule"},
           {!search.empty(), "--search"},
           {!steps.empty(), "--steps"},
           {!preemptions.empty(), "--preemptions"},
           {!changes.empty(), "--changes"},
           {!time_limit.empty(), "--time-limit"},
           {no_reduce, "--no-reduce"},
           {all, "--all"},
           {!command.svg.empty(), "--svg"},
           {!command.trace.empty(), "--trace"}})
    THALWEG_TRY(refuse_together(faults, "--faults", given, name));
  return {};
}

Result<ExploreCommand> ExploreArguments::parsed() && {
  constexpr std::uint64_t kU64Max = std::numeric_limits<std::uint64_t>::max();
  constexpr std::uint64_t kRunsMax = 1'000'000'000'000;
  constexpr std::uint64_t kStepsMax = 1'000'000'000;
  constexpr std::uint64_t kChangesMax = 1'000'000;
  ExploreOptions& options = command.options;
  THALWEG_TRY(check_faults());
  THALWEG_TRY(read_search());
  THALWEG_TRY(check_search());
  THALWEG_TRY(read_number(seed, "--seed", 0, kU64Max, options.seed));
  THALWEG_TRY(read_number(runs, "--runs", 1, kRunsMax, options.runs_max));
  THALWEG_TRY(read_number(steps, "--steps", 1, kStepsMax, options.steps_max));
  THALWEG_TRY(read_number(changes, "--changes", 0, kChangesMax, options.changes));
  if (!preemptions.empty()) {
    unsigned most = 0;
    THALWEG_TRY(read_number(preemptions, "--preemptions", 0, kChangesMax, most));
    options.preemptions_max = most;
  }
  if (!time_limit.empty()) {
    THALWEG_TRY_ASSIGN(options.time_limit, read_seconds(time_limit, "--time-limit"));
  }
  options.reduce = !no_reduce;
  options.stop_at_finding = !all;
  command.faults = faults;
  return std::move(command);
}

}  // namespace thalweg::tool
