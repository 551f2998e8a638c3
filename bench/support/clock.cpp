// SPDX-License-Identifier: Apache-2.0

#include "support/clock.hpp"

#include <time.h>

#include <vector>

#include "support/values.hpp"

namespace thalweg::bench {
namespace {

double calibrate() {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const std::uint64_t first = ticks();
  while (Clock::now() - begin < std::chrono::milliseconds(20)) {
  }
  const std::uint64_t last = ticks();
  const std::chrono::duration<double, std::nano> elapsed = Clock::now() - begin;
  return elapsed.count() / static_cast<double>(last - first);
}

}  // namespace

double nanoseconds_per_tick() {
  static const double value = calibrate();
  return value;
}

double timer_overhead_ns() {
  std::vector<std::uint64_t> samples(10'000);
  for (auto& sample : samples) {
    const std::uint64_t begin = ticks();
    sample = ticks() - begin;
  }
  return to_ns(percentile(samples, 0.5));
}

double Stopwatch::process_cpu_ns() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

}  // namespace thalweg::bench
