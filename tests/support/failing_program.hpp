// SPDX-License-Identifier: Apache-2.0
//
// tests/support/failing_program.hpp - random programs some of whose tasks fail, and what becomes of
// each byte of theirs.
//
// A program is a list of steps over a few buffers of bytes and a few streams. Its expected end
// comes from the models: each byte has a value, or the task that failed and the number of tasks
// between.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/base/log.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {

struct FailingStep {
  enum class Kind : std::uint8_t {
    fill,     // Writes a.
    copy,     // Writes a, reads b, which is as long.
    set,      // A kernel that writes a and reads b.
    add,      // A kernel that changes a and reads b.
    swap,     // A kernel that changes a and b.
    host,     // A host function that reads b and changes a.
    replace,  // a's buffer is dropped, and another one takes its place.
    read,     // The host reads a, later.
  };
  struct Range {
    int buffer = 0;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };
  enum class End : std::uint8_t { good, thrown, stopped };

  Kind kind = Kind::fill;
  int stream = 0;
  Range a;
  Range b;
  std::uint8_t value = 0;
  End end = End::good;
  std::uint32_t delay = 0;  // Turns of an empty loop in the task.
};

struct FailingProgram {
  static constexpr std::uint32_t kBytes = 24;  // Of each buffer.

  std::uint64_t seed = 0;
  int streams = 1;
  int buffers = 1;
  bool gated = false;  // All is submitted before the first task runs.
  std::vector<FailingStep> steps;
};

FailingProgram make_failing_program(std::uint64_t seed, std::uint32_t steps_max, bool delays);

// While there is one, what the error sink is told is dropped: failures that nobody read.
class QuietSink {
 public:
  QuietSink() {
    set_error_sink([](const Error&) {});
  }
  QuietSink(const QuietSink&) = delete;
  QuietSink& operator=(const QuietSink&) = delete;
  ~QuietSink() { set_error_sink({}); }
};

// One run of a program.
class FailingRun {
 public:
  // Makes what the program uses.
  FailingRun(const FailingProgram& program, const Device& device);
  FailingRun(FailingRun&&) noexcept;
  ~FailingRun();

  // Submits all its steps.
  void submit();

  // Waits for them, and holds what they left against the models. Empty, or what is wrong.
  std::string finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// All of it.
std::string run_failing_program(const FailingProgram& program, const Device& device);

std::string describe(const FailingProgram& program);

}  // namespace thalweg::test
