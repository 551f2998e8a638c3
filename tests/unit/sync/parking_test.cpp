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
#include <limits>
#include <optional>
#include <thread>

namespace thalweg::test {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;
using sync::Sleeper;
using sync::Timeline;
using Woken = sync::Sleeper::Woken;

sync::TimePoint over() { return steady_clock::now() - std::chrono::seconds(1); }

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
  EXPECT_EQ(sleeper.sleep(steady_clock::now() + std::chrono::microseconds(50)), Woken::timeout);
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
  EXPECT_TRUE(sync::wait_until(timeline, 2, Deadline()));
  EXPECT_TRUE(sync::wait_until(timeline, 2, nanoseconds(0)));
  EXPECT_FALSE(sync::wait_until(timeline, 3, nanoseconds(0)));
  EXPECT_FALSE(sync::wait_until(timeline, 3, nanoseconds(-1)));
  EXPECT_FALSE(sync::wait_until(timeline, 3, std::chrono::microseconds(20)));
  std::thread other([&timeline] { timeline.advance(3); });
  EXPECT_TRUE(sync::wait_until(timeline, 3, Deadline()));
  other.join();
  std::thread last([&timeline] { timeline.advance(4); });
  EXPECT_TRUE(sync::wait_until(timeline, 4, nanoseconds::max()));
  last.join();
}

// Nothing is left behind by a wait that gave up: the value comes, and nobody is fired.
TEST(WaitUntil, LeavesNothingBehindAfterATimeout) {
  Timeline timeline;
  for (int i = 0; i != 100; ++i)
    ASSERT_FALSE(sync::wait_until(timeline, 1, std::chrono::microseconds(i % 3)));
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
        std::exit(sync::wait_until(timeline, 1, nanoseconds::min()) ? 1 : 0);
      },
      ::testing::ExitedWithCode(0), "");
}

// No deadline and a far one have no end, or one in the future; what is over is over.
TEST(EndOf, CountsFromNow) {
  EXPECT_FALSE(sync::end_of(Deadline()));
  EXPECT_FALSE(sync::end_of(nanoseconds::max()));
  const auto before = steady_clock::now();
  EXPECT_GE(*sync::end_of(nanoseconds(10)), before);
  EXPECT_GT(*sync::end_of(std::chrono::hours(24)), before);
  for (const nanoseconds over : {nanoseconds(0), nanoseconds(-1), nanoseconds::min()}) {
    const sync::TimePoint end = *sync::end_of(over);
    EXPECT_LE(end, steady_clock::now());
  }
}

}  // namespace
}  // namespace thalweg::test
