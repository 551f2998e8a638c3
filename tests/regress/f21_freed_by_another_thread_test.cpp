// SPDX-License-Identifier: Apache-2.0
//
// F21: a buffer that another thread drops, which works with another stream, was free too early: its
// free was ordered on the dropper's stream and not after the buffer's own uses.

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

#include "support/gate.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

using Words = Array<std::uint32_t>;

class FreedByAnotherThread : public testing::TestWithParam<const char*> {};

TEST_P(FreedByAnotherThread, ItsBytesAreInUseUntilItsOwnTasksHavePassed) {
  constexpr std::uint64_t kCount = 1024;
  const Device device = must(Device::open(GetParam()));
  const Stream a = must(Stream::create(device));
  const Stream b = must(Stream::create(device));
  Words x = must(Words::create(a, kCount));
  const std::uint64_t block = device.memory_usage().live_bytes;
  const Gate gate(device);
  gate.hold(a);
  must(a.fill(x, 1u));
  std::thread([&] {
    must(b.synchronize());
    x = {};
  }).join();
  const Words y = must(Words::create(b, kCount));
  must(b.fill(y, 2u));
  const MemoryUsage usage = device.memory_usage();
  EXPECT_EQ(usage.live_bytes, block);
  EXPECT_EQ(usage.pending_bytes, block);
  EXPECT_EQ(usage.reserved_bytes, 2 * block);
  gate.open();
  must(a.synchronize());
  must(b.synchronize());
  EXPECT_EQ(must(b.read(y).get()), std::vector<std::uint32_t>(kCount, 2));
}

INSTANTIATE_TEST_SUITE_P(All, FreedByAnotherThread, testing::Values("cpu?workers=2", "sim?seed=1"));

}  // namespace
}  // namespace thalweg::test
