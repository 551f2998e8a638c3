// SPDX-License-Identifier: Apache-2.0
//
// tests/support/small_program.hpp - programs of a few steps, to try every schedule of.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "thalweg/explore.hpp"

namespace thalweg::test {

enum class SmallKind : std::uint8_t {
  write,   // Fills block `a` with the step's number.
  read,    // Reads block `a` back.
  copy,    // Block `a` gets the bytes of block `b`.
  change,  // A kernel: a = a * 3 + b.
  record,  // Event `a` on the stream.
  wait,    // The stream waits for event `a`.
  query,   // The host asks whether event `a` has passed, and observes the answer.
  sync,    // The host waits for the stream.
  raw,     // Work that changes block `a`, on the raw queue: nobody is told.
  renew,   // Block `a` is dropped, and made anew on the stream, which writes it.
};

struct SmallStep {
  SmallKind kind = SmallKind::write;
  int stream = 0;
  int a = 0;
  int b = 0;
};

struct SmallProgram {
  std::vector<SmallStep> steps;
  int streams = 3;
  int blocks = 2;
  int events = 1;
};

// "s0 write b1; s2 read b0"
std::string describe(const SmallProgram& program);

// Streams, blocks and events are made before anything is chosen, and dropped after it; the last
// step of the host is to wait for everything.
ExploreProgram to_explore(const SmallProgram& program);

// Calls `function` for each program of exactly `steps` reads and writes, up to the names of streams
// and blocks: the first use of each is in the order of their numbers.
void for_each_program(int steps, int streams, int blocks,
                      const std::function<void(const SmallProgram&)>& function);

// A random program of 1 to `steps_max` steps of all kinds.
SmallProgram random_program(std::uint64_t seed, int steps_max);

// A random program of exactly `steps` reads, writes, copies and changes.
SmallProgram random_copies(std::uint64_t seed, int steps);

}  // namespace thalweg::test
