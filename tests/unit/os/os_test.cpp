// SPDX-License-Identifier: Apache-2.0
//
// The thin layer over the system: futexes, threads, memory.

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "os/futex.hpp"
#include "os/memory.hpp"
#include "os/real_clock.hpp"
#include "os/thread.hpp"
#include "support/refusal.hpp"
#include "unit/os/thread_state.hpp"

namespace thalweg::test {
namespace {

using std::chrono::nanoseconds;

// A word that does not hold what is expected is not slept on, with and without a limit.
TEST(Futex, DoesNotSleepOnAnotherValue) {
  const std::atomic<std::uint32_t> word{1};
  os::futex_wait(word, 0);
  os::futex_wait(word, 2, std::chrono::hours(1));
}

// A limit that is over, or over soon, ends the wait although nobody wakes it. Nothing is measured:
// that the calls come back is the claim.
TEST(Futex, ComesBackWhenTheTimeIsOver) {
  const std::atomic<std::uint32_t> word{0};
  os::futex_wait(word, 0, nanoseconds(0));
  os::futex_wait(word, 0, nanoseconds(-5));
  os::futex_wait(word, 0, nanoseconds::min());
  os::futex_wait(word, 0, nanoseconds(1000));
}

// The largest limit there is must not be refused by the system, which would make the sleep a spin:
// the system says that the thread sleeps.
TEST(Futex, TakesTheLargestLimit) {
  std::atomic<std::uint32_t> word{0};
  std::atomic<int> id{0};
  std::atomic<bool> done{false};
  std::thread sleeper([&] {
    id = thread_id();
    while (word.load() == 0) os::futex_wait(word, 0, nanoseconds::max());
    done = true;
  });
  EXPECT_TRUE(comes_true([&id] { return id != 0 && sleeps(id); }));
  word = 1;
  EXPECT_TRUE(comes_true([&] {
    os::futex_wake(&word, 1);
    return done.load();
  }));
  sleeper.join();
}

// Three sleepers, woken at once; a wake-up of nobody does nothing.
TEST(Futex, WakesWhoSleeps) {
  std::atomic<std::uint32_t> word{0};
  os::futex_wake(&word, 1);
  std::vector<std::thread> sleepers;
  std::atomic<int> up{0};
  for (int t = 0; t != 3; ++t)
    sleepers.emplace_back([&] {
      while (word.load() == 0) os::futex_wait(word, 0);
      ++up;
    });
  word = 1;
  EXPECT_TRUE(comes_true([&] {
    os::futex_wake(&word, 3);
    return up == 3;
  }));
  for (std::thread& sleeper : sleepers) sleeper.join();
}

TEST(Processors, AreAtLeastOne) { EXPECT_GE(os::processors(), 1U); }

// A thread of ours runs its body, under its name, with the program's signals blocked, and the
// starter's own mask is as it was.
TEST(Thread, RunsItsBodyWithSignalsBlocked) {
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  std::atomic<bool> done{false};
  std::string name;
  bool blocked = false;
  ASSERT_TRUE(os::start_thread("thalweg-test", [&] {
    std::array<char, 32> text{};
    pthread_getname_np(pthread_self(), text.data(), text.size());
    name = text.data();
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    blocked = sigismember(&mask, SIGINT) == 1 && sigismember(&mask, SIGTERM) == 1;
    done = true;
  }));
  ASSERT_TRUE(comes_true([&done] { return done.load(); }));
  EXPECT_EQ(name, "thalweg-test");
  EXPECT_TRUE(blocked);
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(sigismember(&before, SIGTERM), sigismember(&after, SIGTERM));
}

// A sleep of no time, and of less, ends.
TEST(Thread, ShortSleepsEnd) {
  os::sharpen_timers();
  os::sleep_for(nanoseconds(0));
  os::sleep_for(nanoseconds(-1));
  os::sleep_for(nanoseconds::min());
  os::yield();
  os::pause();
}

// Every alignment up to a page is kept, the smallest ones too, and all bytes can be written.
TEST(Memory, IsAligned) {
  for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{255}, std::size_t{65536}}) {
      void* const memory = os::allocate_aligned(bytes, alignment);
      ASSERT_NE(memory, nullptr);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % alignment, 0U);
      std::memset(memory, 0xa5, bytes);
      os::free_aligned(memory);
    }
  }
  os::free_aligned(nullptr);
}

// More than any machine has: null, and not an exception or a crash. (A sanitizer's allocator is
// told to answer the same by the default options below.)
TEST(Memory, IsNullWhenThereIsNone) {
  for (const std::size_t bytes :
       {std::numeric_limits<std::size_t>::max(), std::numeric_limits<std::size_t>::max() - 4095,
        std::size_t{1} << 62}) {
    EXPECT_EQ(os::allocate_aligned(bytes, 256), nullptr) << bytes;
    EXPECT_EQ(os::allocate_aligned(bytes, 4096), nullptr) << bytes;
  }
}

// Pages can be asked to stay; refused or not, they are usable and can be let go.
TEST(Memory, PagesMayBeLocked) {
  const std::size_t bytes = os::page_bytes();
  EXPECT_NE(bytes, 0U);
  EXPECT_EQ(bytes & (bytes - 1), 0U);
  EXPECT_GT(os::physical_memory_bytes(), bytes);
  void* const memory = os::allocate_aligned(bytes, bytes);
  ASSERT_NE(memory, nullptr);
  static_cast<void>(os::lock_pages(memory, bytes));
  std::memset(memory, 1, bytes);
  os::unlock_pages(memory, bytes);
  os::free_aligned(memory);
}

// The clock never goes back.
TEST(RealClock, NeverGoesBack) {
  const os::RealClock clock;
  nanoseconds last = clock.now();
  for (int i = 0; i != 1000; ++i) {
    const nanoseconds now = clock.now();
    ASSERT_GE(now, last);
    last = now;
  }
}

}  // namespace
}  // namespace thalweg::test

// What the system does on its own: a sanitizer would end the process instead of answering null. The
// environment still wins.
extern "C" {
const char* __asan_default_options();
const char* __asan_default_options() { return "allocator_may_return_null=1"; }
const char* __tsan_default_options();
const char* __tsan_default_options() { return "allocator_may_return_null=1"; }
}
