// SPDX-License-Identifier: Apache-2.0
//
// What the fault matrix finds: programs that deal badly with a refusal, and bugs planted in the
// runtime's own ways out. Each is found under its name; the program beside it is clean.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/plant.hpp"
#include "thalweg/explore.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

using ::testing::HasSubstr;
using Block = Array<std::uint32_t>;
using Function = std::function<void(ExploreRun&)>;

FaultMatrix matrix_of(const Function& function) {
  FaultMatrixOptions options;
  options.errors_told = true;
  options.schedules = 4;
  ExploreProgram program;
  program.actors.push_back(function);
  return must(explore_faults(options, program));
}

void expect_found(const Function& function, FindingKind kind, const std::string& site) {
  const FaultMatrix matrix = matrix_of(function);
  ASSERT_FALSE(matrix.findings.empty()) << matrix.report();
  EXPECT_EQ(name(matrix.findings.front().kind), name(kind)) << matrix.report();
  EXPECT_EQ(matrix.fault.substr(0, matrix.fault.find(':')), site) << matrix.report();
  EXPECT_EQ(matrix.bounded_by, "the matrix ends with the first finding");
}

void expect_clean(const Function& function) {
  const FaultMatrix matrix = matrix_of(function);
  EXPECT_TRUE(matrix.findings.empty()) << matrix.report();
  EXPECT_TRUE(matrix.complete) << matrix.report();
}

// A stream and a block with values; what is refused is told, and ends the program.
Result<void> fill_and_read(ExploreRun& run) {
  THALWEG_TRY_ASSIGN(const Stream stream, Stream::create(run.device()));
  THALWEG_TRY_ASSIGN(const Block block, Block::create(stream, 4));
  THALWEG_TRY(stream.fill(block, 3u));
  THALWEG_TRY_ASSIGN(const auto values, stream.read(block).get());
  run.observe(values.front());
  return {};
}

TEST(FaultFindings, AProgramThatTellsIsClean) {
  expect_clean([](ExploreRun& run) {
    if (const Result<void> done = fill_and_read(run); !done) run.failed(done.error());
  });
}

TEST(FaultFindings, ARefusalThatNobodyTellsOfIsFound) {
  expect_found([](ExploreRun& run) { static_cast<void>(fill_and_read(run)); },
               FindingKind::wrong_error, "create_stream");
}

TEST(FaultFindings, AnErrorOfAnotherCallIsFound) {
  expect_found(
      [](ExploreRun& run) {
        if (const Result<void> done = fill_and_read(run); !done)
          run.failed(done.error().at(std::source_location::current()));
      },
      FindingKind::wrong_error, "create_stream");
}

TEST(FaultFindings, AnErrorThatComesTwiceIsFound) {
  expect_found(
      [](ExploreRun& run) {
        const Result<void> done = fill_and_read(run);
        for (int i = 0; !done && i != 2; ++i) run.failed(done.error());
      },
      FindingKind::wrong_error, "create_stream");
}

TEST(FaultFindings, AnErrorThatIsNoFaultsIsFound) {
  expect_found(
      [](ExploreRun& run) {
        const Result<void> done = fill_and_read(run);
        if (done) return;
        run.failed(done.error());
        run.failed(Error(ErrorKind::internal, "Something else."));
      },
      FindingKind::wrong_error, "create_stream");
}

// An error of the program's own, which comes without a fault as well, is nobody's business.
TEST(FaultFindings, AnErrorThatComesAnywayIsFine) {
  expect_clean([](ExploreRun& run) {
    if (const Result<void> done = fill_and_read(run); !done) run.failed(done.error());
    if (const auto empty = Stream().synchronize(); !empty) run.failed(empty.error());
  });
}

TEST(FaultFindings, ABufferThatIsKeptAfterARefusalIsFound) {
  std::vector<Block> kept;
  expect_found(
      [&kept](ExploreRun& run) {
        const auto use = [&]() -> Result<void> {
          THALWEG_TRY_ASSIGN(const Stream stream, Stream::create(run.device()));
          THALWEG_TRY_ASSIGN(Block block, Block::create(stream, 4));
          const auto filled = stream.fill(block, 3u);
          if (!filled) kept.push_back(std::move(block));
          THALWEG_TRY(filled);
          return {};
        };
        if (const Result<void> done = use(); !done) run.failed(done.error());
      },
      FindingKind::leak, "fill");
  kept.clear();
}

TEST(FaultFindings, AnExceptionAfterARefusalIsFound) {
  expect_found(
      [](ExploreRun& run) {
        const Result<void> done = fill_and_read(run);
        if (!done) throw std::runtime_error("not expected");
      },
      FindingKind::error, "create_stream");
}

// Contents that depend on the run: a slow stream may change nothing but the time.
TEST(FaultFindings, OtherContentsWithoutAnErrorAreFound) {
  expect_found(
      [](ExploreRun& run) {
        const auto use = [&]() -> Result<void> {
          THALWEG_TRY_ASSIGN(const Stream stream, Stream::create(run.device()));
          THALWEG_TRY_ASSIGN(const Block block, Block::create(stream, 4));
          THALWEG_TRY(stream.fill(block, static_cast<std::uint32_t>(run.index())));
          return {};
        };
        if (const Result<void> done = use(); !done) run.failed(done.error());
      },
      FindingKind::contents, "alloc");
}

// A block that its stream still uses is made anew behind a wait that has no turn yet: the turn can
// be refused. `gate` holds the streams up.
Result<void> born_behind_a_wait(ExploreRun& run, const Timeline& gate) {
  THALWEG_TRY_ASSIGN(const Stream a, Stream::create(run.device()));
  THALWEG_TRY_ASSIGN(const Stream b, Stream::create(run.device()));
  THALWEG_TRY_ASSIGN(const Block other, Block::create(b, 4));
  THALWEG_TRY_ASSIGN(Block block, Block::create(a, 64));
  THALWEG_TRY(a.wait(gate, 1));
  THALWEG_TRY(b.wait(gate, 1));
  THALWEG_TRY(b.fill(other, 1u));
  THALWEG_TRY(a.fill(block, 1u));
  THALWEG_TRY(a.wait(b));
  block = {};
  THALWEG_TRY_ASSIGN(block, Block::create(a, 64));
  THALWEG_TRY(a.fill(block, 2u));
  return {};
}

void born(ExploreRun& run) {
  const Timeline gate = must(Timeline::create(run.device()));
  if (const Result<void> done = born_behind_a_wait(run, gate); !done) run.failed(done.error());
  must(gate.signal(1));
}

TEST(FaultFindings, ABlockThatIsLostInARefusalIsFound) {
  expect_clean(born);
  const plant::Scope planted(plant::Bug::block_lost_on_refusal);
  expect_found(born, FindingKind::leak, "other");
}

TEST(FaultFindings, ARefusalWithoutItsCallIsFound) {
  const plant::Scope planted(plant::Bug::refusal_elsewhere);
  expect_found(born, FindingKind::wrong_error, "fill");
}

// Bounds, and somebody who has seen enough.
TEST(FaultFindings, TheMatrixEndsWhereItIsTold) {
  ExploreProgram program;
  program.actors.emplace_back([](ExploreRun& run) {
    if (const Result<void> done = fill_and_read(run); !done) run.failed(done.error());
  });
  FaultMatrixOptions options;
  options.runs_max = 3;
  const FaultMatrix bounded = must(explore_faults(options, program));
  EXPECT_EQ(bounded.runs, 3u);
  EXPECT_FALSE(bounded.complete);
  EXPECT_EQ(bounded.bounded_by, "the limit of 3 runs (runs_max)");
  options.runs_max = 100'000;
  options.progress = [](const ExploreProgress& progress) { return progress.runs < 5; };
  const FaultMatrix interrupted = must(explore_faults(options, program));
  EXPECT_EQ(interrupted.runs, 5u);
  EXPECT_EQ(interrupted.bounded_by, "an interruption");
  options.progress = {};
  EXPECT_EQ(must(explore_faults(options, program)).bounded_by, "");
  // The matrix brings the faults and the choices.
  options.device = "sim?faults=alloc:1";
  EXPECT_THAT(std::string(explore_faults(options, program).error().message()),
              HasSubstr("option `faults`"));
}

}  // namespace
}  // namespace thalweg::test
