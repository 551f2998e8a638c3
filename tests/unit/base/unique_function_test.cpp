// SPDX-License-Identifier: Apache-2.0
//
// UniqueFunction: owned and moved, never copied, and thrown through.

#include "thalweg/base/unique_function.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace thalweg::test {
namespace {

static_assert(!std::is_copy_constructible_v<UniqueFunction>);
static_assert(std::is_nothrow_move_constructible_v<UniqueFunction>);
static_assert(sizeof(UniqueFunction) == sizeof(void*));
static_assert(!std::is_constructible_v<UniqueFunction, int>);
static_assert(std::is_constructible_v<UniqueFunction, void (*)()>);

int calls = 0;
void call() { ++calls; }

// Empty until it is given something; a moved-from one is empty again.
TEST(UniqueFunction, IsEmptyUntilItHoldsSomething) {
  UniqueFunction function;
  EXPECT_FALSE(function);
  function = UniqueFunction([] {});
  EXPECT_TRUE(function);
  UniqueFunction taken = std::move(function);
  EXPECT_TRUE(taken);
  EXPECT_FALSE(function);  // NOLINT(bugprone-use-after-move): what this test is about.
}

// What it holds need not be copyable, keeps its state between calls, and may give a value back.
TEST(UniqueFunction, HoldsMoveOnlyCallablesWithState) {
  int sum = 0;
  UniqueFunction function([box = std::make_unique<int>(2), &sum]() mutable {
    sum += (*box)++;
    return sum;
  });
  function();
  function();
  EXPECT_EQ(sum, 5);
  calls = 0;
  UniqueFunction plain(&call);
  plain();
  EXPECT_EQ(calls, 1);
}

// What is captured goes once, with the function or when it is replaced.
TEST(UniqueFunction, DestroysTheCallableOnce) {
  const auto held = std::make_shared<int>(0);
  {
    UniqueFunction function([held] {});
    EXPECT_EQ(held.use_count(), 2);
    UniqueFunction other = std::move(function);
    EXPECT_EQ(held.use_count(), 2);
    other = UniqueFunction();
    EXPECT_EQ(held.use_count(), 1);
    function = UniqueFunction([held] {});
  }
  EXPECT_EQ(held.use_count(), 1);
}

// What the callable throws reaches the caller, and the function can be called again.
TEST(UniqueFunction, PassesExceptionsThrough) {
  int times = 0;
  UniqueFunction function([&times] {
    if (++times == 1) throw std::runtime_error("once");
  });
  EXPECT_THROW(function(), std::runtime_error);
  EXPECT_NO_THROW(function());
  EXPECT_EQ(times, 2);
}

}  // namespace
}  // namespace thalweg::test
