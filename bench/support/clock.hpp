// SPDX-License-Identifier: Apache-2.0
//
// support/clock.hpp - the cheapest counter of the machine that ticks at a constant rate.

#pragma once

#include <chrono>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace thalweg::bench {

// Reads the counter. On x86-64 this is rdtscp, which waits for what came before it: a plain rdtsc
// would be executed in the middle of what it measures.
inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
  unsigned int processor;
  return __rdtscp(&processor);
#elif defined(__aarch64__)
  std::uint64_t value;
  asm volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(value) : : "memory");
  return value;
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

// Measured once against the steady clock, which takes 20 ms.
double nanoseconds_per_tick();

// What two readings with nothing in between say: the median of many.
double timer_overhead_ns();

inline double to_ns(std::uint64_t elapsed_ticks) {
  return static_cast<double>(elapsed_ticks) * nanoseconds_per_tick();
}

// Time since the construction: of the wall, and of all processors by this process. On one core that
// this process keeps busy both are the same, unless others took the core meanwhile: then only the
// second one says what the work costs.
class Stopwatch {
 public:
  Stopwatch() : begin_cpu_ns_(process_cpu_ns()), begin_(ticks()) {}

  double wall_ns() const { return to_ns(ticks() - begin_); }
  double cpu_ns() const { return process_cpu_ns() - begin_cpu_ns_; }

 private:
  static double process_cpu_ns();

  double begin_cpu_ns_;
  std::uint64_t begin_;
};

}  // namespace thalweg::bench
