// SPDX-License-Identifier: Apache-2.0
//
// THALWEG_CHECK ends the process where an invariant is broken, and says which.

#include "thalweg/base/check.hpp"

#include <gtest/gtest.h>

#include <string>

namespace thalweg::test {
namespace {

// The condition, the file and the message are printed, and the message is made only then.
TEST(CheckDeathTest, AbortsWithConditionPlaceAndMessage) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  int made = 0;
  const auto message = [&made](const char* text) {
    ++made;
    return std::string(text);
  };
  THALWEG_CHECK(made == 0, message("not needed"));
  EXPECT_EQ(made, 0);
  EXPECT_DEATH(THALWEG_CHECK(made == 1, message("made is 0")),
               "broken invariant `made == 1` at .*check_test.cpp:[0-9]+: made is 0");
}

// An assertion is a check in a build with assertions, and nothing at all in another.
TEST(CheckDeathTest, AnAssertionIsForBuildsWithAssertions) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
#if defined(NDEBUG)
  int evaluated = 0;
  THALWEG_ASSERT(++evaluated != 1, "not compiled");
  EXPECT_EQ(evaluated, 0);
#else
  EXPECT_DEATH(THALWEG_ASSERT(1 > 2, "one is less"), "one is less");
#endif
}

// As one statement: it can stand where a statement can.
TEST(Check, IsOneStatement) {
  bool reached = false;
  if (reached)
    THALWEG_CHECK(false, "not reached");
  else
    reached = true;
  EXPECT_TRUE(reached);
}

}  // namespace
}  // namespace thalweg::test
