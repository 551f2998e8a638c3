// SPDX-License-Identifier: Apache-2.0

#include "support/work.hpp"

#include <algorithm>

namespace thalweg::bench {

std::uint32_t steps_for(double us) {
  constexpr std::uint32_t kSteps = 100'000;
  double best_ns = 1e30;
  for (int i = 0; i < 20; ++i) {
    const std::uint64_t begin = ticks();
    spin(kSteps);
    best_ns = std::min(best_ns, to_ns(ticks() - begin));
  }
  return std::max<std::uint32_t>(1, static_cast<std::uint32_t>(us * 1e3 * kSteps / best_ns));
}

}  // namespace thalweg::bench
