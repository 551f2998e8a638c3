// SPDX-License-Identifier: Apache-2.0
//
// The queues of the cpu backend: slots, segments, waits, and streams that come and go.

#include "backends/cpu/queue.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backends/cpu/fence.hpp"
#include "backends/cpu/workers.hpp"
#include "os/real_clock.hpp"
#include "support/gate.hpp"
#include "support/refusal.hpp"
#include "thalweg/thalweg.hpp"
#include "unit/runtime/allocations.hpp"

namespace thalweg::test {
namespace {

Device open(const std::string& options) { return must(Device::open("cpu?" + options)); }

// A task with `sources` waits: all but two of them take slots before it. For each number of
// sources, and at each place in a segment, it must run after every one of them; which comes last
// changes.
TEST(CpuQueue, ATaskMayWaitForManyQueues) {
  constexpr std::size_t kSourcesMax = 9;
  const Device device = open("workers=2");
  const Stream target = must(Stream::create(device));
  std::vector<Stream> sources;
  for (std::size_t i = 0; i != kSourcesMax; ++i) sources.push_back(must(Stream::create(device)));
  for (std::size_t round = 0; round != 150; ++round) {
    const std::size_t count = 1 + round % kSourcesMax;
    std::vector<std::unique_ptr<Gate>> gates;
    std::atomic<std::size_t> ran{0};
    std::size_t seen = 0;
    for (std::size_t i = 0; i != count; ++i) {
      gates.push_back(std::make_unique<Gate>(device));
      gates.back()->hold(sources[i]);
      static_cast<void>(sources[i].host("source", {}, [&ran] { ++ran; }));
      must(target.wait(sources[i]));
    }
    auto done = target.host("target", {}, [&] { seen = ran; });
    for (std::size_t i = 0; i != count; ++i) {
      EXPECT_FALSE(done.ready());
      gates[(i + round) % count]->open();
    }
    must(done.get());
    ASSERT_EQ(seen, count);
  }
  EXPECT_GE(device.statistics().waits_placed, 150U);
}

template <std::size_t Bytes>
struct Block {
  std::array<unsigned char, Bytes> bytes;
};

// Launches a kernel whose arguments take about Count * Bytes bytes, each filled with its own
// number, and counts the cells that saw all of them as they were.
template <std::size_t Bytes, std::size_t... I>
void launch_with(const Stream& stream, const Array<int>& right, std::index_sequence<I...>) {
  using B = Block<Bytes>;
  const auto make = [](std::size_t i) {
    B block;
    block.bytes.fill(static_cast<unsigned char>(i + 1));
    return block;
  };
  const auto whole = [](const B& block, std::size_t i) {
    for (const unsigned char byte : block.bytes)
      if (byte != static_cast<unsigned char>(i + 1)) return false;
    return true;
  };
  const auto k = kernel(
      "blocks", [whole](Cell, std::span<int> to, decltype(static_cast<void>(I), B{})... blocks) {
        if ((whole(blocks, I) && ...)) ++to[0];
      });
  must(stream.launch(k, 1, right, make(I)...));
}

// Bodies of every length, up to the largest that can be launched: where one does not fit the rest
// of a segment, the rest is skipped. The lengths are mixed, so that they meet every place in a
// segment.
TEST(CpuQueue, BodiesOfAnyLengthCrossSegments) {
  const Device device = open("workers=1");
  const Stream s = must(Stream::create(device));
  const auto right = must(Array<int>::create(s, 1));
  must(s.fill(right, 0));
  const Gate gate(device);
  gate.hold(s);
  int launched = 0;
  for (int round = 0; round != 140; ++round) {
    launch_with<1>(s, right, std::make_index_sequence<1>());
    launch_with<8>(s, right, std::make_index_sequence<6>());
    if (round % 2 == 0) launch_with<72>(s, right, std::make_index_sequence<8>());
    if (round % 3 == 0) launch_with<256>(s, right, std::make_index_sequence<15>());
    if (round % 5 == 0) launch_with<240>(s, right, std::make_index_sequence<17>());
    launched += 2 + (round % 2 == 0 ? 1 : 0) + (round % 3 == 0 ? 1 : 0) + (round % 5 == 0 ? 1 : 0);
  }
  gate.open();
  EXPECT_EQ(must(s.read(right).get())[0], launched);
}

// 4096 bytes of arguments can be launched, and one word more cannot; the message names both
// numbers.
TEST(CpuQueue, ArgumentsHaveALimit) {
  const Device device = open("workers=1");
  const Stream s = must(Stream::create(device));
  const auto run = [&s](auto... blocks) {
    return s.launch(kernel("wide", [](Cell, decltype(blocks)...) {}), 1, blocks...);
  };
  using B = Block<256>;
  const B b{};
  EXPECT_TRUE(run(b, b, b, b, b, b, b, b, b, b, b, b, b, b, b, b));
  const auto refused = run(b, b, b, b, b, b, b, b, b, b, b, b, b, b, b, b, 1);
  EXPECT_EQ(refusal(refused), "invalid_size");
  EXPECT_NE(message(refused).find("4104"), std::string::npos);
  EXPECT_NE(message(refused).find("4096"), std::string::npos);
}

// Names of host functions are cut for reports and not read past: the failure names the beginning.
TEST(CpuQueue, LongNamesAreCut) {
  const Device device = open("workers=1");
  const Stream s = must(Stream::create(device));
  for (const std::size_t length : {0U, 1U, 79U, 80U, 81U, 500U}) {
    const std::string name(length, 'n');
    auto failed = s.host(name, {}, [] { throw 1; });
    const auto result = failed.get();
    EXPECT_EQ(refusal(result), "task_failed");
    EXPECT_NE(message(result).find("`" + name.substr(0, 80)), std::string::npos) << length;
  }
}

// Segments go round: with a thousand tasks in flight at a time, once warm, any number of tasks is
// submitted without asking the heap for one more.
void submit_rounds(std::uint64_t rounds) {
  if (!kAllocationsCounted) GTEST_SKIP() << "A sanitizer's allocator is in use.";
  constexpr std::uint64_t kWarm = 20;
  const Device device = open("workers=1");
  const Stream s = must(Stream::create(device));
  const auto v = must(Array<int>::create(s, 1));
  const Timeline gate = must(Timeline::create(device));
  std::uint64_t allocated = 0;
  for (std::uint64_t round = 1; round <= kWarm + rounds; ++round) {
    const std::uint64_t before = allocations();
    must(s.wait(gate, round));
    for (int i = 0; i != 1000; ++i) must(s.fill(v, i));
    if (round > kWarm) allocated += allocations() - before;
    must(gate.signal(round));
    must(s.synchronize());
  }
  EXPECT_LE(allocated, 2U);  // As in steady_state_test.cpp.
  EXPECT_EQ(device.statistics().submissions, (kWarm + rounds) * 1000);
}

TEST(CpuQueue, SegmentsGoRound) { submit_rounds(60); }
TEST(CpuQueueSlow, SegmentsGoRoundAMillionTimes) { submit_rounds(1000); }

// More tasks behind a gate than a queue keeps segments for: all of them run, in order.
TEST(CpuQueue, HoldsWhatMemoryAllows) {
  constexpr int kTasks = 70'000;  // More than 512 segments.
  const Device device = open("workers=1");
  const Stream s = must(Stream::create(device));
  const auto v = must(Array<int>::create(s, 1));
  must(s.fill(v, 0));
  const auto next = kernel("next", [](Cell, std::span<int> to, int wanted) {
    if (to[0] == wanted) ++to[0];
  });
  for (int round = 0; round != 2; ++round) {
    const Gate gate(device);
    gate.hold(s);
    for (int i = 0; i != kTasks; ++i) must(s.launch(next, 1, v, i + round * kTasks));
    gate.open();
    EXPECT_EQ(must(s.read(v).get())[0], kTasks * (round + 1));
  }
}

// Fences are serials: made of what is enqueued, passed with it, and waited for with a deadline.
TEST(CpuFence, PassesWithItsSerial) {
  sync::Timeline timeline;
  const os::RealClock clock;
  const cpu::Fence fence(timeline, Serial{2}, clock);
  EXPECT_FALSE(fence.passed());
  EXPECT_EQ(refusal(fence.wait(std::chrono::nanoseconds(10))), "timeout");
  timeline.advance(1);
  EXPECT_FALSE(fence.passed());
  std::thread other([&timeline] { timeline.advance(2); });
  EXPECT_TRUE(fence.wait(Deadline()));
  other.join();
  EXPECT_TRUE(fence.passed());
}

// A device has 4096 streams, and refuses the next one until one of them is gone.
TEST(CpuQueue, ADeviceHas4096Streams) {
  const Device device = open("workers=1");
  std::vector<Stream> streams;
  for (std::uint32_t i = 0; i != cpu::Workers::kQueuesMax; ++i)
    streams.push_back(must(Stream::create(device)));
  const auto refused = Stream::create(device);
  EXPECT_EQ(refusal(refused), "out_of_memory");
  EXPECT_NE(message(refused).find("4096"), std::string::npos);
  const Device other = open("workers=1");
  EXPECT_TRUE(Stream::create(other));
  const auto v = must(Array<int>::create(streams.front(), 1));
  must(streams.front().fill(v, 0));
  const auto add = kernel("add", [](Cell, std::span<int> to) { ++to[0]; });
  for (std::size_t i = 0; i < streams.size(); i += 64) must(streams[i].launch(add, 1, v));
  must(streams.back().launch(add, 1, v));
  EXPECT_EQ(must(streams.front().read(v).get())[0], 65);
  streams.pop_back();
  EXPECT_TRUE(comes_true([&device] { return Stream::create(device).has_value(); }));
}

// Streams that come and go, each with a task: the work of all of them is done, and neither slots
// nor places nor threads are used up.
void recycle_streams(int count) {
  const Device device = open("workers=2");
  std::atomic<int> ran{0};
  for (int i = 0; i != count; ++i) {
    // The workers may lag behind, and a device has 4096 streams.
    ASSERT_TRUE(comes_true([&] { return ran > i - 1000; }));
    const Stream s = must(Stream::create(device, {i % 3 - 1, "short-lived"}));
    static_cast<void>(s.host("f", {}, [&ran] { ++ran; }));
  }
  EXPECT_TRUE(comes_true(
      [&] { return device.statistics().queues_destroyed == static_cast<std::uint64_t>(count); }));
  EXPECT_EQ(ran, count);
  EXPECT_EQ(device.statistics().queues_created, static_cast<std::uint64_t>(count));
}

TEST(CpuQueue, StreamsAreRecycled) { recycle_streams(1500); }
TEST(CpuQueueSlow, StreamsAreRecycledTenThousandTimes) { recycle_streams(10'000); }

}  // namespace
}  // namespace thalweg::test
