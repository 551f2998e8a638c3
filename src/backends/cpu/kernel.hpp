// SPDX-License-Identifier: Apache-2.0
//
// backends/cpu/kernel.hpp - runs the task of a slot on this thread, kernels with the help of
// others.

#pragma once

#include "backends/cpu/slot.hpp"
#include "thalweg/backend/outcomes.hpp"

namespace thalweg::cpu {

class Workers;

// Runs the task, tells its completion how it ended, and destroys the body. Does not advance
// anything. What a callable throws becomes task_failed: a failure of the bytes that the task
// writes, told to the completion as well; without either it goes to the error sink. A task that
// reads bad bytes, or is stopped, does nothing, and ends with `unwritten` or `cancelled`.
void execute(Slot& slot, bool stopped, Workers& workers, backend::Outcomes& outcomes) noexcept;

}  // namespace thalweg::cpu
