// SPDX-License-Identifier: Apache-2.0
//
// The oracle finds the bugs it is there for. Each is switched on in the runtime itself, and random
// programs run until one of them is wrong.

#include <gtest/gtest.h>

#include "base/plant.hpp"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THALWEG_TEST_RACES_ARE_REPORTED
#endif
#endif

// The bugs are races: ThreadSanitizer would end the program where the oracle should find them.
#if defined(THALWEG_TEST_HOOKS) && !defined(THALWEG_TEST_RACES_ARE_REPORTED)

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>

#include "support/program_runner.hpp"

namespace thalweg::test {
namespace {

struct Planted {
  plant::Bug bug;
  const char* name;
};

void PrintTo(const Planted& planted, std::ostream* out) { *out << planted.name; }

class PlantedBug : public testing::TestWithParam<Planted> {};

TEST_P(PlantedBug, IsFound) {
  const plant::Scope scope(GetParam().bug);
  ProgramShape shape;
  shape.blocking = false;  // A host that waits gives the device time to be right by luck.
  shape.ops_min = 40;
  std::string found;
  std::uint64_t programs = 0;
  for_each_seed(5, 1, [&](std::uint64_t first) {
    for (programs = 0; programs < 3000 && found.empty(); ++programs) {
      Program program = make_program(first + programs, shape);
      program.setup.random_delay_us = 30;
      // Some of the bugs free memory that is in use: it must not leave the process for that.
      for (Op& op : program.parts[0])
        if (op.kind == OpKind::trim) op.kind = OpKind::poll;
      found = run_and_compare(program).failure;
    }
    return found.empty();
  });
  std::printf("found after %llu programs: %s\n", static_cast<unsigned long long>(programs),
              found.c_str());
  EXPECT_NE(found, "");
}

INSTANTIATE_TEST_SUITE_P(
    Order, PlantedBug,
    testing::Values(Planted{plant::Bug::missing_write_after_read, "missing_write_after_read"},
                    Planted{plant::Bug::present_frontier, "present_frontier"},
                    Planted{plant::Bug::dropped_wait, "dropped_wait"},
                    Planted{plant::Bug::empty_birth, "empty_birth"},
                    Planted{plant::Bug::free_without_home_point, "free_without_home_point"},
                    Planted{plant::Bug::wait_without_serial, "wait_without_serial"}),
    [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace thalweg::test

#endif
