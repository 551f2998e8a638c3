// SPDX-License-Identifier: Apache-2.0
//
// Tiles on cpu: what fills, copies, transfers, kernels and host functions do with rows, and what is
// refused.

#include "thalweg/view2d.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "support/gate.hpp"
#include "support/refusal.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

class View2DTest : public testing::Test {
 protected:
  // 0, 1, 2, ... : element i of an array of rows of ten is row i / 10, column i % 10.
  Array<int> counting(int count) const {
    std::vector<int> values(static_cast<std::size_t>(count));
    std::iota(values.begin(), values.end(), 0);
    return must(s_.upload(std::move(values)));
  }
  template <Viewable V>
  std::vector<int> read(const V& view) const {
    return must(s_.read(view).get(kLimit));
  }

  const Device device_ = must(Device::open("cpu?workers=2"));
  const Stream s_ = must(Stream::create(device_));
};

TEST_F(View2DTest, AReadPacksTheRows) {
  const auto a = counting(40);
  EXPECT_EQ(must(s_.read(a.tile(12, 3, 2, 10)).get(kLimit)),
            (std::vector<int>{12, 13, 14, 22, 23, 24}));
  const View2D<const int> part = a.tile(0, 10, 4, 10).subview(7, 1, 2, 3);
  EXPECT_EQ(part.width(), 2u);
  EXPECT_EQ(part.height(), 3u);
  EXPECT_EQ(part.pitch(), 10u);
  EXPECT_EQ(must(s_.read(part).get(kLimit)), (std::vector<int>{17, 18, 27, 28, 37, 38}));
  // The last row needs no pitch of elements behind it.
  EXPECT_EQ(must(s_.read(a.tile(38, 2, 1, 10)).get(kLimit)), (std::vector<int>{38, 39}));
}

TEST_F(View2DTest, WritesLeaveWhatLiesBetweenTheRows) {
  const auto a = counting(12);
  must(s_.fill(a.tile(1, 2, 2, 4), -1));
  EXPECT_EQ(read(a), (std::vector<int>{0, -1, -1, 3, 4, -1, -1, 7, 8, 9, 10, 11}));
  const std::vector<int> three{51, 52, 53};
  must(s_.upload(a.tile(3, 1, 3, 4), std::span(three)));
  must(s_.upload(a.tile(0, 1, 3, 4), std::vector<int>{61, 62, 63}));
  const std::vector<int> two{71, 72};
  must(s_.upload_borrowed(a.tile(9, 1, 2, 1), std::span(two)).get(kLimit));
  EXPECT_EQ(read(a), (std::vector<int>{61, -1, -1, 51, 62, -1, -1, 52, 63, 71, 72, 53}));
}

TEST_F(View2DTest, CopiesGoBetweenTilesAndRanges) {
  const auto a = counting(40);
  const auto b = must(s_.upload(std::vector<int>(12, 0)));
  must(s_.copy(b.tile(1, 2, 2, 6), a.tile(25, 2, 2, 10)));
  EXPECT_EQ(read(b), (std::vector<int>{0, 25, 26, 0, 0, 0, 0, 35, 36, 0, 0, 0}));
  must(s_.copy(b.view(6, 6), a.tile(0, 2, 3, 10)));
  EXPECT_EQ(read(b.view(6, 6)), (std::vector<int>{0, 1, 10, 11, 20, 21}));
  must(s_.copy(b.tile(0, 1, 6, 2), a.view(30, 6)));
  EXPECT_EQ(read(b), (std::vector<int>{30, 25, 31, 0, 32, 0, 33, 1, 34, 11, 35, 21}));
  // A row read twice: the rows of what is only read may overlap.
  must(s_.copy(b.view(0, 6), a.tile(7, 3, 2, 0)));
  EXPECT_EQ(read(b.view(0, 6)), (std::vector<int>{7, 8, 9, 7, 8, 9}));
  EXPECT_EQ(must(s_.read(a.tile(0, 2, 3, 1)).get(kLimit)), (std::vector<int>{0, 1, 1, 2, 2, 3}));
}

TEST_F(View2DTest, OneBufferMayBeBothSidesOfACopyWhileNoElementIs) {
  const auto a = counting(8);
  must(s_.copy(a.tile(0, 1, 4, 2), a.tile(1, 1, 4, 2)));
  EXPECT_EQ(read(a), (std::vector<int>{1, 1, 3, 3, 5, 5, 7, 7}));
  const Result<Task> refused = s_.copy(a.tile(0, 1, 3, 2), a.tile(2, 1, 3, 2));
  EXPECT_EQ(refusal(refused), "invalid_argument");
  EXPECT_THAT(message(refused), HasSubstr("3 rows of 4 bytes from byte 8"));
  // Different pitches.
  EXPECT_EQ(refusal(s_.copy(a.tile(0, 1, 2, 3), a.tile(1, 1, 2, 4))), "none");
  EXPECT_EQ(refusal(s_.copy(a.tile(0, 1, 2, 5), a.tile(1, 1, 2, 4))), "invalid_argument");
}

TEST_F(View2DTest, AKernelSeesRows) {
  const auto flip = kernel("flip", [](Cell at, Out2D<int> out, Span2D<const int> in, int by) {
    out(at.x, at.y) = in(in.width() - 1 - at.x, at.y) + by;
  });
  const auto sums = kernel("sums", [](Cell at, const Span2D<int>& v) {
    const std::span<int> row = v.row(at.x);
    row[0] = std::accumulate(row.begin(), row.end(), 0);
  });
  const auto a = counting(40);
  const auto b = must(s_.upload(std::vector<int>(9, 0)));
  must(s_.launch(flip, {2, 2}, b.tile(1, 2, 2, 4), a.tile(12, 2, 2, 10), 100));
  EXPECT_EQ(read(b), (std::vector<int>{0, 113, 112, 0, 0, 123, 122, 0, 0}));
  must(s_.launch(sums, 2, b.tile(1, 2, 2, 4)));
  EXPECT_EQ(read(b), (std::vector<int>{0, 225, 112, 0, 0, 245, 122, 0, 0}));
  const auto shape = kernel("shape", [](Cell, Out<std::uint64_t> to, Span2D<const int> v) {
    to[0] = v.width();
    to[1] = v.height();
    to[2] = v.pitch();
  });
  const auto to = must(Array<std::uint64_t>::create(s_, 3));
  must(s_.launch(shape, 1, to, a.tile(0, 3, 4, 10)));
  EXPECT_EQ(must(s_.read(to).get(kLimit)), (std::vector<std::uint64_t>{3, 4, 10}));
}

// Columns of one array: what is declared is what is ordered.
TEST_F(View2DTest, TheAccessOfATileFollowsFromTheParameter) {
  const auto add = kernel("add", [](Cell at, Span2D<int> to, Span2D<const int> from) {
    to(at.x, at.y) += from(at.x, at.y);
  });
  const Stream other = must(Stream::create(device_));
  const auto a = counting(12);
  must(device_.synchronize(kLimit));
  const Gate gate(device_);
  gate.hold(s_);
  must(s_.launch(add, {1, 3}, a.tile(0, 1, 3, 4), a.tile(1, 1, 3, 4)));
  // Beside the written column everything can be read, and what is neither can be written.
  EXPECT_EQ(must(other.read(a.tile(1, 3, 3, 4)).get(kLimit)),
            (std::vector<int>{1, 2, 3, 5, 6, 7, 9, 10, 11}));
  must(other.fill(a.tile(2, 2, 3, 4), -1));
  must(other.synchronize(kLimit));
  // A column that is read cannot.
  must(other.fill(a.tile(1, 1, 3, 4), 100));
  EXPECT_EQ(refusal(other.synchronize(std::chrono::seconds(0))), "timeout");
  gate.open();
  must(device_.synchronize(kLimit));
  EXPECT_EQ(read(a), (std::vector<int>{1, 100, -1, -1, 9, 100, -1, -1, 17, 100, -1, -1}));
}

// Even and odd columns on two streams share no element, up to the rows that are told apart.
TEST_F(View2DTest, InterleavedTilesNeedNoWait) {
  const auto waits = [this](std::uint64_t rows) {
    const Stream even = must(Stream::create(device_));
    const Stream odd = must(Stream::create(device_));
    const auto a = must(Array<int>::create(even, 2 * rows));
    const std::uint64_t before = device_.statistics().waits_placed;
    const Gate gate(device_);
    gate.hold(even);
    must(even.fill(a.tile(0, 1, rows, 2), 1));
    must(odd.fill(a.tile(1, 1, rows, 2), 2));
    must(even.fill(a.tile(0, 1, rows, 2), 3));
    must(odd.fill(a.tile(1, 1, rows, 2), 4));
    const std::uint64_t placed = device_.statistics().waits_placed - before;
    gate.open();
    const auto found = must(even.read(a).get(kLimit));
    for (std::size_t i = 0; i != found.size(); ++i) EXPECT_EQ(found[i], i % 2 == 0 ? 3 : 4);
    return placed;
  };
  EXPECT_EQ(waits(2), 0u);
  EXPECT_EQ(waits(32), 0u);
  // Above the rows that are told apart the tiles count as all between.
  EXPECT_GT(waits(65), 0u);
}

TEST_F(View2DTest, AHostFunctionDeclaresTiles) {
  const Stream other = must(Stream::create(device_));
  const auto a = counting(8);
  must(device_.synchronize(kLimit));
  const Gate gate(device_);
  gate.hold(s_);
  auto* const data = reinterpret_cast<int*>(a.buffer().core()->address);
  const Future<void> wrote =
      s_.host("write", {writes(a.tile(0, 1, 4, 2)), reads(a.tile(1, 1, 1, 2))},
              [data] { data[0] = data[2] = data[4] = data[6] = -1; });
  must(other.fill(a.tile(3, 1, 3, 2), 9));
  must(other.synchronize(kLimit));
  Future<void> ordered = other.host("later", {orders(a.tile(0, 2, 2, 2))}, [] {});
  EXPECT_FALSE(ordered.ready());
  gate.open();
  must(ordered.get(kLimit));
  EXPECT_EQ(must(other.read(a).get(kLimit)), (std::vector<int>{-1, 1, -1, 9, -1, 9, -1, 9}));
  must(other.host("update", {updates(a.tile(0, 1, 4, 2))}, [data] { ++data[0]; }).get(kLimit));
  EXPECT_EQ(read(a)[0], 0);
}

TEST_F(View2DTest, ATileWithoutElementsDoesNothing) {
  const auto a = counting(8);
  const View2D<int> tile = a.tile(0, 2, 4, 2);
  const auto touch = kernel("touch", [](Cell, Span2D<int> v) { v(0, 0) = -1; });
  for (const View2D<int>& empty :
       {a.tile(8, 0, 0, 0), a.tile(8, 0, kMax, kMax), a.tile(3, kMax, 0, kMax),
        tile.subview(2, 4, 0, 0), tile.subview(0, 4, 2, 0), tile.subview(2, 0, 0, 4),
        must(Array<int>::create(s_, 0)).tile(0, 0, 5, 1)}) {
    EXPECT_EQ(refusal(s_.fill(empty, -1)), "none");
    EXPECT_EQ(refusal(s_.copy(empty, empty)), "none");
    EXPECT_EQ(refusal(s_.copy(empty, a.view(0, 0))), "none");
    EXPECT_EQ(refusal(s_.upload(empty, std::vector<int>())), "none");
    EXPECT_EQ(must(s_.read(empty).get(kLimit)), std::vector<int>());
    EXPECT_EQ(refusal(s_.launch(touch, 0, empty)), "none");
    EXPECT_EQ(refusal(s_.host("f", {updates(empty), orders(empty)}, [] {}).get(kLimit)), "none");
  }
  EXPECT_EQ(read(a), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST_F(View2DTest, CountsThatDifferAreInvalidSizes) {
  const auto a = counting(40);
  const auto b = counting(40);
  const View2D<int> tile = a.tile(0, 2, 3, 10);
  const std::uint64_t before = device_.statistics().submissions;
  const Result<Task> refused = s_.copy(tile, b.tile(0, 3, 2, 10));
  EXPECT_EQ(refusal(refused), "invalid_size");
  EXPECT_THAT(message(refused), HasSubstr("3 x 2"));
  EXPECT_THAT(message(refused), HasSubstr("2 x 3"));
  EXPECT_EQ(refusal(s_.copy(tile, b.view(0, 5))), "invalid_size");
  EXPECT_EQ(refusal(s_.copy(b.view(0, 7), tile)), "invalid_size");
  EXPECT_EQ(refusal(s_.upload(tile, std::vector<int>(5))), "invalid_size");
  const std::vector<int> seven(7);
  EXPECT_EQ(refusal(s_.upload(tile, std::span(seven))), "invalid_size");
  EXPECT_EQ(refusal(s_.upload_borrowed(tile, std::span(seven)).get()), "invalid_size");
  EXPECT_EQ(device_.statistics().submissions, before);
}

// Every kind of task refuses a tile that is none.
void expect_refused(const Stream& s, const View2D<int>& bad, std::uint64_t count,
                    const std::string& kind) {
  const auto other = must(Array<int>::create(s, 8));
  const std::uint64_t before = s.device().statistics().submissions;
  const auto touch = kernel("touch", [](Cell, Span2D<int>) {});
  const auto fill = kernel("fill", [](Cell, Out2D<int>) {});
  const auto look = kernel("look", [](Cell, int, Span2D<const int>) {});
  EXPECT_EQ(refusal(s.fill(bad, 1)), kind);
  EXPECT_EQ(refusal(s.read(bad).get()), kind);
  EXPECT_EQ(refusal(s.launch(touch, 1, bad)), kind);
  EXPECT_EQ(refusal(s.launch(fill, 1, bad)), kind);
  EXPECT_EQ(refusal(s.launch(look, 1, 5, bad)), kind);
  EXPECT_EQ(refusal(s.host("f", {reads(bad)}, [] {}).get()), kind);
  EXPECT_EQ(refusal(s.host("f", {reads(other), writes(bad)}, [] {}).get()), kind);
  EXPECT_EQ(refusal(s.host("f", {updates(bad)}, [] {}).get()), kind);
  EXPECT_EQ(refusal(s.host("f", {orders(bad)}, [] {}).get()), kind);
  // One of the sides of a copy may be of another device, and a legal tile overlaps itself.
  const bool elsewhere = kind == "context_mismatch";
  EXPECT_EQ(refusal(s.copy(bad, bad)), elsewhere ? "invalid_argument" : kind);
  if (count <= 8) {
    if (!elsewhere) {
      EXPECT_EQ(refusal(s.copy(bad, other.view(0, count))), kind);
      EXPECT_EQ(refusal(s.copy(other.view(0, count), bad)), kind);
    }
    EXPECT_EQ(refusal(s.upload(bad, std::vector<int>(count))), kind);
    EXPECT_EQ(refusal(s.upload_borrowed(bad, std::span<const int>(std::vector<int>(count))).get()),
              kind);
  }
  EXPECT_EQ(s.device().statistics().submissions, before);
}

TEST_F(View2DTest, AnInvalidHandleIsRefusedWhereItIsUsed) {
  View2D<int> moved = counting(8).tile(0, 2, 2, 4);
  const View2D<int> taken = std::move(moved);
  EXPECT_EQ(moved.width(), 0u);  // NOLINT: what is left is what is tested.
  EXPECT_EQ(taken.width(), 2u);
  for (const View2D<int>& bad : {View2D<int>(), moved, Array<int>().tile(0, 0, 0, 0),
                                 View<int>().tile(0, 1, 1, 1), taken.subview(0, 0, 0, 0)}) {
    if (bad.core() != nullptr) continue;
    expect_refused(s_, bad, 0, "invalid_handle");
  }
  EXPECT_EQ(refusal(Stream().fill(taken, 1)), "invalid_handle");
}

TEST_F(View2DTest, ATileThatLeavesItsViewIsRefusedWhereItIsUsed) {
  const auto a = counting(40);
  const View<int> v = a.view(4, 20);
  const View2D<int> t = v.tile(0, 4, 2, 10);
  EXPECT_EQ(refusal(s_.fill(v.tile(0, 10, 2, 10), 1)), "none");
  EXPECT_EQ(refusal(s_.fill(v.tile(6, 4, 2, 10), 1)), "none");
  for (const View2D<int>& bad :
       {v.tile(7, 4, 2, 10), v.tile(0, 4, 2, 17), v.tile(0, 4, 3, 10), v.tile(20, 1, 1, 1),
        v.tile(21, 0, 0, 0), v.tile(0, kMax, 1, 1), v.tile(kMax, 1, 1, 1), v.tile(0, 1, kMax, kMax),
        v.tile(0, 2, 2, kMax), v.tile(0, 2, 2, kMax - 1), t.subview(0, 0, 5, 1),
        t.subview(1, 0, 4, 1), t.subview(5, 0, 0, 0), t.subview(0, 1, 1, 2), t.subview(0, 3, 1, 0),
        t.subview(kMax, 0, 2, 1), t.subview(0, kMax, 1, 2), v.subview(19, 2).tile(0, 1, 1, 1),
        v.tile(0, 1, 21, 1).subview(0, 0, 1, 1)}) {
    expect_refused(s_, bad, bad.width() < 9 && bad.height() < 2 ? bad.width() * bad.height() : 99,
                   "invalid_argument");
  }
  EXPECT_THAT(message(s_.fill(v.tile(7, 4, 2, 10), 1)), HasSubstr("4 x 2"));
  EXPECT_THAT(message(s_.fill(v.tile(7, 4, 2, 10), 1)), HasSubstr("10"));
}

TEST_F(View2DTest, ATileOutsideItsMemoryIsRefused) {
  const Buffer memory = must(Buffer::create(s_, 64));
  const auto of = [&memory](std::uint64_t offset, std::uint64_t width, std::uint64_t height,
                            std::uint64_t pitch) {
    return View2D<int>(memory.ref(), offset, width, height, pitch);
  };
  EXPECT_EQ(refusal(s_.fill(of(0, 4, 4, 4), 1)), "none");
  EXPECT_EQ(refusal(s_.fill(of(56, 2, 1, kMax), 1)), "none");
  const std::uint64_t one = 1;
  for (const View2D<int>& bad :
       {of(0, 4, 5, 4), of(0, 2, 2, 15), of(60, 2, 1, 2), of(64, 1, 1, 1), of(128, 0, 0, 0),
        of(2, 1, 1, 1), of(kMax - 3, 1, 1, 1), of(0, 1, 2, one << 62), of(4, 1, one << 62, 1),
        of(0, one << 33, one << 33, one << 34), of(0, 1, (one << 31) + 1, one << 31),
        of(0, one << 62, 1, 0), of(4, 2, 2, (one << 62) - 2)}) {
    expect_refused(s_, bad, 99, "invalid_argument");
  }
}

TEST_F(View2DTest, RowsThatOverlapAreRefusedForWritesOnly) {
  const auto a = counting(8);
  const auto b = counting(8);
  const View2D<int> overlapping = a.tile(0, 2, 3, 1);
  const auto touch = kernel("touch", [](Cell, Span2D<int>) {});
  const auto set = kernel("set", [](Cell, Out2D<int>) {});
  const auto look = kernel("look", [](Cell, Span2D<const int>) {});
  const std::vector<int> six(6);
  EXPECT_EQ(refusal(s_.fill(overlapping, 1)), "invalid_argument");
  EXPECT_EQ(refusal(s_.copy(overlapping, b.view(0, 6))), "invalid_argument");
  EXPECT_EQ(refusal(s_.upload(overlapping, std::span(six))), "invalid_argument");
  EXPECT_EQ(refusal(s_.upload(overlapping, std::vector(six))), "invalid_argument");
  EXPECT_EQ(refusal(s_.upload_borrowed(overlapping, std::span(six)).get()), "invalid_argument");
  EXPECT_EQ(refusal(s_.launch(touch, 1, overlapping)), "invalid_argument");
  EXPECT_EQ(refusal(s_.launch(set, 1, a.tile(0, 2, 2, 0))), "invalid_argument");
  EXPECT_EQ(refusal(s_.host("f", {writes(overlapping)}, [] {}).get()), "invalid_argument");
  EXPECT_EQ(refusal(s_.host("f", {updates(overlapping)}, [] {}).get()), "invalid_argument");
  EXPECT_THAT(message(s_.fill(overlapping, 1)), HasSubstr("pitch of 1"));
  EXPECT_EQ(refusal(s_.launch(look, 1, overlapping)), "none");
  EXPECT_EQ(refusal(s_.host("f", {reads(overlapping)}, [] {}).get(kLimit)), "none");
  EXPECT_EQ(refusal(s_.fill(a.tile(0, 2, 1, 1), 1)), "none");
  EXPECT_EQ(must(s_.read(b.tile(0, 2, 3, 1)).get(kLimit)), (std::vector<int>{0, 1, 1, 2, 2, 3}));
}

// More rows than the host has memory for are refused, and no exception.
TEST_F(View2DTest, AReadOfOneRowVeryOftenFindsNoMemory) {
  const auto a = must(s_.upload(std::vector<char>(8, 'a')));
  const std::uint64_t one = 1;
  EXPECT_EQ(refusal(s_.read(a.tile(0, 8, one << 60, 0)).get()), "out_of_memory");
  EXPECT_EQ(refusal(s_.read(a.tile(0, 8, one << 61, 0)).get()), "invalid_argument");
}

TEST_F(View2DTest, MemoryOfAnotherDeviceIsRefusedButInACopy) {
  const Device elsewhere = must(Device::open("cpu?workers=1"));
  const Stream there = must(Stream::create(elsewhere));
  const auto a = must(there.upload(std::vector<int>(8, 1)));
  expect_refused(s_, a.tile(0, 1, 4, 2), 4, "context_mismatch");
  const auto b = counting(8);
  must(s_.copy(a.tile(1, 1, 3, 2), b.tile(0, 1, 3, 1)));
  must(there.copy(b.tile(6, 2, 1, 2), a.view(1, 2)));
  EXPECT_EQ(must(there.read(a).get(kLimit)), (std::vector<int>{1, 0, 1, 1, 1, 2, 1, 1}));
  EXPECT_EQ(read(b), (std::vector<int>{0, 1, 2, 3, 4, 5, 0, 1}));
}

// What the host has mapped is refused to tasks on the same elements and to no others.
TEST_F(View2DTest, AMappedRangeIsBesideATile) {
  const auto a = counting(12);
  const auto opened = map(a.view(1, 2), for_writing, kLimit);
  ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
  EXPECT_EQ(refusal(s_.fill(a.tile(0, 1, 3, 4), -1)), "none");
  EXPECT_EQ(refusal(s_.fill(a.tile(3, 1, 3, 4), -2)), "none");
  EXPECT_EQ(refusal(s_.fill(a.tile(0, 2, 3, 4), -1)), "invalid_argument");
  EXPECT_EQ(refusal(s_.read(a.tile(2, 1, 3, 4)).get()), "invalid_argument");
}

// A task that the program writes itself is told the bytes from the first to the last.
TEST_F(View2DTest, NativeWorkDeclaresTiles) {
  const auto a = counting(12);
  must(s_.native({updates(a.tile(1, 2, 3, 4))},
                 [](NativeHandle, std::span<const NativeBytes> bytes) {
                   auto* const first = reinterpret_cast<int*>(bytes[0].address);
                   *first = static_cast<int>(bytes[0].size_bytes);
                 }));
  EXPECT_EQ(read(a)[1], 40);
}

TEST_F(View2DTest, ALaunchNamesTheViewThatIsWrong) {
  const auto a = counting(8);
  const auto two = kernel("two", [](Cell, std::span<int>, int, Span2D<const int>) {});
  const Result<Task> refused = s_.launch(two, 1, a, 1, a.tile(5, 2, 2, 4));
  EXPECT_EQ(refusal(refused), "invalid_argument");
  EXPECT_THAT(refused.error().to_string(), HasSubstr("view 2"));
}

// The view of a subview far away must not come back to the front of the memory.
TEST_F(View2DTest, AnOffsetThatOverflowsIsOutside) {
  const auto a = counting(8);
  const View<int> vast(a.buffer(), 0, kMax);
  const std::uint64_t quarter = std::uint64_t{1} << 62;
  EXPECT_EQ(refusal(s_.fill(vast.subview(quarter, 4), 1)), "invalid_argument");
  EXPECT_EQ(refusal(s_.fill(vast.tile(quarter, 2, 2, 2), 1)), "invalid_argument");
  const View2D<int> tall(a.buffer().ref(), 0, 4, quarter + 1, 4);
  EXPECT_EQ(refusal(s_.fill(tall.subview(0, quarter, 4, 1), 1)), "invalid_argument");
  EXPECT_EQ(refusal(s_.fill(tall.subview(0, quarter / 4, 4, 1), 1)), "invalid_argument");
}

}  // namespace
}  // namespace thalweg::test
