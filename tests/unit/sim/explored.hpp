// SPDX-License-Identifier: Apache-2.0
//
// tests/unit/sim/explored.hpp - small programs under the explorer, and what it found.

#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "thalweg/explore.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {

using Body = std::function<void(ExploreRun&)>;

// The host goes on as long as it can; then queues run by the order in which they were made.
inline ExploreOptions host_first() {
  ExploreOptions options;
  options.search = Search::replay;
  options.schedule = "-";
  return options;
}

// What the program is found to do.
inline std::vector<Finding> findings_of(const ExploreOptions& options, const Body& program) {
  return must(explore(options, program)).findings;
}

// The one finding. Another number of them is a failure.
inline Finding only_finding(const ExploreOptions& options, const Body& program) {
  const std::vector<Finding> findings = findings_of(options, program);
  EXPECT_EQ(findings.size(), 1U);
  for (std::size_t i = 1; i < findings.size(); ++i) ADD_FAILURE() << findings[i].message;
  return findings.empty() ? Finding() : findings.front();
}

// Runs the program under all its schedules, or many of them, and at random: none breaks a rule.
inline void expect_clean(const Body& program, const std::string& device = "sim") {
  ExploreOptions options;
  options.device = device;
  options.runs_max = 300;
  for (const Search search : {Search::exhaustive, Search::random, Search::priorities}) {
    options.search = search;
    const Exploration found = must(explore(options, program));
    EXPECT_TRUE(found.findings.empty()) << found.report();
    if (!found.findings.empty()) return;
  }
}

}  // namespace thalweg::test
