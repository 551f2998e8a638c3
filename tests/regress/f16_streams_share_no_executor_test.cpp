// SPDX-License-Identifier: Apache-2.0
//
// More streams than executors: streams shared one, so that a blocked head stopped the work of
// strangers, and a pool handed out the same stream twice. Here every stream is a queue of its own:
// there is no pool of streams to run out of.

#include <gtest/gtest.h>

#include <cstdint>
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

}  // namespace
}  // namespace thalweg::test
