// SPDX-License-Identifier: Apache-2.0
//
// tests/support/random.hpp - numbers that depend on a seed and on nothing else.
//
// The same on every machine and with every standard library: SplitMix64.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace thalweg::test {

class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  // In [0, limit). REQUIRES: limit > 0.
  std::uint32_t below(std::uint32_t limit) noexcept {
    return static_cast<std::uint32_t>((next() >> 32) * limit >> 32);
  }

  // In [low, high].
  std::uint32_t between(std::uint32_t low, std::uint32_t high) noexcept {
    return low + below(high - low + 1);
  }

  bool chance(std::uint32_t percent) noexcept { return below(100) < percent; }

  // REQUIRES: `from` is not empty.
  template <class T>
  const T& pick(const std::vector<T>& from) noexcept {
    return from[below(static_cast<std::uint32_t>(from.size()))];
  }

 private:
  std::uint64_t state_;
};

}  // namespace thalweg::test
