// SPDX-License-Identifier: Apache-2.0
//
// Launches on cpu: grids, parameters and what is refused.

#include "thalweg/kernel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/gate.hpp"
#include "support/refusal.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

using testing::HasSubstr;

class KernelTest : public testing::Test {
 protected:
  const Device device_ = must(Device::open("cpu?workers=2"));
  const Stream s_ = must(Stream::create(device_));
};

TEST_F(KernelTest, RunsOnceOnEveryCellOfItsGrid) {
  const auto count = kernel("count", [](Cell at, std::span<int> v, Extent of) {
    ++v[(at.z * of.y + at.y) * of.x + at.x];
  });
  for (const Extent of : {Extent{1, 1, 1}, Extent{100, 1, 1}, Extent{7, 5, 1}, Extent{4, 3, 5},
                          Extent{1, 1, 9}, Extent{1, 6, 1}, Extent{1000, 7, 3}}) {
    const std::uint64_t cells = of.x * of.y * of.z;
    const auto v = must(s_.upload(std::vector<int>(cells, 0)));
    must(s_.launch(count, of, v, of));
    EXPECT_EQ(must(s_.read(v).get(kLimit)), std::vector<int>(cells, 1))
        << of.x << "x" << of.y << "x" << of.z;
  }
}

TEST_F(KernelTest, AGridMayBeWrittenAsNumbers) {
  const auto mark =
      kernel("mark", [](Cell at, std::span<int> v) { v[at.x + 2 * at.y + 4 * at.z] = 1; });
  const auto marked = [&](const Grid& grid) {
    const auto v = must(s_.upload(std::vector<int>(5, 0)));
    must(s_.launch(mark, grid, v));
    return must(s_.read(v).get(kLimit));
  };
  EXPECT_EQ(marked(2), (std::vector<int>{1, 1, 0, 0, 0}));
  EXPECT_EQ(marked({1, 2}), (std::vector<int>{1, 0, 1, 0, 0}));
  EXPECT_EQ(marked({1, 1, 2}), (std::vector<int>{1, 0, 0, 0, 1}));
}

TEST_F(KernelTest, AGridWithoutCellsRunsNothingAndTakesItsTurn) {
  const auto set = kernel("set", [](Cell, std::span<int> v) { v[0] = 1; });
  const auto v = must(s_.upload(std::vector<int>{0}));
  must(s_.launch(set, 0, v));
  must(s_.launch(set, {5, 0}, v));
  must(s_.launch(set, {5, 5, 0}, v));
  EXPECT_EQ(must(s_.read(v).get(kLimit)), std::vector<int>{0});
  EXPECT_EQ(device_.statistics().submissions, 5u);
}

TEST_F(KernelTest, ANegativeGridOrOneAboveTheLimitIsRefused) {
  const auto set = kernel("set", [](Cell, std::span<int> v) { v[0] = 1; });
  const auto v = must(s_.upload(std::vector<int>{0}));
  EXPECT_EQ(refusal(s_.launch(set, -1, v)), "invalid_size");
  EXPECT_EQ(refusal(s_.launch(set, {1, -1}, v)), "invalid_size");
  EXPECT_EQ(refusal(s_.launch(set, {1, 1, -1}, v)), "invalid_size");
  EXPECT_EQ(refusal(s_.launch(set, {0, -1}, v)), "invalid_size");
  const std::uint64_t one = 1;
  const Result<Task> large = s_.launch(set, (one << 40) + 1, v);
  EXPECT_EQ(refusal(large), "invalid_size");
  EXPECT_THAT(message(large), HasSubstr(std::to_string((one << 40) + 1)));
  EXPECT_EQ(refusal(s_.launch(set, {one << 20, one << 20, one << 1}, v)), "invalid_size");
  EXPECT_EQ(refusal(s_.launch(set, {one << 33, one << 33, one << 33}, v)), "invalid_size");
  EXPECT_EQ(refusal(s_.launch(set, {one << 63, one << 1}, v)), "invalid_size");
  EXPECT_EQ(must(s_.read(v).get(kLimit)), std::vector<int>{0});
}

struct Large {
  std::array<std::uint8_t, 256> bytes;
};

TEST_F(KernelTest, TakesScalarsOfEverySize) {
  const auto mix = kernel("mix", [](Cell, std::span<double> v, char a, float b, const double& c,
                                    Large d, bool e, std::uint16_t f) {
    v[0] = a + static_cast<double>(b) + c + d.bytes[0] + d.bytes[255] + (e ? 1 : 0) + f;
  });
  Large large{};
  large.bytes[0] = 3;
  large.bytes[255] = 200;
  const auto v = must(Array<double>::create(s_, 1));
  must(s_.launch(mix, 1, v, 'a', 0.5f, 0.25, large, true, 1000));
  EXPECT_EQ(must(s_.read(v).get(kLimit)), std::vector<double>{97 + 0.75 + 203 + 1 + 1000});
}

TEST_F(KernelTest, TheAccessFollowsFromTheParameter) {
  const auto copy = kernel(
      "copy", [](Cell at, Out<int> to, std::span<const int> from) { to[at.x] = from[at.x]; });
  const Stream other = must(Stream::create(device_));
  const auto from = must(s_.upload(std::vector<int>(8, 1)));
  const auto to = must(Array<int>::create(s_, 8));
  const Gate gate(device_);
  must(device_.synchronize(kLimit));
  gate.hold(s_);
  must(s_.launch(copy, 8, to, from));
  // A reader beside it goes on, a writer does not.
  EXPECT_EQ(must(other.read(from).get(kLimit)), std::vector<int>(8, 1));
  must(other.fill(from, 2));
  EXPECT_EQ(refusal(other.synchronize(std::chrono::seconds(0))), "timeout");
  gate.open();
  EXPECT_EQ(must(s_.read(to).get(kLimit)), std::vector<int>(8, 1));
  must(device_.synchronize(kLimit));
}

TEST_F(KernelTest, AViewTellsTheKernelItsCount) {
  const auto count = kernel(
      "count", [](Cell, Out<std::uint64_t> to, std::span<const int> a, std::span<const int> b) {
        to[0] = to.size();
        to[1] = a.size();
        to[2] = b.size();
      });
  const auto to = must(Array<std::uint64_t>::create(s_, 3));
  const auto a = must(s_.upload(std::vector<int>(8, 1)));
  must(s_.launch(count, 1, to, a, a.view(2, 0)));
  EXPECT_EQ(must(s_.read(to).get(kLimit)), (std::vector<std::uint64_t>{3, 8, 0}));
}

// The kernel handle may go while the launch waits.
TEST_F(KernelTest, ALaunchKeepsTheCallable) {
  const auto v = must(s_.upload(std::vector<int>(8, 0)));
  const auto value = std::make_shared<int>(5);
  const Gate gate(device_);
  gate.hold(s_);
  {
    const auto set = kernel("set", [value](Cell at, std::span<int> to) { to[at.x] = *value; });
    EXPECT_EQ(set.name(), "set");
    must(s_.launch(set, 8, v));
  }
  EXPECT_GT(value.use_count(), 1);
  gate.open();
  EXPECT_EQ(must(s_.read(v).get(kLimit)), std::vector<int>(8, 5));
  EXPECT_TRUE(comes_true([&] {
    static_cast<void>(device_.poll());
    return value.use_count() == 1;
  }));
}

void plain(Cell, std::span<int> v, int by) { v[0] += by; }

TEST_F(KernelTest, AFunctionIsACallableToo) {
  const auto v = must(s_.upload(std::vector<int>{1}));
  must(s_.launch(kernel("plain", plain), 1, v, 4));
  EXPECT_EQ(must(s_.read(v).get(kLimit)), std::vector<int>{5});
}

// A launch ends in a pack of arguments; its grid carries the call site.
TEST_F(KernelTest, ACallSiteOfALaunchIsThatOfItsGrid) {
  const auto set = kernel("set", [](Cell, std::span<int> v) { v[0] = 1; });
  const auto v = must(s_.upload(std::vector<int>{0}));
  const auto line = std::source_location::current().line() + 1;
  const Result<Task> refused = s_.launch(set, -1, v);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().site().line(), line);
}

}  // namespace
}  // namespace thalweg::test
