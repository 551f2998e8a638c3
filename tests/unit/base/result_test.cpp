// SPDX-License-Identifier: Apache-2.0
//
// Result and the macros that pass an Error on.

#include "thalweg/base/result.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace thalweg::test {
namespace {

Error refused() { return Error(ErrorKind::not_found, "Nothing is there."); }

Result<int> half(int value) {
  if (value % 2 != 0) return Error(ErrorKind::invalid_argument, "Odd.");
  return value / 2;
}

Result<std::unique_ptr<int>> boxed(int value) {
  if (value < 0) return refused();
  return std::make_unique<int>(value);
}

Result<void> even(int value) {
  THALWEG_TRY(half(value));
  return {};
}

Result<int> quarter(int value) {
  THALWEG_TRY_ASSIGN(const int once, half(value));
  THALWEG_TRY_ASSIGN(int twice, half(once));
  return twice;
}

// A value, an error, and nothing: each converts by itself, and default made means success.
TEST(Result, ConvertsFromAValueAndFromAnError) {
  const Result<int> value = 3;
  ASSERT_TRUE(value);
  EXPECT_EQ(*value, 3);
  const Result<int> error = refused();
  ASSERT_FALSE(error);
  EXPECT_EQ(error.error().kind(), ErrorKind::not_found);
  EXPECT_TRUE(Result<void>());
  EXPECT_FALSE(Result<void>(refused()));
  EXPECT_TRUE(Result<std::string>());
}

// Values that cannot be copied go through, and come out by a move.
TEST(Result, CarriesMoveOnlyValues) {
  Result<std::unique_ptr<int>> result = boxed(7);
  ASSERT_TRUE(result);
  const std::unique_ptr<int> taken = *std::move(result);
  EXPECT_EQ(*taken, 7);
  Result<std::unique_ptr<int>> moved = boxed(1);
  Result<std::unique_ptr<int>> target = std::move(moved);
  EXPECT_EQ(**target, 1);
}

// TRY leaves with the error, and goes on otherwise.
TEST(Result, TryPassesTheErrorOn) {
  EXPECT_TRUE(even(4));
  const Result<void> odd = even(3);
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().message(), "Odd.");
}

// TRY_ASSIGN declares what it is told, and each use in a function stands for itself.
TEST(Result, TryAssignDeclaresOrLeaves) {
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(7).error().message(), "Odd.");
  EXPECT_EQ(quarter(6).error().message(), "Odd.");
}

// The value is moved and not copied, into a new name, into one that exists, and with commas in the
// call.
TEST(Result, TryAssignMoves) {
  const auto sum = [](int value) -> Result<int> {
    THALWEG_TRY_ASSIGN(const std::unique_ptr<int> fresh, boxed(value));
    std::unique_ptr<int> known;
    THALWEG_TRY_ASSIGN(known, boxed(value + 1));
    THALWEG_TRY_ASSIGN(auto pair, Result<std::pair<int, int>>(std::pair<int, int>(1, 2)));
    return *fresh + *known + pair.second;
  };
  EXPECT_EQ(*sum(10), 23);
  EXPECT_EQ(sum(-5).error().kind(), ErrorKind::not_found);
  EXPECT_EQ(sum(-1).error().kind(), ErrorKind::not_found);
}

// The error of a Result<void> becomes that of any other Result.
TEST(Result, AnErrorPassesBetweenTypes) {
  const auto list = [](int value) -> Result<std::vector<std::unique_ptr<int>>> {
    THALWEG_TRY(even(value));
    return std::vector<std::unique_ptr<int>>();
  };
  EXPECT_TRUE(list(2));
  EXPECT_EQ(list(1).error().message(), "Odd.");
}

// must() gives the value, and ends the process with status 1 and the error's text otherwise.
TEST(ResultDeathTest, MustEndsTheProcessWithTheError) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EQ(must(half(4)), 2);
  EXPECT_EQ(*must(boxed(5)), 5);
  must(even(2));
  EXPECT_EXIT(must(half(3)), ::testing::ExitedWithCode(1), "invalid_argument: Odd.");
  EXPECT_EXIT(must(even(3)), ::testing::ExitedWithCode(1), "invalid_argument: Odd.");
}

}  // namespace
}  // namespace thalweg::test
