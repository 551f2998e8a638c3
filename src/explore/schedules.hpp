// SPDX-License-Identifier: Apache-2.0
//
// explore/schedules.hpp - schedules that draw, repeat, and go one after the other; and their text.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/sim/flat_map.hpp"
#include "backends/sim/schedule.hpp"
#include "backends/sim/world.hpp"
#include "thalweg/base/result.hpp"

namespace thalweg::explore_detail {

using sim::Process;

// Choices where there was one, in order. kNobody: whoever comes first.
using Choices = std::vector<Process>;

// "h2x3 s0 cb": actors are h, h1, h2, ..., the runner of callbacks is cb, a queue is s and its
// slot.
std::string to_text(const Choices& choices);

// Errors: invalid_argument, naming the word that is none.
Result<Choices> choices_from(std::string_view text, std::source_location site);

// Writes down what another schedule chooses.
class Recorder final : public sim::Schedule {
 public:
  // The room is for as many choices as most small programs have.
  explicit Recorder(sim::Schedule& inner) : inner_(inner) {
    choices_.reserve(64);
    first_.reserve(64);
  }
  std::size_t choose(std::span<const Process> ready, Process last) override {
    const std::size_t chosen = inner_.choose(ready, last);
    if (ready.size() > 1) {
      choices_.push_back(ready[chosen]);
      first_.push_back(chosen == 0);
    }
    return chosen;
  }
  bool wants_effects() const noexcept override { return inner_.wants_effects(); }
  void happened(const sim::Effects& effects) override { inner_.happened(effects); }

  // REQUIRES: the run is over.
  Choices take_choices() noexcept { return std::move(choices_); }

  // For each choice whether it was the first of those there were.
  std::vector<bool> take_first() noexcept { return std::move(first_); }

 private:
  sim::Schedule& inner_;
  Choices choices_;
  std::vector<bool> first_;
};

// Repeats choices. One that cannot be made, and whatever comes behind the end, is the first.
class Replay final : public sim::Schedule {
 public:
  explicit Replay(const Choices& choices) noexcept : choices_(choices) {}
  std::size_t choose(std::span<const Process> ready, Process last) override;

 private:
  const Choices& choices_;
  std::size_t next_ = 0;
};

// How many choices of a replayed schedule, from its start, are those of the run.
std::size_t fitting(const Choices& replayed, const Choices& made) noexcept;

// Each task runs before the host goes on. Of several actors the one goes on whose submission is the
// next in `submitters`, which another run gave; without it, the one that went last.
class Sequential final : public sim::Schedule {
 public:
  Sequential(const sim::World& world, const std::vector<std::uint16_t>* submitters) noexcept
      : world_(world), submitters_(submitters) {}
  std::size_t choose(std::span<const Process> ready, Process last) override;

 private:
  const sim::World& world_;
  const std::vector<std::uint16_t>* submitters_;
};

// An order of everybody, drawn; the first in it who can goes on. At steps that are drawn too,
// whoever would go on becomes the last of all.
class Priorities final : public sim::Schedule {
 public:
  Priorities(std::uint64_t seed, unsigned changes, std::uint64_t steps_expected);
  std::size_t choose(std::span<const Process> ready, Process last) override;

 private:
  std::uint64_t priority_of(Process process);

  sim::Random random_;
  sim::FlatMap<Process, std::uint64_t> priorities_;  // The greatest goes first.
  std::vector<std::uint64_t> changes_;               // Steps, sorted.
  std::uint64_t step_ = 0;
  std::uint64_t lowest_;
};

}  // namespace thalweg::explore_detail
