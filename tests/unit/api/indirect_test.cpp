// SPDX-License-Identifier: Apache-2.0
//
// Launches whose grid the device reads, on cpu: when it is read, what it may be, what is refused.

#include "thalweg/indirect.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "support/gate.hpp"
#include "support/refusal.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kOne = 1;

class IndirectTest : public testing::Test {
 protected:
  IndirectTest() {
    set_error_sink([this](const Error& error) { reported_.emplace_back(error.to_string()); });
  }
  ~IndirectTest() override {
    must(device_.synchronize(kLimit));
    set_error_sink({});
  }

  static constexpr auto count_cell = [](Cell at, std::span<int> v, std::uint64_t x,
                                        std::uint64_t y) { ++v[(at.z * y + at.y) * x + at.x]; };

  const Device device_ = must(Device::open("cpu?workers=2"));
  const Stream s_ = must(Stream::create(device_));
  std::vector<std::string> reported_;
};

TEST_F(IndirectTest, RunsOnceOnEveryCellOfTheGridItReads) {
  const auto count = kernel("count", count_cell);
  const std::vector<Extent> grids{{1, 1, 1}, {7, 5, 1}, {4, 3, 5}, {1, 1, 9}, {1000, 7, 3}};
  const auto extents = must(s_.upload(std::vector<Extent>(grids)));
  for (std::size_t i = 0; i != grids.size(); ++i) {
    const Extent of = grids[i];
    const std::uint64_t cells = of.x * of.y * of.z;
    const auto v = must(s_.upload(std::vector<int>(cells + 1, 0)));
    must(s_.launch_indirect(count, extents.view(i, 1), v, of.x, of.y));
    std::vector<int> expected(cells, 1);
    expected.push_back(0);
    EXPECT_EQ(must(s_.read(v).get(kLimit)), expected);
  }
}

TEST_F(IndirectTest, ReadsTheGridWhenItsTurnComes) {
  const auto count = kernel("count", count_cell);
  const auto v = must(s_.upload(std::vector<int>(4, 0)));
  const auto extent = must(s_.upload(std::vector<Extent>{{4, 1, 1}}));
  const Gate gate(device_);
  gate.hold(s_);
  must(s_.upload(extent, std::vector<Extent>{{2, 1, 1}}));
  must(s_.launch_indirect(count, extent, v, kOne, kOne));
  must(s_.upload(extent, std::vector<Extent>{{1, 1, 1}}));
  gate.open();
  EXPECT_EQ(must(s_.read(v).get(kLimit)), (std::vector<int>{1, 1, 0, 0}));
}

// The grid of one launch is made by a kernel on another stream, and read before it is made anew.
TEST_F(IndirectTest, IsOrderedAfterTheWriteOfItsGridAndBeforeTheNext) {
  const auto set =
      kernel("set", [](Cell, Out<Extent> to, std::uint64_t x) { to[0] = Extent{x, 1, 1}; });
  const auto count = kernel("count", count_cell);
  const Stream other = must(Stream::create(device_));
  const auto v = must(other.upload(std::vector<int>(4, 0)));
  const auto extent = must(Array<Extent>::create(s_, 1));
  must(device_.synchronize(kLimit));
  const Gate gate(device_);
  gate.hold(s_);
  must(s_.launch(set, 1, extent, std::uint64_t{3}));
  must(other.launch_indirect(count, extent, v, kOne, kOne));
  EXPECT_EQ(refusal(other.synchronize(std::chrono::seconds(0))), "timeout");
  must(s_.launch(set, 1, extent, std::uint64_t{1}));
  gate.open();
  EXPECT_EQ(must(other.read(v).get(kLimit)), (std::vector<int>{1, 1, 1, 0}));
}

// A launch only reads its grid: others read it at the same time.
TEST_F(IndirectTest, ItsReadOfTheGridHoldsNoReaderUp) {
  const auto nothing = kernel("nothing", [](Cell) {});
  const auto extent = must(s_.upload(std::vector<Extent>{{4, 2, 1}}));
  const Stream other = must(Stream::create(device_));
  must(device_.synchronize(kLimit));
  const Gate gate(device_);
  gate.hold(s_);
  must(s_.launch_indirect(nothing, extent));
  must(other.launch_indirect(nothing, extent));
  must(other.synchronize(kLimit));
  must(other.fill(View<std::uint64_t>(extent.buffer(), 0, 3), kOne));
  EXPECT_EQ(refusal(other.synchronize(std::chrono::seconds(0))), "timeout");
  gate.open();
}

TEST_F(IndirectTest, AKernelMayWriteTheGridItRunsOn) {
  const auto grow =
      kernel("grow", [](Cell at, std::span<Extent> of, std::span<int> v, std::uint64_t x) {
        ++v[at.x];
        if (at.x == 0) of[0].x = x;
      });
  const auto extent = must(s_.upload(std::vector<Extent>{{2, 1, 1}}));
  const auto v = must(s_.upload(std::vector<int>(4, 0)));
  must(s_.launch_indirect(grow, extent, extent, v, std::uint64_t{3}));
  must(s_.launch_indirect(grow, extent, extent, v, std::uint64_t{0}));
  must(s_.launch_indirect(grow, extent, extent, v, std::uint64_t{4}));
  EXPECT_EQ(must(s_.read(v).get(kLimit)), (std::vector<int>{2, 2, 1, 0}));
}

TEST_F(IndirectTest, AGridWithoutCellsRunsNothing) {
  const auto set = kernel("set", [](Cell, std::span<int> v) { v[0] = 1; });
  const auto v = must(s_.upload(std::vector<int>{0}));
  const auto extents = must(s_.upload(
      std::vector<Extent>{{0, 1, 1}, {5, 0, 1}, {5, 5, 0}, {0, 0, 0}, {kOne << 63, 0, 0}}));
  for (std::uint64_t i = 0; i != extents.count(); ++i)
    must(s_.launch_indirect(set, extents.view(i, 1), v));
  EXPECT_EQ(must(s_.read(v).get(kLimit)), std::vector<int>{0});
  EXPECT_TRUE(reported_.empty());
  EXPECT_EQ(device_.statistics().tasks_failed, 0u);
}

TEST_F(IndirectTest, AGridAboveTheLimitIsAFailureOfTheTask) {
  const auto set = kernel("set", [](Cell, std::span<int> v) { v[0] = 1; });
  const std::uint64_t max = ~std::uint64_t{0};
  const std::vector<Extent> grids{{(kOne << 40) + 1, 1, 1}, {1, kOne << 32, 1},
                                  {0, 1, kOne << 32},       {kOne << 20, kOne << 20, 2},
                                  {kOne << 63, 2, 1},       {max, max, max}};
  const auto extents = must(s_.upload(std::vector<Extent>(grids)));
  std::uint32_t line = 0;
  std::vector<std::string> told;
  for (std::uint64_t i = 0; i != grids.size(); ++i) {
    const auto v = must(s_.upload(std::vector<int>{0}));
    line = std::source_location::current().line() + 1;
    must(s_.launch_indirect(set, extents.view(i, 1), v));
    const Result<std::vector<int>> read = s_.read(v).get(kLimit);
    ASSERT_EQ(refusal(read), "unwritten");
    told.push_back(read.error().root().to_string());
  }
  EXPECT_TRUE(reported_.empty());
  EXPECT_EQ(device_.statistics().tasks_failed, grids.size());
  EXPECT_THAT(told[0], HasSubstr("task_failed"));
  EXPECT_THAT(told[0], HasSubstr("1099511627777 x 1 x 1"));
  EXPECT_THAT(told[0], HasSubstr("2^40"));
  EXPECT_THAT(told[0], HasSubstr("`set`"));
  EXPECT_THAT(told[0], HasSubstr(":" + std::to_string(line)));
  // The stream goes on.
  const auto v = must(s_.upload(std::vector<int>{0}));
  must(s_.launch(set, 1, v));
  EXPECT_EQ(must(s_.read(v).get(kLimit)), std::vector<int>{1});
}

TEST_F(IndirectTest, AViewThatIsNotOneExtentIsRefused) {
  const auto nothing = kernel("nothing", [](Cell) {});
  const auto extents = must(s_.upload(std::vector<Extent>(3)));
  const std::uint64_t before = device_.statistics().submissions;
  for (const std::uint64_t count : {0u, 2u, 3u}) {
    const Result<Task> refused = s_.launch_indirect(nothing, extents.view(0, count));
    EXPECT_EQ(refusal(refused), "invalid_size");
    EXPECT_THAT(message(refused), HasSubstr(std::to_string(count)));
  }
  EXPECT_EQ(refusal(s_.launch_indirect(nothing, extents)), "invalid_size");
  EXPECT_EQ(refusal(s_.launch_indirect(nothing, extents.view(3, 1))), "invalid_argument");
  const View<const Extent> behind(extents.buffer(), 72, 1);
  EXPECT_EQ(refusal(s_.launch_indirect(nothing, behind)), "invalid_argument");
  const View<const Extent> across(extents.buffer(), 56, 1);
  EXPECT_EQ(refusal(s_.launch_indirect(nothing, across)), "invalid_argument");
  const View<const Extent> misaligned(extents.buffer(), 4, 1);
  const Result<Task> refused = s_.launch_indirect(nothing, misaligned);
  EXPECT_EQ(refusal(refused), "invalid_argument");
  EXPECT_THAT(refused.error().to_string(), HasSubstr("grid"));
  EXPECT_EQ(device_.statistics().submissions, before);
}

TEST_F(IndirectTest, InvalidHandlesAreRefused) {
  const auto set = kernel("set", [](Cell, std::span<int>) {});
  const auto v = must(s_.upload(std::vector<int>{0}));
  auto extent = must(s_.upload(std::vector<Extent>(1)));
  const Array<Extent> taken = std::move(extent);
  EXPECT_EQ(refusal(s_.launch_indirect(set, extent, v)), "invalid_handle");  // NOLINT
  EXPECT_EQ(refusal(s_.launch_indirect(set, View<Extent>(), v)), "invalid_handle");
  EXPECT_EQ(refusal(s_.launch_indirect(set, Array<Extent>(), v)), "invalid_handle");
  EXPECT_EQ(refusal(s_.launch_indirect(set, taken, View<int>())), "invalid_handle");
  EXPECT_EQ(refusal(Stream().launch_indirect(set, taken, v)), "invalid_handle");
  auto moved = kernel("set", [](Cell, std::span<int>) {});
  const auto kept = std::move(moved);
  EXPECT_EQ(refusal(s_.launch_indirect(moved, taken, v)), "invalid_handle");  // NOLINT
  void (*none)(Cell) = nullptr;
  EXPECT_EQ(refusal(s_.launch_indirect(kernel("none", none), taken)), "invalid_argument");
}

TEST_F(IndirectTest, AGridOfAnotherDeviceIsRefused) {
  const Device elsewhere = must(Device::open("cpu?workers=1"));
  const Stream there = must(Stream::create(elsewhere));
  const auto extent = must(there.upload(std::vector<Extent>(1)));
  const auto nothing = kernel("nothing", [](Cell) {});
  EXPECT_EQ(refusal(s_.launch_indirect(nothing, extent)), "context_mismatch");
}

// The call site is that of the grid, as with launch().
TEST_F(IndirectTest, ACallSiteIsThatOfTheGrid) {
  const auto nothing = kernel("nothing", [](Cell) {});
  const auto line = std::source_location::current().line() + 1;
  const Result<Task> refused = s_.launch_indirect(nothing, View<const Extent>());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().site().line(), line);
}

TEST_F(IndirectTest, AStoppedLaunchRunsNoCell) {
  std::atomic<bool> ran{false};
  const auto set = kernel("set", [&ran](Cell, std::span<int>) { ran = true; });
  const auto v = must(s_.upload(std::vector<int>{0}));
  const auto extent = must(s_.upload(std::vector<Extent>(1)));
  std::stop_source stop;
  const Gate gate(device_);
  gate.hold(s_);
  must(s_.with_stop_token(stop.get_token()).launch_indirect(set, extent, v));
  stop.request_stop();
  gate.open();
  EXPECT_EQ(refusal(s_.read(v).get(kLimit)), "unwritten");
  EXPECT_FALSE(ran);
  EXPECT_EQ(device_.statistics().tasks_cancelled, 1u);
}

// Kernel, grid and arguments may go while the launch waits.
TEST_F(IndirectTest, ALaunchKeepsWhatItUses) {
  const auto value = std::make_shared<int>(5);
  const auto v = must(s_.upload(std::vector<int>(3, 0)));
  const Gate gate(device_);
  gate.hold(s_);
  {
    const auto extent = must(s_.upload(std::vector<Extent>{{3, 1, 1}}));
    const auto set = kernel("set", [value](Cell at, std::span<int> to) { to[at.x] = *value; });
    must(s_.launch_indirect(set, extent, v));
  }
  EXPECT_GT(value.use_count(), 1);
  gate.open();
  EXPECT_EQ(must(s_.read(v).get(kLimit)), std::vector<int>(3, 5));
  EXPECT_TRUE(comes_true([&] {
    static_cast<void>(device_.poll());
    return value.use_count() == 1;
  }));
}

}  // namespace
}  // namespace thalweg::test
