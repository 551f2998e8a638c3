// SPDX-License-Identifier: Apache-2.0
//
// tools/commands.hpp - the subcommands: each gets its options, and gives the exit code.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "thalweg/base/result.hpp"
#include "thalweg/explore.hpp"

namespace thalweg::tool {

inline constexpr int kExitEqual = 0;
inline constexpr int kExitDifferent = 1;
inline constexpr int kExitError = 2;  // What an Error of a command becomes.

inline constexpr std::int64_t kStreamsMax = 256;
inline constexpr std::int64_t kRepeatsMax = 100'000;

struct DemoOptions {
  std::string image;  // Empty: the picture that comes with the program.
  std::vector<std::int64_t> streams = {1, 2, 4};
  std::int64_t bands = 0;            // 0: kBandsDefault, or the rows of the picture if fewer.
  std::vector<std::string> devices;  // Empty: every backend that is available.
  std::int64_t repeats = 5;
  std::string out = "thalweg-demo.png";
  bool json = false;
};

// The picture through the pipeline on each device with each number of streams, each result compared
// with the sequential program's; a table or JSON on stdout, and the picture in a file.
Result<int> demo(const DemoOptions& options);

struct ExploreCommand {
  std::string file;  // "-": the standard input.
  ExploreOptions options;
  bool faults = false;  // The fault matrix, in place of a search.
  std::string svg;      // Files to write; empty: none.
  std::string trace;
  bool json = false;
};

// Explores the scenario in a file; the report, or JSON, on stdout, with the line that repeats a
// finding at its end. kExitDifferent when there is a finding.
Result<int> explore(ExploreCommand command);

// Lists the backends, and why those that are not available are not.
Result<int> devices();

}  // namespace thalweg::tool
