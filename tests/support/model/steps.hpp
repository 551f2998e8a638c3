// SPDX-License-Identifier: Apache-2.0
//
// tests/support/model/steps.hpp - a set of steps.
//
// A bit for each number below the greatest: programs of tests are long enough that a tree would be
// felt, and short enough that nothing better is needed.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace thalweg::test::model {

// Numbers what took effect, in the order in which it did.
using Step = std::size_t;

class Steps {
 public:
  bool has(Step step) const;
  bool empty() const { return count() == 0; }
  std::size_t count() const;

  // In rising order.
  std::vector<Step> list() const;

  Steps& add(Step step);
  Steps& add(const Steps& others);

  // This set without `others`.
  Steps without(const Steps& others) const;

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace thalweg::test::model
