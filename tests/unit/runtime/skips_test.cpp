// SPDX-License-Identifier: Apache-2.0
//
// Failures that stay for long: however much is skipped because of them, and however many buffers
// come and go meanwhile, the process is as large as before.

#include <gtest/gtest.h>
#include <malloc.h>

#include <array>
#include <cstdint>
#include <ostream>
#include <stdexcept>
#include <vector>

#include "support/failing_program.hpp"
#include "support/gate.hpp"
#include "support/program_runner.hpp"
#include "thalweg/failure/error_graph.hpp"
#include "thalweg/thalweg.hpp"
#include "unit/runtime/allocations.hpp"

namespace thalweg::test {
namespace {

using Numbers = Array<std::uint32_t>;

const auto breaks =
    kernel("breaks", [](Cell, Out<std::uint32_t>) { throw std::runtime_error("broken"); });
const auto sets = kernel("sets", [](Cell i, Out<std::uint32_t> to,
                                    std::span<const std::uint32_t> from) { to[i.x] = from[i.x]; });
const auto adds = kernel("adds", [](Cell i, std::span<std::uint32_t> to,
                                    std::span<const std::uint32_t> from) { to[i.x] += from[i.x]; });

// Of the whole process. Says nothing where a sanitizer has its own heap.
std::uint64_t bytes_in_use() noexcept {
  const struct mallinfo2 heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

// What queues and lists may have grown to meanwhile: they keep the room that they needed once.
constexpr std::uint64_t kSlack = std::uint64_t{256} << 10;

void expect_no_growth(std::uint64_t before) {
  EXPECT_LE(kAllocationsCounted ? bytes_in_use() : 0, before + kSlack);
}

struct Setup {
  const char* device;
  std::uint64_t warm;
  std::uint64_t rounds;
};

void PrintTo(const Setup& setup, std::ostream* out) { *out << setup.device; }

class Skips : public testing::TestWithParam<Setup> {
 protected:
  Stream stream() const { return must(Stream::create(device_)); }
  Numbers numbers(const Stream& home) const { return must(home.upload(std::vector(8, 1u))); }

  const QuietSink quiet_;
  const Device device_ = must(Device::open(GetParam().device));
};

// One buffer is bad, and a program that nobody watches goes on and on. Each turn skips three tasks:
// one that reads it, one that reads what the first should have written, and one that reads what it
// should have written itself a turn ago, on another stream.
TEST_P(Skips, AMillionOfThemLeaveNothing) {
  const std::uint64_t warm = GetParam().warm / 3;
  const std::uint64_t turns = scaled(GetParam().rounds) / 3 + 2 * warm;
  const Stream a = stream();
  const Stream b = stream();
  const Numbers x = numbers(a);
  const std::array<Numbers, 3> others{numbers(a), numbers(a), numbers(b)};
  must(a.launch(breaks, 8, x));
  std::uint64_t before = 0;
  for (std::uint64_t turn = 1; turn <= turns; ++turn) {
    must(a.launch(sets, 8, others[0], x));
    must(a.launch(sets, 8, others[1], others[0]));
    must(b.launch(adds, 8, others[2], others[1]));
    if (turn % 500 == 0 || turn == warm) must(device_.synchronize());
    if (turn == warm) before = bytes_in_use();
  }
  must(device_.synchronize());
  expect_no_growth(before);
  const std::vector<LivingFailure> living = device_.failures();
  ASSERT_EQ(living.size(), 1u);
  EXPECT_EQ(living[0].skips, 3 * turns);
  EXPECT_EQ(living[0].carriers, 4u);
  EXPECT_EQ(device_.statistics().tasks_skipped, 3 * turns);

  // Whoever reads then is told the newest part of the way.
  const Error error = a.read(others[2]).get().error();
  ASSERT_EQ(error.failures().size(), 1u);
  EXPECT_GE(error.failures()[0].chain.size(), 1u);
  EXPECT_LE(error.failures()[0].chain.size(), failure::kRecordsKept);
}

// The same with a new buffer each turn, which is skipped, dropped, and taken by the next one.
TEST_P(Skips, WhatIsDroppedOnTheWayLeavesNothing) {
  const std::uint64_t warm = GetParam().warm / 8;
  const std::uint64_t turns = scaled(GetParam().rounds) / 8 + 2 * warm;
  const Stream a = stream();
  const Numbers x = numbers(a);
  must(a.launch(breaks, 8, x));
  std::uint64_t before = 0;
  for (std::uint64_t turn = 1; turn <= turns; ++turn) {
    must(a.launch(sets, 8, must(Numbers::create(a, 8)), x));
    // A stream that is waited for lets nothing go: it goes with what is dropped later.
    if (turn % 50 == 0 || turn == warm) must(a.synchronize());
    if (turn == warm) before = bytes_in_use();
  }
  must(device_.synchronize());
  expect_no_growth(before);
  const std::vector<LivingFailure> living = device_.failures();
  ASSERT_EQ(living.size(), 1u);
  EXPECT_EQ(living[0].skips, turns);
  EXPECT_EQ(living[0].carriers, 1u);
}

// A buffer was dropped whose stream never goes on. Those that are dropped after it, in use for a
// moment as well, are not kept because of it.
TEST_P(Skips, AStreamThatIsHeldKeepsNoOtherBuffers) {
  const std::uint64_t warm = GetParam().warm / 4;
  const std::uint64_t turns = scaled(GetParam().rounds) / 4 + 2 * warm;
  const Stream held = stream();
  const Stream a = stream();
  const Gate gate(device_);
  gate.hold(held);
  must(held.fill(must(Numbers::create(held, 8)), 1u));
  std::uint64_t before = 0;
  for (std::uint64_t turn = 1; turn <= turns; ++turn) {
    const Gate moment(device_);
    if (turn % 8 == 0) must(a.synchronize());
    moment.hold(a);
    must(a.fill(must(Numbers::create(a, 8)), 1u));
    if (turn == warm) before = bytes_in_use();
  }
  must(a.synchronize());
  expect_no_growth(before);
}

INSTANTIATE_TEST_SUITE_P(All, Skips,
                         testing::Values(Setup{"cpu?workers=1", 10'000, 1'000'000},
                                         Setup{"cpu?workers=3", 10'000, 300'000},
                                         Setup{"sim?seed=1", 6'000, 60'000}));

}  // namespace
}  // namespace thalweg::test
