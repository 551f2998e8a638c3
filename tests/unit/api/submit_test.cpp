// SPDX-License-Identifier: Apache-2.0
//
// Fills, copies, uploads and read-backs on cpu: what they do and what they refuse.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "support/gate.hpp"
#include "support/refusal.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class SubmitTest : public testing::Test {
 protected:
  const Device device_ = must(Device::open("cpu?workers=2"));
  const Stream s_ = must(Stream::create(device_));
};

struct Pair {
  std::uint64_t first;
  std::uint64_t second;
  friend bool operator==(const Pair&, const Pair&) = default;
};

struct Triple {
  std::uint8_t r;
  std::uint8_t g;
  std::uint8_t b;
  friend bool operator==(const Triple&, const Triple&) = default;
};

template <class T>
void expect_filled(const Stream& stream, const T& value) {
  const auto v = must(Array<T>::create(stream, 37));
  must(stream.fill(v, value));
  EXPECT_EQ(must(stream.read(v).get(kLimit)), std::vector<T>(37, value)) << sizeof(T);
}

TEST_F(SubmitTest, FillSetsEveryElementOfAnySize) {
  expect_filled<std::uint8_t>(s_, 0xab);
  expect_filled<std::uint16_t>(s_, 0xabcd);
  expect_filled<float>(s_, 1.5f);
  expect_filled<double>(s_, -2.25);
  expect_filled<Pair>(s_, {1, 2});
}

// Elements of a size that is no power of two are either filled or refused, never half filled.
TEST_F(SubmitTest, FillOfAnOddElementIsRightOrUnsupported) {
  const auto v = must(Array<Triple>::create(s_, 10));
  const Result<Task> filled = s_.fill(v, Triple{1, 2, 3});
  if (filled) {
    EXPECT_EQ(must(s_.read(v).get(kLimit)), std::vector<Triple>(10, Triple{1, 2, 3}));
  } else {
    EXPECT_THAT(refusal(filled), testing::AnyOf("unsupported", "invalid_size", "invalid_argument"));
  }
}

TEST_F(SubmitTest, FillOfAViewLeavesItsNeighboursAlone) {
  const auto v = must(s_.upload(std::vector<int>{1, 2, 3, 4, 5}));
  must(s_.fill(v.view(1, 3), 9));
  EXPECT_EQ(must(s_.read(v).get(kLimit)), (std::vector<int>{1, 9, 9, 9, 5}));
}

TEST_F(SubmitTest, CopyCopiesBetweenBuffersAndWithinOne) {
  const auto a = must(s_.upload(std::vector<int>{1, 2, 3, 4, 5, 6}));
  const auto b = must(Array<int>::create(s_, 3));
  must(s_.copy(b, a.view(2, 3)));
  must(s_.copy(a.view(0, 3), a.view(3, 3)));
  EXPECT_EQ(must(s_.read(b).get(kLimit)), (std::vector<int>{3, 4, 5}));
  EXPECT_EQ(must(s_.read(a).get(kLimit)), (std::vector<int>{4, 5, 6, 4, 5, 6}));
}

TEST_F(SubmitTest, CopyOfUnequalCountsOrOverlappingRangesIsRefused) {
  const auto a = must(s_.upload(std::vector<int>{1, 2, 3, 4, 5, 6}));
  const auto b = must(Array<int>::create(s_, 5));
  const Result<Task> unequal = s_.copy(b, a);
  EXPECT_EQ(refusal(unequal), "invalid_size");
  EXPECT_THAT(message(unequal), AllOf(HasSubstr("5"), HasSubstr("6")));
  EXPECT_EQ(refusal(s_.copy(a.view(0, 4), a.view(2, 4))), "invalid_argument");
  EXPECT_EQ(refusal(s_.copy(a.view(2, 4), a.view(0, 4))), "invalid_argument");
  EXPECT_EQ(refusal(s_.copy(a, a)), "invalid_argument");
  EXPECT_EQ(refusal(s_.copy(a.view(3, 0), a.view(3, 0))), "none");
  EXPECT_EQ(must(s_.read(a).get(kLimit)), (std::vector<int>{1, 2, 3, 4, 5, 6}));
}

TEST_F(SubmitTest, UploadIsFreeToForgetItsSourceAtOnce) {
  const auto v = must(Array<int>::create(s_, 1000));
  const Gate gate(device_);
  gate.hold(s_);
  std::vector<int> source(1000, 4);
  must(s_.upload(v, std::span<const int>(source)));
  source.assign(1000, 5);
  source.clear();
  source.shrink_to_fit();
  gate.open();
  EXPECT_EQ(must(s_.read(v).get(kLimit)), std::vector<int>(1000, 4));
}

TEST_F(SubmitTest, UploadTakesAVector) {
  const auto v = must(Array<int>::create(s_, 1000));
  const Gate gate(device_);
  gate.hold(s_);
  {
    std::vector<int> source(1000, 4);
    must(s_.upload(v, std::move(source)));
  }
  gate.open();
  EXPECT_EQ(must(s_.read(v).get(kLimit)), std::vector<int>(1000, 4));
}

TEST_F(SubmitTest, ABorrowedUploadIsReadyWhenItsSourceIsFree) {
  const auto v = must(Array<int>::create(s_, 100));
  std::vector<int> source(100, 4);
  const Gate gate(device_);
  gate.hold(s_);
  Future<void> future = s_.upload_borrowed(v, std::span<const int>(source));
  EXPECT_FALSE(future.ready());
  gate.open();
  ASSERT_EQ(refusal(future.get(kLimit)), "none");
  source.assign(100, 5);
  EXPECT_EQ(must(s_.read(v).get(kLimit)), std::vector<int>(100, 4));
}

TEST_F(SubmitTest, UploadOfAnotherCountIsRefusedAndTheVectorStaysItsOwners) {
  const auto v = must(Array<int>::create(s_, 4));
  std::vector<int> source{1, 2, 3};
  EXPECT_EQ(refusal(s_.upload(v, std::span<const int>(source))), "invalid_size");
  EXPECT_EQ(refusal(s_.upload_borrowed(v, std::span<const int>(source)).get()), "invalid_size");
  EXPECT_EQ(refusal(s_.upload(v, std::move(source))), "invalid_size");
  EXPECT_EQ(source, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(device_.statistics().submissions, 0u);
}

TEST_F(SubmitTest, AReadIsAsOfItsSubmission) {
  const auto v = must(s_.upload(std::vector<int>(8, 1)));
  const Gate gate(device_);
  gate.hold(s_);
  Future<std::vector<int>> before = s_.read(v);
  must(s_.fill(v, 2));
  Future<std::vector<int>> after = s_.read(v);
  gate.open();
  EXPECT_EQ(must(after.get(kLimit)), std::vector<int>(8, 2));
  EXPECT_EQ(must(before.get(kLimit)), std::vector<int>(8, 1));
}

TEST_F(SubmitTest, TasksOfAStreamHaveRisingSerials) {
  const auto v = must(Array<int>::create(s_, 8));
  const Task first = must(s_.fill(v, 1));
  const Task second = must(s_.fill(v, 2));
  EXPECT_EQ(first.queue(), s_.id());
  EXPECT_EQ(second.queue(), s_.id());
  EXPECT_LT(first.serial(), second.serial());
  EXPECT_FALSE(first == second);
}

// A refusal names the line of the call that was refused.
TEST_F(SubmitTest, ARefusalCarriesItsCallSite) {
  const auto v = must(Array<int>::create(s_, 8));
  const auto line = std::source_location::current().line() + 1;
  const Result<Task> refused = s_.fill(v.view(0, 9), 1);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().site().line(), line);
  EXPECT_THAT(std::string(refused.error().site().file_name()), HasSubstr("submit_test"));
}

// What was refused did not happen: the next task has the next serial, and the bytes are as they
// were.
TEST_F(SubmitTest, ARefusalChangesNothing) {
  const auto v = must(s_.upload(std::vector<int>(8, 1)));
  const Task before = must(s_.fill(v.view(0, 1), 1));
  EXPECT_FALSE(s_.fill(v.view(0, 9), 2).has_value());
  EXPECT_FALSE(s_.copy(v.view(0, 4), v.view(1, 4)).has_value());
  const Task after = must(s_.fill(v.view(0, 1), 1));
  EXPECT_EQ(after.serial().value, before.serial().value + 1);
  EXPECT_EQ(must(s_.read(v).get(kLimit)), std::vector<int>(8, 1));
}

}  // namespace
}  // namespace thalweg::test
