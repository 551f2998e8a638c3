// SPDX-License-Identifier: Apache-2.0

#include "thalweg/explore.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "commands.hpp"
#include "input_file.hpp"
#include "interrupt.hpp"
#include "output_file.hpp"
#include "progress.hpp"
#include "scenario/call_sites.hpp"
#include "scenario/program.hpp"
#include "scenario/scenario.hpp"
#include "text.hpp"

namespace thalweg::tool {
namespace {

using nlohmann::ordered_json;

Error refused(std::string text) { return Error(ErrorKind::invalid_argument, std::move(text)); }

// One word of a command line, for a shell.
std::string shell_word(const std::string& text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_./+,:@%").find(c) != std::string_view::npos;
  });
  if (plain) return text;
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

// A name that begins like an option, as a path.
std::string file_word(const std::string& file) {
  const bool option = file.size() > 1 && file.front() == '-';
  return shell_word(option ? "./" + file : file);
}

// Writing over what is read, or twice to one file, would lose something.
Result<void> check_names(const ExploreCommand& command) {
  const auto same = [](const std::string& a, const std::string& b) {
    std::error_code error;
    return !a.empty() && !b.empty() && (a == b || std::filesystem::equivalent(a, b, error));
  };
  for (const auto* out : {&command.svg, &command.trace})
    if (same(*out, command.file))
      return refused(fmt::format("'{}' is the scenario itself.", on_one_line(*out)));
  if (same(command.svg, command.trace))
    return refused(fmt::format("--svg and --trace name one file, '{}'.", on_one_line(command.svg)));
  return {};
}

// The device is the file's own: what is wrong with it has a place there.
Result<void> check_device(const scenario::Scenario& scenario, bool faults) {
  if (scenario.device_line == 0) return {};
  const auto placed = [&scenario](const auto& tried) -> Result<void> {
    if (tried) return {};
    const Error& error = tried.error();
    return Error(error.kind(),
                 fmt::format("{}:{}: {}", scenario.file, scenario.device_line, error.message()));
  };
  ExploreProgram nothing;
  nothing.actors.emplace_back([](ExploreRun&) {});
  FaultMatrixOptions with_faults;
  with_faults.device = scenario.device;
  if (faults) return placed(explore_faults(with_faults, nothing));
  ExploreOptions once;
  once.device = scenario.device;
  once.search = Search::replay;
  once.schedule = "-";
  return placed(thalweg::explore(once, nothing));
}

// What cannot be written is known before the work starts. A pipe is not opened to be closed again.
Result<void> check_writable(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  const bool pipe = std::filesystem::is_fifo(status) || std::filesystem::is_socket(status);
  if (!path.empty() && !pipe) THALWEG_TRY(OutputFile::open(path));
  return {};
}

Result<void> write_file(const std::string& path, const std::string& text) {
  if (path.empty()) return {};
  THALWEG_TRY_ASSIGN(OutputFile file, OutputFile::open(path));
  return file.commit({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

// Ends the exploration when the user does.
auto follow(Ticker& ticker) {
  return [&ticker](const ExploreProgress& progress) {
    const double seconds = std::chrono::duration<double>(progress.elapsed).count();
    ticker.show(progress.elapsed,
                fmt::format("{} runs, {} {}, {:.1f} s", progress.runs, progress.findings,
                            progress.findings == 1 ? "finding" : "findings", seconds));
    return !interrupted();
  };
}

ordered_json json_of(const FindingSide& side) {
  return {{"what", side.what},     {"stream", side.stream}, {"lane", side.lane},
          {"serial", side.serial}, {"raw", side.raw},       {"buffer", side.buffer},
          {"begin", side.begin},   {"end", side.end},       {"file", side.file},
          {"line", side.line}};
}

ordered_json json_of(const std::vector<Finding>& findings) {
  ordered_json list = ordered_json::array();
  for (const Finding& finding : findings) {
    ordered_json sides = ordered_json::array({json_of(finding.first)});
    if (finding.two_sides) sides.push_back(json_of(finding.second));
    list.push_back({{"kind", name(finding.kind)},
                    {"message", finding.message},
                    {"missing_edge", finding.missing_edge},
                    {"sides", std::move(sides)}});
  }
  return list;
}

std::string text_of(const ordered_json& json) {
  // Names of files need not be UTF-8.
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string json_of(const ExploreCommand& command, const Exploration& result,
                    const std::string& repeat) {
  return text_of({{"file", command.file},
                  {"device", command.options.device},
                  {"runs", result.runs},
                  {"redundant", result.redundant},
                  {"steps", result.steps},
                  {"steps_max", result.steps_max},
                  {"complete", result.complete},
                  {"bounded_by", result.bounded_by},
                  {"outcomes", result.outcomes.size()},
                  {"findings", json_of(result.findings)},
                  {"minimising_runs", result.minimising_runs},
                  {"schedule", result.schedule},
                  {"repeat", repeat}});
}

std::string json_of(const ExploreCommand& command, const FaultMatrix& result,
                    const std::string& repeat) {
  ordered_json sites = ordered_json::array();
  for (const FaultSiteCount& site : result.sites)
    sites.push_back(
        {{"site", site.site}, {"calls", site.calls}, {"runs", site.runs}, {"errors", site.errors}});
  return text_of({{"file", command.file},
                  {"device", command.options.device},
                  {"runs", result.runs},
                  {"complete", result.complete},
                  {"bounded_by", result.bounded_by},
                  {"sites", std::move(sites)},
                  {"findings", json_of(result.findings)},
                  {"fault", result.fault},
                  {"schedule", result.schedule},
                  {"repeat", repeat}});
}

std::string report_of(const ExploreCommand& command, const std::string& report,
                      const std::string& repeat) {
  std::string text = fmt::format("{}\n{}", input_name(command.file), report);
  if (text.back() != '\n') text += '\n';
  if (!repeat.empty()) text += fmt::format("\nThis repeats it:\n{}\n", on_one_line(repeat));
  return text;
}

// What was found says more than that somebody did not want to wait.
int exit_code(bool found) {
  if (found) return kExitDifferent;
  return interrupted() ? interrupted_exit_code() : kExitEqual;
}

template <class Outcome>
void note_interruption(Outcome& result) {
  if (!interrupted() || result.complete) return;
  result.bounded_by = "an interruption";
}

Result<int> explore_schedules(ExploreCommand& command, const ExploreProgram& program) {
  Ticker ticker;
  command.options.progress = follow(ticker);
  THALWEG_TRY_ASSIGN(Exploration result, thalweg::explore(command.options, program));
  ticker.clear();
  note_interruption(result);
  const bool found = !result.findings.empty();
  const std::string repeat = found ? fmt::format("thalweg explore {} --schedule='{}'",
                                                 file_word(command.file), result.schedule)
                                   : "";
  THALWEG_TRY(write_file(command.svg, lanes_svg(result.trace)));
  THALWEG_TRY(write_file(command.trace, to_text(result.trace)));
  // The report's own last line is for callers of explore().
  std::string report = result.report(found ? "This repeats it:\n" + on_one_line(repeat) : "");
  THALWEG_TRY(
      print(command.json ? json_of(command, result, repeat) : report_of(command, report, "")));
  return exit_code(found);
}

Result<int> explore_each_fault(ExploreCommand& command, const ExploreProgram& program) {
  Ticker ticker;
  FaultMatrixOptions options;
  options.device = command.options.device;
  options.seed = command.options.seed;
  options.runs_max = command.options.runs_max;
  options.progress = follow(ticker);
  THALWEG_TRY_ASSIGN(FaultMatrix result, explore_faults(options, program));
  ticker.clear();
  note_interruption(result);
  const bool found = !result.findings.empty();
  const std::string repeat = found ? fmt::format("thalweg explore {} --faults --seed={}",
                                                 file_word(command.file), options.seed)
                                   : "";
  THALWEG_TRY(print(command.json ? json_of(command, result, repeat)
                                 : report_of(command, result.report(), repeat)));
  return exit_code(found);
}

}  // namespace

Result<int> explore(ExploreCommand command) {
  THALWEG_TRY(check_names(command));
  THALWEG_TRY_ASSIGN(const std::string text, read_input(command.file, scenario::kFileBytesMax));
  const std::string name = input_name(command.file);
  THALWEG_TRY_ASSIGN(const scenario::Scenario scenario, scenario::parse(text, name));
  THALWEG_TRY(check_device(scenario, command.faults));
  THALWEG_TRY(check_writable(command.svg));
  THALWEG_TRY(check_writable(command.trace));
  command.options.device = scenario.device;
  const scenario::CallSites sites(name, scenario.lines);
  const ExploreProgram program = scenario::program_of(scenario, sites, command.faults);
  return command.faults ? explore_each_fault(command, program)
                        : explore_schedules(command, program);
}

}  // namespace thalweg::tool
