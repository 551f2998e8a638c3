// SPDX-License-Identifier: Apache-2.0
//
// contract/support/refusal.hpp - what a call was refused with, in a form that reads well in a test:
//
//   EXPECT_EQ(refusal(stream.fill(view, 1)), "invalid_argument");

#pragma once

#include <chrono>
#include <string>
#include <thread>

#include "thalweg/base/error.hpp"
#include "thalweg/base/result.hpp"

namespace thalweg::test {

// A deadline that only a failure reaches.
inline constexpr std::chrono::seconds kLimit{30};

// The name of the error's kind; "none" when there is no error.
template <class T>
std::string refusal(const Result<T>& result) {
  return result ? std::string("none") : std::string(name(result.error().kind()));
}

// The error's message; empty when there is no error.
template <class T>
std::string message(const Result<T>& result) {
  return result ? std::string() : std::string(result.error().message());
}

// Yields until `condition` holds; false after a limit that only a failure reaches.
template <class Condition>
bool comes_true(Condition condition, std::chrono::nanoseconds limit = kLimit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace thalweg::test
