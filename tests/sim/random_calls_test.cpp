// SPDX-License-Identifier: Apache-2.0
//
// Random programs of a few calls of all kinds: the exhaustive search finds the same with its
// reduction and without. What the calls answer is observed, and so are variables that tasks and
// callbacks change. Not looked at: programs whose schedules are too many to run them all.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "support/program_runner.hpp"
#include "support/random.hpp"
#include "thalweg/explore.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

using namespace std::chrono_literals;
using Block = Array<std::uint32_t>;

struct Call {
  std::uint32_t kind = 0;
  std::uint32_t stream = 0;
  std::uint32_t block = 0;
  std::uint32_t number = 0;
};

struct Calls {
  std::string device = "sim";
  std::vector<std::vector<Call>> actors;
};

void change(Cell at, std::span<std::uint32_t> to, std::span<const std::uint32_t> from) {
  to[at.x] = to[at.x] * 3 + from[at.x];
}

void grow(Cell at, std::span<std::uint32_t> to) { to[at.x] += 1; }

template <class T>
T or_empty(Result<T> result) {
  return result ? *std::move(result) : T();
}

// What the calls of one run use.
struct Parts {
  explicit Parts(ExploreRun& run) : second(or_empty(run.open("sim"))) {
    for (auto& stream : streams) stream = or_empty(Stream::create(run.device()));
    limited = or_empty(Stream::create(run.device(), {.room_bytes = 1}));
    far = or_empty(Stream::create(second));
    for (std::size_t i = 0; i != 2; ++i) {
      blocks[i] = or_empty(Block::create(streams[i], 2));
      events[i] = or_empty(TimedEvent::create(run.device()));
      static_cast<void>(streams[i].fill(blocks[i], 7u));
    }
    far_block = or_empty(Block::create(far, 2));
    static_cast<void>(far.fill(far_block, 9u));
    memory = or_empty(HostArray<std::uint32_t>::create(streams[0], 2));
    static_cast<void>(streams[0].fill(memory, 3u));
    grids = or_empty(Array<Extent>::create(streams[0], 1));
    static_cast<void>(streams[0].fill(grids, Extent{2, 1, 1}));
    timeline = or_empty(Timeline::create(run.device()));
  }

  Device second;
  std::array<Stream, 2> streams;
  Stream limited;
  Stream far;
  std::array<Block, 2> blocks;
  Block far_block;
  HostArray<std::uint32_t> memory;
  Array<Extent> grids;
  std::array<TimedEvent, 2> events;
  Timeline timeline;
  std::stop_source stop;
  std::optional<Future<std::vector<std::uint32_t>>> read;
  const std::uint32_t* looks = nullptr;  // Into `memory`, beyond the end of its view.
  std::vector<std::uint32_t> lent{5, 6};
  std::uint32_t variable = 1;
  Kernel<decltype(&change)> change_kernel = kernel("change", &change);
  Kernel<decltype(&grow)> grow_kernel = kernel("grow", &grow);
};

using Perform = void (*)(ExploreRun& run, const std::shared_ptr<Parts>& p, const Call& call);

struct Kind {
  const char* name;
  Perform perform;
};

// Handles of the call's own: another actor may drop the others meanwhile.
Stream stream(const Parts& p, const Call& call) { return p.streams[call.stream]; }
Block block(const Parts& p, const Call& call) { return p.blocks[call.block]; }
Event& event(Parts& p, const Call& call) { return p.events[call.block]; }

template <class T>
void observe(ExploreRun& run, const Result<T>& result) {
  run.observe(result ? 0u : 1u + static_cast<std::uint64_t>(result.error().kind()));
}

const Kind kKinds[] = {
    {"fill",
     [](ExploreRun& run, const auto& p, const Call& call) {
       observe(run, stream(*p, call).fill(block(*p, call), call.number));
     }},
    {"get",
     [](ExploreRun& run, const auto& p, const Call& call) {
       const auto read = stream(*p, call).read(block(*p, call)).get();
       observe(run, read);
       if (read) run.observe((*read)[0]);
     }},
    {"read",
     [](ExploreRun&, const auto& p, const Call& call) {
       p->read = stream(*p, call).read(block(*p, call));
     }},
    {"ready",
     [](ExploreRun& run, const auto& p, const Call&) { run.observe(p->read && p->read->ready()); }},
    {"record",
     [](ExploreRun& run, const auto& p, const Call& call) {
       observe(run, stream(*p, call).record(event(*p, call)));
     }},
    {"query",
     [](ExploreRun& run, const auto& p, const Call& call) {
       run.observe(static_cast<std::uint64_t>(event(*p, call).query()));
     }},
    {"wait",
     [](ExploreRun& run, const auto& p, const Call& call) {
       observe(run, event(*p, call).wait(call.number % 2 == 0 ? Deadline() : Deadline(1us)));
     }},
    {"wait_event",
     [](ExploreRun& run, const auto& p, const Call& call) {
       observe(run, stream(*p, call).wait_event(event(*p, call)));
     }},
    {"stream signals",
     [](ExploreRun& run, const auto& p, const Call& call) {
       observe(run, stream(*p, call).signal(p->timeline, call.number));
     }},
    {"signal",
     [](ExploreRun& run, const auto& p, const Call& call) {
       observe(run, p->timeline.signal(call.number));
     }},
    {"value",
     [](ExploreRun& run, const auto& p, const Call&) { run.observe(p->timeline.value()); }},
    {"timeline wait",
     [](ExploreRun& run, const auto& p, const Call& call) {
       observe(run, p->timeline.wait(call.number, 1us * call.number));
     }},
    {"stream waits for timeline",
     [](ExploreRun& run, const auto& p, const Call& call) {
       observe(run, stream(*p, call).wait(p->timeline, call.number));
     }},
    {"try_map",
     [](ExploreRun& run, const auto& p, const Call& call) {
       const auto view = try_map(block(*p, call), for_reading);
       observe(run, view);
       if (view) run.observe((*view)[0]);
     }},
    {"map",
     [](ExploreRun& run, const auto& p, const Call& call) {
       auto view = map(p->memory, for_update);
       observe(run, view);
       if (view) run.observe((*view)[0]++);
       if (view && call.number % 2 == 0) p->looks = view->data();
     }},
    {"look",
     [](ExploreRun& run, const auto& p, const Call&) { run.observe(p->looks ? *p->looks : 0); }},
    {"fill host",
     [](ExploreRun& run, const auto& p, const Call& call) {
       observe(run, stream(*p, call).fill(p->memory, call.number));
     }},
    {"poll", [](ExploreRun& run, const auto&, const Call&) { run.observe(run.device().poll()); }},
    {"synchronize",
     [](ExploreRun& run, const auto& p, const Call& call) {
       observe(run, stream(*p, call).synchronize(call.number % 2 == 0 ? Deadline() : 3us));
     }},
    {"memory_usage",
     [](ExploreRun& run, const auto&, const Call&) {
       const MemoryUsage usage = run.device().memory_usage();
       run.observe(usage.live_bytes);
       run.observe(usage.pending_bytes);
       run.observe(usage.cached_bytes);
     }},
    {"statistics",
     [](ExploreRun& run, const auto&, const Call&) {
       const Statistics all = run.device().statistics();
       for (const std::uint64_t count :
            {all.submissions, all.empty_turns, all.waits_placed, all.waits_passed, all.host_waits,
             all.queues_destroyed, all.tasks_failed, all.tasks_cancelled})
         run.observe(count);
     }},
    {"wait_ledger",
     [](ExploreRun& run, const auto&, const Call&) {
       for (const WaitRecord& record : run.device().wait_ledger()) {
         run.observe(record.count);
         run.observe(static_cast<std::uint64_t>(record.total.count()));
       }
     }},
    {"trim", [](ExploreRun& run, const auto&, const Call&) { run.observe(run.device().trim()); }},
    {"drop stream", [](ExploreRun&, const auto& p, const Call& call) { p->streams[call.stream] = {}; }},
    {"drop block", [](ExploreRun&, const auto& p, const Call& call) { p->blocks[call.block] = {}; }},
    {"create block",
     [](ExploreRun& run, const auto& p, const Call& call) {
       auto made = Block::create(stream(*p, call), 2);
       observe(run, made);
       p->blocks[call.block] = or_empty(std::move(made));
     }},
    {"on_complete",
     [](ExploreRun& run, const auto& p, const Call& call) {
       observe(run, event(*p, call).on_complete([p, number = call.number] {
         p->variable = p->variable * 3 + number;
       }));
     }},
    {"then",
     [](ExploreRun&, const auto& p, const Call& call) {
       auto read = stream(*p, call).read(block(*p, call));
       static_cast<void>(read.on_complete(
           [p, number = call.number] { p->variable = p->variable * 3 + number; }));
     }},
    {"variable", [](ExploreRun& run, const auto& p, const Call&) { run.observe(p->variable); }},
    {"host",
     [](ExploreRun&, const auto& p, const Call& call) {
       static_cast<void>(stream(*p, call).host("change", {}, [p, number = call.number] {
         p->variable = p->variable * 5 + number;
       }));
     }},
    {"throws",
     [](ExploreRun&, const auto& p, const Call& call) {
       static_cast<void>(stream(*p, call).host("throws", {}, [] { throw 1; }));
     }},
    {"launch",
     [](ExploreRun& run, const auto& p, const Call&) {
       observe(run, Stream(p->streams[0]).launch(p->change_kernel, 2, Block(p->blocks[0]),
                                                    Block(p->blocks[1])));
     }},
    {"launch_indirect",
     [](ExploreRun& run, const auto& p, const Call& call) {
       observe(run, stream(*p, call).launch_indirect(p->grow_kernel, p->grids, block(*p, call)));
     }},
    {"spoil grid",
     [](ExploreRun& run, const auto& p, const Call& call) {
       observe(run, stream(*p, call).fill(p->grids, Extent{2, std::uint64_t{1} << 40, 9}));
     }},
    {"limited",
     [](ExploreRun& run, const auto& p, const Call& call) {
       observe(run, p->limited.fill(block(*p, call), call.number));
     }},
    {"wait for room",
     [](ExploreRun& run, const auto& p, const Call&) { observe(run, p->limited.wait_for_room()); }},
    {"copy there",
     [](ExploreRun& run, const auto& p, const Call& call) {
       observe(run, p->far.copy(p->far_block, block(*p, call)));
     }},
    {"copy here",
     [](ExploreRun& run, const auto& p, const Call& call) {
       observe(run, stream(*p, call).copy(block(*p, call), p->far_block));
     }},
    {"copy",
     [](ExploreRun& run, const auto& p, const Call& call) {
       observe(run, stream(*p, call).copy(Block(p->blocks[1 - call.block]), block(*p, call)));
     }},
    {"elapsed",
     [](ExploreRun& run, const auto& p, const Call&) {
       const auto time = elapsed(p->events[0], p->events[1]);
       observe(run, time);
       if (time) run.observe(static_cast<std::uint64_t>(time->count()));
     }},
    {"stop", [](ExploreRun& run, const auto& p, const Call&) {
       run.observe(p->stop.request_stop());
     }},
    {"fill unless stopped",
     [](ExploreRun& run, const auto& p, const Call& call) {
       observe(run, stream(*p, call).with_stop_token(p->stop.get_token()).fill(block(*p, call),
                                                                               call.number));
     }},
    {"upload",
     [](ExploreRun& run, const auto& p, const Call& call) {
       const std::vector<std::uint32_t> values{call.number, 1};
       observe(run, stream(*p, call).upload(block(*p, call),
                                            std::span<const std::uint32_t>(values)));
     }},
    {"upload lent",
     [](ExploreRun&, const auto& p, const Call& call) {
       static_cast<void>(stream(*p, call).upload_borrowed(
           block(*p, call), std::span<const std::uint32_t>(p->lent)));
     }},
    {"wait for stream",
     [](ExploreRun& run, const auto& p, const Call& call) {
       observe(run, stream(*p, call).wait(Stream(p->streams[1 - call.stream])));
     }},
    {"raw",
     [](ExploreRun&, const auto& p, const Call& call) {
       if (stream(*p, call).valid())
         static_cast<void>(enqueue_raw(stream(*p, call).raw(), "raw", [p = p.get()] {
           p->variable = p->variable * 7 + 1;
         }));
     }},
    {"touch",
     [](ExploreRun& run, const auto& p, const Call& call) {
       observe(run, stream(*p, call).touch({updates(block(*p, call))}));
     }},
};
constexpr std::uint32_t kKindCount = std::size(kKinds);

std::string describe(const Calls& calls) {
  std::string text = calls.device;
  for (const auto& actor : calls.actors) {
    text += " |";
    for (const Call& call : actor)
      text += fmt::format(" {}(s{} b{} {})", kKinds[call.kind].name, call.stream, call.block,
                          call.number);
  }
  return text;
}

Calls drawn(std::uint64_t seed) {
  static const std::vector<std::string> kDevices{"sim",
                                                 "sim",
                                                 "sim",
                                                 "sim?copy_engines=1",
                                                 "sim?faults=lost:9",
                                                 "sim?faults=run:6",
                                                 "sim?faults=slow:2",
                                                 "sim?faults=never:2",
                                                 "sim?faults=seed:5",
                                                 "sim?faults=lost:11",
                                                 "sim?skip_passed=off"};
  Random random(seed);
  Calls calls;
  calls.device = random.pick(kDevices);
  // Of a few kinds: what has to do with one another comes together more often.
  std::vector<std::uint32_t> kinds;
  for (std::uint32_t i = random.between(1, 4); i != 0; --i)
    kinds.push_back(random.below(kKindCount));
  calls.actors.resize(random.chance(25) ? 2 : 1);
  for (auto& actor : calls.actors) {
    const std::uint32_t count =
        calls.actors.size() == 1 ? random.between(2, 5) : random.between(1, 2);
    for (std::uint32_t i = 0; i != count; ++i)
      actor.push_back({random.pick(kinds), random.below(2), random.below(2), random.between(1, 3)});
  }
  return calls;
}

ExploreProgram to_explore(const Calls& calls) {
  auto parts = std::make_shared<std::shared_ptr<Parts>>();
  ExploreProgram program;
  program.before = [parts](ExploreRun& run) { *parts = std::make_shared<Parts>(run); };
  for (const auto& actor : calls.actors)
    program.actors.emplace_back([parts, actor](ExploreRun& run) {
      for (const Call& call : actor) kKinds[call.kind].perform(run, *parts, call);
    });
  program.after = [parts](ExploreRun& run) {
    const std::shared_ptr<Parts> last = std::move(*parts);
    run.observe(last->variable);
    static_cast<void>(last->timeline.signal(100));
  };
  return program;
}

std::string kinds(const Exploration& result) {
  std::set<std::string_view> kinds;
  for (const Finding& finding : result.findings) kinds.insert(name(finding.kind));
  return fmt::format("{}", fmt::join(kinds, ", "));
}

struct Sum {
  std::uint64_t compared = 0;
  std::uint64_t too_many = 0;
  std::uint64_t reduced = 0;
  std::uint64_t unreduced = 0;
};

void compare(std::uint64_t seed, Sum& sum) {
  const Calls calls = drawn(seed);
  ExploreOptions options;
  options.device = calls.device;
  options.stop_at_finding = false;
  options.minimise = false;
  options.trace = false;
  options.runs_max = 2'000;
  options.reduce = false;
  const auto all = explore(options, to_explore(calls));
  // Its device may be refused by a fault.
  if (!all || !all->complete) {
    ++sum.too_many;
    return;
  }
  options.reduce = true;
  const Exploration few = must(explore(options, to_explore(calls)));
  ++sum.compared;
  sum.reduced += few.runs;
  sum.unreduced += all->runs;
  const std::string what = reproduce(seed) + "\n" + describe(calls);
  EXPECT_TRUE(few.complete) << what << "\n" << few.bounded_by;
  EXPECT_EQ(few.outcomes, all->outcomes) << what << "\n" << few.runs << " of " << all->runs;
  EXPECT_EQ(kinds(few), kinds(*all)) << what;
}

TEST(RandomCalls, ReducedAndUnreducedSearchAgree) {
  set_error_sink([](const Error&) {});
  Sum sum;
  for_each_seed(14, 250, [&sum](std::uint64_t seed) {
    compare(seed, sum);
    return !testing::Test::HasFailure();
  });
  set_error_sink({});
  std::printf(
      "%llu programs compared, %llu not: %llu runs reduced, %llu not\n",
      static_cast<unsigned long long>(sum.compared), static_cast<unsigned long long>(sum.too_many),
      static_cast<unsigned long long>(sum.reduced), static_cast<unsigned long long>(sum.unreduced));
}

}  // namespace
}  // namespace thalweg::test
