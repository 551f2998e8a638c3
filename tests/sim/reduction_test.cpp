// SPDX-License-Identifier: Apache-2.0
//
// What the reduction of the exhaustive search leaves out shows nothing new: programs for each kind
// of dependence between two steps, each searched with the reduction and without.

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>

#include "thalweg/explore.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

using Block = Array<std::uint32_t>;
using Program = std::function<void(ExploreRun&)>;

std::set<FindingKind> kinds(const Exploration& result) {
  std::set<FindingKind> kinds;
  for (const Finding& finding : result.findings) kinds.insert(finding.kind);
  return kinds;
}

ExploreOptions options_for(const std::string& device) {
  ExploreOptions options;
  options.device = device;
  options.stop_at_finding = false;
  options.minimise = false;
  options.trace = false;
  options.runs_max = 50'000;
  return options;
}

// Both searches come to their end, and to the same.
void expect_same(const auto& program, const std::string& device = "sim") {
  ExploreOptions options = options_for(device);
  const Exploration few = must(explore(options, program));
  options.reduce = false;
  const Exploration all = must(explore(options, program));
  EXPECT_TRUE(few.complete && all.complete) << few.report() << all.report();
  EXPECT_EQ(few.outcomes, all.outcomes)
      << few.outcomes.size() << " and " << all.outcomes.size() << " outcomes";
  EXPECT_EQ(kinds(few), kinds(all));
  EXPECT_LE(few.runs, all.runs);
}

// Two streams, a block of each, and a timeline.
struct Parts {
  explicit Parts(ExploreRun& run)
      : a(must(Stream::create(run.device()))),
        b(must(Stream::create(run.device()))),
        t(must(Timeline::create(run.device()))),
        x(must(Block::create(a, 1))) {}

  Stream a;
  Stream b;
  Timeline t;
  Block x;
};

// A signal of a stream, and what the host does with the timeline.

TEST(Reduction, ASignalMayComeBeforeAQuestion) {
  expect_same([](ExploreRun& run) {
    const Parts p(run);
    must(p.a.signal(p.t, 3));
    run.check(p.t.value() == 0, "it is at its start");
  });
  expect_same([](ExploreRun& run) {
    const Parts p(run);
    must(p.a.signal(p.t, 3));
    run.observe(p.t.value());
    run.observe(p.t.value());
  });
}

TEST(Reduction, ASignalMayComeBeforeOneOfTheHost) {
  expect_same([](ExploreRun& run) {
    const Parts p(run);
    must(p.a.signal(p.t, 3));
    run.observe(p.t.signal(2).has_value());
  });
  expect_same([](ExploreRun& run) {
    const Parts p(run);
    must(p.a.signal(p.t, 2));
    run.check(p.t.signal(1).has_value(), "the host is first");
  });
}

TEST(Reduction, ASignalMayComeBeforeAnotherIsAccepted) {
  expect_same([](ExploreRun& run) {
    const Parts p(run);
    must(p.a.signal(p.t, 3));
    run.observe(p.b.signal(p.t, 2).has_value());
  });
}

TEST(Reduction, AValueThatWasAskedForMayBeWritten) {
  expect_same([](ExploreRun& run) {
    const Parts p(run);
    must(p.b.signal(p.t, 3));
    must(p.a.fill(p.x, static_cast<std::uint32_t>(p.t.value())));
    run.observe(must(p.a.read(p.x).get())[0]);
  });
}

TEST(Reduction, AWaitOfTheHostMayFindTheSignalOver) {
  expect_same([](ExploreRun& run) {
    const Parts p(run);
    must(p.a.signal(p.t, 3));
    must(p.b.signal(p.t, 4));
    must(p.t.wait(2));
    run.observe(p.t.value());
  });
}

// Who polls for a signal has schedules without end.
TEST(Reduction, APollOfATimelineIsBounded) {
  ExploreOptions options = options_for("sim");
  options.steps_max = 300;
  options.runs_max = 200;
  const Exploration result = must(explore(options, [](ExploreRun& run) {
    const Parts p(run);
    must(p.a.signal(p.t, 1));
    while (p.t.value() != 1) {
    }
  }));
  EXPECT_FALSE(result.complete) << result.report();
  EXPECT_TRUE(result.findings.empty()) << result.report();
}

// Faults that count.

TEST(Reduction, ADeviceIsLostAtAStepThatOthersMayCome) {
  const Program two_fills = [](ExploreRun& run) {
    const Stream a = must(Stream::create(run.device()));
    const Block x = must(Block::create(a, 4));
    const Block y = must(Block::create(a, 4));
    const auto one = a.fill(x, 1u);
    run.observe(one.has_value());
    const auto two = a.fill(y, 1u);
    run.observe(two.has_value());
  };
  for (const char* fault : {"lost:1", "lost:2", "lost:1+"})
    expect_same(two_fills, std::string("sim?faults=") + fault);
}

TEST(Reduction, WhoIsTheNthDependsOnTheOrder) {
  const Program two_streams = [](ExploreRun& run) {
    const Parts p(run);
    const auto one = p.a.fill(p.x, 1u);
    const auto event = Event::create(run.device());
    const auto read = p.b.host("look", {}, [] {});
    run.observe(one.has_value());
  };
  for (const char* fault : {"lost:2", "run:1", "run:2", "never:1", "slow:1", "seed:3", "fill:1"})
    expect_same(two_streams, std::string("sim?faults=") + fault);
}

// Stop tokens.

TEST(Reduction, AStopMayComeBeforeTheTask) {
  expect_same([](ExploreRun& run) {
    const Parts p(run);
    std::stop_source source;
    must(p.a.fill(p.x, 1u));
    must(p.a.with_stop_token(source.get_token()).fill(p.x, 2u));
    source.request_stop();
    run.observe(must(p.a.read(p.x).get())[0]);
  });
}

// Memory whose address the host has.

TEST(Reduction, MemoryMayBeLookedAtBehindItsView) {
  expect_same([](ExploreRun& run) {
    const Stream a = must(Stream::create(run.device()));
    const auto memory = must(HostArray<std::uint32_t>::create(a, 1));
    must(a.fill(memory, 1u));
    const std::uint32_t* p = nullptr;
    {
      const auto view = must(map(memory, for_reading));
      p = view.data();
    }
    must(a.fill(memory, 2u));
    run.check(*p == 1, "it is still 1");
  });
}

// Callbacks.

TEST(Reduction, CallbacksComeInTheOrderOfWhatTheyWaitFor) {
  int order = 0;
  std::optional<Parts> parts;
  Block y;
  ExploreProgram program;
  program.before = [&](ExploreRun& run) {
    order = 0;
    parts.emplace(run);
    y = must(Block::create(parts->b, 1));
    must(parts->a.fill(parts->x, 1u));
    must(parts->b.fill(y, 1u));
  };
  program.actors.emplace_back([&](ExploreRun&) {
    const auto note = [&](const Stream& stream, const Block& block, int who) {
      must(stream.wait(parts->t, 1));
      auto read = stream.read(block);
      must(read.on_complete([&order, who] { order = order * 10 + who; }));
    };
    note(parts->a, parts->x, 1);
    note(parts->b, y, 2);
    must(parts->t.signal(1));
  });
  program.after = [&](ExploreRun& run) {
    run.observe(static_cast<std::uint64_t>(order));
    y = {};
    parts.reset();
  };
  expect_same(program);
}

// What a device counts.

TEST(Reduction, ATaskThatFailsIsCounted) {
  expect_same([](ExploreRun& run) {
    const Parts p(run);
    must(p.t.signal(5));
    must(p.t.wait(5));
    const Event event = must(Event::create(run.device()));
    must(p.a.wait(p.t, 5));
    must(p.b.signal(p.t, 7));
    static_cast<void>(p.a.signal(p.t, 6));
    run.observe(run.device().statistics().tasks_failed);
  });
}

// Deadlines.

TEST(Reduction, AWaitMayBeTooLongForTheSecondOfTwoTasks) {
  expect_same([](ExploreRun& run) {
    const Parts p(run);
    must(p.a.fill(p.x, 1u));
    must(p.a.fill(p.x, 2u));
    run.observe(p.a.synchronize(std::chrono::microseconds(3)).has_value());
  });
}

TEST(Reduction, AWaitMayBeTooLongWhileOthersGoOn) {
  const auto actors = [](std::chrono::nanoseconds deadline) {
    auto parts = std::make_shared<std::optional<Parts>>();
    ExploreProgram program;
    program.before = [parts](ExploreRun& run) { parts->emplace(run); };
    program.actors.emplace_back([parts, deadline](ExploreRun& run) {
      must((*parts)->a.signal((*parts)->t, 1));
      run.observe((*parts)->t.wait(1, deadline).has_value());
      run.observe(run.device().statistics().host_waits);
    });
    program.actors.emplace_back(
        [parts](ExploreRun& run) { run.observe((*parts)->b.synchronize().has_value()); });
    program.after = [parts](ExploreRun&) { parts->reset(); };
    return program;
  };
  for (const int deadline : {1, 50, 150, 5'000})
    expect_same(actors(std::chrono::nanoseconds(deadline)));
}

}  // namespace
}  // namespace thalweg::test
