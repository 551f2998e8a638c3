// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "contract/support/suite.hpp"

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  thalweg::contract::register_tests();
  return RUN_ALL_TESTS();
}
