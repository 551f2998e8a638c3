// SPDX-License-Identifier: Apache-2.0
//
// What thalweg/buffer.hpp promises, and what the device says about its memory, on cpu.

#include "thalweg/buffer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "support/every_schedule.hpp"
#include "support/gate.hpp"
#include "support/refusal.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

class BufferTest : public testing::Test {
 protected:
  const Device device_ = must(Device::open("cpu?workers=2"));
  const Stream s_ = must(Stream::create(device_));
};

void expect_balanced(const MemoryUsage& usage) {
  EXPECT_EQ(usage.reserved_bytes, usage.live_bytes + usage.pending_bytes + usage.cached_bytes);
  EXPECT_LE(usage.padding_bytes, usage.live_bytes);
  EXPECT_LE(usage.live_bytes, usage.live_peak_bytes);
  EXPECT_LE(usage.reserved_bytes, usage.reserved_peak_bytes);
  EXPECT_LE(usage.reserved_peak_bytes, usage.limit_bytes);
}

TEST_F(BufferTest, ACopyNamesTheSameBytes) {
  const Buffer buffer = must(Buffer::create(s_, 100));
  const Buffer copy = buffer;
  EXPECT_EQ(buffer.size_bytes(), 100u);
  EXPECT_EQ(copy.id(), buffer.id());
  EXPECT_EQ(device_.memory_usage().allocations, 1u);
  must(s_.fill(View<std::uint8_t>(buffer, 0, 100), std::uint8_t{7}));
  EXPECT_EQ(must(s_.read(View<std::uint8_t>(copy, 0, 100)).get(kLimit)),
            std::vector<std::uint8_t>(100, 7));
}

TEST_F(BufferTest, ZeroBytesGiveAValidEmptyBuffer) {
  const auto empty = must(Array<int>::create(s_, 0));
  EXPECT_TRUE(empty.valid());
  EXPECT_EQ(empty.size_bytes(), 0u);
  EXPECT_TRUE(static_cast<bool>(empty.buffer().id()));
  const auto other = must(Array<int>::create(s_, 0));
  EXPECT_NE(empty.buffer().id(), other.buffer().id());
  must(s_.fill(empty, 1));
  must(s_.copy(empty, other));
  must(s_.upload(empty, std::vector<int>()));
  must(s_.upload(empty, std::span<const int>()));
  EXPECT_EQ(refusal(s_.upload_borrowed(empty, std::span<const int>()).get(kLimit)), "none");
  EXPECT_EQ(must(s_.read(empty).get(kLimit)), std::vector<int>());
  EXPECT_TRUE(must(s_.upload(std::vector<int>())).valid());
  const auto touch = kernel("touch", [](Cell at, std::span<int> v) { ++v[at.x]; });
  must(s_.launch(touch, 0, empty));
  EXPECT_EQ(refusal(s_.host("f", {updates(empty), orders(empty)}, [] {}).get(kLimit)), "none");
}

TEST_F(BufferTest, AnAlignmentIsKeptOrRefused) {
  for (const std::uint64_t alignment : {1u, 2u, 64u, 256u, 512u, 4096u}) {
    const Buffer buffer = must(Buffer::create(s_, 10, {.alignment_bytes = alignment}));
    EXPECT_EQ(buffer.core()->address % alignment, 0u) << alignment;
  }
  EXPECT_EQ(must(Buffer::create(s_, 10)).core()->address % 256, 0u);
  for (const std::uint64_t alignment :
       {std::uint64_t{3}, std::uint64_t{24}, std::uint64_t{8192}, kMax}) {
    const Result<Buffer> refused = Buffer::create(s_, 10, {.alignment_bytes = alignment});
    EXPECT_EQ(refusal(refused), "invalid_argument") << alignment;
    EXPECT_THAT(message(refused), HasSubstr(std::to_string(alignment)));
  }
}

// A size near the maximum must not wrap when it is rounded up.
TEST_F(BufferTest, ASizeThatCannotBeRoundedIsInvalidAndOneThatDoesNotFitIsOutOfMemory) {
  const MemoryUsage before = device_.memory_usage();
  for (const std::uint64_t size : {kMax, kMax - 1, kMax - 254})
    EXPECT_EQ(refusal(Buffer::create(s_, size)), "invalid_size") << size;
  EXPECT_EQ(refusal(Buffer::create(s_, kMax - 255)), "out_of_memory");
  EXPECT_EQ(refusal(Buffer::create(s_, std::uint64_t{1} << 62)), "out_of_memory");
  EXPECT_EQ(refusal(Array<std::uint64_t>::create(s_, std::uint64_t{1} << 61)), "invalid_size");
  EXPECT_EQ(device_.memory_usage().live_bytes, before.live_bytes);
  EXPECT_EQ(device_.memory_usage().allocations, before.allocations);
}

TEST_F(BufferTest, OutOfMemoryNamesTheLimit) {
  const Device small = must(Device::open("cpu?memory=1MiB"));
  const Stream s = must(Stream::create(small));
  const auto kept = must(Array<std::uint8_t>::create(s, 1024));
  const auto refused = Array<std::uint8_t>::create(s, std::uint64_t{2} << 20);
  EXPECT_EQ(refusal(refused), "out_of_memory");
  EXPECT_THAT(message(refused), AnyOf(HasSubstr("1048576"), HasSubstr("1 MiB")));
  expect_balanced(small.memory_usage());
  EXPECT_EQ(small.memory_usage().allocations, 1u);
  // The refusal spoilt nothing.
  EXPECT_EQ(refusal(Array<std::uint8_t>::create(s, 1024)), "none");
}

TEST_F(BufferTest, AnInvalidHandleIsRefusedWhereItIsUsed) {
  Array<int> moved = must(Array<int>::create(s_, 8));
  const Array<int> taken = std::move(moved);
  const int source[8] = {};
  const auto touch = kernel("touch", [](Cell at, std::span<int> to) { ++to[at.x]; });
  for (const View<int>& view : {Array<int>().view(), View<int>(), View<int>(Buffer(), 0, 8)}) {
    EXPECT_EQ(refusal(s_.fill(view, 1)), "invalid_handle");
    EXPECT_EQ(refusal(s_.copy(view, view)), "invalid_handle");
    EXPECT_EQ(refusal(s_.read(view).get()), "invalid_handle");
    EXPECT_EQ(refusal(s_.launch(touch, 1, view)), "invalid_handle");
    EXPECT_EQ(refusal(s_.host("f", {updates(view)}, [] {}).get()), "invalid_handle");
    EXPECT_EQ(refusal(s_.host("f", {orders(view)}, [] {}).get()), "invalid_handle");
  }
  EXPECT_EQ(refusal(s_.upload(moved, std::span<const int>(source))), "invalid_handle");
  EXPECT_EQ(refusal(s_.fill(moved, 1)), "invalid_handle");
  EXPECT_FALSE(moved.valid());
  EXPECT_FALSE(Buffer().valid());
  EXPECT_EQ(Buffer().size_bytes(), 0u);
  EXPECT_FALSE(static_cast<bool>(Buffer().id()));
}

struct BadView {
  const char* what;
  std::uint64_t offset_bytes;
  std::uint64_t count;
};

void PrintTo(const BadView& view, std::ostream* out) { *out << view.what; }

class ViewRange : public testing::TestWithParam<BadView> {
 protected:
  const Device device_ = must(Device::open("cpu?workers=1"));
  const Stream s_ = must(Stream::create(device_));
};

// A view is made without a check, and refused by every kind of task.
TEST_P(ViewRange, OutsideItsMemoryIsRefusedWhereItIsUsed) {
  const Buffer buffer = must(Buffer::create(s_, 64));
  const View<int> bad(buffer, GetParam().offset_bytes, GetParam().count);
  const View<int> good(buffer, 0, 2);
  const auto touch = kernel("touch", [](Cell, std::span<int>) {});
  EXPECT_EQ(refusal(s_.fill(bad, 1)), "invalid_argument");
  EXPECT_EQ(refusal(s_.read(bad).get()), "invalid_argument");
  EXPECT_EQ(refusal(s_.launch(touch, 1, bad)), "invalid_argument");
  EXPECT_EQ(refusal(s_.host("f", {reads(bad)}, [] {}).get()), "invalid_argument");
  EXPECT_EQ(refusal(s_.host("f", {writes(good), updates(bad)}, [] {}).get()), "invalid_argument");
  EXPECT_EQ(refusal(s_.host("f", {orders(bad)}, [] {}).get()), "invalid_argument");
  EXPECT_EQ(device_.statistics().submissions, 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Buffer, ViewRange,
    testing::Values(BadView{"one element too many", 0, 17}, BadView{"behind the end", 64, 1},
                    BadView{"far behind the end", 128, 1}, BadView{"misaligned", 2, 1},
                    BadView{"count whose bytes overflow", 4, std::uint64_t{1} << 62},
                    BadView{"end that overflows", kMax - 3, 4},
                    BadView{"empty far behind the end", 128, 0}));

TEST_F(BufferTest, ASubviewOutsideItsViewIsRefusedWhereItIsUsed) {
  const auto v = must(s_.upload(std::vector<int>(16, 0)));
  const View<int> part = v.view(4, 4);
  EXPECT_EQ(part.offset_bytes(), 16u);
  EXPECT_EQ(part.size_bytes(), 16u);
  EXPECT_EQ(refusal(s_.fill(part.subview(1, 3), 1)), "none");
  EXPECT_EQ(refusal(s_.fill(part.subview(4, 0), 1)), "none");
  EXPECT_EQ(refusal(s_.fill(part.subview(1, 4), 1)), "invalid_argument");
  EXPECT_EQ(refusal(s_.fill(part.subview(5, 0), 1)), "invalid_argument");
  EXPECT_EQ(refusal(s_.fill(part.subview(kMax, 2), 1)), "invalid_argument");
  EXPECT_EQ(refusal(s_.fill(v.view(16, 1), 1)), "invalid_argument");
  EXPECT_EQ(must(s_.read(v.view(4, 4)).get(kLimit)), (std::vector<int>{0, 1, 1, 1}));
}

TEST_F(BufferTest, AViewOfConstCanBeReadAndCopied) {
  const auto v = must(s_.upload(std::vector<int>{1, 2, 3}));
  const View<const int> constant = v.view();
  const auto to = must(Array<int>::create(s_, 3));
  must(s_.copy(to, constant));
  EXPECT_EQ(must(s_.read(constant).get(kLimit)), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(must(s_.read(to).get(kLimit)), (std::vector<int>{1, 2, 3}));
}

TEST_F(BufferTest, ABufferOfAnotherDeviceIsRefused) {
  const Device other_device = must(Device::open("cpu?workers=1"));
  const Stream other = must(Stream::create(other_device));
  const auto foreign = must(Array<int>::create(other, 8));
  const auto own = must(Array<int>::create(s_, 8));
  const auto touch = kernel("touch", [](Cell at, std::span<int> to) { ++to[at.x]; });
  const std::vector<int> source(8);
  EXPECT_EQ(refusal(s_.fill(foreign, 1)), "context_mismatch");
  EXPECT_EQ(refusal(s_.copy(foreign.view(0, 4), foreign.view(4, 4))), "context_mismatch");
  EXPECT_EQ(refusal(s_.upload(foreign, std::span(source))), "context_mismatch");
  EXPECT_EQ(refusal(s_.upload(foreign, std::vector<int>(8))), "context_mismatch");
  EXPECT_EQ(refusal(s_.upload_borrowed(foreign, std::span(source)).get()), "context_mismatch");
  EXPECT_EQ(refusal(s_.read(foreign).get()), "context_mismatch");
  EXPECT_EQ(refusal(s_.launch(touch, 8, foreign)), "context_mismatch");
  EXPECT_EQ(refusal(s_.host("f", {reads(own), reads(foreign)}, [] {}).get()), "context_mismatch");
  EXPECT_EQ(device_.statistics().submissions, 0u);
}

TEST_F(BufferTest, MemoryAddsUpFromTheFirstBufferToTheLast) {
  MemoryUsage usage = device_.memory_usage();
  expect_balanced(usage);
  EXPECT_EQ(usage.allocations, 0u);
  EXPECT_EQ(usage.live_bytes, 0u);
  auto a = must(Array<std::uint8_t>::create(s_, 1000));
  usage = device_.memory_usage();
  expect_balanced(usage);
  EXPECT_EQ(usage.allocations, 1u);
  EXPECT_GE(usage.live_bytes, 1000u);
  EXPECT_EQ(usage.padding_bytes, usage.live_bytes - 1000);
  EXPECT_EQ(usage.live_peak_bytes, usage.live_bytes);
  a = {};
  EXPECT_TRUE(device_.poll());
  usage = device_.memory_usage();
  expect_balanced(usage);
  EXPECT_EQ(usage.allocations, 0u);
  EXPECT_EQ(usage.live_bytes, 0u);
  EXPECT_EQ(usage.padding_bytes, 0u);
  EXPECT_EQ(usage.pending_bytes, 0u);
  const std::uint64_t given_back = device_.trim();
  EXPECT_EQ(given_back, usage.cached_bytes);
  EXPECT_EQ(device_.memory_usage().reserved_bytes, 0u);
  EXPECT_EQ(device_.memory_usage().reserved_peak_bytes, usage.reserved_peak_bytes);
}

TEST_F(BufferTest, TrimKeepsWhatItIsAskedToKeep) {
  auto a = must(Array<std::uint8_t>::create(s_, 1000));
  a = {};
  EXPECT_TRUE(device_.poll());
  const std::uint64_t cached = device_.memory_usage().cached_bytes;
  EXPECT_EQ(device_.trim(cached), 0u);
  EXPECT_EQ(device_.memory_usage().cached_bytes, cached);
}

// A dropped buffer that another stream still uses is pending until that use has passed.
TEST_F(BufferTest, ADroppedBufferIsPendingUntilItsUsesHavePassed) {
  const Stream other = must(Stream::create(device_));
  auto x = must(s_.upload(std::vector<int>(64, 1)));
  must(s_.synchronize(kLimit));
  const Gate gate(device_);
  gate.hold(other);
  Future<std::vector<int>> read = other.read(x);
  const std::uint64_t live = device_.memory_usage().live_bytes;
  x = {};
  MemoryUsage usage = device_.memory_usage();
  expect_balanced(usage);
  EXPECT_EQ(usage.live_bytes, 0u);
  EXPECT_EQ(usage.pending_bytes, live);
  const auto y = must(Array<int>::create(s_, 64));
  must(s_.fill(y, 2));
  must(s_.synchronize(kLimit));
  gate.open();
  EXPECT_EQ(must(read.get(kLimit)), std::vector<int>(64, 1));
  EXPECT_TRUE(device_.poll());
  usage = device_.memory_usage();
  expect_balanced(usage);
  EXPECT_EQ(usage.pending_bytes, 0u);
}

// Bytes dropped by their home while it still uses them may serve home again, in its own order:
// under every schedule, and without taking more from the system.
TEST(BufferOrder, HomeMayTakeItsOwnBytesAgainWhileTheyAreInUse) {
  explore_all([](ExploreRun& run) {
    const Stream s = must(Stream::create(run.device()));
    auto x = must(s.upload(std::vector<int>(64, 1)));
    Future<std::vector<int>> read = s.read(x);
    const std::uint64_t reserved = run.device().memory_usage().reserved_bytes;
    x = {};
    const auto y = must(Array<int>::create(s, 64));
    run.check(run.device().memory_usage().reserved_bytes == reserved, "the bytes are the same");
    must(s.fill(y, 2));
    run.check(must(read.get()) == std::vector<int>(64, 1), "the read is as of its submission");
    run.check(must(s.read(y).get()) == std::vector<int>(64, 2), "the fill comes behind it");
  });
}

}  // namespace
}  // namespace thalweg::test
