// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "thalweg/explore.hpp"

namespace thalweg {
namespace {

// What the program calls its things may hold anything: here it stays on its line.
std::string on_one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20 || code == 0x7f)
      fmt::format_to(std::back_inserter(line), "\\x{:02x}", code);
    else
      line += c;
  }
  return line;
}

std::string findings_text(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings)
    fmt::format_to(std::back_inserter(text), "finding `{}`: {}\n", name(finding.kind),
                   on_one_line(finding.message));
  return text;
}

std::string counted(std::uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

constexpr std::string_view kChoices =
    "who goes on at each choice (h the host, s0 the first stream, cb a callback, - the first who "
    "can)";

std::string searched_text(bool complete, const std::string& bounded_by) {
  return complete ? "complete" : fmt::format("not complete: {}", bounded_by);
}

}  // namespace

std::string Exploration::report(std::string_view repeat) const {
  std::string text = fmt::format(
      "{}{}, {}, {} in the longest; {}; {}\n", counted(runs, "run"),
      redundant == 0 ? "" : fmt::format(" ({} redundant)", redundant), counted(steps, "step"),
      steps_max, counted(outcomes.size(), "outcome"), searched_text(complete, bounded_by));
  if (findings.empty()) return text + "no finding\n";
  text += findings_text(findings);
  fmt::format_to(
      std::back_inserter(text), "first in run {}; {}: `{}`, {}\n", *finding_run,
      minimising_runs == 0 ? "its schedule" : "the shortest schedule found that shows it", schedule,
      kChoices);
  if (!trace.empty()) text += lanes_text(trace);
  if (!repeat.empty()) return fmt::format("{}\n{}\n", text, repeat);
  return text + fmt::format(
                    "\nrepeat with ExploreOptions{{.search = Search::replay, .schedule = "
                    "\"{}\"}}\n",
                    schedule);
}

std::string FaultMatrix::report() const {
  std::string text =
      fmt::format("{}; {}\n", counted(runs, "run"), searched_text(complete, bounded_by));
  for (const FaultSiteCount& site : sites)
    if (site.calls + site.runs != 0)
      text += fmt::format("{:<14} {}, {} with a fault there, {}\n", site.site,
                          counted(site.calls, "call"), counted(site.runs, "run"),
                          counted(site.errors, "error"));
  if (findings.empty()) return text + "no finding\n";
  text += findings_text(findings);
  return text + fmt::format("with {}; schedule `{}`: {}\n",
                            fault.empty() ? "no fault" : "fault " + fault, schedule, kChoices);
}

}  // namespace thalweg
