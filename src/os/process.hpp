// SPDX-License-Identifier: Apache-2.0
//
// os/process.hpp - what becomes of this process when it forks.

#pragma once

#include "thalweg/base/forked.hpp"

namespace thalweg::os {

// From here on every child that is forked knows that it is one (base/forked.hpp). Once is enough.
void watch_forks() noexcept;

[[noreturn]] void end_child() noexcept;

// Called behind code of the program's that ran on a thread of the runtime's. In a child that was
// forked there, that thread is the only one, and the tasks behind are the parent's to run: the
// child ends with EXIT_FAILURE and says so on stderr, and nothing of the program runs.
inline void end_forked_child() noexcept {
  if (thalweg::detail::forked()) [[unlikely]]
    end_child();
}

}  // namespace thalweg::os
