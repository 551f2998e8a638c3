// SPDX-License-Identifier: Apache-2.0
//
// tests/support/model/results.hpp - what a program computes: its log, run one operation at a time.
//
// As simple as it can be, and without a line of the library: this is what the library is held to.

#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "support/program.hpp"

namespace thalweg::test::model {

using Values = std::vector<std::uint32_t>;

struct Expected {
  std::map<int, Values> buffers;  // Those alive at the end.
  std::map<int, Values> reads;    // By future, as of its submission.
};

Expected run_in_order(const Program& program, const Log& log);

// Whether `seen` agrees with all of `ways` where they agree with each other. It may hold less than
// they do.
bool agrees(const std::vector<Expected>& ways, const Expected& seen);

// Whether `seen` is what the log computes when the task at `entry` has not run. What that leaves
// open, and what follows from it, may be anything.
bool agrees_without(const Program& program, const Log& log, LogEntry entry, const Expected& seen);

}  // namespace thalweg::test::model
