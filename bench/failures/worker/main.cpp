// SPDX-License-Identifier: Apache-2.0
//
// Runs the passes that main.cpp of bench/failures asks for. Built twice: with the library, and with
// one that keeps no outcomes. `bench_failures_with CASE TASKS` runs one pass on one processor, for
// callgrind; `--list` says what machine this is, and for each case how many buffers it writes.

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string_view>

#include "failures/cases.hpp"
#include "support/machine.hpp"
#include "support/work.hpp"

namespace thalweg::bench {
namespace {

struct Setting {
  Counter counter;
  Device device = must(Device::open("cpu"));
  Stream stream = must(Stream::create(device));
};

// Submits tasks, waits for them, and gives the checksum of the pass.
using Pass = std::function<std::uint64_t(std::size_t tasks)>;

std::uint64_t value_of(const Stream& stream, const Column& column) {
  return must(stream.read(column).get())[0];
}

template <std::size_t>
using WrittenAt = Out<std::uint64_t>;
template <std::size_t>
using ReadAt = std::span<const std::uint64_t>;

// `W` is a pack of as many numbers as arrays are written, `R` of those that are read.
template <std::size_t... W, std::size_t... R>
Pass kernel_pass(Setting& setting, std::index_sequence<W...>, std::index_sequence<R...>) {
  constexpr std::size_t kWritten = sizeof...(W);
  std::array<Column, kWritten + sizeof...(R)> columns;
  for (Column& column : columns) column = make_column(setting.stream);
  const auto code = kernel("task", [counter = &setting.counter](Cell, WrittenAt<W>...,
                                                                ReadAt<R>...) { counter->add(); });
  return [&setting, columns, code](std::size_t tasks) {
    const std::uint64_t before = setting.counter.get();
    for (std::size_t i = 0; i != tasks; ++i)
      check(setting.stream.launch(code, 1, columns[W]..., columns[kWritten + R]...));
    check(setting.stream.synchronize());
    return setting.counter.get() - before;
  };
}

template <std::size_t Written, std::size_t Read>
Pass kernel_pass(Setting& setting) {
  return kernel_pass(setting, std::make_index_sequence<Written>(),
                     std::make_index_sequence<Read>());
}

Pass kernel_pass(Setting& setting, const Case& asked) {
  if (asked.read == 3) return kernel_pass<1, 3>(setting);
  switch (asked.written) {
    case 1:
      return kernel_pass<1, 0>(setting);
    case 2:
      return kernel_pass<2, 0>(setting);
    case 3:
      return kernel_pass<3, 0>(setting);
    default:
      return kernel_pass<8, 0>(setting);
  }
}

Pass fill_pass(Setting& setting) {
  return [&setting, x = make_column(setting.stream)](std::size_t tasks) {
    for (std::size_t i = 0; i != tasks; ++i) check(setting.stream.fill(x, i + 1));
    check(setting.stream.synchronize());
    return value_of(setting.stream, x);
  };
}

// Back and forth; the fill is one of the tasks.
Pass copy_pass(Setting& setting) {
  const std::array<Column, 2> columns{make_column(setting.stream), make_column(setting.stream)};
  return [&setting, columns](std::size_t tasks) {
    check(setting.stream.fill(columns[0], tasks));
    for (std::size_t i = 1; i < tasks; ++i)
      check(setting.stream.copy(columns[i % 2], columns[(i + 1) % 2]));
    check(setting.stream.synchronize());
    return value_of(setting.stream, columns[(tasks - 1) % 2]);
  };
}

Pass host_pass(Setting& setting) {
  return [&setting, x = make_column(setting.stream)](std::size_t tasks) {
    const std::uint64_t before = setting.counter.get();
    for (std::size_t i = 0; i != tasks; ++i)
      static_cast<void>(setting.stream.host("task", {writes(x)},
                                            [counter = &setting.counter] { counter->add(); }));
    check(setting.stream.synchronize());
    return setting.counter.get() - before;
  };
}

Pass buffer_pass(Setting& setting) {
  return [&setting](std::size_t tasks) {
    Column last;
    for (std::size_t i = 0; i != tasks; ++i) {
      last = must(Column::create(setting.stream, 1));
      check(setting.stream.fill(last, i + 1));
    }
    check(setting.stream.synchronize());
    return value_of(setting.stream, last);
  };
}

Pass pass_of(Setting& setting, const Case& asked) {
  switch (asked.work) {
    case Work::kernel:
      return kernel_pass(setting, asked);
    case Work::fill:
      return fill_pass(setting);
    case Work::copy:
      return copy_pass(setting);
    case Work::host:
      return host_pass(setting);
    case Work::buffer:
      return buffer_pass(setting);
  }
  return {};
}

int once(std::size_t number, std::size_t tasks) {
  if (!pin_to(processors().back())) return 1;
  Setting setting;
  return pass_of(setting, kCases[number])(tasks) == tasks ? 0 : 1;
}

int list() {
  fmt::print("{}\n", describe_machine());
  for (const Case& known : kCases) fmt::print("{} {}\n", known.written, known.name);
  return 0;
}

int serve() {
  Setting setting;
  std::array<Pass, kCases.size()> passes;
  std::size_t number = 0;
  std::size_t tasks = 0;
  while (std::scanf("%zu %zu", &number, &tasks) == 2 && number < kCases.size()) {
    if (!passes[number]) passes[number] = pass_of(setting, kCases[number]);
    const Stopwatch watch;
    const std::uint64_t checksum = passes[number](tasks);
    const double wall_ns = watch.wall_ns();
    fmt::print("{} {} {}\n", wall_ns, watch.cpu_ns(), checksum);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace thalweg::bench

int main(int argc, char** argv) {
  using namespace thalweg::bench;
  if (argc == 2 && argv[1] == std::string_view("--list")) return list();
  if (argc != 3) return serve();
  const std::size_t number = std::strtoull(argv[1], nullptr, 10);
  return number < kCases.size() ? once(number, std::strtoull(argv[2], nullptr, 10)) : 2;
}
