// SPDX-License-Identifier: Apache-2.0
//
// A thread that dropped the last handle to memory of the program's forgot what was bad in it a
// moment after others could bring the same memory again: what had failed by then for one of them
// was good.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/failing_program.hpp"
#include "support/program_runner.hpp"
#include "support/refusal.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

// Threads bring and drop the same memory all the time; for one of them a task fails each time. The
// moment is a short one: a few rounds of 20,000 met it.
TEST(ImportsForgottenLate, WhatFailsForTheNextOwnerStaysBad) {
  const QuietSink quiet;
  static std::array<int, 64> memory{};
  const Device device = must(Device::open("cpu?workers=1"));
  const Stream stream = must(Stream::create(device));
  const auto breaks = kernel("breaks", [](Cell, Out<int>) { throw std::runtime_error("broken"); });
  std::atomic<bool> stop{false};
  std::vector<std::thread> others;
  for (int i = 0; i != 2; ++i)
    others.emplace_back([&] {
      for (int turn = 0; !stop; ++turn) {
        static_cast<void>(must(Array<int>::adopt(device, memory, [] {})));
        if (turn % 16 == 0) std::this_thread::yield();
      }
    });
  const std::uint64_t rounds = scaled(20'000);
  for (std::uint64_t round = 0; round != rounds && !HasFailure(); ++round) {
    const auto mine = must(Array<int>::adopt(device, memory, [] {}));
    must(stream.launch(breaks, 8, mine));
    must(stream.synchronize());
    EXPECT_EQ(refusal(map(mine, for_reading)), "unwritten") << "round " << round;
  }
  stop = true;
  for (std::thread& other : others) other.join();
}

}  // namespace
}  // namespace thalweg::test
