// SPDX-License-Identifier: Apache-2.0
//
// failures/cases.hpp - what is measured, and how the two workers are asked.
//
// A worker reads lines of a case's number and a count of tasks, runs a pass of them, and answers
// with a line: nanoseconds by the clock, nanoseconds of its processor time, checksum.

#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace thalweg::bench {

enum class Work { kernel, fill, copy, host, buffer };

struct Case {
  std::string_view name;
  Work work;
  std::size_t written;  // Buffers that a task writes.
  std::size_t read;
};

inline constexpr std::array<Case, 9> kCases{{
    {"kernel, 1 written", Work::kernel, 1, 0},
    {"kernel, 2 written", Work::kernel, 2, 0},
    {"kernel, 3 written", Work::kernel, 3, 0},
    {"kernel, 8 written", Work::kernel, 8, 0},
    {"kernel, 1 written, 3 read", Work::kernel, 1, 3},
    {"fill", Work::fill, 1, 0},
    {"copy", Work::copy, 1, 1},
    {"host function, 1 written", Work::host, 1, 0},
    {"reserve, fill, drop", Work::buffer, 1, 0},
}};

}  // namespace thalweg::bench
