// SPDX-License-Identifier: Apache-2.0
//
// NoWaitScope: nests, and concerns one thread.

#include "thalweg/base/no_wait.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

namespace thalweg::test {
namespace {

// Active until the outermost one is gone, exceptions included.
TEST(NoWaitScope, Nests) {
  EXPECT_FALSE(NoWaitScope::active());
  {
    const NoWaitScope outer;
    {
      const NoWaitScope inner;
      EXPECT_TRUE(NoWaitScope::active());
    }
    EXPECT_TRUE(NoWaitScope::active());
    EXPECT_THROW(
        {
          const NoWaitScope thrown_through;
          throw std::runtime_error("x");
        },
        std::runtime_error);
    EXPECT_TRUE(NoWaitScope::active());
  }
  EXPECT_FALSE(NoWaitScope::active());
}

// A scope on one thread forbids nothing on another.
TEST(NoWaitScope, ConcernsItsThreadOnly) {
  const NoWaitScope here;
  bool there = true;
  bool there_in_scope = false;
  std::thread([&] {
    there = NoWaitScope::active();
    const NoWaitScope scope;
    there_in_scope = NoWaitScope::active();
  }).join();
  EXPECT_FALSE(there);
  EXPECT_TRUE(there_in_scope);
  EXPECT_TRUE(NoWaitScope::active());
}

}  // namespace
}  // namespace thalweg::test
