// SPDX-License-Identifier: Apache-2.0
//
// F8: an error that was found when a buffer was dropped was parked, and the next call of any kind
// answered with it. Dropping changes no answer of an unrelated call: what it finds goes to the
// error sink, with where it comes from.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/refusal.hpp"
#include "thalweg/base/log.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

using ::testing::HasSubstr;
using Words = Array<std::uint32_t>;

class ErrorOfADestructor : public testing::TestWithParam<const char*> {};

TEST_P(ErrorOfADestructor, GoesToTheSinkAndToNoOtherCall) {
  std::vector<std::string> sunk;
  set_error_sink([&sunk](const Error& error) { sunk.push_back(error.to_string()); });
  {
    const Device device = must(Device::open(GetParam()));
    const Stream a = must(Stream::create(device));
    const Stream other = must(Stream::create(device));
    {
      const Words x = must(Words::create(a, 64));
      must(a.launch(
          kernel("bad", [](Cell, Out<std::uint32_t>) { throw std::runtime_error("bad"); }), 64, x));
      must(a.synchronize());
    }
    const Words y = must(Words::create(other, 64));
    must(other.fill(y, 2u));
    EXPECT_EQ(must(other.read(y).get()), std::vector<std::uint32_t>(64, 2));
    EXPECT_EQ(device.memory_usage().pending_bytes, 0u);
    EXPECT_EQ(refusal(device.synchronize()), "none");
    EXPECT_EQ(device.failures().size(), 0u);
  }
  set_error_sink({});
  ASSERT_EQ(sunk.size(), 1u);
  EXPECT_THAT(sunk[0], HasSubstr("f08_error_of_a_destructor_test.cpp"));
}

INSTANTIATE_TEST_SUITE_P(All, ErrorOfADestructor, testing::Values("cpu?workers=2", "sim?seed=1"));

}  // namespace
}  // namespace thalweg::test
