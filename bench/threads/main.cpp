// SPDX-License-Identifier: Apache-2.0
//
// What a submission costs while other threads submit too. README.md has the question and the
// method.

#include <algorithm>
#include <barrier>
#include <chrono>
#include <mutex>
#include <thread>

#include "support/machine.hpp"
#include "support/work.hpp"
#include "sync/lock.hpp"

#ifndef THALWEG_BENCH_NO_TBB
#include <oneapi/tbb/flow_graph.h>
#endif

namespace thalweg::bench {
namespace {

constexpr std::size_t kThreadsMax = 4;

// Longer than the workers of a device nap before they sleep for good.
constexpr std::chrono::milliseconds kWorkersAsleep{5};

using Columns = std::array<Column, 3>;

struct Lane {
  Stream stream;
  Columns columns;
};
using Lanes = std::array<Lane, kThreadsMax>;

// Who shares what.
enum class Sharing : std::uint8_t { nothing, reads, arrays, stream };

std::string text_of(Sharing sharing) {
  switch (sharing) {
    case Sharing::nothing:
      return "own streams, own arrays";
    case Sharing::reads:
      return "own streams, shared reads";
    case Sharing::arrays:
      return "own streams, shared arrays";
    case Sharing::stream:
      return "one stream";
  }
  return {};
}

std::string variant_of(std::size_t threads, std::string_view what) {
  return fmt::format("{} {}, {}", threads, threads == 1 ? "thread" : "threads", what);
}

// What all contenders of a process share.
struct Setting {
  std::size_t per_thread;  // Submissions.
  Counter counter;
  Body body{&counter};
  Device device = must(Device::open("cpu"));
};

// Calls `submit(thread, i)` for each i below `count`, from `threads` threads that begin together,
// each on a processor of its own while there are some.
//
//   submit        the time of a call, as the mean thread sees it
//   submit p50    the median of it over batches of 32 calls of all threads, and
//   submit p99    what 99 % of the batches stay below: a thread that waits for another's run
//   all threads   the time between two calls of any, until the last thread is through
template <class Submit>
void from_threads(std::vector<Value>& values, std::size_t threads, std::size_t count,
                  const Submit& submit) {
  constexpr std::size_t kBatch = 32;
  const std::vector<int> places = processors();
  std::barrier start(static_cast<std::ptrdiff_t>(threads));
  std::array<std::vector<std::uint64_t>, kThreadsMax> times;  // Before the first, after each batch.
  for (auto& list : times) list.resize(count / kBatch + 1);
  {
    std::vector<std::jthread> running;
    for (std::size_t t = 0; t < threads; ++t)
      running.emplace_back([&, t] {
        pin_to(places[t % places.size()]);
        start.arrive_and_wait();
        times[t][0] = ticks();
        for (std::size_t i = 0; i < count; ++i) {
          submit(t, i);
          if (i % kBatch == kBatch - 1) times[t][(i + 1) / kBatch] = ticks();
        }
      });
  }
  std::vector<std::uint64_t> batches;
  double sum_ns = 0;
  std::uint64_t first = times[0].front();
  std::uint64_t last = times[0].back();
  for (std::size_t t = 0; t < threads; ++t) {
    for (std::size_t i = 1; i < times[t].size(); ++i)
      batches.push_back(times[t][i] - times[t][i - 1]);
    sum_ns += to_ns(times[t].back() - times[t].front());
    first = std::min(first, times[t].front());
    last = std::max(last, times[t].back());
  }
  const double submissions = static_cast<double>(threads * (count / kBatch * kBatch));
  values.push_back({"submit", "ns", sum_ns / submissions});
  values.push_back({"submit p50", "ns", to_ns(percentile(batches, 0.5)) / kBatch});
  values.push_back({"submit p99", "ns", to_ns(percentile(batches, 0.99)) / kBatch});
  values.push_back({"all threads", "ns", to_ns(last - first) / submissions});
}

Lanes make_lanes(Setting& setting, Sharing sharing) {
  Lanes lanes;
  for (Lane& lane : lanes) {
    lane.stream = must(Stream::create(setting.device));
    for (Column& column : lane.columns) column = make_column(lane.stream);
  }
  for (Lane& lane : lanes) {
    // The first array is updated, the others are read.
    if (sharing == Sharing::reads) {
      lane.columns[1] = lanes[0].columns[1];
      lane.columns[2] = lanes[0].columns[2];
    } else if (sharing == Sharing::arrays || sharing == Sharing::stream) {
      lane.columns = lanes[0].columns;
    }
    if (sharing == Sharing::stream) lane.stream = lanes[0].stream;
  }
  // What is shared has been used by all: with one thread it costs what it costs without company.
  for (const Lane& lane : lanes)
    check(lane.stream.touch(
        {updates(lane.columns[0]), reads(lane.columns[1]), reads(lane.columns[2])}));
  check(setting.device.synchronize());
  return lanes;
}

// Behind closed gates: nothing runs meanwhile, so only the submissions are timed.
Contender submitting(Setting& setting, std::size_t threads, Sharing sharing) {
  const Lanes lanes = make_lanes(setting, sharing);
  const Timeline gate = must(Timeline::create(setting.device));
  const auto run = [&setting, threads, lanes, gate,
                    code = accessing_kernel<3>(setting.body)]() -> Outcome {
    const std::uint64_t opening = gate.value() + 1;
    for (const Lane& lane : lanes) check(lane.stream.wait(gate, opening));
    std::this_thread::sleep_for(kWorkersAsleep);
    const std::uint64_t calls = setting.counter.get();
    const Statistics before = setting.device.statistics();
    Outcome outcome;
    from_threads(outcome.values, threads, setting.per_thread, [&](std::size_t t, std::size_t) {
      launch_with(lanes[t].stream, code, lanes[t].columns);
    });
    const auto waits = setting.device.statistics().waits_placed - before.waits_placed;
    check(gate.signal(opening));
    check(setting.device.synchronize());
    outcome.values.push_back(
        {"waits placed", "1/task",
         static_cast<double>(waits) / static_cast<double>(threads * setting.per_thread)});
    outcome.checksum = setting.counter.get() - calls;
    return outcome;
  };
  return {"thalweg", variant_of(threads, text_of(sharing)), threads * setting.per_thread, run};
}

// The gates are open: workers run what is submitted, on the same processors.
Contender running(Setting& setting, std::size_t threads, Sharing sharing) {
  const Lanes lanes = make_lanes(setting, sharing);
  const auto run = [&setting, threads, lanes,
                    code = accessing_kernel<3>(setting.body)]() -> Outcome {
    const std::uint64_t calls = setting.counter.get();
    Outcome outcome;
    const Stopwatch watch;
    from_threads(outcome.values, threads, setting.per_thread, [&](std::size_t t, std::size_t) {
      launch_with(lanes[t].stream, code, lanes[t].columns);
    });
    check(setting.device.synchronize());
    const double wall_ns = watch.wall_ns();
    add_times(outcome.values, "task", threads * setting.per_thread, wall_ns, watch.cpu_ns());
    outcome.checksum = setting.counter.get() - calls;
    return outcome;
  };
  return {"thalweg", variant_of(threads, text_of(sharing)), threads * setting.per_thread, run};
}

// A counter, and a ring that takes as many bytes a call as a stream keeps of a kernel with three
// views, behind a lock.
template <class Lock>
struct alignas(64) LockedRing {
  template <class... Args>
  explicit LockedRing(std::size_t capacity, Args&&... args)
      : lock(std::forward<Args>(args)...), slots(capacity) {}

  void push(std::uint64_t value) {
    lock.lock();
    slots[count % slots.size()].fill(value);
    ++count;
    lock.unlock();
  }

  using Slot = std::array<std::uint64_t, 16>;

  Lock lock;
  std::uint64_t count = 0;
  std::vector<Slot> slots;
};

template <class Ring>
Contender floor(Setting& setting, std::size_t threads, bool shared, std::string_view what,
                std::shared_ptr<std::array<std::unique_ptr<Ring>, kThreadsMax>> rings) {
  const auto run = [&setting, threads, shared, rings]() -> Outcome {
    Outcome outcome;
    std::uint64_t before = 0;
    for (const auto& ring : *rings) before += ring->count;
    from_threads(outcome.values, threads, setting.per_thread,
                 [&](std::size_t t, std::size_t i) { (*rings)[shared ? 0 : t]->push(i); });
    for (const auto& ring : *rings) outcome.checksum += ring->count;
    outcome.checksum -= before;
    return outcome;
  };
  return {"floor",
          variant_of(threads,
                     fmt::format("{} {}", shared ? "one ring behind" : "own rings behind", what)),
          threads * setting.per_thread, run};
}

template <class Ring, class... Args>
auto make_rings(const Setting& setting, Args... args) {
  auto rings = std::make_shared<std::array<std::unique_ptr<Ring>, kThreadsMax>>();
  for (auto& ring : *rings) ring = std::make_unique<Ring>(setting.per_thread, args...);
  return rings;
}

Contender mutex_floor(Setting& setting, std::size_t threads, bool shared) {
  using Ring = LockedRing<std::mutex>;
  return floor(setting, threads, shared, "a mutex", make_rings<Ring>(setting));
}

Contender spin_floor(Setting& setting, std::size_t threads, bool shared) {
  using Ring = LockedRing<sync::SpinLock>;
  return floor(setting, threads, shared, "a spin lock",
               make_rings<Ring>(setting, sync::Rank::queue));
}

#ifndef THALWEG_BENCH_NO_TBB
// Serial nodes, the first message of which blocks until the gate opens: what comes nearest to
// streams behind a gate. A serial node takes no further worker meanwhile.
struct GatedNode {
  explicit GatedNode(Body body)
      : node(graph, tbb::flow::serial, [this, body](std::size_t message) {
          if (message == kGate) {
            closed.wait(true);
          } else {
            body();
          }
          return tbb::flow::continue_msg();
        }) {}

  static constexpr std::size_t kGate = std::size_t(-1);

  void close() {
    closed = true;
    node.try_put(kGate);
  }
  void open() {
    closed = false;
    closed.notify_all();
  }

  std::atomic<bool> closed{false};
  tbb::flow::graph graph;
  tbb::flow::function_node<std::size_t, tbb::flow::continue_msg> node;
};

Contender tbb_nodes(Setting& setting, std::size_t threads, bool shared) {
  auto nodes = std::make_shared<std::array<std::unique_ptr<GatedNode>, kThreadsMax>>();
  for (auto& node : *nodes) node = std::make_unique<GatedNode>(setting.body);
  const auto run = [&setting, threads, shared, nodes]() -> Outcome {
    for (const auto& node : *nodes) node->close();
    std::this_thread::sleep_for(kWorkersAsleep);
    const std::uint64_t calls = setting.counter.get();
    Outcome outcome;
    from_threads(outcome.values, threads, setting.per_thread,
                 [&](std::size_t t, std::size_t i) { (*nodes)[shared ? 0 : t]->node.try_put(i); });
    for (const auto& node : *nodes) node->open();
    for (const auto& node : *nodes) node->graph.wait_for_all();
    outcome.checksum = setting.counter.get() - calls;
    return outcome;
  };
  return {"oneTBB", variant_of(threads, shared ? "one serial node" : "own serial nodes"),
          threads * setting.per_thread, run};
}
#endif

void add_peers(Group& group, Setting& setting, std::size_t threads, bool shared) {
#ifndef THALWEG_BENCH_NO_TBB
  group.contenders.push_back(tbb_nodes(setting, threads, shared));
#endif
  group.contenders.push_back(spin_floor(setting, threads, shared));
  group.contenders.push_back(mutex_floor(setting, threads, shared));
}

// With one thread, `shared arrays` are arrays that four streams have used, of which one goes on.
Group submitting_group(Setting& setting, std::size_t threads) {
  Group group;
  group.contenders = {submitting(setting, threads, Sharing::nothing),
                      submitting(setting, threads, Sharing::reads),
                      submitting(setting, threads, Sharing::arrays)};
  if (threads > 1) group.contenders.push_back(submitting(setting, threads, Sharing::stream));
  add_peers(group, setting, threads, false);
  if (threads > 1) add_peers(group, setting, threads, true);
  return group;
}

Group running_group(Setting& setting, std::size_t threads) {
  Group group;
  group.contenders = {
      running(setting, threads, Sharing::nothing), running(setting, threads, Sharing::reads),
      running(setting, threads, Sharing::arrays), running(setting, threads, Sharing::stream)};
  return group;
}

void measure(Runner& runner) {
  Setting setting{.per_thread = runner.options().quick ? 1'024u : 20'000u, .counter = {}};
  for (const std::size_t threads : {1, 2, 4})
    runner.run("submitting", [&] { return submitting_group(setting, threads); });
  runner.run("running", [&] { return running_group(setting, 2); });
}

}  // namespace
}  // namespace thalweg::bench

int main(int argc, char** argv) {
  using namespace thalweg::bench;
  auto options = parse_options("threads", argc, argv);
  if (!options) return 2;
  // On one processor threads take turns, and never meet but where one is preempted.
  if (options->cores.empty()) options->cores = "all cores";
  return run_on_one_core_and_on_all(*options, measure);
}
