// SPDX-License-Identifier: Apache-2.0
//
// Sleeper and wait_until: a thread sleeps until a value is reached, a nudge, or a deadline.

#include "sync/parking.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <thread>

#include "os/real_clock.hpp"
#include "os/thread.hpp"
#include "support/refusal.hpp"
#include "thalweg/base/virtual_clock.hpp"

namespace thalweg::test {
namespace {

using std::chrono::nanoseconds;
using sync::Sleeper;
using sync::Timeline;
using Woken = sync::Sleeper::Woken;

const os::RealClock kClock;

std::optional<sync::Moment> over() { return sync::end_of(nanoseconds(0), kClock); }

bool wait_until(Timeline& timeline, std::uint64_t value, Deadline deadline) {
  return sync::wait_until(timeline, value, deadline, kClock);
}

// A value that is reached already, and one that is reached while nobody sleeps yet, end the sleep
// at once, and every later one; a deadline that is over makes no difference.
TEST(Sleeper, DoesNotSleepWhenTheValueIsReached) {
  Timeline timeline(3);
  Sleeper early(timeline, 3);
  EXPECT_EQ(early.sleep(std::nullopt), Woken::reached);
  EXPECT_EQ(early.sleep(over()), Woken::reached);
  Sleeper later(timeline, 4);
  EXPECT_EQ(later.sleep(over()), Woken::timeout);
  timeline.advance(4);
  EXPECT_EQ(later.sleep(over()), Woken::reached);
  EXPECT_EQ(later.sleep(std::nullopt), Woken::reached);
}

// An end that has passed is a test and no sleep; one that comes soon ends the sleep.
TEST(Sleeper, GivesUpAtTheEnd) {
  Timeline timeline;
  Sleeper sleeper(timeline, 1);
  EXPECT_EQ(sleeper.sleep(over()), Woken::timeout);
  EXPECT_EQ(sleeper.sleep(sync::end_of(std::chrono::microseconds(50), kClock)), Woken::timeout);
}

// A nudge before the sleep is remembered, is taken once, and counts once however often it is given.
TEST(Sleeper, RemembersANudgeOnce) {
  Timeline timeline;
  Sleeper sleeper(timeline, 1);
  EXPECT_TRUE(sleeper.nudge());
  EXPECT_FALSE(sleeper.nudge());
  EXPECT_EQ(sleeper.sleep(std::nullopt), Woken::nudged);
  EXPECT_EQ(sleeper.sleep(over()), Woken::timeout);
  EXPECT_TRUE(sleeper.nudge());
  timeline.advance(1);
  EXPECT_EQ(sleeper.sleep(std::nullopt), Woken::reached);
}

// Nudged and then raised from another thread: first the nudge, then the value, whatever the moment
// at which the thread sleeps.
TEST(Sleeper, IsWokenByANudgeAndByTheValue) {
  for (int round = 0; round != 50; ++round) {
    Timeline timeline;
    Sleeper sleeper(timeline, 7);
    std::atomic<bool> nudged{false};
    std::thread other([&] {
      sleeper.nudge();
      while (!nudged) std::this_thread::yield();
      timeline.advance(7);
    });
    EXPECT_EQ(sleeper.sleep(std::nullopt), Woken::nudged);
    nudged = true;
    EXPECT_EQ(sleeper.sleep(std::nullopt), Woken::reached);
    other.join();
  }
}

// Destroyed before the value comes: the raise finds nobody. Destroyed while the raise is on its
// way: the destructor stays until the waker has let go of it. The sleeper's memory is overwritten
// afterwards, so that a late touch is seen.
TEST(Sleeper, MayBeDestroyedWhileItIsFired) {
  Timeline timeline;
  constexpr std::uint64_t kRounds = 2000;
  std::atomic<std::uint64_t> started{0};
  std::thread raiser([&] {
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      while (started.load(std::memory_order_acquire) < round) std::this_thread::yield();
      timeline.advance(round);
    }
  });
  alignas(Sleeper) std::byte memory[sizeof(Sleeper)];
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    auto* const sleeper = new (memory) Sleeper(timeline, round);
    started.store(round, std::memory_order_release);
    for (std::uint64_t spin = 0; spin != round % 64; ++spin) os::pause();
    sleeper->~Sleeper();
    for (std::byte& byte : memory) byte = std::byte{0xff};
  }
  raiser.join();
  Sleeper last(timeline, kRounds);
  EXPECT_EQ(last.sleep(std::nullopt), Woken::reached);
}

// wait_until tells whether the value was reached: at once, late, and not within the deadline.
TEST(WaitUntil, TellsWhetherTheValueWasReached) {
  Timeline timeline(2);
  EXPECT_TRUE(wait_until(timeline, 2, Deadline()));
  EXPECT_TRUE(wait_until(timeline, 2, nanoseconds(0)));
  EXPECT_FALSE(wait_until(timeline, 3, nanoseconds(0)));
  EXPECT_FALSE(wait_until(timeline, 3, nanoseconds(-1)));
  EXPECT_FALSE(wait_until(timeline, 3, std::chrono::microseconds(20)));
  std::thread other([&timeline] { timeline.advance(3); });
  EXPECT_TRUE(wait_until(timeline, 3, Deadline()));
  other.join();
  std::thread last([&timeline] { timeline.advance(4); });
  EXPECT_TRUE(wait_until(timeline, 4, nanoseconds::max()));
  last.join();
}

// Nothing is left behind by a wait that gave up: the value comes, and nobody is fired.
TEST(WaitUntil, LeavesNothingBehindAfterATimeout) {
  Timeline timeline;
  for (int i = 0; i != 100; ++i)
    ASSERT_FALSE(wait_until(timeline, 1, std::chrono::microseconds(i % 3)));
  timeline.advance(1);
  EXPECT_TRUE(timeline.reached(1));
}

// The least deadline there is is over, and does not wrap around to one that never comes. In a
// process of its own, which an alarm ends if it sleeps.
TEST(WaitUntilDeathTest, TheLeastDeadlineIsOver) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        alarm(10);
        Timeline timeline;
        std::exit(wait_until(timeline, 1, nanoseconds::min()) ? 1 : 0);
      },
      ::testing::ExitedWithCode(0), "");
}

// No deadline and a far one have no end, or one in the future; what is over is over.
TEST(EndOf, CountsFromNow) {
  const VirtualClock clock(nanoseconds(100));
  EXPECT_FALSE(sync::end_of(Deadline(), clock));
  EXPECT_FALSE(sync::end_of(nanoseconds::max(), clock));
  EXPECT_EQ(sync::end_of(nanoseconds(10), clock)->time, nanoseconds(110));
  for (const nanoseconds over : {nanoseconds(0), nanoseconds(-1), nanoseconds::min()}) {
    const sync::Moment end = *sync::end_of(over, clock);
    EXPECT_EQ(end.time, nanoseconds(100));
    EXPECT_TRUE(end.over());
  }
}

// By a clock that gives alarms a sleep ends when the clock is moved there, and not a nanosecond
// before; nothing measures the time meanwhile.
TEST(SleeperOnVirtualClock, SleepsUntilTheClockIsMoved) {
  VirtualClock clock;
  Timeline timeline;
  std::atomic<bool> woken{false};
  Woken how = Woken::reached;
  std::thread sleeper([&] {
    Sleeper self(timeline, 1);
    how = self.sleep(sync::end_of(nanoseconds(10), clock));
    woken = true;
  });
  ASSERT_TRUE(comes_true([&clock] { return clock.alarms() == 1; }));
  clock.advance(nanoseconds(9));
  EXPECT_EQ(clock.alarms(), 1U);
  EXPECT_FALSE(woken);
  clock.advance(nanoseconds(1));
  sleeper.join();
  EXPECT_EQ(how, Woken::timeout);
  EXPECT_EQ(clock.alarms(), 0U);
}

// Nudged, at its end, and with the value: each time the alarm is taken out, and the sleeper can
// sleep again.
TEST(SleeperOnVirtualClock, TakesItsAlarmOut) {
  VirtualClock clock;
  Timeline timeline;
  Woken first = Woken::reached;
  Woken second = Woken::reached;
  Woken third = Woken::timeout;
  std::atomic<Sleeper*> shown{nullptr};
  std::atomic<int> slept{0};
  std::thread sleeper([&] {
    Sleeper self(timeline, 1);
    shown = &self;
    const auto end = sync::end_of(nanoseconds(10), clock);
    first = self.sleep(end);
    ++slept;
    second = self.sleep(end);
    ++slept;
    third = self.sleep(sync::end_of(nanoseconds(10), clock));
  });
  const auto sleeps_again = [&](int times) {
    return comes_true([&] { return slept == times && clock.alarms() == 1; });
  };
  ASSERT_TRUE(sleeps_again(0));
  shown.load()->nudge();
  ASSERT_TRUE(sleeps_again(1));
  clock.advance(nanoseconds(10));
  ASSERT_TRUE(sleeps_again(2));
  timeline.advance(1);
  sleeper.join();
  EXPECT_EQ(first, Woken::nudged);
  EXPECT_EQ(second, Woken::timeout);
  EXPECT_EQ(third, Woken::reached);
  EXPECT_EQ(clock.alarms(), 0U);
}

// The end and the value come at the same time from two threads: one of them wins, and whoever comes
// late finds the sleeper gone or its memory still there. The memory is overwritten afterwards, so
// that a late touch is seen.
TEST(SleeperOnVirtualClock, TheEndMayRaceTheValue) {
  VirtualClock clock;
  Timeline timeline;
  constexpr std::uint64_t kRounds = 2000;
  std::atomic<std::uint64_t> started{0};
  std::atomic<std::uint64_t> raised{0};
  std::atomic<std::uint64_t> moved{0};
  const auto each_round = [&started](auto act) {
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      while (started.load(std::memory_order_acquire) < round) std::this_thread::yield();
      act(round);
    }
  };
  std::thread raiser([&] {
    each_round([&](std::uint64_t round) {
      timeline.advance(round);
      raised = round;
    });
  });
  std::thread mover([&] {
    each_round([&](std::uint64_t round) {
      clock.advance(nanoseconds(1));
      moved = round;
    });
  });
  alignas(Sleeper) std::byte memory[sizeof(Sleeper)];
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    auto* const sleeper = new (memory) Sleeper(timeline, round);
    const auto end = sync::end_of(nanoseconds(1), clock);
    started.store(round, std::memory_order_release);
    for (std::uint64_t spin = 0; spin != round % 64; ++spin) os::pause();
    EXPECT_NE(sleeper->sleep(end), Woken::nudged);
    sleeper->~Sleeper();
    for (std::byte& byte : memory) byte = std::byte{0xff};
    while (raised < round || moved < round) std::this_thread::yield();
  }
  raiser.join();
  mover.join();
  EXPECT_EQ(clock.alarms(), 0U);
}

}  // namespace
}  // namespace thalweg::test
