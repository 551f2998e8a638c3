// SPDX-License-Identifier: Apache-2.0
//
// backends/sim/schedule.hpp - where the choices of a run come from.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "backends/sim/effects.hpp"

namespace thalweg::sim {

class Schedule {
 public:
  virtual ~Schedule() = default;

  // Which of `ready` takes the next step, by its position there. They are sorted; none is empty.
  // `last` took the step before.
  virtual std::size_t choose(std::span<const Process> ready, Process last) = 0;

  // Whether a step's effects are noted, and told when the step is over. Always the same.
  virtual bool wants_effects() const noexcept { return false; }
  virtual void happened(const Effects& effects) { static_cast<void>(effects); }
};

// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): the same numbers on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  // Below `bound`, which is not 0. The bias is below bound / 2^64. Most bounds are 1 or 2, and a
  // division takes longer than the rest.
  std::uint64_t below(std::uint64_t bound) noexcept {
    const std::uint64_t drawn = next();
    return (bound & (bound - 1)) == 0 ? drawn & (bound - 1) : drawn % bound;
  }

 private:
  std::uint64_t state_;
};

// Each choice is drawn, all alike.
class UniformSchedule final : public Schedule {
 public:
  explicit UniformSchedule(std::uint64_t seed) noexcept : random_(seed) {}
  std::size_t choose(std::span<const Process> ready, Process) override {
    return static_cast<std::size_t>(random_.below(ready.size()));
  }

 private:
  Random random_;
};

}  // namespace thalweg::sim
