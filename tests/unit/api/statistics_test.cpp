// SPDX-License-Identifier: Apache-2.0
//
// What a device counts: statistics, and the ledger of the host's waits, on cpu.

#include "thalweg/statistics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "support/every_schedule.hpp"
#include "support/gate.hpp"
#include "support/refusal.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

using testing::HasSubstr;

constexpr std::chrono::milliseconds kShort{1};  // Behind a closed gate: always reached.

std::uint64_t waits(const WaitLedger& ledger) {
  std::uint64_t sum = 0;
  for (const WaitRecord& record : ledger) sum += record.count;
  return sum;
}

class StatisticsTest : public testing::Test {
 protected:
  const Device device_ = must(Device::open("cpu?workers=2&skip_passed=off"));
  const Stream a_ = must(Stream::create(device_));
  const Stream b_ = must(Stream::create(device_));
};

TEST_F(StatisticsTest, StartAtNothing) {
  const Statistics statistics = must(Device::open("cpu?workers=1")).statistics();
  EXPECT_EQ(statistics.submissions, 0u);
  EXPECT_EQ(statistics.empty_turns, 0u);
  EXPECT_EQ(statistics.waits_placed, 0u);
  EXPECT_EQ(statistics.waits_passed, 0u);
  EXPECT_EQ(statistics.waits_covered, 0u);
  EXPECT_EQ(statistics.host_waits, 0u);
  EXPECT_EQ(statistics.queues_created, 0u);
  EXPECT_EQ(statistics.queues_destroyed, 0u);
  EXPECT_EQ(statistics.tasks_failed, 0u);
}

TEST_F(StatisticsTest, EveryKindOfTaskIsASubmissionAndARefusalIsNone) {
  const auto x = must(Array<int>::create(a_, 4));
  const auto y = must(Array<int>::create(a_, 4));
  const std::vector<int> source(4);
  const auto touch = kernel("touch", [](Cell at, std::span<int> v) { ++v[at.x]; });
  EXPECT_EQ(device_.statistics().submissions, 0u);
  must(a_.fill(x, 1));
  must(a_.copy(y, x));
  must(a_.upload(x, std::span(source)));
  must(a_.upload(x, std::vector<int>(4)));
  Future<void> borrowed = a_.upload_borrowed(x, std::span(source));
  must(a_.launch(touch, 4, x));
  static_cast<void>(a_.read(x));
  static_cast<void>(a_.host("f", {}, [] {}));
  EXPECT_EQ(device_.statistics().submissions, 8u);
  EXPECT_FALSE(a_.fill(x.view(0, 5), 1).has_value());
  EXPECT_FALSE(a_.launch(touch, -1, x).has_value());
  EXPECT_EQ(device_.statistics().submissions, 8u);
  EXPECT_EQ(refusal(borrowed.get(kLimit)), "none");
}

// A wait for each conflict with another stream, once; what follows from it is covered.
TEST_F(StatisticsTest, WaitsArePlacedOncePerConflictAndCoveredAfterwards) {
  const auto x = must(Array<int>::create(a_, 4));
  must(a_.fill(x, 1));
  must(a_.fill(x, 2));
  EXPECT_EQ(device_.statistics().waits_placed, 0u);
  static_cast<void>(b_.read(x));
  EXPECT_EQ(device_.statistics().waits_placed, 1u);
  EXPECT_EQ(device_.statistics().waits_covered, 0u);
  static_cast<void>(b_.read(x));
  EXPECT_EQ(device_.statistics().waits_placed, 1u);
  EXPECT_EQ(device_.statistics().waits_covered, 1u);
  must(a_.fill(x, 3));
  EXPECT_EQ(device_.statistics().waits_placed, 2u);
}

TEST_F(StatisticsTest, AnExplicitWaitCountsWhenItIsNotCovered) {
  const Event event = must(Event::create(device_));
  static_cast<void>(a_.host("f", {}, [] {}));
  must(a_.record(event));
  must(b_.wait_event(event));
  EXPECT_EQ(device_.statistics().waits_placed, 1u);
  must(b_.wait_event(event));
  must(b_.wait(a_));
  EXPECT_EQ(device_.statistics().waits_placed, 1u);
  static_cast<void>(a_.host("f", {}, [] {}));
  must(b_.wait(a_));
  EXPECT_EQ(device_.statistics().waits_placed, 2u);
}

TEST_F(StatisticsTest, QueuesAreCountedAtBothEnds) {
  EXPECT_EQ(device_.statistics().queues_created, 2u);
  {
    const Stream gone = must(Stream::create(device_));
  }
  EXPECT_EQ(device_.statistics().queues_created, 3u);
  EXPECT_TRUE(comes_true([this] {
    static_cast<void>(device_.poll());
    return device_.statistics().queues_destroyed == 1;
  }));
}

TEST_F(StatisticsTest, BusyTimeIsCountedOnlyWhereItIsAskedFor) {
  const Device measured = must(Device::open("cpu?workers=2&measure_busy=on&random_delay_us=20"));
  for (const Device& device : {device_, measured}) {
    const Stream s = must(Stream::create(device));
    const auto x = must(Array<int>::create(s, 1000));
    for (int i = 0; i < 20; ++i) must(s.fill(x, i));
    must(device.synchronize(kLimit));
  }
  EXPECT_EQ(device_.statistics().busy_any_ns, 0u);
  EXPECT_EQ(device_.statistics().busy_sum_ns, 0u);
  const Statistics statistics = measured.statistics();
  EXPECT_GT(statistics.busy_sum_ns, 0u);
  EXPECT_GT(statistics.busy_any_ns, 0u);
  EXPECT_LE(statistics.busy_any_ns, statistics.busy_sum_ns);
}

// Every wait of the host has an entry with its reason and the line of the call.
TEST_F(StatisticsTest, TheLedgerNamesReasonAndCallSite) {
  const auto x = must(Array<int>::create(a_, 4));
  const Event event = must(Event::create(device_));
  const Timeline timeline = must(Timeline::create(device_));
  const Gate gate(device_);
  gate.hold(a_);
  must(a_.fill(x, 1));
  must(a_.record(event));
  Future<std::vector<int>> read = a_.read(x);
  EXPECT_EQ(device_.statistics().host_waits, 0u);

  const auto line = std::source_location::current().line();
  EXPECT_EQ(refusal(a_.synchronize(kShort)), "timeout");
  EXPECT_EQ(refusal(device_.synchronize(kShort)), "timeout");
  EXPECT_EQ(refusal(event.wait(kShort)), "timeout");
  EXPECT_EQ(refusal(read.get(kShort)), "timeout");
  EXPECT_EQ(refusal(timeline.wait(1, kShort)), "timeout");

  const WaitLedger ledger = device_.wait_ledger();
  const auto expect_entry = [&](std::uint32_t offset, WaitReason reason) {
    const auto entry = std::find_if(ledger.begin(), ledger.end(), [&](const WaitRecord& record) {
      return record.site.line() == line + offset;
    });
    ASSERT_NE(entry, ledger.end()) << name(reason);
    EXPECT_EQ(name(entry->reason), name(reason));
    EXPECT_EQ(entry->count, 1u);
    EXPECT_GT(entry->total.count(), 0);
    EXPECT_THAT(std::string(entry->site.file_name()), HasSubstr("statistics_test"));
  };
  expect_entry(1, WaitReason::synchronize);
  expect_entry(2, WaitReason::synchronize);
  expect_entry(3, WaitReason::event);
  expect_entry(4, WaitReason::future);
  expect_entry(5, WaitReason::timeline);
  EXPECT_EQ(ledger.size(), 5u);
  EXPECT_TRUE(std::is_sorted(ledger.begin(), ledger.end(), [](const auto& one, const auto& other) {
    return one.total > other.total;
  }));
  EXPECT_EQ(device_.statistics().host_waits, waits(ledger));
  EXPECT_EQ(waits(ledger), 5u);
}

// Waits of one reason at one call site are one entry.
TEST_F(StatisticsTest, ALoopIsOneEntryOfTheLedger) {
  const Gate gate(device_);
  gate.hold(a_);
  static_cast<void>(a_.host("held", {}, [] {}));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(refusal(a_.synchronize(kShort)), "timeout");
  const WaitLedger ledger = device_.wait_ledger();
  ASSERT_EQ(ledger.size(), 1u);
  EXPECT_EQ(ledger[0].count, 3u);
}

// What is passed already, or refused, or only asked for, is no wait.
TEST_F(StatisticsTest, WhatDoesNotWaitIsNotInTheLedger) {
  const auto x = must(Array<int>::create(a_, 4));
  must(a_.fill(x, 1));
  Future<std::vector<int>> read = a_.read(x);
  const Event event = must(Event::create(device_));
  must(a_.record(event));
  EXPECT_TRUE(comes_true([this] { return device_.poll(); }));
  EXPECT_EQ(refusal(a_.synchronize(kLimit)), "none");
  EXPECT_EQ(refusal(device_.synchronize(kLimit)), "none");
  EXPECT_EQ(refusal(event.wait(kLimit)), "none");
  EXPECT_EQ(refusal(read.get(kLimit)), "none");
  const Gate gate(device_);
  gate.hold(a_);
  must(a_.fill(x, 1));
  {
    const NoWaitScope scope;
    EXPECT_EQ(refusal(a_.synchronize(kLimit)), "wait_forbidden");
  }
  EXPECT_EQ(device_.statistics().host_waits, 0u);
  EXPECT_TRUE(device_.wait_ledger().empty());
}

// What has passed costs no wait, where passing may be looked at: each conflict is waited for or has
// passed, and which of the two depends on the schedule alone.
TEST(StatisticsOrder, WhatHasPassedIsNotWaitedFor) {
  for (const bool skip : {true, false}) {
    std::set<std::pair<std::uint64_t, std::uint64_t>> counts;
    explore_all(
        [&counts](ExploreRun& run) {
          const Stream a = must(Stream::create(run.device()));
          const Stream b = must(Stream::create(run.device()));
          const auto x = must(Array<int>::create(a, 4));
          must(a.fill(x, 1));
          must(b.fill(x, 2));
          const Statistics statistics = run.device().statistics();
          counts.emplace(statistics.waits_placed, statistics.waits_passed);
        },
        {.device = skip ? "sim" : "sim?skip_passed=off"});
    using Counts = decltype(counts);
    EXPECT_EQ(counts, (skip ? Counts{{0, 1}, {1, 0}} : Counts{{1, 0}}));
  }
}

TEST(NoWaitScope, NestsAndConcernsItsThread) {
  EXPECT_FALSE(NoWaitScope::active());
  {
    const NoWaitScope outer;
    EXPECT_TRUE(NoWaitScope::active());
    {
      const NoWaitScope inner;
    }
    EXPECT_TRUE(NoWaitScope::active());
    bool other = true;
    std::thread([&other] { other = NoWaitScope::active(); }).join();
    EXPECT_FALSE(other);
  }
  EXPECT_FALSE(NoWaitScope::active());
}

TEST(Names, OfReasonsAndKindsAreThoseOfTheEnumerators) {
  EXPECT_EQ(name(WaitReason::synchronize), "synchronize");
  EXPECT_EQ(name(ErrorKind::wait_forbidden), "wait_forbidden");
}

}  // namespace
}  // namespace thalweg::test
