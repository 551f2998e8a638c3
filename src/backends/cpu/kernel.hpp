// SPDX-License-Identifier: Apache-2.0
//
// backends/cpu/kernel.hpp - runs the task of a slot on this thread, kernels with the help of
// others.

#pragma once

#include "backends/cpu/slot.hpp"

namespace thalweg::cpu {

class Workers;

// Runs the task, tells its completion how it ended, and destroys the body. Does not advance
// anything. What a callable throws becomes task_failed: told to the completion, or to the error
// sink. A task that is stopped does nothing and ends with `cancelled`.
void execute(Slot& slot, bool stopped, Workers& workers) noexcept;

}  // namespace thalweg::cpu
