// SPDX-License-Identifier: Apache-2.0
//
// tools/interrupt.hpp - Ctrl-C, and the other signals that ask a program to end.
//
// The first one is noted, and the program ends at the next place where nothing is half done. The
// second one ends it at once, and only removes the file that is being written.
//
// Threads:    interrupted() from any thread; catch_signals() once, at the start, and
//             remove_when_killed() from one thread.

#pragma once

#include <string>

namespace thalweg::tool {

// From now on SIGINT, SIGTERM and SIGHUP are noted. Writing to a closed pipe becomes an error.
void catch_signals();

// Whether one came.
bool interrupted() noexcept;

// 128 and the number of the signal that came, as shells do it.
int interrupted_exit_code() noexcept;

// The one file that the second signal removes; empty: none. Longer paths than the system's limit
// are ignored.
void remove_when_killed(const std::string& path) noexcept;

}  // namespace thalweg::tool
