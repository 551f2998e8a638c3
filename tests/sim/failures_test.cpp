// SPDX-License-Identifier: Apache-2.0
//
// Failures travel with the data under every schedule: each byte ends as the model says.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <vector>

#include "base/plant.hpp"
#include "runtime/failures.hpp"
#include "runtime/imports.hpp"
#include "support/failing_program.hpp"
#include "support/program_runner.hpp"
#include "thalweg/explore.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

// A failure that nobody reads is a finding of its own, and no fault of these programs. All others
// are.
std::string explore_failing(const FailingProgram& program, ExploreOptions options,
                            Exploration& result) {
  const auto run_of = std::make_shared<std::optional<FailingRun>>();
  ExploreProgram explored;
  explored.before = [&program, run_of](ExploreRun& run) { run_of->emplace(program, run.device()); };
  explored.actors.emplace_back([run_of](ExploreRun&) { (*run_of)->submit(); });
  explored.after = [run_of](ExploreRun& run) {
    const std::string failure = (*run_of)->finish();
    run.check(failure.empty(), failure);
    run_of->reset();
  };
  options.stop_at_finding = false;
  result = must(explore(options, explored));
  const bool wrong =
      std::any_of(result.findings.begin(), result.findings.end(),
                  [](const Finding& finding) { return finding.kind != FindingKind::error; });
  return wrong ? reproduce(program.seed) + "\n" + describe(program) + result.report() : "";
}

TEST(SimFailures, EachByteEndsAsTheModelSaysAtRandom) {
  const QuietSink quiet;
  for_each_seed(31, 1000, [](std::uint64_t seed) {
    const FailingProgram program = make_failing_program(seed, 12, false);
    ExploreOptions options;
    options.search = seed % 2 == 0 ? Search::random : Search::priorities;
    options.seed = seed;
    options.runs_max = 20;
    Exploration result;
    const std::string failure = explore_failing(program, options, result);
    EXPECT_EQ(failure, "");
    return failure.empty();
  });
}

TEST(SimFailures, EachByteEndsAsTheModelSaysUnderEverySchedule) {
  const QuietSink quiet;
  std::uint64_t runs = 0;
  std::uint64_t complete = 0;
  const std::uint64_t programs = for_each_seed(32, 300, [&](std::uint64_t seed) {
    const FailingProgram program = make_failing_program(seed, 5, false);
    ExploreOptions options;
    options.runs_max = 3000;
    Exploration result;
    const std::string failure = explore_failing(program, options, result);
    EXPECT_EQ(failure, "");
    runs += result.runs;
    complete += result.complete ? 1 : 0;
    return failure.empty();
  });
  std::printf("%llu programs, %llu of them completely, %llu runs\n",
              static_cast<unsigned long long>(programs), static_cast<unsigned long long>(complete),
              static_cast<unsigned long long>(runs));
}

// Planted bugs, each found by a program that is right.

using Numbers = Array<std::uint32_t>;
using Values = std::vector<std::uint32_t>;

const auto breaks = kernel("breaks", [](Cell i, std::span<std::uint32_t> to) {
  to[i.x] = 0;
  throw std::runtime_error("broken by the test");
});
const auto adds = kernel("adds", [](Cell i, std::span<std::uint32_t> to,
                                    std::span<const std::uint32_t> from) { to[i.x] += from[i.x]; });

Numbers numbers(const Stream& home, std::uint32_t value) {
  return must(home.upload(Values(8, value)));
}

bool bad(const Stream& stream, const Numbers& from) {
  const Result<Values> read = stream.read(from).get();
  return !read && read.error().kind() == ErrorKind::unwritten;
}

// The buffer goes, and its failure with it.
void dropped(ExploreRun& run) {
  const Stream a = must(Stream::create(run.device()));
  {
    const Numbers x = numbers(a, 1);
    must(a.launch(breaks, 8, x));
    run.check(bad(a, x), "x is bad");
  }
  must(run.device().synchronize());
  run.check(run.device().failures().empty(), "no failure outlives its bytes");
}

// The next owner of the bytes has nothing to do with what became of the former one's.
void reused(ExploreRun& run) {
  const Stream a = must(Stream::create(run.device()));
  {
    const Numbers x = numbers(a, 1);
    must(a.launch(breaks, 8, x));
    run.check(bad(a, x), "x is bad");
  }
  const Numbers y = must(Numbers::create(a, 8));
  const Numbers z = numbers(a, 1);
  must(a.launch(adds, 8, y, z));
  run.check(a.read(y).get().has_value(), "the next owner starts clean");
}

// t1 fails late, t2 has read it by then, t3 has overwritten it: t2's bytes are bad, t3's are good.
void overwritten(ExploreRun& run) {
  const Stream a = must(Stream::create(run.device()));
  const Stream b = must(Stream::create(run.device()));
  const Numbers x = numbers(a, 1);
  const Numbers y = numbers(b, 2);
  must(a.launch(breaks, 8, x));
  must(b.launch(adds, 8, y, x));
  must(b.fill(x, 3u));
  run.check(bad(b, y), "what was read before is bad");
  run.check(!bad(b, x), "what was written since is good");
}

// A task that is stopped takes nothing from those before it.
void stopped(ExploreRun& run) {
  const Stream a = must(Stream::create(run.device()));
  const Stream b = must(Stream::create(run.device()));
  const Numbers x = numbers(a, 1);
  const Numbers y = numbers(b, 2);
  std::stop_source stop;
  stop.request_stop();
  must(b.launch(adds, 8, y, x));
  must(a.with_stop_token(stop.get_token()).fill(x, 3u));
  run.check(!bad(b, y), "what was read before the stop is good");
  run.check(bad(a, x), "what was not written is bad");
}

struct Canary {
  plant::Bug bug;
  std::function<void(ExploreRun&)> program;
  const char* name;
};
void PrintTo(const Canary& canary, std::ostream* out) { *out << canary.name; }

class FailureCanaries : public testing::TestWithParam<Canary> {};

TEST_P(FailureCanaries, AreFoundAndWithoutThemNothingIs) {
  for (const Search way : {Search::random, Search::priorities, Search::exhaustive}) {
    ExploreOptions options;
    options.search = way;
    options.runs_max = 10'000;
    {
      const plant::Scope planted(GetParam().bug);
      const Exploration found = must(explore(options, GetParam().program));
      ASSERT_FALSE(found.findings.empty()) << found.report();
      EXPECT_TRUE(
          std::any_of(found.findings.begin(), found.findings.end(),
                      [](const Finding& finding) { return finding.kind == FindingKind::check; }))
          << found.report();
      std::printf("%s: first found in run %llu\n", GetParam().name,
                  static_cast<unsigned long long>(*found.finding_run));
    }
    // Bytes that are known by their address stay bad for good.
    failure::Use host;
    host.allocation = runtime::Imports::record_of(0);
    host.row_bytes = std::uint64_t{1} << 62;
    host.mode = AccessMode::write;
    runtime::Failures::instance().prove({&host, 1});
    options.runs_max = way == Search::exhaustive ? 200'000 : 200;
    const Exploration clean = must(explore(options, GetParam().program));
    EXPECT_TRUE(clean.findings.empty()) << clean.report();
    EXPECT_EQ(clean.complete, way == Search::exhaustive) << clean.report();
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, FailureCanaries,
    testing::Values(Canary{plant::Bug::taint_not_shed, dropped, "taint_not_shed"},
                    Canary{plant::Bug::taint_by_address, reused, "taint_by_address"},
                    Canary{plant::Bug::late_failure, overwritten, "late_failure"},
                    Canary{plant::Bug::stop_taints_early, stopped, "stop_taints_early"}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace thalweg::test
