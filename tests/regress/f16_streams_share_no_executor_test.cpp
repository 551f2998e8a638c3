// SPDX-License-Identifier: Apache-2.0
//
// More streams than executors: streams shared one, so that a blocked head stopped the work of
// strangers, and a pool handed out the same stream twice. Every stream is a queue of its own, and a
// pool hands out each of its streams before one comes again.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "support/gate.hpp"
#include "support/refusal.hpp"

namespace thalweg::test {
namespace {

// Four times as many streams as workers are held at their heads; one more does its work.
TEST(F16StreamsShareNoExecutor, ReadyWorkRunsBesideAnyNumberOfHeldStreams) {
  constexpr int kWorkers = 2;
  for (const char* const helping : {"on", "off"}) {
    const Device device = must(Device::open(std::string("cpu?workers=2&helping=") + helping));
    std::vector<Stream> streams;
    for (int i = 0; i < 4 * kWorkers + 1; ++i) streams.push_back(must(Stream::create(device)));
    const Gate gate(device);
    std::vector<Future<void>> held;
    for (int i = 0; i < 4 * kWorkers; ++i) {
      const Stream& stream = streams[static_cast<std::size_t>(i)];
      gate.hold(stream);
      held.push_back(stream.host("held", {}, [] {}));
    }
    const auto x = must(Array<int>::create(streams.back(), 16));
    must(streams.back().fill(x, 1));
    EXPECT_EQ(must(streams.back().read(x).get(kLimit)), std::vector<int>(16, 1));
    for (const Future<void>& future : held) EXPECT_FALSE(future.ready());
    gate.open();
    EXPECT_EQ(refusal(device.synchronize(kLimit)), "none");
  }
}

// Eight threads make streams at once: no queue is given to two of them.
TEST(F16StreamsShareNoExecutor, EveryStreamIsAQueueOfItsOwn) {
  constexpr std::size_t kThreads = 8;
  constexpr std::size_t kEach = 16;
  const Device device = must(Device::open("cpu"));
  std::vector<std::vector<Stream>> made(kThreads);
  std::vector<std::thread> threads;
  for (std::vector<Stream>& mine : made) {
    threads.emplace_back([&device, &mine] {
      for (std::size_t i = 0; i < kEach; ++i) mine.push_back(must(Stream::create(device)));
    });
  }
  for (std::thread& thread : threads) thread.join();

  std::set<std::uint64_t> ids;
  std::set<std::uintptr_t> natives;
  for (const std::vector<Stream>& mine : made) {
    for (const Stream& stream : mine) {
      ids.insert(stream.id().value);
      natives.insert(stream.raw().value);
    }
  }
  EXPECT_EQ(ids.size(), kThreads * kEach);
  EXPECT_EQ(natives.size(), kThreads * kEach);
  EXPECT_EQ(device.statistics().queues_created, kThreads * kEach);
}

// Twice the size of a pool is taken by eight threads: as many ids as the size, each exactly twice.
// What waits in one of the streams holds no other.
TEST(F16StreamsShareNoExecutor, APoolHandsOutEachStreamEquallyOften) {
  constexpr std::size_t kThreads = 8;
  constexpr std::size_t kSize = 24;
  const Device device = must(Device::open("cpu?workers=2"));
  const StreamPool pool = must(StreamPool::create(device, kSize));
  std::vector<std::vector<Stream>> taken(kThreads);
  std::vector<std::thread> threads;
  for (std::vector<Stream>& mine : taken) {
    threads.emplace_back([&pool, &mine] {
      for (std::size_t i = 0; i < 2 * kSize / kThreads; ++i) mine.push_back(pool.next());
    });
  }
  for (std::thread& thread : threads) thread.join();

  std::map<std::uint64_t, int> times;
  for (const std::vector<Stream>& mine : taken)
    for (const Stream& stream : mine) ++times[stream.id().value];
  EXPECT_EQ(times.size(), kSize);
  for (const auto& [id, count] : times) EXPECT_EQ(count, 2) << id;
  EXPECT_EQ(device.statistics().queues_created, kSize);

  const Gate gate(device);
  for (std::size_t i = 0; i + 1 < kSize; ++i) gate.hold(pool.next());
  EXPECT_EQ(refusal(pool.next().host("free", {}, [] {}).get(kLimit)), "none");
}

}  // namespace
}  // namespace thalweg::test
