// SPDX-License-Identifier: Apache-2.0
//
// What a submission costs. README.md has the question and the method.

#include "support/floor.hpp"
#include "support/work.hpp"

#ifndef THALWEG_BENCH_NO_TBB
#include <oneapi/tbb/flow_graph.h>
#endif

namespace thalweg::bench {
namespace {

constexpr std::size_t kQueues = 8;

struct Sizes {
  std::size_t tasks;  // Of a pass in order.
  std::size_t round_trips;
};

Sizes sizes_of(const Options& options) {
  return options.quick ? Sizes{2'000, 200} : Sizes{100'000, 20'000};
}

// Adds the checksum to what `fill` measures.
template <class Fill>
Outcome counted(Counter& counter, const Fill& fill) {
  const std::uint64_t before = counter.get();
  Outcome outcome;
  fill(outcome.values);
  outcome.checksum = counter.get() - before;
  return outcome;
}

// A pass with a timer around each submission, and one without.
template <class Submit, class Finish>
Outcome both_passes(Counter& counter, std::size_t tasks, const Submit& submit,
                    const Finish& finish) {
  return counted(counter, [&](std::vector<Value>& values) {
    time_each(values, tasks, submit, finish);
    time_all(values, tasks, submit, finish);
  });
}

template <class RoundTrip>
Outcome round_trips(Counter& counter, std::size_t count, const RoundTrip& round_trip) {
  return counted(counter, [&](std::vector<Value>& values) {
    std::vector<std::uint64_t> samples(count);
    for (auto& sample : samples) {
      const std::uint64_t begin = ticks();
      round_trip();
      sample = ticks() - begin;
    }
    values.push_back({"round trip p50", "us", to_ns(percentile(samples, 0.5)) / 1e3});
    values.push_back({"round trip p99", "us", to_ns(percentile(samples, 0.99)) / 1e3});
  });
}

std::string accesses_text(std::size_t count) {
  return count == 1 ? "1 access" : fmt::format("{} accesses", count);
}

// What all contenders of a process share.
struct Setting {
  Sizes sizes;
  Counter counter;
  Body body{&counter};
  Device device = must(Device::open("cpu"));
};

template <std::size_t N>
Contender in_order(Setting& setting) {
  const Stream stream = must(Stream::create(setting.device));
  std::array<Column, N> columns;
  for (Column& column : columns) column = make_column(stream);
  check(stream.synchronize());
  const auto run = [&setting, stream, columns, code = accessing_kernel<N>(setting.body)] {
    return both_passes(
        setting.counter, setting.sizes.tasks,
        [&](std::size_t) { launch_with(stream, code, columns); },
        [&] { check(stream.synchronize()); });
  };
  return {"thalweg", accesses_text(N), 2 * setting.sizes.tasks, run};
}

// Tasks go round the queues. All of them update one array, so each waits for the one before, which
// is on another queue; what they read besides belongs to their queue. Without accesses the wait is
// a call.
template <std::size_t N>
Contender cross_queue(Setting& setting) {
  std::array<Stream, kQueues> streams;
  std::array<std::array<Column, N>, kQueues> columns;
  for (std::size_t q = 0; q < kQueues; ++q) {
    streams[q] = must(Stream::create(setting.device));
    for (Column& column : columns[q]) column = make_column(streams[q]);
    if constexpr (N > 0) columns[q][0] = columns[0][0];
  }
  check(setting.device.synchronize());
  const auto submit = [streams, columns, code = accessing_kernel<N>(setting.body)](std::size_t i) {
    const std::size_t q = i % kQueues;
    if constexpr (N == 0) check(streams[q].wait(streams[(q + kQueues - 1) % kQueues]));
    launch_with(streams[q], code, columns[q]);
  };
  const auto run = [&setting, submit] {
    const Statistics before = setting.device.statistics();
    Outcome outcome = both_passes(setting.counter, setting.sizes.tasks, submit,
                                  [&] { check(setting.device.synchronize()); });
    const auto waits = setting.device.statistics().waits_placed - before.waits_placed;
    const auto tasks = static_cast<double>(2 * setting.sizes.tasks);
    outcome.values.push_back({"waits placed", "1/task", static_cast<double>(waits) / tasks});
    return outcome;
  };
  return {"thalweg", accesses_text(N), 2 * setting.sizes.tasks, run};
}

template <std::size_t N>
Contender round_trip(Setting& setting) {
  const Stream stream = must(Stream::create(setting.device));
  std::array<Column, N> columns;
  for (Column& column : columns) column = make_column(stream);
  const auto run = [&setting, stream, columns, code = accessing_kernel<N>(setting.body)] {
    return round_trips(setting.counter, setting.sizes.round_trips, [&] {
      launch_with(stream, code, columns);
      check(stream.synchronize());
    });
  };
  return {"thalweg", accesses_text(N), setting.sizes.round_trips, run};
}

Contender floor_in_order(Setting& setting) {
  return {"floor", "array of calls", 2 * setting.sizes.tasks, [&setting] {
            CallArray calls(setting.sizes.tasks);
            return both_passes(
                setting.counter, setting.sizes.tasks,
                [&](std::size_t) { calls.submit(setting.body); }, [&] { calls.run(); });
          }};
}

Contender floor_round_trip(Setting& setting) {
  return {"floor", "array of calls", setting.sizes.round_trips, [&setting] {
            CallArray calls(1);
            return round_trips(setting.counter, setting.sizes.round_trips, [&] {
              calls.submit(setting.body);
              calls.run();
            });
          }};
}

#ifndef THALWEG_BENCH_NO_TBB
// A serial node runs its messages in the order they were put: what comes nearest to a stream.
struct SerialNode {
  explicit SerialNode(Body body)
      : node(graph, tbb::flow::serial, [body](std::size_t) {
          body();
          return tbb::flow::continue_msg();
        }) {}

  tbb::flow::graph graph;
  tbb::flow::function_node<std::size_t, tbb::flow::continue_msg> node;
};

Contender tbb_in_order(Setting& setting) {
  const auto serial = std::make_shared<SerialNode>(setting.body);
  return {"oneTBB", "serial node", 2 * setting.sizes.tasks, [&setting, serial] {
            return both_passes(
                setting.counter, setting.sizes.tasks,
                [&](std::size_t i) { serial->node.try_put(i); },
                [&] { serial->graph.wait_for_all(); });
          }};
}

Contender tbb_round_trip(Setting& setting) {
  const auto serial = std::make_shared<SerialNode>(setting.body);
  return {"oneTBB", "serial node", setting.sizes.round_trips, [&setting, serial] {
            return round_trips(setting.counter, setting.sizes.round_trips, [&] {
              serial->node.try_put(0);
              serial->graph.wait_for_all();
            });
          }};
}
#endif

Group in_order_group(Setting& setting) {
  Group group;
  group.contenders = {in_order<0>(setting), in_order<1>(setting), in_order<3>(setting),
                      in_order<8>(setting)};
#ifndef THALWEG_BENCH_NO_TBB
  group.contenders.push_back(tbb_in_order(setting));
#endif
  group.contenders.push_back(floor_in_order(setting));
  return group;
}

Group cross_queue_group(Setting& setting) {
  Group group;
  group.contenders = {cross_queue<0>(setting), cross_queue<1>(setting), cross_queue<3>(setting),
                      cross_queue<8>(setting)};
  return group;
}

Group round_trip_group(Setting& setting) {
  Group group;
  group.contenders = {round_trip<0>(setting), round_trip<3>(setting)};
#ifndef THALWEG_BENCH_NO_TBB
  group.contenders.push_back(tbb_round_trip(setting));
#endif
  group.contenders.push_back(floor_round_trip(setting));
  return group;
}

Group timer_group() {
  Group group;
  group.contenders = {{"floor", "two readings", 0,
                       [] { return Outcome{{{"timer", "ns", timer_overhead_ns()}}, 0}; }}};
  return group;
}

void measure(Runner& runner) {
  Setting setting{.sizes = sizes_of(runner.options()), .counter = {}};
  runner.run("timer", timer_group);
  runner.run("in-order", [&] { return in_order_group(setting); });
  runner.run("cross-queue wait", [&] { return cross_queue_group(setting); });
  runner.run("round trip", [&] { return round_trip_group(setting); });
}

}  // namespace
}  // namespace thalweg::bench

int main(int argc, char** argv) {
  using namespace thalweg::bench;
  const auto options = parse_options("submit", argc, argv);
  return options ? run_on_one_core_and_on_all(*options, measure) : 2;
}
