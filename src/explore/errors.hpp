// SPDX-License-Identifier: Apache-2.0
//
// explore/errors.hpp - whether the errors of a run with a fault are those of the refused call.

#pragma once

#include <cstddef>
#include <vector>

#include "explore/run.hpp"

namespace thalweg::explore_detail {

// Adds a finding for each error that the program was given and that the fault does not explain,
// and, with `all_told`, for each refused call that gave none. `usual`: the errors of the run
// without a fault. Returns how many errors came of the fault.
std::size_t check_errors(RunResult& run, const std::vector<Error>& usual, bool all_told);

// Drops findings that are what a refusal comes to in the program, and no fault of the runtime: what
// a refused task would have written is read unwritten, and what it would have signalled is waited
// for without end. They stay in a run where nothing was refused for good, and where the device was
// lost: nothing waits then.
// REQUIRES: the errors were checked.
void drop_consequences(RunResult& run);

// Whether nothing but time and memory may differ from a run without a fault.
bool same_work(const RunResult& run) noexcept;

}  // namespace thalweg::explore_detail
