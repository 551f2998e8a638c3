// SPDX-License-Identifier: Apache-2.0
//
// What it costs to keep tasks of several streams in order. README.md has the question and the
// method.

#include <deque>
#include <optional>

#include "support/floor.hpp"
#include "support/machine.hpp"
#include "support/work.hpp"

#ifndef THALWEG_BENCH_NO_TBB
#include <oneapi/tbb/flow_graph.h>
#endif

namespace thalweg::bench {
namespace {

constexpr std::size_t kStreams = 4;
constexpr std::size_t kWaitEvery = 10;
constexpr std::size_t kColumns = 16;

// Task i goes to stream i % kStreams. Every tenth task of a stream depends on another stream: on
// what the stream to the left was given last, or, with a shared array, on the last task that
// updated it.
bool depends(std::size_t i) { return i / kStreams % kWaitEvery == kWaitEvery - 1; }

// How much work a group does.
struct Load {
  Body body;
  std::size_t stream_tasks = 0;  // Of all four streams.
  std::size_t steps = 0;         // Of the stencil, with kColumns tasks each.

  std::size_t stencil_tasks() const { return steps * kColumns; }
};

using Streams = std::vector<Stream>;

Streams make_streams(const Device& device, std::size_t count) {
  Streams streams;
  for (std::size_t i = 0; i < count; ++i) streams.push_back(must(Stream::create(device)));
  return streams;
}

// Times `run_all`, which does `tasks` tasks, and takes the checksum.
template <class RunAll>
Outcome timed(const Body& body, std::size_t tasks, const RunAll& run_all) {
  const std::uint64_t before = body.counter->get();
  const Stopwatch watch;
  run_all();
  const double wall_ns = watch.wall_ns();
  const double cpu_ns = watch.cpu_ns();
  Outcome outcome;
  add_times(outcome.values, "task", tasks, wall_ns, cpu_ns);
  outcome.checksum = body.counter->get() - before;
  return outcome;
}

void add_waits(Outcome& outcome, const Device& device, const Statistics& before,
               std::size_t tasks) {
  const auto waits = device.statistics().waits_placed - before.waits_placed;
  outcome.values.push_back(
      {"waits placed", "1/task", static_cast<double>(waits) / static_cast<double>(tasks)});
}

Contender streams_explicit(const Device& device, const Load& load) {
  const auto run = [device, load, streams = make_streams(device, kStreams),
                    code = accessing_kernel<0>(load.body)] {
    const Statistics before = device.statistics();
    Outcome outcome = timed(load.body, load.stream_tasks, [&] {
      for (std::size_t i = 0; i < load.stream_tasks; ++i) {
        const Stream& stream = streams[i % kStreams];
        if (depends(i)) check(stream.wait(streams[(i + kStreams - 1) % kStreams]));
        check(stream.launch(code, 1));
      }
      check(device.synchronize());
    });
    add_waits(outcome, device, before, load.stream_tasks);
    return outcome;
  };
  return {"thalweg", "explicit waits", load.stream_tasks, run};
}

// Every task updates an array of its stream, every tenth also one that all streams share.
Contender streams_automatic(const Device& device, const Load& load) {
  const Streams streams = make_streams(device, kStreams);
  std::vector<Column> own;
  for (const Stream& stream : streams) own.push_back(make_column(stream));
  const Column shared = make_column(streams[0]);
  const auto one = accessing_kernel<1>(load.body);
  const auto two = kernel("task of two", [body = load.body](Cell, std::span<std::uint64_t>,
                                                            std::span<std::uint64_t>) { body(); });
  const auto run = [=] {
    const Statistics before = device.statistics();
    Outcome outcome = timed(load.body, load.stream_tasks, [&] {
      for (std::size_t i = 0; i < load.stream_tasks; ++i) {
        const std::size_t s = i % kStreams;
        if (depends(i)) {
          check(streams[s].launch(two, 1, own[s], shared));
        } else {
          check(streams[s].launch(one, 1, own[s]));
        }
      }
      check(device.synchronize());
    });
    add_waits(outcome, device, before, load.stream_tasks);
    return outcome;
  };
  return {"thalweg", "automatic", load.stream_tasks, run};
}

// Two copies of the columns. Task (c, t) reads columns c-1, c and c+1 of one copy, and writes
// column c of the other; the first and the last column have one neighbour.
class Stencil {
 public:
  Stencil(const Device& device, std::size_t queues)
      : device_(device), streams_(make_streams(device, queues)) {
    for (auto& copy : columns_)
      for (std::size_t c = 0; c < kColumns; ++c) copy.push_back(make_column(stream_of(c), c + 1));
    check(device_.synchronize());
  }

  // `inner` takes three columns and the result, `edge` two.
  template <class Inner, class Edge>
  void run(std::size_t steps, const Inner& inner, const Edge& edge) const {
    for (std::size_t t = 0; t < steps; ++t) {
      const auto& from = columns_[t % 2];
      const auto& to = columns_[(t + 1) % 2];
      for (std::size_t c = 0; c < kColumns; ++c) {
        const Stream& stream = stream_of(c);
        if (c == 0) {
          check(stream.launch(edge, 1, from[0], from[1], to[0]));
        } else if (c == kColumns - 1) {
          check(stream.launch(edge, 1, from[c - 1], from[c], to[c]));
        } else {
          check(stream.launch(inner, 1, from[c - 1], from[c], from[c + 1], to[c]));
        }
      }
    }
    check(device_.synchronize());
  }

  // What the columns hold after `steps`.
  std::vector<std::uint64_t> result(std::size_t steps) const {
    std::vector<std::uint64_t> values;
    for (std::size_t c = 0; c < kColumns; ++c)
      values.push_back(must(stream_of(c).read(columns_[steps % 2][c]).get()).at(0));
    return values;
  }

 private:
  // Neighbours share a queue where there are fewer queues than columns.
  const Stream& stream_of(std::size_t column) const {
    return streams_[column * streams_.size() / kColumns];
  }

  Device device_;
  Streams streams_;
  std::array<std::vector<Column>, 2> columns_;
};

using In = std::span<const std::uint64_t>;

Contender stencil_automatic(const Device& device, const Load& load, std::size_t queues) {
  const auto stencil = std::make_shared<Stencil>(device, queues);
  const auto inner =
      kernel("inner", [body = load.body](Cell, In, In, In, Out<std::uint64_t>) { body(); });
  const auto edge =
      kernel("edge", [body = load.body](Cell, In, In, Out<std::uint64_t>) { body(); });
  const auto run = [=] {
    const Statistics before = device.statistics();
    Outcome outcome =
        timed(load.body, load.stencil_tasks(), [&] { stencil->run(load.steps, inner, edge); });
    add_waits(outcome, device, before, load.stencil_tasks());
    return outcome;
  };
  return {"thalweg", fmt::format("automatic, {} streams", queues), load.stencil_tasks(), run};
}

constexpr std::uint64_t mix(std::uint64_t left, std::uint64_t middle, std::uint64_t right) {
  return left * 3 + middle * 5 + right * 7 + 1;
}

std::vector<std::uint64_t> sequential_stencil(std::size_t steps) {
  std::vector<std::uint64_t> from(kColumns);
  for (std::size_t c = 0; c < kColumns; ++c) from[c] = c + 1;
  std::vector<std::uint64_t> to(kColumns);
  for (std::size_t t = 0; t < steps; ++t) {
    for (std::size_t c = 0; c < kColumns; ++c)
      to[c] = c == 0              ? mix(0, from[0], from[1])
              : c == kColumns - 1 ? mix(0, from[c - 1], from[c])
                                  : mix(from[c - 1], from[c], from[c + 1]);
    std::swap(from, to);
  }
  return from;
}

// Empty tasks show that each ran once, not that they ran in order. So the same stencil also
// computes something, and the result is compared with a loop's. Gives 1 when it is right; its time
// is not comparable with the others.
Contender stencil_check(const Device& device, std::size_t steps, std::size_t queues) {
  const auto run = [=] {
    const Stencil stencil(device, queues);
    const auto inner =
        kernel("inner", [](Cell, In left, In middle, In right, Out<std::uint64_t> to) {
          to[0] = mix(left[0], middle[0], right[0]);
        });
    const auto edge = kernel("edge", [](Cell, In middle, In right, Out<std::uint64_t> to) {
      to[0] = mix(0, middle[0], right[0]);
    });
    stencil.run(steps, inner, edge);
    const bool right = stencil.result(steps) == sequential_stencil(steps);
    return Outcome{{{"right", "1", right ? 1.0 : 0.0}}, right ? 1u : 0u};
  };
  return {"thalweg", fmt::format("{} streams", queues), 1, run};
}

Contender floor_of(const Load& load, std::size_t tasks) {
  const auto run = [load, tasks] {
    CallArray calls(tasks);
    return timed(load.body, tasks, [&] {
      for (std::size_t i = 0; i < tasks; ++i) calls.submit(load.body);
      calls.run();
    });
  };
  return {"floor", "array of calls", tasks, run};
}

#ifndef THALWEG_BENCH_NO_TBB
// A graph that is told its edges, before it runs.
class TbbGraph {
 public:
  using Node = tbb::flow::continue_node<tbb::flow::continue_msg>;

  explicit TbbGraph(Body body) : body_(body) {}

  // Adds a node; those of `before` are nodes added earlier.
  void add(std::initializer_list<std::optional<std::size_t>> before) {
    Node& node = nodes_.emplace_back(graph_, [body = body_](const tbb::flow::continue_msg&) {
      body();
      return tbb::flow::continue_msg();
    });
    bool first = true;
    for (const auto& other : before) {
      if (!other) continue;
      tbb::flow::make_edge(nodes_[*other], node);
      first = false;
    }
    if (first) starts_.push_back(&node);
  }

  void run() {
    for (Node* node : starts_) node->try_put(tbb::flow::continue_msg());
    graph_.wait_for_all();
  }

 private:
  Body body_;
  tbb::flow::graph graph_;
  std::deque<Node> nodes_;
  std::vector<Node*> starts_;
};

std::shared_ptr<TbbGraph> tbb_streams(const Load& load) {
  auto graph = std::make_shared<TbbGraph>(load.body);
  for (std::size_t i = 0; i < load.stream_tasks; ++i) {
    std::optional<std::size_t> same;
    std::optional<std::size_t> left;
    if (i >= kStreams) same = i - kStreams;
    if (i > 0 && depends(i)) left = i - 1;
    graph->add({same, left});
  }
  return graph;
}

std::shared_ptr<TbbGraph> tbb_stencil(const Load& load) {
  auto graph = std::make_shared<TbbGraph>(load.body);
  for (std::size_t i = 0; i < load.stencil_tasks(); ++i) {
    const std::size_t c = i % kColumns;
    std::optional<std::size_t> left;
    std::optional<std::size_t> middle;
    std::optional<std::size_t> right;
    if (i >= kColumns) {
      middle = i - kColumns;
      if (c > 0) left = *middle - 1;
      if (c < kColumns - 1) right = *middle + 1;
    }
    graph->add({left, middle, right});
  }
  return graph;
}

using MakeGraph = std::shared_ptr<TbbGraph> (*)(const Load&);

// Its destruction is not timed.
Contender tbb_built(const Load& load, std::size_t tasks, MakeGraph make) {
  const auto run = [=] {
    std::shared_ptr<TbbGraph> graph;
    return timed(load.body, tasks, [&] {
      graph = make(load);
      graph->run();
    });
  };
  return {"oneTBB", "given edges, build included", tasks, run};
}

Contender tbb_prebuilt(const Load& load, std::size_t tasks, MakeGraph make) {
  const auto run = [load, tasks, graph = make(load)] {
    return timed(load.body, tasks, [&] { graph->run(); });
  };
  return {"oneTBB", "given edges, built before", tasks, run};
}
#endif

Group streams_group(const Device& device, const Load& load) {
  Group group;
  group.contenders = {streams_explicit(device, load), streams_automatic(device, load)};
#ifndef THALWEG_BENCH_NO_TBB
  group.contenders.push_back(tbb_built(load, load.stream_tasks, tbb_streams));
  group.contenders.push_back(tbb_prebuilt(load, load.stream_tasks, tbb_streams));
#endif
  group.contenders.push_back(floor_of(load, load.stream_tasks));
  group.speed_up = load.body.spin_steps != 0;
  return group;
}

Group stencil_group(const Device& device, const Load& load) {
  Group group;
  group.contenders = {stencil_automatic(device, load, kColumns),
                      stencil_automatic(device, load, 4)};
#ifndef THALWEG_BENCH_NO_TBB
  group.contenders.push_back(tbb_built(load, load.stencil_tasks(), tbb_stencil));
  group.contenders.push_back(tbb_prebuilt(load, load.stencil_tasks(), tbb_stencil));
#endif
  group.contenders.push_back(floor_of(load, load.stencil_tasks()));
  group.speed_up = load.body.spin_steps != 0;
  return group;
}

void measure(Runner& runner) {
  const bool quick = runner.options().quick;
  Counter counter;
  const Device device = must(Device::open("cpu"));
  runner.run("stencil check", [&] {
    Group group;
    group.contenders = {stencil_check(device, quick ? 100 : 1'000, kColumns),
                        stencil_check(device, quick ? 100 : 1'000, 4)};
    return group;
  });
  const Load empty{{&counter}, quick ? 2'000u : 100'000u, quick ? 100u : 1'000u};
  runner.run("4 streams, empty", [&] { return streams_group(device, empty); });
  runner.run("stencil, empty", [&] { return stencil_group(device, empty); });
  if (processors().size() < 2) return;
  for (const double us : {0.2, 1.0, 5.0}) {
    const std::size_t steps = quick ? 50 : us > 2 ? 500 : 1'000;
    const Load busy{{&counter, steps_for(us)}, steps * kColumns, steps};
    runner.run(fmt::format("4 streams, {} us", us), [&] { return streams_group(device, busy); });
    runner.run(fmt::format("stencil, {} us", us), [&] { return stencil_group(device, busy); });
  }
}

}  // namespace
}  // namespace thalweg::bench

int main(int argc, char** argv) {
  using namespace thalweg::bench;
  const auto options = parse_options("ordering", argc, argv);
  return options ? run_on_one_core_and_on_all(*options, measure) : 2;
}
