// SPDX-License-Identifier: Apache-2.0
//
// Whether two strided accesses share a byte, beside a set of bytes.

#include "api/rows.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <set>

#include "support/random.hpp"

namespace thalweg::test {
namespace {

using detail::Meeting;
using detail::meeting;

Access rows(std::uint64_t offset, std::uint64_t row_bytes, std::uint64_t count,
            std::uint64_t pitch) {
  return {nullptr, offset, row_bytes, count, pitch, AccessMode::read};
}

std::set<std::uint64_t> bytes_of(const Access& access) {
  std::set<std::uint64_t> bytes;
  for (std::uint64_t row = 0; row != access.rows; ++row)
    for (std::uint64_t i = 0; i != access.row_bytes; ++i)
      bytes.insert(access.offset + row * access.pitch + i);
  return bytes;
}

TEST(Rows, MeetExactlyWhenAByteIsInBoth) {
  Random random(1);
  std::uint64_t met = 0;
  std::uint64_t apart_between = 0;
  constexpr int kCases = 100'000;
  for (int i = 0; i != kCases; ++i) {
    const auto draw = [&random](std::uint32_t pitch) {
      return rows(random.below(30), random.below(6), random.below(7), pitch);
    };
    const std::uint32_t pitch = random.below(10);
    const Access a = draw(pitch);
    const Access b = draw(random.chance(50) ? pitch : random.below(10));
    const std::set<std::uint64_t> of_a = bytes_of(a);
    bool shared = false;
    for (const std::uint64_t byte : bytes_of(b)) shared = shared || of_a.contains(byte);
    met += shared ? 1u : 0u;
    apart_between += !shared && a.offset < b.end() && b.offset < a.end() ? 1u : 0u;
    ASSERT_EQ(meeting(a, b), shared ? Meeting::some : Meeting::none)
        << a.offset << " " << a.row_bytes << " " << a.rows << " " << a.pitch << " and " << b.offset
        << " " << b.row_bytes << " " << b.rows << " " << b.pitch;
  }
  EXPECT_GT(met, 1000u);
  EXPECT_GT(apart_between, 1000u);
}

TEST(Rows, OfOnePitchAreComparedAtOnce) {
  const std::uint64_t many = std::uint64_t{1} << 50;
  EXPECT_EQ(meeting(rows(0, 4, many, 8), rows(4, 4, many, 8)), Meeting::none);
  EXPECT_EQ(meeting(rows(0, 5, many, 8), rows(4, 4, many, 8)), Meeting::some);
  EXPECT_EQ(meeting(rows(0, 4, many, 8), rows(7, 1, 1, 0)), Meeting::none);
}

TEST(Rows, OfManyRowsAndTwoPitchesAreNotCompared) {
  const std::uint64_t limit = detail::kRowsComparedMax;
  EXPECT_EQ(meeting(rows(0, 1, limit, 4), rows(1, 1, limit, 8)), Meeting::none);
  EXPECT_EQ(meeting(rows(0, 1, limit + 2, 4), rows(1, 1, limit + 2, 8)), Meeting::unknown);
  // Only where both are.
  EXPECT_EQ(meeting(rows(0, 1, limit * 4, 4), rows(limit * 16 - 3, 1, limit * 4, 8)),
            Meeting::none);
  EXPECT_EQ(meeting(rows(0, 1, limit * 4, 4), rows(limit * 16, 1, limit * 4, 8)), Meeting::none);
}

}  // namespace
}  // namespace thalweg::test
