// SPDX-License-Identifier: Apache-2.0
//
// support/work.hpp - the bodies of tasks, kernels that call them, and loops that time them.
//
// An empty task increments one counter, relaxed, and that is the checksum: each body ran once.

#pragma once

#include <fmt/core.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "support/clock.hpp"
#include "support/rounds.hpp"
#include "support/values.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::bench {

// Ends the benchmark when a call was refused. (must() would move the result for nothing.)
template <class T>
inline void check(const Result<T>& result) {
  if (!result) [[unlikely]] {
    fmt::print(stderr, "{}\n", result.error().to_string());
    std::exit(1);
  }
}

// On a cache line of its own.
struct alignas(64) Counter {
  std::atomic<std::uint64_t> value{0};

  void add() noexcept { value.fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t get() const noexcept { return value.load(std::memory_order_relaxed); }
};

// A chain of dependent multiplications that no compiler shortens.
inline void spin(std::uint32_t steps) noexcept {
  std::uint64_t x = steps;
  for (std::uint32_t i = 0; i < steps; ++i) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    asm volatile("" : "+r"(x));
  }
}

// How many steps take `us` microseconds on a quiet processor.
std::uint32_t steps_for(double us);

// What every task of a group does.
struct Body {
  Counter* counter = nullptr;
  std::uint32_t spin_steps = 0;

  void operator()() const noexcept {
    if (spin_steps != 0) spin(spin_steps);
    counter->add();
  }
};

// What parameter number I of a kernel is: the first one is updated, the others are read.
template <std::size_t I>
struct ParameterAt {
  using Type = std::span<const std::uint64_t>;
};
template <>
struct ParameterAt<0> {
  using Type = std::span<std::uint64_t>;
};

// A kernel with `N` accesses that calls `body`.
template <std::size_t N>
auto accessing_kernel(Body body) {
  return [body]<std::size_t... I>(std::index_sequence<I...>) {
    return kernel("task", [body](Cell, typename ParameterAt<I>::Type...) { body(); });
  }(std::make_index_sequence<N>{});
}

using Column = Array<std::uint64_t>;

// One element, set to `value`.
inline Column make_column(const Stream& home, std::uint64_t value = 0) {
  Column column = must(Column::create(home, 1));
  check(home.fill(column, value));
  return column;
}

// Launches `code` with `N` of the arrays.
template <class F, std::size_t N>
void launch_with(const Stream& stream, const Kernel<F>& code,
                 const std::array<Column, N>& columns) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    check(stream.launch(code, 1, columns[I]...));
  }(std::make_index_sequence<N>{});
}

// Adds what a stopwatch says for each of `count` tasks: `name`, and `name cpu`.
inline void add_times(std::vector<Value>& values, const std::string& name, std::size_t count,
                      double wall_ns, double cpu_ns) {
  const double scale = 1e-3 / static_cast<double>(count);
  values.push_back({name, "us", wall_ns * scale});
  values.push_back({name + " cpu", "us", cpu_ns * scale});
}

// Times each call of `submit`, then `finish` with them, and adds `task with timer` and the
// percentiles of a submission.
template <class Submit, class Finish>
void time_each(std::vector<Value>& values, std::size_t count, const Submit& submit,
               const Finish& finish) {
  std::vector<std::uint64_t> samples(count);
  const Stopwatch watch;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t before = ticks();
    submit(i);
    samples[i] = ticks() - before;
  }
  finish();
  const double wall_ns = watch.wall_ns();
  add_times(values, "task with timer", count, wall_ns, watch.cpu_ns());
  values.push_back({"submit p50", "ns", to_ns(percentile(samples, 0.5))});
  values.push_back({"submit p99", "ns", to_ns(percentile(samples, 0.99))});
  values.push_back({"submit p99.9", "ns", to_ns(percentile(samples, 0.999))});
}

// Times all calls together: the metrics `task` and `task cpu`.
template <class Submit, class Finish>
void time_all(std::vector<Value>& values, std::size_t count, const Submit& submit,
              const Finish& finish) {
  const Stopwatch watch;
  for (std::size_t i = 0; i < count; ++i) submit(i);
  finish();
  const double wall_ns = watch.wall_ns();
  add_times(values, "task", count, wall_ns, watch.cpu_ns());
}

}  // namespace thalweg::bench
