// SPDX-License-Identifier: Apache-2.0
//
// Random programs with tasks that fail: each byte ends as the model says, and each bad one tells of
// the task that left it unwritten.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "support/failing_program.hpp"
#include "support/program_runner.hpp"
#include "support/random.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

TEST(Failures, EachByteEndsAsTheModelSays) {
  const QuietSink quiet;
  const Device devices[] = {must(Device::open("cpu?workers=1")),
                            must(Device::open("cpu?workers=3"))};
  for_each_seed(21, 3000, [&](std::uint64_t seed) {
    const FailingProgram program = make_failing_program(seed, 16, true);
    const std::string failure = run_failing_program(program, devices[seed % 2]);
    EXPECT_EQ(failure, "") << reproduce(seed) << "\n" << describe(program);
    return failure.empty();
  });
}

}  // namespace
}  // namespace thalweg::test
