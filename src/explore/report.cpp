// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "thalweg/explore.hpp"

namespace thalweg {
namespace {

std::string findings_text(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings)
    fmt::format_to(std::back_inserter(text), "finding `{}`: {}\n", name(finding.kind),
                   finding.message);
  return text;
}

std::string searched_text(bool complete, const std::string& bounded_by) {
  return complete ? "complete" : fmt::format("not complete: ended by {}", bounded_by);
}

}  // namespace

std::string Exploration::report() const {
  std::string text =
      fmt::format("{} runs{}, {} steps, {} in the longest; {} outcomes; {}\n", runs,
                  redundant == 0 ? "" : fmt::format(" ({} redundant)", redundant), steps, steps_max,
                  outcomes.size(), searched_text(complete, bounded_by));
  if (findings.empty()) return text + "no finding\n";
  text += findings_text(findings);
  fmt::format_to(std::back_inserter(text), "first in run {}; schedule `{}`\n", *finding_run,
                 schedule);
  if (!trace.empty()) text += lanes_text(trace);
  return text;
}

std::string FaultMatrix::report() const {
  std::string text = fmt::format("{} runs; {}\n", runs, searched_text(complete, bounded_by));
  for (const FaultSiteCount& site : sites)
    fmt::format_to(std::back_inserter(text), "{:<14} {:>6} calls {:>6} runs {:>6} errors\n",
                   site.site, site.calls, site.runs, site.errors);
  if (findings.empty()) return text + "no finding\n";
  text += findings_text(findings);
  return text + fmt::format("with fault {}; schedule `{}`\n", fault, schedule);
}

}  // namespace thalweg
