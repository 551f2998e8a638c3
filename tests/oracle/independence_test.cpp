// SPDX-License-Identifier: Apache-2.0
//
// No order too much: while one task of a program is held by a gate, every task that neither the
// order of its queue, nor a conflict, nor an explicit wait puts after it runs to its end.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/model/program_order.hpp"
#include "support/program_runner.hpp"
#include "support/random.hpp"
#include "support/refusal.hpp"

namespace thalweg::test {
namespace {

// Buffers stay alive: reused memory may order more. The host does not wait: the gate is closed.
// Few rows: a map of many ranges orders more.
constexpr ProgramShape kShape{.drops = false, .blocking = false, .gates = false, .rows_max = 3};

// A program in which one task is held and each is followed by the record of an event of its own.
struct Held {
  Program program;
  int gate = 0;
  std::vector<std::pair<std::size_t, int>> events;  // Log positions of tasks, and their events.
  std::size_t task = 0;                             // The log position of the one that is held.
};

// The prologue is not touched, and the only part is logged after it, in order.
Held hold_one_task(Program program, Random& random) {
  Held held;
  std::vector<Op>& part = program.parts[0];
  std::vector<std::size_t> tasks;
  for (std::size_t i = 0; i < part.size(); ++i)
    if (is_task(part[i].kind)) tasks.push_back(i);
  if (tasks.empty()) return held;
  const std::size_t chosen = random.pick(tasks);

  held.gate = program.gates++;
  std::vector<Op> with;
  for (std::size_t i = 0; i < part.size(); ++i) {
    const Op op = part[i];
    if (i == chosen) {
      Op gate{.kind = OpKind::close_gate, .stream = op.stream, .gate = held.gate};
      gate.value = 1;
      with.push_back(gate);
      held.task = program.prologue.size() + with.size();
    }
    with.push_back(op);
    if (!is_task(op.kind)) continue;
    held.events.emplace_back(program.prologue.size() + with.size() - 1, program.events);
    with.push_back({.kind = OpKind::record, .stream = op.stream, .event = program.events++});
  }
  part = std::move(with);
  held.program = std::move(program);
  return held;
}

TEST(Independence, WhatIsNotOrderedAfterAHeldTaskRuns) {
  std::uint64_t ran_beside = 0;
  std::uint64_t held_behind = 0;
  for_each_seed(4, 1000, [&](std::uint64_t seed) {
    Random random(seed);
    const Held held = hold_one_task(make_program(seed, kShape), random);
    if (held.events.empty()) return true;
    ProgramRunner runner(held.program);
    runner.run();
    const model::ProgramOrder order(held.program, runner.log());
    for (const auto& [position, event] : held.events) {
      const Op& op = op_of(held.program, runner.log()[position]);
      const Event& end = runner.event(event);
      if (position == held.task || order.before(held.task, position)) {
        ++held_behind;
        EXPECT_EQ(end.query(), EventState::not_yet) << reproduce(seed) << "\n" << describe(op);
      } else {
        ++ran_beside;
        EXPECT_TRUE(comes_true([&] {
          static_cast<void>(runner.device().poll());
          return end.query() == EventState::done;
        })) << reproduce(seed)
            << "\nheld with the gate: " << describe(op) << "\n"
            << describe(held.program);
      }
      if (testing::Test::HasFailure()) break;
    }
    EXPECT_TRUE(runner.gate(held.gate).signal(1).has_value());
    runner.finish();
    EXPECT_EQ(runner.failure(), "") << reproduce(seed);
    return !testing::Test::HasFailure();
  });
  EXPECT_GT(ran_beside, 0u);
  EXPECT_GT(held_behind, 0u);
}

}  // namespace
}  // namespace thalweg::test
