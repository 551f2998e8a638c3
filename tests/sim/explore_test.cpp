// SPDX-License-Identifier: Apache-2.0
//
// explore() itself: actors, bounds, schedules, what it refuses.

#include "thalweg/explore.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

using testing::HasSubstr;
using Block = Array<std::uint32_t>;
using namespace std::chrono_literals;

// Two streams, and work on each that has nothing to do with the other's.
void independent(ExploreRun& run) {
  for (int i = 0; i != 2; ++i) {
    const Stream stream = must(Stream::create(run.device()));
    const Block block = must(Block::create(stream, 4));
    must(stream.fill(block, 1u));
    must(stream.synchronize());
  }
}

// The host sees whether an event has passed.
void one_question(ExploreRun& run) {
  const Stream stream = must(Stream::create(run.device()));
  const Block block = must(Block::create(stream, 4));
  const Event event = must(Event::create(run.device()));
  must(stream.fill(block, 1u));
  must(stream.record(event));
  run.observe(static_cast<std::uint64_t>(event.query()));
  must(stream.synchronize());
}

// What actors share in one run.
struct Shared {
  std::optional<Stream> streams[2];
  std::optional<Block> blocks[2];
  int turn = 0;
};

ExploreProgram two_actors(std::shared_ptr<Shared> shared, ExploreProgram::Function first,
                          ExploreProgram::Function second) {
  ExploreProgram program;
  program.before = [shared](ExploreRun& run) {
    *shared = {};
    for (int i = 0; i != 2; ++i) {
      shared->streams[i] = must(Stream::create(run.device()));
      shared->blocks[i] = must(Block::create(*shared->streams[i], 1));
      must(shared->streams[i]->fill(*shared->blocks[i], 0u));
    }
  };
  program.actors = {std::move(first), std::move(second)};
  program.after = [shared](ExploreRun&) { *shared = {}; };
  return program;
}

TEST(Explore, QuestionsMakeOutcomes) {
  const Exploration result = must(explore({}, one_question));
  EXPECT_TRUE(result.complete) << result.report();
  EXPECT_EQ(result.outcomes.size(), 2u);
  EXPECT_TRUE(result.findings.empty()) << result.report();
}

TEST(Explore, TheSameTwiceIsTheSame) {
  for (const Search search : {Search::random, Search::priorities, Search::exhaustive}) {
    ExploreOptions options;
    options.search = search;
    options.runs_max = 50;
    const Exploration one = must(explore(options, one_question));
    const Exploration two = must(explore(options, one_question));
    EXPECT_EQ(one.runs, two.runs);
    EXPECT_EQ(one.steps, two.steps);
    EXPECT_EQ(one.outcomes, two.outcomes);
    EXPECT_EQ(hash(one.trace), hash(two.trace));
  }
}

// F10: two actors name the same buffers in opposite order; both add one to each.
TEST(ExploreActors, OppositeOrdersOfBuffersMakeNoCycle) {
  auto shared = std::make_shared<Shared>();
  const auto add = kernel("add", [](Cell, std::span<std::uint32_t> a, std::span<std::uint32_t> b) {
    ++a[0];
    ++b[0];
  });
  const auto actor = [shared, add](int own) {
    return [shared, add, own](ExploreRun&) {
      for (int i = 0; i != 2; ++i)
        must(shared->streams[own]->launch(add, 1, *shared->blocks[own], *shared->blocks[1 - own]));
    };
  };
  ExploreProgram program = two_actors(shared, actor(0), actor(1));
  const auto drop = program.after;
  program.after = [shared, drop](ExploreRun& run) {
    for (int i = 0; i != 2; ++i)
      run.check(must(shared->streams[i]->read(*shared->blocks[i]).get())[0] == 4,
                "four were added");
    drop(run);
  };
  const Exploration result = must(explore({}, program));
  EXPECT_TRUE(result.findings.empty()) << result.report();
  EXPECT_TRUE(result.complete) << result.report();
  EXPECT_GT(result.runs, 5u);
}

// Each waits for what the other does behind his own wait.
TEST(ExploreActors, ADeadlockIsFoundAndNamed) {
  auto shared = std::make_shared<Shared>();
  std::optional<Timeline> gates[2];
  const auto actor = [shared, &gates](int own) {
    return [&gates, own](ExploreRun&) {
      const auto waited = gates[own]->wait(1);
      static_cast<void>(waited);
      static_cast<void>(gates[1 - own]->signal(1));
    };
  };
  ExploreProgram program = two_actors(shared, actor(0), actor(1));
  const auto make = program.before;
  program.before = [&gates, make](ExploreRun& run) {
    make(run);
    for (auto& gate : gates) gate = must(Timeline::create(run.device()));
  };
  const auto drop = program.after;
  program.after = [&gates, drop](ExploreRun& run) {
    for (auto& gate : gates) gate.reset();
    drop(run);
  };
  const Exploration result = must(explore({}, program));
  ASSERT_EQ(result.findings.size(), 1u) << result.report();
  EXPECT_EQ(result.findings[0].kind, FindingKind::deadlock);
  EXPECT_THAT(result.findings[0].message, HasSubstr("until timeline t0 reaches 1; it is at 0"));
}

// An actor's variable is seen by the other one: the explorer tries both orders of the two calls,
// and both of what comes behind them.
TEST(ExploreActors, TurnsAreChoices) {
  auto shared = std::make_shared<Shared>();
  const auto actor = [shared](int own) {
    return [shared, own](ExploreRun& run) {
      must(shared->streams[own]->fill(*shared->blocks[own], 1u));
      run.observe(static_cast<std::uint64_t>(shared->turn++ * 2 + own));
    };
  };
  const Exploration result = must(explore({}, two_actors(shared, actor(0), actor(1))));
  EXPECT_TRUE(result.complete) << result.report();
  EXPECT_EQ(result.outcomes.size(), 4u) << result.report();
}

// A task that submits: its place among the host's submissions is a choice, not a wrong content.
TEST(Explore, TasksMaySubmit) {
  const Exploration result = must(explore({}, [](ExploreRun& run) {
    const Stream s = must(Stream::create(run.device()));
    const Stream u = must(Stream::create(run.device()));
    const Block y = must(Block::create(u, 4));
    const Block z = must(Block::create(s, 4));
    const Future<void> inner = u.host("inner", {}, [s, z] { must(s.fill(z, 5u)); });
    must(s.fill(y, 7u));
    must(run.device().synchronize());
  }));
  EXPECT_TRUE(result.findings.empty()) << result.report();
  EXPECT_TRUE(result.complete) << result.report();
}

// A task may be over when the call that submitted it comes back.
TEST(Explore, BorrowedMemoryThatIsWrittenTooEarlyIsFound) {
  const Exploration result = must(explore({}, [](ExploreRun& run) {
    const Stream stream = must(Stream::create(run.device()));
    const Block block = must(Block::create(stream, 2));
    std::vector<std::uint32_t> lent{1, 2};
    const Future<void> sent = stream.upload_borrowed(block, std::span<const std::uint32_t>(lent));
    lent[0] = 7;
    must(stream.synchronize());
  }));
  ASSERT_FALSE(result.findings.empty()) << result.report();
  EXPECT_EQ(result.findings[0].kind, FindingKind::contents);
}

// Two actors of which one polls for what the other does, and a host that polls for the device.
TEST(ExploreBounds, WhoPollsDoesNotHoldUpTheSearch) {
  ExploreOptions options;
  options.steps_max = 300;
  options.runs_max = 200;
  auto shared = std::make_shared<Shared>();
  const auto writer = [shared](ExploreRun&) {
    must(shared->streams[0]->fill(*shared->blocks[0], 1u));
    shared->turn = 1;
  };
  const auto poller = [shared](ExploreRun& run) {
    while (shared->turn == 0) static_cast<void>(run.device().poll());
  };
  const Exploration actors = must(explore(options, two_actors(shared, writer, poller)));
  EXPECT_TRUE(actors.findings.empty()) << actors.report();
  const Exploration late = must(explore(options, [](ExploreRun& run) {
    const Stream a = must(Stream::create(run.device()));
    const Block x = must(Block::create(a, 4));
    const Event event = must(Event::create(run.device()));
    must(a.fill(x, 3u));
    must(a.record(event));
    while (event.query() != EventState::done) {
    }
    must(a.fill(x, 4u));
    must(a.record(event));
    run.check(event.query() == EventState::done, "the second is over at once");
  }));
  ASSERT_FALSE(late.findings.empty()) << late.report();
  EXPECT_EQ(late.findings[0].kind, FindingKind::check);
}

TEST(Explore, AGateThatNobodyOpensIsFound) {
  const Exploration result = must(explore({}, [](ExploreRun& run) {
    const Stream stream = must(Stream::create(run.device()));
    const Timeline gate = must(Timeline::create(run.device()));
    const Block block = must(Block::create(stream, 4));
    must(stream.wait(gate, 1));
    must(stream.fill(block, 1u));
  }));
  ASSERT_EQ(result.findings.size(), 1u) << result.report();
  EXPECT_EQ(result.findings[0].kind, FindingKind::never_ran);
  EXPECT_THAT(result.findings[0].message, HasSubstr("until timeline t0 reaches 1; it is at 0"));
}

TEST(Explore, AWaitThatNothingEndsIsADeadlock) {
  const Exploration result = must(explore({}, [](ExploreRun& run) {
    const Stream stream = must(Stream::create(run.device()));
    const Timeline gate = must(Timeline::create(run.device()));
    must(stream.wait(gate, 1));
    const auto waited = stream.synchronize();
    run.check(!waited && waited.error().kind() == ErrorKind::wait_forbidden, "the wait is refused");
    must(gate.signal(1));
  }));
  ASSERT_EQ(result.findings.size(), 1u) << result.report();
  EXPECT_EQ(result.findings[0].kind, FindingKind::deadlock);
}

TEST(Explore, ADeadlineEndsByTheVirtualClock) {
  const Exploration result = must(explore({}, [](ExploreRun& run) {
    const Stream stream = must(Stream::create(run.device()));
    const Timeline gate = must(Timeline::create(run.device()));
    must(stream.wait(gate, 1));
    const auto waited = stream.synchronize(3600s);
    run.check(!waited && waited.error().kind() == ErrorKind::timeout, "an hour is over");
    must(gate.signal(1));
    must(stream.synchronize(3600s));
  }));
  EXPECT_TRUE(result.findings.empty()) << result.report();
  EXPECT_TRUE(result.complete) << result.report();
}

TEST(Explore, AnExceptionIsAFinding) {
  const Exploration result =
      must(explore({}, [](ExploreRun&) { throw std::runtime_error("no bread"); }));
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].kind, FindingKind::error);
  EXPECT_THAT(result.findings[0].message, HasSubstr("no bread"));
}

TEST(Explore, AHandleThatIsKeptIsALeak) {
  static Stream kept;
  const Exploration result =
      must(explore({}, [](ExploreRun& run) { kept = must(Stream::create(run.device())); }));
  kept = {};
  ASSERT_EQ(result.findings.size(), 1u) << result.report();
  EXPECT_EQ(result.findings[0].kind, FindingKind::leak);
  EXPECT_THAT(result.findings[0].message, HasSubstr("leaves stream (s0, explore_test.cpp:"));
}

TEST(Explore, AnotherDeviceTakesPart) {
  const Exploration result = must(explore({}, [](ExploreRun& run) {
    const Device other = must(run.open("sim?memory=1MiB"));
    for (const char* name : {"cpu", "sim?faults=copy:1", "sim?copy_engines=1"})
      EXPECT_EQ(run.open(name).error().kind(), ErrorKind::invalid_argument) << name;
    const Stream here = must(Stream::create(run.device()));
    const Stream there = must(Stream::create(other));
    const Block from = must(Block::create(here, 4));
    const Block to = must(Block::create(there, 4));
    must(here.fill(from, 7u));
    must(there.copy(to, from));
    run.check(must(there.read(to).get())[3] == 7, "the copy has the bytes");
    EXPECT_EQ(run.open("cpu").error().kind(), ErrorKind::invalid_argument);
  }));
  EXPECT_TRUE(result.findings.empty()) << result.report();
  EXPECT_TRUE(result.complete) << result.report();
}

// What an early switch shows comes soon, though the search is long: either actor may be first.
TEST(Explore, AnEarlySwitchComesSoon) {
  auto order = std::make_shared<int>(0);
  ExploreProgram program;
  program.before = [order](ExploreRun&) { *order = 0; };
  for (const int own : {0, 1})
    program.actors.emplace_back([order, own](ExploreRun& run) {
      const Stream stream = must(Stream::create(run.device()));
      const Block block = must(Block::create(stream, 4));
      must(stream.fill(block, 1u));
      run.check((*order)++ == own, "the first actor is first");
      must(stream.synchronize());
    });
  ExploreOptions options;
  options.runs_max = 6'000;
  const Exploration result = must(explore(options, program));
  EXPECT_FALSE(result.findings.empty()) << result.report();
}

// Bounds.

TEST(ExploreBounds, SayWhatEndedTheSearch) {
  ExploreOptions options;
  options.runs_max = 1;
  EXPECT_THAT(must(explore(options, one_question)).bounded_by,
              HasSubstr("the limit of 1 runs (runs_max)"));
  options.runs_max = 1'000;
  options.steps_max = 3;
  EXPECT_THAT(must(explore(options, one_question)).bounded_by,
              HasSubstr("the limit of 3 steps in a run (steps_max)"));
  options.steps_max = 1'000;
  options.preemptions_max = 0;
  const Exploration bounded = must(explore(options, one_question));
  EXPECT_FALSE(bounded.complete);
  EXPECT_THAT(bounded.bounded_by, HasSubstr("the limit of 0 preemptions (preemptions_max)"));
}

TEST(ExploreBounds, AProgramThatPollsIsBounded) {
  ExploreOptions options;
  options.steps_max = 100;
  options.runs_max = 500;
  const Exploration result = must(explore(options, [](ExploreRun& run) {
    const Stream stream = must(Stream::create(run.device()));
    const Block block = must(Block::create(stream, 4));
    must(stream.fill(block, 1u));
    while (!run.device().poll()) {
    }
  }));
  EXPECT_FALSE(result.complete);
  EXPECT_TRUE(result.findings.empty()) << result.report();
}

TEST(ExploreBounds, ProgressInterruptsAndTimeIsUp) {
  ExploreOptions options;
  options.search = Search::random;
  options.runs_max = 1'000'000;
  options.progress = [](const ExploreProgress& progress) { return progress.runs < 128; };
  const Exploration interrupted = must(explore(options, one_question));
  EXPECT_EQ(interrupted.bounded_by, "an interruption");
  EXPECT_EQ(interrupted.runs, 128u);
  options.progress = [](const ExploreProgress&) -> bool { throw 1; };
  EXPECT_THAT(must(explore(options, one_question)).bounded_by, HasSubstr("an interruption"));
  options.progress = {};
  options.time_limit = 0ns;
  EXPECT_THAT(must(explore(options, one_question)).bounded_by,
              HasSubstr("the limit of 0 s (time_limit)"));
}

// What is refused.

TEST(ExploreRefuses, WhatMakesNoSense) {
  const auto message = [](ExploreOptions options, const ExploreProgram& program) {
    const auto result = explore(options, program);
    return result ? std::string("accepted") : std::string(result.error().message());
  };
  ExploreProgram program;
  EXPECT_THAT(message({}, program), HasSubstr("without actors"));
  program.actors.emplace_back();
  EXPECT_THAT(message({}, program), HasSubstr("empty function"));
  program.actors.assign(17, independent);
  EXPECT_THAT(message({}, program), HasSubstr("17 actors"));
  program.actors.assign(1, independent);
  EXPECT_THAT(message({.device = "cpu"}, program), HasSubstr("only simulated ones"));
  EXPECT_THAT(message({.device = "sim?speed=3"}, program), HasSubstr("no option `speed`"));
  EXPECT_THAT(message({.runs_max = 0}, program), HasSubstr("at least 1"));
  EXPECT_THAT(message({.search = static_cast<Search>(9)}, program), HasSubstr("9 is no kind"));
  EXPECT_THAT(message({.time_limit = -1ns}, program), HasSubstr("-1 ns"));
  EXPECT_THAT(message({.search = Search::random, .preemptions_max = 3}, program),
              HasSubstr("preemptions_max"));
  EXPECT_THAT(message({.search = Search::priorities, .reduce = false}, program),
              HasSubstr("`reduce` is off"));
  EXPECT_THAT(message({.device = ""}, program), HasSubstr("The name of the device is empty"));
  EXPECT_THAT(message({.schedule = "h"}, program), HasSubstr("no replay"));
  EXPECT_THAT(message({.search = Search::replay}, program), HasSubstr("has no schedule"));
  for (const char* schedule : {"x", "h99", "s", "hx", "hx0x", "h x3", "s0x99999999", "s0x0", "\n"})
    EXPECT_THAT(message({.search = Search::replay, .schedule = schedule}, program),
                HasSubstr("no choice of a schedule"))
        << schedule;
  EXPECT_EQ(message({}, program), "accepted");
  const NoWaitScope no_wait;
  EXPECT_THAT(message({}, program), HasSubstr("forbidden in a NoWaitScope"));
  EXPECT_EQ(enqueue_raw(NativeHandle{12345678}, "raw", [] {}).error().kind(), ErrorKind::not_found);
  EXPECT_EQ(enqueue_raw(NativeHandle{1}, "raw", nullptr).error().kind(),
            ErrorKind::invalid_argument);
}

// Each choice that is left of a minimised schedule is needed.
TEST(Explore, AMinimisedScheduleNeedsEachOfItsChoices) {
  const auto program = [](ExploreRun& run) {
    const Stream a = must(Stream::create(run.device()));
    const Stream b = must(Stream::create(run.device()));
    const Block x = must(Block::create(a, 4));
    const Block y = must(Block::create(b, 4));
    const Event event = must(Event::create(run.device()));
    must(a.fill(x, 1u));
    must(b.fill(y, 1u));
    must(a.record(event));
    must(b.fill(y, 2u));
    run.check(event.query() != EventState::done, "the event is late");
    must(run.device().synchronize());
  };
  ExploreOptions options;
  options.search = Search::random;
  const Exploration found = must(explore(options, program));
  ASSERT_FALSE(found.findings.empty());
  EXPECT_GT(found.minimising_runs, 1u);
  // One task has to run early, somewhere among turns of the host.
  std::string choices = found.schedule;
  EXPECT_EQ(std::count(choices.begin(), choices.end(), 's'), 1) << found.report();
}

}  // namespace
}  // namespace thalweg::test
