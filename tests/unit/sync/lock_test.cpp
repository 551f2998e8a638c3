// SPDX-License-Identifier: Apache-2.0
//
// The locks: mutual exclusion, ranks, and state that is reached only under its lock.

#include "sync/lock.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace thalweg::test {
namespace {

using sync::Guarded;
using sync::Locked;
using sync::Mutex;
using sync::Rank;
using sync::SpinLock;

static_assert(!std::is_copy_constructible_v<SpinLock> && !std::is_copy_constructible_v<Mutex>);

// Four threads, two of them in bursts long enough that others leave the fast path, add to a plain
// number under the lock: none is lost.
template <class Lock>
void exclude() {
  Lock lock(Rank::queue);
  long sum = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t != 4; ++t)
    threads.emplace_back([&, burst = t % 2 == 0 ? 1 : 100] {
      for (int i = 0; i != 2000; i += burst) {
        const Locked<Lock> locked(lock);
        for (int n = 0; n != burst; ++n) sum = sum + 1;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, 4 * 2000);
}

TEST(SpinLock, ExcludesOtherThreads) { exclude<SpinLock>(); }
TEST(Mutex, ExcludesOtherThreads) { exclude<Mutex>(); }

// Ranks rise: any subset in that order is fine, and so is taking a lower one again after all are
// given back, in whatever order that happened.
TEST(Rank, MayRiseInAnySteps) {
  SpinLock low(Rank::registry);
  Mutex middle(Rank::queue);
  SpinLock high(Rank::ledger);
  for (int round = 0; round != 2; ++round) {
    low.lock();
    middle.lock();
    high.lock();
    low.unlock();
    high.unlock();
    middle.unlock();
  }
  const Locked<SpinLock> again(low);
}

// What one thread holds does not concern another.
TEST(Rank, ConcernsOneThread) {
  SpinLock high(Rank::ledger);
  const Locked<SpinLock> locked(high);
  std::thread([] {
    SpinLock low(Rank::registry);
    const Locked<SpinLock> other(low);
  }).join();
}

#if !defined(NDEBUG)
// Wrong on purpose, which Clang would see.
template <class First, class Second>
void take(First& first, Second& second) THALWEG_UNCHECKED {
  first.lock();
  second.lock();
}

void take_again_under_a_higher_one(SpinLock& low, SpinLock& high) THALWEG_UNCHECKED {
  low.lock();
  high.lock();
  low.unlock();
  low.lock();
}

// A build with assertions ends the process where a lock of a lower rank, or of the same one, is
// taken while a higher one is held: a deadlock is found on the first run and not on the unlucky
// one.
TEST(RankDeathTest, AWrongOrderAborts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  SpinLock low(Rank::submission);
  SpinLock high(Rank::queue);
  SpinLock same(Rank::queue);
  Mutex mutex(Rank::registry);
  EXPECT_DEATH(take(high, low), "a later rank is held");
  EXPECT_DEATH(take(high, same), "a later rank is held");
  EXPECT_DEATH(take(high, mutex), "a later rank is held");
  EXPECT_DEATH(take(low, low), "a later rank is held");
  EXPECT_DEATH(take_again_under_a_higher_one(low, high), "a later rank is held");
}
#endif

// The result of the function comes out, by value and by reference, and a const Guarded gives const.
TEST(Guarded, GivesItsValueUnderTheLock) {
  Guarded<std::string> text(Rank::workers, 3, 'x');
  EXPECT_EQ(text.with([](std::string& s) { return s.size(); }), 3U);
  text.with([](std::string& s) { s += 'y'; });
  const auto& constant = text;
  constant.with([](auto& s) {
    static_assert(std::is_const_v<std::remove_reference_t<decltype(s)>>);
    EXPECT_EQ(s, "xxxy");
  });
  Guarded<std::unique_ptr<int>, SpinLock> box(Rank::workers);
  box.with([](auto& p) { p = std::make_unique<int>(4); });
  const std::unique_ptr<int> taken = box.with([](auto& p) { return std::move(p); });
  EXPECT_EQ(*taken, 4);
}

// Four threads change it at once: no change is lost.
TEST(Guarded, ExcludesOtherThreads) {
  Guarded<std::vector<int>, SpinLock> list(Rank::workers);
  std::vector<std::thread> threads;
  for (int t = 0; t != 4; ++t)
    threads.emplace_back([&list] {
      for (int i = 0; i != 500; ++i) list.with([i](auto& all) { all.push_back(i); });
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(list.with([](auto& all) { return all.size(); }), 2000U);
}

}  // namespace
}  // namespace thalweg::test
