// SPDX-License-Identifier: Apache-2.0
//
// Bugs planted in the shipped code of the runtime are found through the public explore(): at random
// within 10,000 runs, and always by the exhaustive search; without them the same programs are
// clean.

#include <gtest/gtest.h>

#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "base/plant.hpp"
#include "thalweg/explore.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

using Block = Array<std::uint32_t>;
constexpr std::uint64_t kElements = 4;

std::vector<Stream> streams_of(ExploreRun& run, int count) {
  std::vector<Stream> streams;
  for (int i = 0; i != count; ++i) streams.push_back(must(Stream::create(run.device())));
  return streams;
}

// A read that a write on another stream must wait for.
void write_after_read(ExploreRun& run) {
  const auto streams = streams_of(run, 2);
  const Block block = must(Block::create(streams[0], kElements));
  must(streams[0].fill(block, 1u));
  const auto read = streams[0].read(block);
  must(streams[1].fill(block, 2u));
  must(run.device().synchronize());
}

// Two streams take turns with one block: every write waits.
void ping_pong(ExploreRun& run) {
  const auto streams = streams_of(run, 2);
  const Block block = must(Block::create(streams[0], kElements));
  for (std::uint32_t i = 0; i != 20; ++i) must(streams[i % 2].fill(block, i));
  must(run.device().synchronize());
}

// What stream 2 waits for on stream 0 came before stream 0 waited for stream 1.
void chain_of_three(ExploreRun& run) {
  const auto streams = streams_of(run, 3);
  const Block x = must(Block::create(streams[0], kElements));
  const Block y = must(Block::create(streams[1], kElements));
  must(streams[1].fill(y, 1u));
  must(streams[0].fill(x, 2u));
  const auto on_0 = streams[0].read(y);
  const auto on_2 = streams[2].read(x);
  const auto late = streams[2].read(y);
  must(run.device().synchronize());
}

// A block is dropped in use and made anew at home; another stream is the first to write it.
void born_again(ExploreRun& run) {
  const auto streams = streams_of(run, 2);
  Block block = must(Block::create(streams[0], kElements));
  must(streams[0].fill(block, 1u));
  block = {};
  block = must(Block::create(streams[0], kElements));
  must(streams[1].fill(block, 2u));
  must(run.device().synchronize());
}

// A block is dropped in use, and another stream asks for one.
void taken_by_another(ExploreRun& run) {
  const auto streams = streams_of(run, 2);
  Block block = must(Block::create(streams[0], kElements));
  must(streams[0].fill(block, 1u));
  block = {};
  block = must(Block::create(streams[1], kElements));
  must(streams[1].fill(block, 2u));
  must(run.device().synchronize());
}

// An event stands for a wait behind which nothing was enqueued; work on a raw queue relies on it.
void event_behind_a_wait(ExploreRun& run) {
  const auto streams = streams_of(run, 3);
  const Block block = must(Block::create(streams[1], kElements));
  const Event event = must(Event::create(run.device()));
  must(streams[1].fill(block, 1u));
  must(streams[0].wait(streams[1]));
  must(streams[0].record(event));
  must(streams[2].wait_event(event));
  auto* const first = reinterpret_cast<std::uint32_t*>(
      thalweg::detail::native_bytes({updates(block)}).front().address);
  must(enqueue_raw(streams[2].raw(), "raw", [first] { *first = *first * 3 + 1; }));
  must(run.device().synchronize());
}

struct Canary {
  plant::Bug bug;
  FindingKind kind;
  std::function<void(ExploreRun&)> program;
  const char* name;
  bool small;  // Every schedule can be run.
};

void PrintTo(const Canary& canary, std::ostream* out) { *out << canary.name; }

class Canaries : public testing::TestWithParam<Canary> {};

Exploration search(const Canary& canary, Search search) {
  ExploreOptions options;
  options.search = search;
  options.runs_max = search == Search::exhaustive ? 1'000'000 : 10'000;
  return must(explore(options, canary.program));
}

TEST_P(Canaries, AreFoundAtRandom) {
  for (const Search way : {Search::random, Search::priorities}) {
    const plant::Scope planted(GetParam().bug);
    const Exploration found = search(GetParam(), way);
    ASSERT_FALSE(found.findings.empty()) << found.report();
    EXPECT_EQ(found.findings.front().kind, GetParam().kind) << found.report();
    std::cout << GetParam().name << ": first found in run " << *found.finding_run << "\n";
  }
}

TEST_P(Canaries, AreFoundByTheExhaustiveSearch) {
  const plant::Scope planted(GetParam().bug);
  const Exploration found = search(GetParam(), Search::exhaustive);
  ASSERT_FALSE(found.findings.empty()) << found.report();
  EXPECT_EQ(found.findings.front().kind, GetParam().kind) << found.report();
  std::cout << GetParam().name << ": first found in run " << *found.finding_run << "\n";
}

// The schedule that was found gives the finding again.
TEST_P(Canaries, AreRepeatedByTheirSchedule) {
  const plant::Scope planted(GetParam().bug);
  const Exploration found = search(GetParam(), Search::random);
  ExploreOptions options;
  options.search = Search::replay;
  options.schedule = found.schedule;
  const Exploration again = must(explore(options, GetParam().program));
  ASSERT_FALSE(again.findings.empty()) << found.report() << again.report();
  EXPECT_EQ(again.findings.front().message, found.findings.front().message);
}

TEST_P(Canaries, AreNotSeenWhereThereAreNone) {
  for (const Search way : {Search::random, Search::priorities, Search::exhaustive}) {
    if (way == Search::exhaustive && !GetParam().small) continue;
    const Exploration clean = search(GetParam(), way);
    EXPECT_TRUE(clean.findings.empty()) << clean.report();
    EXPECT_EQ(clean.complete, way == Search::exhaustive) << clean.report();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Bugs, Canaries,
    testing::Values(Canary{plant::Bug::missing_write_after_read, FindingKind::unordered,
                           write_after_read, "missing_write_after_read", true},
                    Canary{plant::Bug::dropped_wait, FindingKind::unordered, ping_pong,
                           "dropped_wait", false},
                    Canary{plant::Bug::present_frontier, FindingKind::unordered, chain_of_three,
                           "present_frontier", true},
                    Canary{plant::Bug::empty_birth, FindingKind::reuse_in_flight, born_again,
                           "empty_birth", true},
                    Canary{plant::Bug::free_without_home_point, FindingKind::reuse_in_flight,
                           taken_by_another, "free_without_home_point", true},
                    Canary{plant::Bug::wait_without_serial, FindingKind::unordered,
                           event_behind_a_wait, "wait_without_serial", true}),
    [](const testing::TestParamInfo<Canary>& canary) { return canary.param.name; });

}  // namespace
}  // namespace thalweg::test
