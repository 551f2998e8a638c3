// SPDX-License-Identifier: Apache-2.0
//
// explore/run.hpp - one run of a program in a world of its own.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/sim/settings.hpp"
#include "backends/sim/world.hpp"
#include "explore/schedules.hpp"
#include "thalweg/explore.hpp"

namespace thalweg::explore_detail {

// What a run left behind.
struct RunResult {
  std::vector<Finding> findings;
  std::vector<sim::Output> outputs;  // In the order of submissions.
  std::vector<std::uint16_t> submitters;
  std::uint64_t nested_from = 0;  // See World.
  std::uint64_t observed = 0;     // A hash of what the program observed.
  Choices choices;
  std::vector<bool> first;  // See Recorder.
  std::uint64_t steps = 0;
  bool over_limit = false;
  sim::Faults faults;  // As they are at the end.
  std::vector<sim::Refusal> refusals;
  std::vector<Error> told;  // Errors that the program was given, by its own word.
  Trace trace;
};

struct RunSetup {
  const ExploreProgram* program = nullptr;
  const sim::Settings* settings = nullptr;
  std::string_view device_name;
  std::uint64_t index = 0;
  std::uint64_t steps_max = 0;
  bool trace = false;
  bool keep_bytes = false;   // What tasks wrote, for comparing byte by byte.
  bool with_faults = false;  // Whether the device works afterwards, and gives all back, is checked.
};

// Makes the schedule of a run, which may look at its world. Null: the sequential one.
using MakeSchedule = std::function<std::unique_ptr<sim::Schedule>(const sim::World& world)>;

// Runs the program once. Errors: those of opening a device.
Result<RunResult> run_once(const RunSetup& setup, const MakeSchedule& schedule);

// A hash of all that was computed.
std::uint64_t outcome_of(const RunResult& run) noexcept;

// What the sequential run computed.
struct Reference {
  std::vector<sim::Output> outputs;
  std::uint64_t nested_from = 0;
};

// Adds a finding where a task of `run` left other bytes than in the sequential run; it says which,
// when both runs kept them.
void compare_contents(RunResult& run, const Reference& sequential);

}  // namespace thalweg::explore_detail
