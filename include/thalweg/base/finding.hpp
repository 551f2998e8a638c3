// SPDX-License-Identifier: Apache-2.0
//
// thalweg/base/finding.hpp - a rule that a run on the simulated device broke.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "thalweg/base/access.hpp"
#include "thalweg/base/export.hpp"

namespace thalweg {

enum class FindingKind : std::uint8_t {
  unordered,         // Two tasks conflict over bytes, and nothing orders them (G1).
  reuse_in_flight,   // Bytes were handed to a new owner while an earlier use may still run (G2).
  host_race,         // The host was given bytes that a task may still use (G2).
  unwritten_read,    // Somebody reads bytes that nothing wrote.
  undeclared_write,  // A task wrote bytes outside of what it declared.
  broken_out,        // A kernel left bytes of an Out<T> as they were.
  contents,          // A task left other bytes than in the sequential run (G1).
  hidden_wait,       // The host waited where waits are forbidden (G5).
  leak,              // Something was not given back when all handles were gone (G7).
  double_release,    // Something was given back twice.
  deadlock,          // Somebody waits, and nothing can go on.
  never_ran,         // A task was accepted and could not run to the end of the program.
  check,             // A check of the program's own failed.
  wrong_error,       // A call that was not refused gave an error, or a refused one gave none.
  error,             // The program ended with an exception.
};

// The name of the enumerator.
THALWEG_EXPORT std::string_view name(FindingKind kind) noexcept;

// One of those who did not get along.
struct FindingSide {
  std::string what;    // "kernel `blur`", "the host"
  std::string stream;  // Its name, or "s1".
  std::int32_t lane = -1;
  std::uint64_t serial = 0;  // From the start of the stream; of raw work, of what came before it.
  bool raw = false;          // Was put on the queue past the runtime, and has no serial.
  AccessMode mode = AccessMode::read;
  std::int32_t buffer = -1;  // Counted by the device; -1: memory of the program's.
  std::uint64_t begin = 0;   // Bytes [begin, end) of the buffer that both touch.
  std::uint64_t end = 0;
  std::string file;  // Of the call; without folders.
  std::uint32_t line = 0;
};

struct Finding {
  FindingKind kind = FindingKind::unordered;
  std::string message;  // One sentence or two, for people; the sides are in it.
  FindingSide first;    // Where there are two, the one that ran first.
  FindingSide second;
  bool two_sides = false;
  std::string missing_edge;  // "s1@2 must come after s0@3"; may be empty.
};

}  // namespace thalweg
