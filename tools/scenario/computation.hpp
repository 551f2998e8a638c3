// SPDX-License-Identifier: Apache-2.0
//
// tools/scenario/computation.hpp - what the tasks of a scenario do to bytes.
//
// `mix` does not commute: a task that runs too early, too late or beside another leaves other bytes
// than in its turn.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scenario/scenario.hpp"

namespace thalweg::tool::scenario {

// Elements of device memory, by address.
struct Bytes {
  std::uintptr_t address = 0;
  std::uint64_t count = 0;
  Element element = Element::u32;
};

struct Computation {
  Compute compute = Compute::mix;
  std::uint32_t value = 0;
  std::string name;
  std::vector<Bytes> reads;
  std::vector<Bytes> writes;
  std::vector<Bytes> updates;

  // Memory ordering: none of its own; the caller's turn has come.
  void run() const;
};

// A hash that depends on the order of what it was given, and a row of numbers from it.
class Mixer {
 public:
  explicit Mixer(std::string_view name) noexcept;
  void take(std::uint32_t value) noexcept;
  std::uint32_t give() noexcept;

 private:
  std::uint64_t state_;
};

}  // namespace thalweg::tool::scenario
