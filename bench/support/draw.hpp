// SPDX-License-Identifier: Apache-2.0
//
// support/draw.hpp - numbers that depend on a seed and on nothing else: Knuth's linear congruential
// generator for 64 bits.

#pragma once

#include <cstdint>

namespace thalweg::bench {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) noexcept : state_(seed) {}

  // In [0, limit). REQUIRES: limit is from 1 to 2^31.
  std::uint64_t below(std::uint64_t limit) noexcept {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (state_ >> 33) % limit;
  }

 private:
  std::uint64_t state_;
};

}  // namespace thalweg::bench
