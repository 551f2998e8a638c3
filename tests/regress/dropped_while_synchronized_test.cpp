// SPDX-License-Identifier: Apache-2.0
//
// A stream that owed a wait was dropped while another thread synchronized the device: the turn that
// was taken for the wait never ran, and the wait for it never ended.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thalweg/thalweg.hpp>
#include <thread>
#include <vector>

namespace thalweg::test {
namespace {

constexpr std::chrono::seconds kLimit{30};

// Rounds of streams that owe a wait for work that is over; one thread drops them, one synchronizes.
// Afterwards new streams, which use again what the old ones left, compute what they should.
TEST(DroppedWhileSynchronized, NeitherHangsNorLeavesATaskBehind) {
  const Device device = must(Device::open("cpu"));
  const Stream other = must(Stream::create(device));
  const Timeline gate = must(Timeline::create(device));
  std::vector<Stream> streams;
  std::atomic<int> go{0};
  std::atomic<int> done{0};
  constexpr int kRounds = 150;
  std::thread dropper([&] {
    for (int round = 1; round <= kRounds; ++round) {
      while (go.load() < round) std::this_thread::yield();
      streams.clear();
      done = round;
    }
  });
  for (int round = 1; round <= kRounds; ++round) {
    must(other.wait(gate, static_cast<std::uint64_t>(round)));
    for (int i = 0; i != 50; ++i) {
      streams.push_back(must(Stream::create(device)));
      must(streams.back().wait(other));
    }
    must(gate.signal(static_cast<std::uint64_t>(round)));
    must(other.synchronize(kLimit));
    go = round;
    EXPECT_TRUE(device.synchronize(kLimit)) << "round " << round;
    while (done.load() < round) std::this_thread::yield();
  }
  dropper.join();
  for (int i = 0; i != 100; ++i) {
    const Stream fresh = must(Stream::create(device));
    const auto values = must(Array<int>::create(fresh, 16));
    must(fresh.fill(values, i));
    EXPECT_EQ(must(fresh.read(values).get(kLimit)), std::vector<int>(16, i));
  }
}

// Uploads that are over do not stand in the way of the next one, whichever stream staged them.
TEST(StagedUploads, GiveTheirMemoryBackBeforeOneIsRefused) {
  const Device device = must(Device::open("cpu?memory=1MiB"));
  const Stream a = must(Stream::create(device));
  const Stream b = must(Stream::create(device));
  const auto to = must(Array<char>::create(a, 700'000));
  for (int i = 0; i != 6; ++i) {
    const std::vector<char> from(700'000, static_cast<char>('a' + i));
    must((i % 2 == 0 ? a : b).upload(to, from));
    EXPECT_EQ(must(a.read(to.view(0, 1)).get(kLimit))[0], 'a' + i);
  }
}

}  // namespace
}  // namespace thalweg::test
