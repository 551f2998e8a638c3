// SPDX-License-Identifier: Apache-2.0
//
// The buffers of a task were registered one by one: two threads whose tasks named the same two
// buffers in opposite order made a cycle, and neither task could start. A submission takes effect
// in one step.

#include <gtest/gtest.h>

#include <barrier>
#include <cstdint>
#include <thread>

#include "support/device_memory.hpp"
#include "support/program_runner.hpp"
#include "support/refusal.hpp"

namespace thalweg::test {
namespace {

using Words = std::span<std::uint32_t>;

// Two threads submit (X, Y) and (Y, X), started together in each round; now and then one names X
// twice. Every task adds one to what it names.
TEST(F10OppositeOrders, TasksOfTwoThreadsFormNoCycle) {
  const std::uint64_t rounds = scaled(10000);
  const Device device = must(Device::open("cpu?workers=2"));
  const Stream a = must(Stream::create(device));
  const Stream b = must(Stream::create(device));
  const auto x = must(a.upload(std::vector<std::uint32_t>(4, 0)));
  const auto y = must(b.upload(std::vector<std::uint32_t>(4, 0)));
  const auto both = kernel("both", [](Cell at, Words first, Words second) {
    ++first[at.x];
    ++second[at.x];
  });
  const auto one_of_two = kernel("one of two", [](Cell at, Words first, Words) { ++first[at.x]; });

  std::barrier<> start(2);
  const auto submit = [&](const Stream& stream, const auto& first, const auto& second) {
    for (std::uint64_t round = 0; round < rounds; ++round) {
      start.arrive_and_wait();
      must(stream.launch(both, 4, first, second));
      if (round % 10 == 0) must(stream.launch(one_of_two, 4, x, x));
      if (round % 10 == 5) {
        static_cast<void>(stream.host("x and x", {reads(x), updates(x)}, [to = device_span(x)] {
          for (std::uint32_t& word : to) ++word;
        }));
      }
    }
  };
  std::thread other([&] { submit(b, y, x); });
  submit(a, x, y);
  other.join();

  ASSERT_EQ(refusal(device.synchronize(kLimit)), "none");
  const auto tens = [rounds](std::uint64_t from) { return (rounds - from + 9) / 10; };
  const std::uint64_t self = 2 * (tens(0) + (rounds > 5 ? tens(5) : 0));
  const auto on_y = static_cast<std::uint32_t>(2 * rounds);
  const auto on_x = static_cast<std::uint32_t>(2 * rounds + self);
  EXPECT_EQ(must(a.read(x).get(kLimit)), std::vector<std::uint32_t>(4, on_x));
  EXPECT_EQ(must(a.read(y).get(kLimit)), std::vector<std::uint32_t>(4, on_y));
}

}  // namespace
}  // namespace thalweg::test
