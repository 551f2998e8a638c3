// SPDX-License-Identifier: Apache-2.0
//
// backends/sim/kernel.hpp - runs the body of a task on this thread.

#pragma once

#include <optional>

#include "backends/sim/queue.hpp"
#include "thalweg/base/error.hpp"

namespace thalweg::sim {

// Bytes of a kernel's Out that it left as they were, relative to the whole memory.
struct Ran {
  std::optional<Error> error;
  Bytes unwritten;  // Empty: none.
};

// Does what the task does, with no lock held and inside a NoWaitScope where that may be a call of
// the program's or end a wait. What a callable throws is the error. A kernel that seems to leave
// bytes of an Out unwritten is run a second time on the same bytes, to be sure.
Ran run_body(Op& op, std::uint64_t now_ns);

}  // namespace thalweg::sim
