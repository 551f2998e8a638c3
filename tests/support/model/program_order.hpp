// SPDX-License-Identifier: Apache-2.0
//
// tests/support/model/program_order.hpp - which tasks of a program come before which, and how few
// waits that takes: the rules of ordering.hpp, applied to the log of a program.
//
//   A:  1 ---- 2 ---- 3
//               \                  C@1 is after B@1, hence after A@2: one wait is enough, for B@1.
//   B:           1 -----+
//                        \                                                                        |
//   C:                    1
//
// Waits are placed as needed, and only then. A record, and a stream that is waited for, name one
// step: where waits are owed, an empty one of their own.
//
// That reused memory orders its next owner after the last one it does not know, since the log does
// not say which block a buffer got. For programs with drops, before() is what must hold and not all
// that may.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/model/ordering.hpp"
#include "support/program.hpp"

namespace thalweg::test::model {

class ProgramOrder {
 public:
  ProgramOrder(const Program& program, const Log& log);

  // The log positions of all tasks, in order.
  const std::vector<std::size_t>& tasks() const { return tasks_; }

  // Whether the task at log position `earlier` comes before the one at `later`.
  bool before(std::size_t earlier, std::size_t later) const;

  // The fewest waits of the whole program, where nothing is known to have passed.
  std::uint64_t waits_min() const { return waits_min_; }

  // The waits of one log position.
  std::uint64_t waits_at(std::size_t position) const { return waits_at_[position]; }

 private:
  void run(const Op& op, std::size_t position);
  void run_task(const Op& op, std::size_t position);
  void place(Queue queue, const Steps& must, std::size_t position);
  void settle(Queue queue);

  Ordering ordering_;
  std::vector<std::size_t> tasks_;
  std::vector<Step> steps_;  // By log position, of tasks.
  std::vector<std::uint64_t> waits_at_;
  std::uint64_t waits_min_ = 0;
};

}  // namespace thalweg::test::model
