// SPDX-License-Identifier: Apache-2.0
//
// The failure graph, step by step, and against the model at random.

#include "thalweg/failure/error_graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/model/failures.hpp"
#include "support/random.hpp"

namespace thalweg::test {
namespace {

using failure::ErrorGraph;
using failure::kRecordsKept;
using failure::Use;
using ::testing::HasSubstr;

constexpr AllocationId kX{1};
constexpr AllocationId kY{2};
constexpr DeviceId kDevice{9};

Use use(AllocationId allocation, std::uint64_t begin, std::uint64_t end, AccessMode mode) {
  return {allocation, begin, end - begin, 1, 0, mode};
}
Use reads(AllocationId allocation, std::uint64_t begin, std::uint64_t end) {
  return use(allocation, begin, end, AccessMode::read);
}
Use writes(AllocationId allocation, std::uint64_t begin, std::uint64_t end) {
  return use(allocation, begin, end, AccessMode::write);
}

Error error(std::string text) { return Error(ErrorKind::task_failed, std::move(text)); }

// What a task does at its start and its end: skipped, or it runs.
bool run(ErrorGraph& graph, const std::vector<Use>& uses, const std::string& name = "task") {
  const auto bad = graph.first_bad(uses);
  bad ? graph.skip(*bad, {name, "a", std::source_location::current()}, uses) : graph.prove(uses);
  return !bad;
}

FailureId fail(ErrorGraph& graph, const std::vector<Use>& uses, std::string text = "It failed.") {
  return graph.fail(error(std::move(text)), kDevice, uses);
}

bool good(const ErrorGraph& graph, const Use& use) { return !graph.first_bad({&use, 1}); }

std::vector<FailureReport> reports(const ErrorGraph& graph, const Use& use) {
  return graph.reports({&use, 1});
}

TEST(ErrorGraph, ABadByteIsFoundExactly) {
  ErrorGraph graph;
  const FailureId failure = fail(graph, {writes(kX, 10, 20)});
  EXPECT_TRUE(good(graph, reads(kX, 0, 10)));
  EXPECT_TRUE(good(graph, reads(kX, 20, 99)));
  EXPECT_TRUE(good(graph, reads(kY, 0, 99)));
  EXPECT_TRUE(good(graph, reads(kX, 12, 12)));
  EXPECT_TRUE(good(graph, writes(kX, 0, 99)));
  EXPECT_TRUE(good(graph, use(kX, 0, 99, AccessMode::token)));
  EXPECT_FALSE(good(graph, use(kX, 0, 11, AccessMode::read_write)));
  const std::vector<Use> both{reads(kY, 0, 9), reads(kX, 15, 40)};
  const auto bad = graph.first_bad(both);
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->taint.failure, failure);
  EXPECT_EQ(bad->bytes, (FailedBytes{kX, 15, 5, true}));
}

TEST(ErrorGraph, OnlyTheBytesThatAreWrittenAreGoodAgain) {
  ErrorGraph graph;
  fail(graph, {writes(kX, 0, 30)});
  graph.prove(std::vector{writes(kX, 10, 20), reads(kX, 0, 30)});
  EXPECT_TRUE(good(graph, reads(kX, 10, 20)));
  EXPECT_FALSE(good(graph, reads(kX, 9, 10)));
  EXPECT_FALSE(good(graph, reads(kX, 20, 21)));
  EXPECT_EQ(graph.ranges(), 2u);
  graph.prove(std::vector{writes(kX, 0, 10), writes(kX, 20, 30)});
  EXPECT_TRUE(graph.empty());
  EXPECT_TRUE(graph.living().empty());
}

// The loss of a device is one failure, found by one task after the other.
TEST(ErrorGraph, SeveralTasksMayShareAFailure) {
  ErrorGraph graph;
  const FailureId failure = fail(graph, {writes(kX, 0, 8)}, "The loss.");
  const std::vector again{writes(kX, 4, 12), writes(kY, 0, 4)};
  EXPECT_EQ(graph.fail(error("Not kept."), kDevice, again, failure), failure);
  ASSERT_EQ(graph.living().size(), 1u);
  EXPECT_EQ(graph.living()[0].carriers, 2u);
  EXPECT_EQ(graph.living()[0].root.message(), "The loss.");
  EXPECT_EQ(graph.ranges(), 2u);
  graph.prove(std::vector{writes(kX, 0, 12), writes(kY, 0, 4)});
  EXPECT_TRUE(graph.empty());
  // It is forgotten: the next is another one.
  EXPECT_NE(graph.fail(error("Later."), kDevice, again, failure), failure);
  EXPECT_EQ(graph.living()[0].root.message(), "Later.");
}

TEST(ErrorGraph, RowsWithGapsAreBadRowByRow) {
  ErrorGraph graph;
  const Use rows{kX, 4, 2, 3, 10, AccessMode::write};
  graph.fail(error("It failed."), kDevice, {&rows, 1});
  for (std::uint64_t byte = 0; byte != 40; ++byte) {
    const bool in_row = byte >= 4 && byte < 26 && (byte - 4) % 10 < 2;
    EXPECT_EQ(good(graph, reads(kX, byte, byte + 1)), !in_row) << byte;
  }
  EXPECT_TRUE(good(graph, {kX, 6, 8, 2, 10, AccessMode::read}));
  graph.prove({&rows, 1});
  EXPECT_TRUE(graph.empty());
}

// Where one failure is known by many buffers, each knows the way it took.
TEST(ErrorGraph, TheWayBackToTheRootIsTold) {
  ErrorGraph graph;
  const FailureId failure = fail(graph, {writes(kX, 0, 8)}, "The root.");
  EXPECT_FALSE(run(graph, {reads(kX, 4, 8), writes(kY, 0, 4)}, "first"));
  EXPECT_FALSE(run(graph, {reads(kY, 2, 4), writes(kX, 8, 16)}, "second"));
  const auto found = reports(graph, reads(kX, 10, 16));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].failure, failure);
  EXPECT_EQ(found[0].root.message(), "The root.");
  EXPECT_EQ(found[0].bytes, (FailedBytes{kX, 10, 6, true}));
  EXPECT_EQ(found[0].carriers, 2u);
  EXPECT_EQ(found[0].skips, 2u);
  ASSERT_EQ(found[0].chain.size(), 2u);
  EXPECT_EQ(found[0].chain[0].task, "second");
  EXPECT_EQ(found[0].chain[0].input, (FailedBytes{kY, 2, 2, true}));
  EXPECT_EQ(found[0].chain[1].task, "first");
  EXPECT_EQ(found[0].chain[1].input, (FailedBytes{kX, 4, 4, true}));
  EXPECT_EQ(found[0].chain_dropped, 0u);
}

TEST(ErrorGraph, EachFailureIsToldOnceInTheOrderOfTheBytes) {
  ErrorGraph graph;
  const FailureId later = fail(graph, {writes(kX, 20, 30)});
  const FailureId first = fail(graph, {writes(kX, 0, 10)});
  graph.prove(std::vector{writes(kX, 4, 6)});
  const auto found = reports(graph, reads(kX, 0, 40));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].failure, first);
  EXPECT_EQ(found[1].failure, later);
}

// A loop over bad bytes: only the last records are kept, and it is said how many are missing.
TEST(ErrorGraph, ALongChainSaysHowMuchIsMissing) {
  ErrorGraph graph;
  fail(graph, {writes(kX, 0, 8)});
  const std::vector<Use> step{use(kX, 0, 8, AccessMode::read_write)};
  constexpr std::uint64_t kSteps = 1000;
  for (std::uint64_t i = 0; i != kSteps; ++i) run(graph, step);
  const auto found = reports(graph, reads(kX, 0, 8));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].chain.size(), kRecordsKept);
  EXPECT_EQ(found[0].chain_dropped, kSteps - kRecordsKept);
  EXPECT_EQ(found[0].skips, kSteps);
  EXPECT_EQ(graph.ranges(), 1u);
}

TEST(ErrorGraph, AFailureOfNoBytesIsNotRemembered) {
  ErrorGraph graph;
  EXPECT_EQ(fail(graph, {}), FailureId{});
  EXPECT_EQ(fail(graph, {reads(kX, 0, 8), writes(kX, 4, 4)}), FailureId{});
  EXPECT_EQ(fail(graph, {use(kX, 0, 8, AccessMode::token)}), FailureId{});
  EXPECT_TRUE(graph.living().empty());
}

// The skipped task writes the very bytes that carry its failure, and nothing else does.
TEST(ErrorGraph, ATaskMayOverwriteTheLastCarrier) {
  ErrorGraph graph;
  const FailureId failure = fail(graph, {writes(kX, 0, 8)});
  EXPECT_FALSE(run(graph, {use(kX, 0, 8, AccessMode::read_write)}));
  ASSERT_EQ(graph.living().size(), 1u);
  EXPECT_EQ(graph.living()[0].failure, failure);
  EXPECT_EQ(graph.living()[0].carriers, 1u);
  EXPECT_EQ(graph.living()[0].device, kDevice);
  const FailureId other = fail(graph, {writes(kX, 0, 8)});
  ASSERT_EQ(graph.living().size(), 1u);
  EXPECT_EQ(graph.living()[0].failure, other);
}

// What was submitted before the drop still meets the taint; nobody does afterwards.
TEST(ErrorGraph, ADroppedAllocationIsForgottenWhenItsUsesHavePassed) {
  ErrorGraph graph;
  AllocationLife life(kX, 100);
  Use written = writes(kX, 0, 8);
  written.life = &life;
  fail(graph, {written});
  EXPECT_TRUE(graph.gone().empty());
  life.begin(AllocationId{77}, 100);  // Somebody else's by now.
  EXPECT_EQ(graph.gone().size(), 1u);
  order::PointSet uses;
  uses.add({1, Serial{5}});
  uses.add({2, Serial{7}});
  for (const auto& [allocation, of] : graph.gone()) graph.drop(allocation, uses);
  EXPECT_TRUE(graph.gone().empty());
  graph.collect([](order::Point point) { return point.queue() == 1; });
  EXPECT_FALSE(run(graph, {reads(kX, 0, 8), writes(kY, 0, 8)}));
  EXPECT_EQ(graph.living()[0].carriers, 2u);
  graph.collect([](order::Point) { return true; });
  EXPECT_EQ(graph.living()[0].carriers, 1u);
  EXPECT_TRUE(good(graph, reads(kX, 0, 8)));
}

// Many buffers are bad and are dropped while something holds their uses up: each drop looks at a
// few of them, and when the uses have passed, a few more drops forget all.
TEST(ErrorGraph, ADropLooksAtAFewOfThoseThatAreDropped) {
  constexpr std::uint64_t kBuffers = 1000;
  constexpr std::size_t kMost = 3;
  ErrorGraph graph;
  std::size_t looks = 0;
  bool over = false;
  const auto passed = [&](order::Point) {
    ++looks;
    return over;
  };
  const auto drop = [&](std::uint64_t number) {
    fail(graph, {writes(AllocationId{number}, 0, 8)});
    order::PointSet uses;
    uses.add({1, Serial{number}});
    graph.drop(AllocationId{number}, uses);
    graph.collect(passed, kMost);
  };
  for (std::uint64_t i = 1; i <= kBuffers; ++i) drop(i);
  EXPECT_EQ(graph.carriers(), kBuffers);
  EXPECT_LE(looks, kMost * kBuffers);
  over = true;
  for (std::uint64_t i = 1; i <= kBuffers / 2; ++i) drop(kBuffers + i);
  EXPECT_TRUE(graph.empty());
}

// Work that was submitted before the drop may taint what nobody has any more, or make it good.
TEST(ErrorGraph, WhatFailsAfterTheDropGoesAsWell) {
  ErrorGraph graph;
  AllocationLife life;
  Use written = writes(kX, 0, 8);
  written.life = &life;
  fail(graph, {written});
  EXPECT_EQ(graph.gone().size(), 1u);
  graph.prove({&written, 1});
  EXPECT_TRUE(graph.empty());
  fail(graph, {written});
  for (const auto& [allocation, of] : graph.gone()) graph.drop(allocation, {});
  graph.collect([](order::Point) { return true; });
  EXPECT_TRUE(graph.empty());
}

// Whoever keeps the graph is given what it forgets, once.
TEST(ErrorGraph, TheRootsOfForgottenFailuresAreGivenBack) {
  ErrorGraph graph;
  fail(graph, {writes(kX, 0, 8)}, "Overwritten.");
  fail(graph, {writes(kY, 0, 8)}, "Kept.");
  graph.prove(std::vector{writes(kX, 0, 8), writes(kY, 0, 4)});
  const auto forgotten = graph.take_forgotten();
  ASSERT_EQ(forgotten.size(), 1u);
  EXPECT_EQ(forgotten[0].message(), "Overwritten.");
  EXPECT_TRUE(graph.take_forgotten().empty());
}

// Tasks that write nothing are skipped as well, and are on nobody's way.
TEST(ErrorGraph, ReadersDoNotPushTheWayOut) {
  ErrorGraph graph;
  fail(graph, {writes(kX, 0, 8)});
  EXPECT_FALSE(run(graph, {reads(kX, 0, 8), writes(kY, 0, 8)}, "on the way"));
  for (std::size_t i = 0; i != 2 * kRecordsKept; ++i)
    EXPECT_FALSE(run(graph, {reads(kX, 0, 8)}, "reader"));
  const auto found = reports(graph, reads(kY, 0, 8));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].skips, 2 * kRecordsKept + 1);
  ASSERT_EQ(found[0].chain.size(), 1u);
  EXPECT_EQ(found[0].chain[0].task, "on the way");
  EXPECT_EQ(found[0].chain_dropped, 0u);
}

// Against the model.

model::Touching touching(AccessMode mode) {
  return mode == AccessMode::read    ? model::Touching::read
         : mode == AccessMode::write ? model::Touching::write
                                     : model::Touching::read_write;
}

class Pair {
 public:
  static constexpr int kBuffers = 3;
  static constexpr std::uint64_t kBytes = 40;

  explicit Pair(std::uint64_t seed) : random_(seed) {}

  void step() {
    const std::uint64_t what = random_.below(20);
    if (what == 0) return drop();
    const int task = ++tasks_;
    std::vector<Use> uses;
    std::vector<model::Part> parts;
    for (std::uint64_t i = 1 + random_.below(3); i != 0; --i) add(uses, parts);
    const bool fails = random_.below(6) == 0;
    const auto why = model_.run(task, fails, parts);
    const auto bad = graph_.first_bad(uses);
    ASSERT_EQ(bad.has_value(), why.has_value());
    if (bad) {
      ASSERT_EQ(names_.at(bad->taint.failure), why->failure);
      graph_.skip(*bad, {std::to_string(task), "", std::source_location::current()}, uses);
    } else if (fails) {
      const FailureId failure = graph_.fail(error(std::to_string(task)), kDevice, uses);
      if (failure) names_[failure] = task;
    } else {
      graph_.prove(uses);
    }
  }

  void compare() const {
    for (int buffer = 0; buffer != kBuffers; ++buffer)
      for (std::uint64_t byte = 0; byte != kBytes; ++byte) compare(buffer, byte);
    std::map<int, int> carriers;
    for (const LivingFailure& living : graph_.living())
      carriers[names_.at(living.failure)] = static_cast<int>(living.carriers);
    ASSERT_EQ(carriers, model_.carriers());
    ASSERT_EQ(graph_.empty(), carriers.empty());
  }

 private:
  void add(std::vector<Use>& uses, std::vector<model::Part>& parts) {
    constexpr AccessMode kModes[] = {AccessMode::read, AccessMode::write, AccessMode::read_write};
    const int buffer = static_cast<int>(random_.below(kBuffers));
    Use use;
    use.allocation = lives_[buffer].owner();
    use.life = &lives_[buffer];
    use.mode = kModes[random_.below(3)];
    use.rows = 1 + random_.below(3);
    use.row_bytes = random_.below(6);
    use.pitch = 5 + random_.below(6);
    use.offset = random_.below(kBytes - (use.rows - 1) * use.pitch - use.row_bytes + 1);
    uses.push_back(use);
    for (std::uint64_t row = 0; row != use.rows; ++row)
      parts.push_back({buffer, use.offset + row * use.pitch,
                       use.offset + row * use.pitch + use.row_bytes, touching(use.mode)});
  }

  void drop() {
    const int buffer = static_cast<int>(random_.below(kBuffers));
    model_.forget(buffer);
    lives_[buffer].begin(make_id<AllocationId>(), kBytes);
    for (const auto& [allocation, of] : graph_.gone()) graph_.drop(allocation, {});
    graph_.collect([](order::Point) { return true; });
  }

  void compare(int buffer, std::uint64_t byte) const {
    const model::Bad* const expected = model_.at(buffer, byte);
    const auto found = reports(graph_, reads(lives_[buffer].owner(), byte, byte + 1));
    ASSERT_EQ(found.size(), expected == nullptr ? 0u : 1u) << buffer << ' ' << byte;
    if (expected == nullptr) return;
    ASSERT_EQ(found[0].root.message(), std::to_string(expected->failure));
    ASSERT_EQ(found[0].chain.size() + found[0].chain_dropped, expected->way.size());
    for (std::size_t i = 0; i != found[0].chain.size(); ++i)
      ASSERT_EQ(found[0].chain[i].task, std::to_string(expected->way[i]));
  }

  Random random_;
  ErrorGraph graph_;
  model::Failures model_;
  AllocationLife lives_[kBuffers] = {AllocationLife(make_id<AllocationId>(), kBytes),
                                     AllocationLife(make_id<AllocationId>(), kBytes),
                                     AllocationLife(make_id<AllocationId>(), kBytes)};
  std::map<FailureId, int> names_;
  int tasks_ = 0;
};

TEST(ErrorGraph, AgreesWithTheModelAtRandom) {
  for (std::uint64_t seed = 1; seed != 200; ++seed) {
    Pair pair(seed);
    for (int step = 0; step != 60; ++step) {
      pair.step();
      if (step % 5 == 0) pair.compare();
      if (HasFatalFailure()) FAIL() << "seed " << seed << ", step " << step;
    }
  }
}

}  // namespace
}  // namespace thalweg::test
