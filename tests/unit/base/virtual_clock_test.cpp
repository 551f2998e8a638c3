// SPDX-License-Identifier: Apache-2.0
//
// VirtualClock: alarms fire when the clock is moved to their moment, once each and in order.

#include "thalweg/base/virtual_clock.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>
#include <utility>
#include <vector>

#include "os/real_clock.hpp"

namespace thalweg::test {
namespace {

using std::chrono::nanoseconds;

// Writes down when it fired, by the clock.
struct Bell : Alarm {
  Bell(const VirtualClock& time, std::vector<std::pair<int, nanoseconds>>& log, int name,
       nanoseconds at)
      : time_(time), log_(log), name_(name) {
    when = at;
    fire = [](Alarm& alarm) noexcept {
      auto& self = static_cast<Bell&>(alarm);
      self.log_.emplace_back(self.name_, self.time_.now());
      if (self.chained != nullptr) self.time_.add(*self.chained);
    };
  }
  Bell* chained = nullptr;  // Added while this one fires.

 private:
  const VirtualClock& time_;
  std::vector<std::pair<int, nanoseconds>>& log_;
  int name_;
};

using Log = std::vector<std::pair<int, nanoseconds>>;

TEST(VirtualClock, StandsStillUntilItIsMoved) {
  VirtualClock clock;
  EXPECT_EQ(clock.now(), nanoseconds(0));
  clock.advance(nanoseconds(5));
  clock.advance(nanoseconds(0));
  clock.advance(nanoseconds(-7));
  EXPECT_EQ(clock.now(), nanoseconds(5));
  EXPECT_EQ(VirtualClock(nanoseconds(42)).now(), nanoseconds(42));
}

// Far more than there is stops at the last moment, also in two steps.
TEST(VirtualClock, StopsAtTheLastMoment) {
  VirtualClock clock(nanoseconds(1));
  Log log;
  Bell last(clock, log, 1, nanoseconds::max());
  ASSERT_TRUE(clock.add(last));
  clock.advance(nanoseconds::max() - nanoseconds(2));
  EXPECT_TRUE(log.empty());
  clock.advance(nanoseconds::max());
  EXPECT_EQ(clock.now(), nanoseconds::max());
  EXPECT_EQ(log, (Log{{1, nanoseconds::max()}}));
}

// In the order of their moments, equal ones in that of their adding, each when now() is its moment;
// what is not due stays.
TEST(VirtualClock, FiresWhatIsDueInOrder) {
  VirtualClock clock;
  Log log;
  std::array bells{Bell(clock, log, 0, nanoseconds(30)), Bell(clock, log, 1, nanoseconds(10)),
                   Bell(clock, log, 2, nanoseconds(20)), Bell(clock, log, 3, nanoseconds(10)),
                   Bell(clock, log, 4, nanoseconds(31))};
  for (Bell& bell : bells) ASSERT_TRUE(clock.add(bell));
  EXPECT_EQ(clock.alarms(), 5U);
  clock.advance(nanoseconds(9));
  EXPECT_TRUE(log.empty());
  clock.advance(nanoseconds(21));
  EXPECT_EQ(
      log,
      (Log{
          {1, nanoseconds(10)}, {3, nanoseconds(10)}, {2, nanoseconds(20)}, {0, nanoseconds(30)}}));
  EXPECT_EQ(clock.alarms(), 1U);
  EXPECT_TRUE(clock.remove(bells[4]));
}

// An alarm whose moment is now or over fires at once, on the thread that adds it.
TEST(VirtualClock, FiresWhatIsOverWhenItIsAdded) {
  VirtualClock clock(nanoseconds(10));
  Log log;
  Bell now(clock, log, 1, nanoseconds(10));
  Bell over(clock, log, 2, nanoseconds(3));
  EXPECT_TRUE(clock.add(now));
  EXPECT_TRUE(clock.add(over));
  EXPECT_EQ(log, (Log{{1, nanoseconds(10)}, {2, nanoseconds(10)}}));
  EXPECT_FALSE(clock.remove(now));
  EXPECT_EQ(clock.alarms(), 0U);
}

// Added while another one fires: within the move it fires in its turn, behind it it waits.
TEST(VirtualClock, FiresWhatIsAddedMeanwhile) {
  VirtualClock clock;
  Log log;
  Bell first(clock, log, 1, nanoseconds(10));
  Bell second(clock, log, 2, nanoseconds(15));
  Bell third(clock, log, 3, nanoseconds(21));
  first.chained = &second;
  second.chained = &third;
  ASSERT_TRUE(clock.add(first));
  clock.advance(nanoseconds(20));
  EXPECT_EQ(log, (Log{{1, nanoseconds(10)}, {2, nanoseconds(15)}}));
  clock.advance(nanoseconds(1));
  EXPECT_EQ(log.back(), std::pair(3, nanoseconds(21)));
}

// From the front, the middle and the end; twice is once; the rest fires.
TEST(VirtualClock, RemovesAnAlarm) {
  VirtualClock clock;
  Log log;
  std::array bells{Bell(clock, log, 0, nanoseconds(1)), Bell(clock, log, 1, nanoseconds(2)),
                   Bell(clock, log, 2, nanoseconds(3)), Bell(clock, log, 3, nanoseconds(4))};
  for (Bell& bell : bells) ASSERT_TRUE(clock.add(bell));
  for (const std::size_t i : {std::size_t{1}, std::size_t{0}, std::size_t{3}}) {
    EXPECT_TRUE(clock.remove(bells[i]));
    EXPECT_FALSE(clock.remove(bells[i]));
  }
  EXPECT_EQ(clock.alarms(), 1U);
  clock.advance(nanoseconds(9));
  EXPECT_EQ(log, (Log{{2, nanoseconds(3)}}));
  EXPECT_FALSE(clock.remove(bells[2]));
}

// Moves of several threads add up, and each alarm fires once or is removed, whatever the order.
TEST(VirtualClock, IsMovedByManyThreads) {
  constexpr int kRounds = 500;
  VirtualClock clock;
  struct Count : Alarm {
    std::atomic<int> fired{0};
  };
  std::atomic<int> fired{0};
  std::atomic<int> removed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t != 2; ++t) {
    threads.emplace_back([&clock] {
      for (int i = 0; i != kRounds; ++i) clock.advance(nanoseconds(3));
    });
    threads.emplace_back([&] {
      for (int i = 0; i != kRounds; ++i) {
        Count alarm;
        alarm.when = clock.now() + nanoseconds(i % 5);
        alarm.fire = [](Alarm& self) noexcept { ++static_cast<Count&>(self).fired; };
        ASSERT_TRUE(clock.add(alarm));
        if (clock.remove(alarm)) {
          ++removed;
          EXPECT_EQ(alarm.fired, 0);
        } else {
          while (alarm.fired == 0) std::this_thread::yield();
          ++fired;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(fired + removed, 2 * kRounds);
  EXPECT_EQ(clock.alarms(), 0U);
  EXPECT_EQ(clock.now(), nanoseconds(2 * kRounds * 3));
}

// The machine's clock goes by itself.
TEST(RealClock, GivesNoAlarms) {
  const os::RealClock clock;
  Alarm alarm;
  EXPECT_FALSE(clock.add(alarm));
  EXPECT_FALSE(clock.remove(alarm));
}

}  // namespace
}  // namespace thalweg::test
