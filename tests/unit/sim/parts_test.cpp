// SPDX-License-Identifier: Apache-2.0
//
// Small parts of the simulated backend: clocks, faults, and what makes two steps depend on each
// other.

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "backends/sim/clock.hpp"
#include "backends/sim/effects.hpp"
#include "backends/sim/faults.hpp"
#include "support/refusal.hpp"

namespace thalweg::sim {
namespace {

TEST(VectorClock, JoinsByTheGreater) {
  VectorClock a;
  EXPECT_EQ(a.of(0), 0U);
  EXPECT_EQ(a.of(1000), 0U);
  a.set(2, 5);
  a.set(0, 1);
  VectorClock b;
  b.set(0, 3);
  b.set(4, 9);
  a.join(b);
  EXPECT_EQ(a.of(0), 3U);
  EXPECT_EQ(a.of(1), 0U);
  EXPECT_EQ(a.of(2), 5U);
  EXPECT_EQ(a.of(4), 9U);
  b.join(a);
  EXPECT_EQ(b.of(2), 5U);
  a.clear();
  EXPECT_EQ(a.of(4), 0U);
}

// Faults.

Faults must_parse(std::string_view text) {
  return must(Faults::parse(text, std::source_location::current()));
}

// The calls among the first `count` that are refused.
std::string refused(Faults& faults, FaultSite site, int count) {
  std::string calls;
  for (int i = 0; i != count; ++i) calls += faults.hit(site) != 0 ? 'x' : '.';
  return calls;
}

TEST(Faults, AreCountedBySite) {
  Faults faults = must_parse("alloc:3,launch:1,alloc:1");
  EXPECT_EQ(refused(faults, FaultSite::alloc, 5), "x.x..");
  EXPECT_EQ(refused(faults, FaultSite::launch, 3), "x..");
  EXPECT_EQ(refused(faults, FaultSite::fence, 3), "...");
  EXPECT_EQ(faults.calls(FaultSite::alloc), 5U);
  EXPECT_EQ(faults.refused(), 3U);
  Faults onwards = must_parse("alloc:3+,fence:2");
  EXPECT_EQ(refused(onwards, FaultSite::alloc, 6), "..xxxx");
  EXPECT_EQ(refused(onwards, FaultSite::fence, 4), ".x..");
  onwards.end();
  EXPECT_EQ(refused(onwards, FaultSite::alloc, 3), "...");
  Faults none = must_parse("");
  EXPECT_EQ(refused(none, FaultSite::alloc, 100), std::string(100, '.'));
}

TEST(Faults, OfASeedAreTheSameEachTimeAndOfCallsThatCanBeRefused) {
  Faults once = must_parse("seed:7");
  Faults again = must_parse("seed:7");
  Faults other = must_parse("seed:8");
  const std::string calls = refused(once, FaultSite::alloc, 2000);
  EXPECT_EQ(calls, refused(again, FaultSite::alloc, 2000));
  EXPECT_NE(calls, refused(other, FaultSite::alloc, 2000));
  EXPECT_GT(once.refused(), 10U);
  EXPECT_LT(once.refused(), 100U);
  for (const FaultSite site : {FaultSite::run, FaultSite::lost, FaultSite::never, FaultSite::slow})
    EXPECT_EQ(refused(once, site, 1000), std::string(1000, '.')) << name(site);
}

TEST(Faults, SayWhichOneItIs) {
  Faults faults = must_parse("copy:2");
  EXPECT_EQ(faults.hit(FaultSite::copy), 0U);
  const std::uint64_t nth = faults.hit(FaultSite::copy);
  EXPECT_EQ(nth, 2U);
  EXPECT_EQ(Faults::refusal(FaultSite::copy, nth).message(),
            "The simulated device was told to fail here (fault copy:2).");
  const auto kind = [](FaultSite site) { return Faults::refusal(site, 1).kind(); };
  EXPECT_EQ(kind(FaultSite::copy), ErrorKind::out_of_memory);
  EXPECT_EQ(kind(FaultSite::compile), ErrorKind::compile_failed);
  EXPECT_EQ(kind(FaultSite::run), ErrorKind::task_failed);
  EXPECT_EQ(kind(FaultSite::lost), ErrorKind::device_lost);
}

TEST(Faults, AreRefusedInWords) {
  const std::string rest =
      "` is no fault: `site:n` and `site:n+` are, with n from 1 and site one of create_stream, "
      "alloc, fence, "
      "wait, "
      "fill, copy, launch, host, other, compile, run, lost, never, slow; or `seed:n`.";
  const auto check = [&rest](std::string_view text, std::string_view item) {
    const auto parsed = Faults::parse(text, std::source_location::current());
    EXPECT_EQ(test::refusal(parsed), "invalid_argument") << text;
    EXPECT_EQ(test::message(parsed), "`" + std::string(item) + rest) << text;
  };
  check("alloc", "alloc");
  check("alloc:", "alloc:");
  check("alloc:0", "alloc:0");
  check("alloc:-1", "alloc:-1");
  check("alloc:1 ", "alloc:1 ");
  check("alloc:18446744073709551616", "alloc:18446744073709551616");
  check("malloc:1", "malloc:1");
  check(":1", ":1");
  check("alloc:1,,fence:1", "");
  check("alloc:1,", "");
  check(",alloc:1", "");
  check("seed:", "seed:");
  check("seed:x", "seed:x");
  check("alloc:1,copy", "copy");
  check("alloc:+", "alloc:+");
  check("alloc:0+", "alloc:0+");
  check("seed:1+", "seed:1+");
}

TEST(Faults, KnowWhereATaskIsCounted) {
  using Kind = neutral::TaskKind;
  EXPECT_EQ(site_of(Kind::fill), FaultSite::fill);
  for (const Kind kind : {Kind::copy, Kind::upload, Kind::read_back})
    EXPECT_EQ(site_of(kind), FaultSite::copy);
  for (const Kind kind : {Kind::kernel, Kind::indirect})
    EXPECT_EQ(site_of(kind), FaultSite::launch);
  for (const Kind kind : {Kind::host, Kind::native}) EXPECT_EQ(site_of(kind), FaultSite::host);
  for (const Kind kind : {Kind::empty, Kind::wait, Kind::signal, Kind::stamp})
    EXPECT_EQ(site_of(kind), FaultSite::other);
}

// Effects.

constexpr Process kS0 = kFirstQueue;
constexpr Process kS1 = kFirstQueue + 1;

template <class T, class List>
void set(List& list, std::initializer_list<T> items) {
  list.clear();
  for (const T& item : items) list.push_back(item);
}

bool both_ways(const Effects& a, const Effects& b) {
  EXPECT_EQ(dependent(a, b) || dependent(b, a), dependent(b, a) || dependent(a, b));
  return dependent(a, b) || dependent(b, a);
}

TEST(Effects, StepsThatShareNothingDoNotDepend) {
  EXPECT_FALSE(both_ways({}, {}));
  Effects a;
  Effects b;
  a.done = {kS0, 1};
  b.done = {kS1, 1};
  set<Effects::Bytes>(a.bytes, {{0, 16, true}});
  set<Effects::Bytes>(b.bytes, {{16, 32, true}});
  EXPECT_FALSE(both_ways(a, b));
  a.program = b.pools = true;
  EXPECT_FALSE(both_ways(a, b));
}

TEST(Effects, CodeOfTheProgramPoolsAndEnginesDependOnTheirLike) {
  for (bool Effects::* const member :
       {&Effects::program, &Effects::pools, &Effects::calls, &Effects::engine}) {
    Effects a;
    Effects b;
    a.*member = true;
    EXPECT_FALSE(both_ways(a, b));
    b.*member = true;
    EXPECT_TRUE(both_ways(a, b));
  }
}

TEST(Effects, SharedBytesDependWhenSomebodyWrites) {
  Effects a;
  Effects b;
  set<Effects::Bytes>(a.bytes, {{0, 16, false}, {100, 110, false}});
  set<Effects::Bytes>(b.bytes, {{109, 120, false}});
  EXPECT_FALSE(both_ways(a, b));
  set<Effects::Bytes>(b.bytes, {{109, 120, true}});
  EXPECT_TRUE(both_ways(a, b));
  set<Effects::Bytes>(b.bytes, {{110, 120, true}});
  EXPECT_FALSE(both_ways(a, b));
}

TEST(Effects, AQuestionDependsOnWhatItAsksAfter) {
  Effects asks;
  Effects passes;
  passes.done = {kS0, 3};
  set<Place>(asks.asked, {{kS0, 2}});
  EXPECT_FALSE(both_ways(asks, passes));
  set<Place>(asks.asked, {{kS0, 3}});
  EXPECT_TRUE(both_ways(asks, passes));
  set<Place>(asks.asked, {{kS0, 0}});  // Any of the queue.
  EXPECT_TRUE(both_ways(asks, passes));
  set<Place>(asks.asked, {{kS1, 0}});
  EXPECT_FALSE(both_ways(asks, passes));
}

TEST(Effects, ATaskNeedsWhoEnqueuedItAndWhatItWaitsFor) {
  Effects submit;
  Effects runs;
  set<Place>(submit.enqueued, {{kS0, 1}});
  runs.done = {kS0, 1};
  EXPECT_TRUE(enables(submit, runs));
  EXPECT_FALSE(enables(runs, submit));
  Effects waits;
  waits.done = {kS1, 1};
  set<Place>(waits.awaited, {{kS0, 1}});
  EXPECT_TRUE(enables(runs, waits));
  EXPECT_FALSE(enables(waits, runs));
  EXPECT_FALSE(enables(submit, waits));
}

TEST(Effects, AWaitForATimelineNeedsTheRaiseThatReachesIt) {
  using Use = Effects::Use;
  Effects raise;
  set<Effects::Mark>(raise.marks, {{7, 1, 3, Use::raised}});
  const auto at = [](std::uint64_t value, Use use, std::uint32_t timeline = 7) {
    Effects test;
    set<Effects::Mark>(test.marks, {{timeline, 0, value, use}});
    return test;
  };
  EXPECT_FALSE(enables(raise, at(1, Use::awaited)));  // It was there before.
  EXPECT_TRUE(enables(raise, at(2, Use::awaited)));
  EXPECT_TRUE(enables(raise, at(3, Use::awaited)));
  EXPECT_FALSE(enables(raise, at(4, Use::awaited)));  // Nor does it get there.
  EXPECT_FALSE(enables(raise, at(3, Use::asked)));    // It could have been asked before.
  EXPECT_TRUE(both_ways(raise, at(4, Use::awaited)));
  EXPECT_TRUE(both_ways(raise, at(3, Use::asked)));
  EXPECT_FALSE(both_ways(raise, at(3, Use::asked, 8)));
  EXPECT_FALSE(both_ways(at(1, Use::awaited), at(2, Use::asked)));
}

TEST(Effects, WhatTheProgramSeesDependsOnItsCodeAlone) {
  Effects a;
  Effects b;
  a.seen = true;
  b.seen = true;
  EXPECT_FALSE(both_ways(a, b));
  b.program = true;
  EXPECT_TRUE(both_ways(a, b));
}

TEST(Effects, WhatIsCountedDependsOnItsLikeAndALossOnEverything) {
  Effects a;
  Effects b;
  a.counted = 1;
  b.counted = 2;
  EXPECT_FALSE(both_ways(a, b));
  b.counted = 3;
  EXPECT_TRUE(both_ways(a, b));
  Effects loses;
  loses.all = true;
  EXPECT_TRUE(both_ways(loses, {}));
}

}  // namespace
}  // namespace thalweg::sim
