// SPDX-License-Identifier: Apache-2.0
//
// What an exploration reports is what happened: a replay its own run, a refusal not its
// consequences, an error or an exception of the program under its name.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "contract/support/sink.hpp"
#include "thalweg/explore.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Block = Array<std::uint32_t>;

// One check holds when the task is late, and the other one when it is early.
void early_or_late(ExploreRun& run) {
  const Stream stream = must(Stream::create(run.device()));
  const Event event = must(Event::create(run.device()));
  static_cast<void>(stream.host("h", {}, [] {}));
  must(stream.record(event));
  run.check(event.query() != EventState::done, "A");
  run.check(event.query() == EventState::done, "B");
}

// Every schedule has a finding, the sequential one too: what repeats one is the given run.
TEST(ExploreReplay, ReportsTheRunItIsGiven) {
  const Exploration found = must(explore({}, early_or_late));
  ASSERT_FALSE(found.findings.empty());
  const std::string kept = found.findings.front().message;
  EXPECT_THAT(kept, HasSubstr("hold: B"));
  for (const bool minimise : {false, true}) {
    ExploreOptions options;
    options.search = Search::replay;
    options.schedule = found.schedule;
    options.minimise = minimise;
    const Exploration again = must(explore(options, early_or_late));
    ASSERT_FALSE(again.findings.empty());
    EXPECT_EQ(again.findings.front().message, kept) << again.report();
    EXPECT_TRUE(!minimise || again.schedule == found.schedule) << again.schedule;
    EXPECT_EQ(again.runs, 1u);
    EXPECT_EQ(again.finding_run, 0u);
    EXPECT_EQ(again.outcomes.size(), 1u);
  }
}

// Going on after a finding keeps one of each kind, also of those that one run has.
TEST(ExploreAll, KeepsTheFirstOfEachKind) {
  ExploreOptions options;
  options.stop_at_finding = false;
  const Exploration result = must(explore(options, [](ExploreRun& run) {
    run.check(false, "one");
    run.check(false, "two");
    throw std::runtime_error("three");
  }));
  ASSERT_EQ(result.findings.size(), 2u) << result.report();
  EXPECT_EQ(result.findings[0].kind, FindingKind::check);
  EXPECT_EQ(result.findings[1].kind, FindingKind::error);
}

// must().

TEST(ExploreMust, EndsTheRunWithAFinding) {
  std::atomic<int> dropped{0};
  const std::uint32_t line = __LINE__ + 4;
  const Exploration result = must(explore({}, [&dropped](ExploreRun& run) {
    const std::shared_ptr<void> leaving(nullptr, [&dropped](void*) { ++dropped; });
    const Stream stream = must(Stream::create(run.device()));
    must(stream.fill(Block(), 1u));
    run.check(false, "nothing goes on");
  }));
  ASSERT_EQ(result.findings.size(), 1u) << result.report();
  EXPECT_EQ(result.findings[0].kind, FindingKind::error);
  EXPECT_THAT(result.findings[0].message,
              AllOf(HasSubstr("must()"), HasSubstr("invalid_handle"),
                    HasSubstr("explore_reports_test.cpp:" + std::to_string(line))));
  EXPECT_EQ(result.findings[0].first.line, line);
  EXPECT_GT(dropped, 1);
}

// An actor has a thread of its own; a task and a callback run on the thread of whoever waits.
TEST(ExploreMust, OfOtherActorsTasksAndCallbacksIsAFinding) {
  const auto fail = [] { must(Stream().synchronize()); };
  ExploreProgram program;
  program.actors = {[](ExploreRun&) {}, [fail](ExploreRun&) { fail(); }};
  Exploration result = must(explore({}, program));
  ASSERT_EQ(result.findings.size(), 1u) << result.report();
  EXPECT_EQ(result.findings[0].kind, FindingKind::error);
  const contract::Sink sink;
  for (const bool callback : {false, true}) {
    result = must(explore({}, [fail, callback](ExploreRun& run) {
      const Stream stream = must(Stream::create(run.device()));
      UniqueFunction task = callback ? UniqueFunction([] {}) : UniqueFunction(fail);
      const Future<void> future = stream.host("h", {}, std::move(task));
      if (callback) must(future.on_complete(fail));
    }));
    ASSERT_EQ(result.findings.size(), 1u) << result.report();
    EXPECT_EQ(result.findings[0].kind, FindingKind::error);
    EXPECT_THAT(result.findings[0].message, HasSubstr("invalid_handle"));
  }
  program.actors = {[](ExploreRun&) {}};
  program.after = [fail](ExploreRun&) { fail(); };
  EXPECT_EQ(must(explore({}, program)).findings.size(), 1u);
}

// A wait that nothing can end gives an error as well; what is reported is why.
TEST(ExploreMust, ADeadlockIsReportedAsOne) {
  const Exploration result = must(explore({}, [](ExploreRun& run) {
    const Stream stream = must(Stream::create(run.device()));
    const Timeline gate = must(Timeline::create(run.device()));
    must(stream.wait(gate, 1));
    must(stream.synchronize());
  }));
  ASSERT_EQ(result.findings.size(), 1u) << result.report();
  EXPECT_EQ(result.findings[0].kind, FindingKind::deadlock);
}

TEST(ExploreMustDeathTest, EndsTheProcessOutsideOfExplorations) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        static_cast<void>(explore({}, [](ExploreRun&) {}));
        must(Stream().synchronize());
      },
      testing::ExitedWithCode(1), "invalid_handle");
}

// A callback that throws.
TEST(Explore, ACallbackThatThrowsIsAFinding) {
  const Exploration result = must(explore({}, [](ExploreRun& run) {
    const Stream stream = must(Stream::create(run.device()));
    const Future<void> future = stream.host("h", {}, [] {});
    must(future.on_complete([] { throw std::runtime_error("no butter"); }));
    must(stream.synchronize());
  }));
  ASSERT_EQ(result.findings.size(), 1u) << result.report();
  EXPECT_EQ(result.findings[0].kind, FindingKind::error);
  EXPECT_THAT(result.findings[0].message,
              HasSubstr("A callback throws: std::runtime_error: no butter."));
}

// What an upload brings depends on the run: that is no bug of the order.
TEST(Explore, AnUploadThatDiffersIsCalledOne) {
  std::uint32_t times = 0;
  const Exploration result = must(explore({}, [&times](ExploreRun& run) {
    const Stream stream = must(Stream::create(run.device()));
    const Block block = must(stream.upload(std::vector<std::uint32_t>{1, ++times}));
    must(stream.fill(block.view(0, 1), 2u));
  }));
  ASSERT_FALSE(result.findings.empty()) << result.report();
  EXPECT_EQ(result.findings[0].kind, FindingKind::contents);
  EXPECT_THAT(result.findings[0].message,
              HasSubstr("What the program uploads differs from run to run (padding"));
}

// What a report says.
TEST(ExploreReport, SaysHowToRepeatItOnce) {
  const Exploration found = must(explore({}, early_or_late));
  EXPECT_THAT(found.report(),
              AllOf(HasSubstr("first in run 0; the shortest schedule found that shows it: `-`, "),
                    HasSubstr("repeat with ExploreOptions{.search = Search::replay, .schedule = "
                              "\"-\"}\n")));
  EXPECT_THAT(found.report("so"), AllOf(HasSubstr("\n\nso\n"), Not(HasSubstr("repeat with"))));
  EXPECT_THAT(found.report(),
              HasSubstr("1 outcome; not complete: the search ends with the first finding\n"));
}

TEST(ExploreReport, OfTheMatrixHasNoRowsOfNothing) {
  FaultMatrixOptions options;
  options.schedules = 0;
  ExploreProgram program;
  program.actors.emplace_back(
      [](ExploreRun& run) { static_cast<void>(Stream::create(run.device())); });
  const std::string report = must(explore_faults(options, program)).report();
  EXPECT_THAT(report,
              AllOf(HasSubstr("create_stream  1 call, 1 run with a fault there, 0 errors\n"),
                    Not(HasSubstr("alloc")), HasSubstr("; complete\n")));
}

// The fault matrix.

FaultMatrix matrix_of(const ExploreProgram::Function& function) {
  FaultMatrixOptions options;
  options.schedules = 4;
  ExploreProgram program;
  program.actors.push_back(function);
  return must(explore_faults(options, program));
}

Result<void> with_host_function(ExploreRun& run, bool checks) {
  THALWEG_TRY_ASSIGN(const Stream stream, Stream::create(run.device()));
  THALWEG_TRY_ASSIGN(const Block block, Block::create(stream, 4));
  Future<void> written = stream.host("write", {writes(block)}, [] {});
  THALWEG_TRY_ASSIGN(const auto values, stream.read(block).get());
  if (checks) THALWEG_TRY(written.get());
  return {};
}

// The future carries the refusal, and nobody looks at it before the bytes are read.
TEST(FaultConsequences, WhatARefusedTaskWouldHaveWrittenIsNoFinding) {
  for (const bool checks : {false, true}) {
    const FaultMatrix matrix = matrix_of([checks](ExploreRun& run) {
      if (const Result<void> done = with_host_function(run, checks); !done)
        run.failed(done.error());
    });
    EXPECT_TRUE(matrix.findings.empty()) << matrix.report();
    EXPECT_TRUE(matrix.complete) << matrix.report();
  }
}

// A signal that is refused, or whose task fails, leaves those who wait for it waiting.
TEST(FaultConsequences, WaitsForARefusedSignalAreNoFinding) {
  for (const bool waits : {false, true}) {
    const FaultMatrix matrix = matrix_of([waits](ExploreRun& run) {
      const auto use = [&run, waits]() -> Result<void> {
        THALWEG_TRY_ASSIGN(const Timeline gate, Timeline::create(run.device()));
        THALWEG_TRY_ASSIGN(const Stream a, Stream::create(run.device()));
        THALWEG_TRY_ASSIGN(const Stream b, Stream::create(run.device()));
        THALWEG_TRY_ASSIGN(const Block block, Block::create(b, 4));
        const Future<void> first = a.host("gate", {}, [gate] { must(gate.signal(1)); });
        THALWEG_TRY(b.wait(gate, 1));
        THALWEG_TRY(b.fill(block, 1u));
        if (const Result<void> signalled = a.signal(gate, 2); !signalled)
          run.failed(signalled.error());
        THALWEG_TRY(b.wait(gate, 2));
        if (waits) THALWEG_TRY(b.synchronize());
        return {};
      };
      if (const Result<void> done = use(); !done) run.failed(done.error());
    });
    EXPECT_TRUE(matrix.findings.empty()) << matrix.report();
    EXPECT_TRUE(matrix.complete) << matrix.report();
  }
}

// Where no call gives an error, such findings stay: the runtime got the memory at the second try.
TEST(FaultConsequences, FindingsWithoutARefusalStay) {
  const FaultMatrix matrix = matrix_of([](ExploreRun& run) {
    const auto use = [&run]() -> Result<void> {
      THALWEG_TRY_ASSIGN(const Stream stream, Stream::create(run.device()));
      THALWEG_TRY_ASSIGN(const Block block, Block::create(stream, 4));
      THALWEG_TRY_ASSIGN(const Timeline gate, Timeline::create(run.device()));
      // Clean in the run without a fault.
      if (run.index() > 0 && stream.fill(block, 1u)) {
        THALWEG_TRY_ASSIGN(const Block other, Block::create(stream, 4));
        THALWEG_TRY(stream.copy(block, other));
      }
      return {};
    };
    static_cast<void>(use());
  });
  ASSERT_FALSE(matrix.findings.empty()) << matrix.report();
  EXPECT_EQ(matrix.findings[0].kind, FindingKind::unwritten_read) << matrix.report();
}

}  // namespace
}  // namespace thalweg::test
