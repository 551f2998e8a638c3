// SPDX-License-Identifier: Apache-2.0
//
// tests/support/every_schedule.hpp - claims about all schedules of a small program.
//
// A closed gate shows one schedule. Here a program runs under each one that it has, and what a test
// says of an order is exact: a wait that is missing gives an order too many, and one that nobody
// needs an order too few.
//
//   orders_of(a notes 1, b notes 2)                     {1, 2}, {2, 1}
//   orders_of(a notes 1, b waits for a and notes 2)     {1, 2}

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "thalweg/explore.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {

// Runs the program under every schedule: nothing is found in any of them.
template <class Program>
Exploration explore_all(const Program& program, const ExploreOptions& options = {}) {
  Exploration result = must(explore(options, program));
  EXPECT_TRUE(result.findings.empty()) << result.report();
  EXPECT_TRUE(result.complete) << result.report();
  return result;
}

using Order = std::vector<int>;

// Who came when in one run. Copies are the same notes.
class Notes {
 public:
  // By whoever calls: the host, a task, a callback.
  void add(int who) const { order_->push_back(who); }

  // By a host function.
  Future<void> future(const Stream& stream, int who, Accesses accesses = {}) const {
    return stream.host("note", accesses, [notes = *this, who] { notes.add(who); });
  }
  void task(const Stream& stream, int who, Accesses accesses = {}) const {
    static_cast<void>(future(stream, who, accesses));
  }

  bool has(int who) const {
    return std::find(order_->begin(), order_->end(), who) != order_->end();
  }
  const Order& order() const { return *order_; }

 private:
  std::shared_ptr<Order> order_ = std::make_shared<Order>();
};

// As ExploreProgram. What the actors share is made in `before`, and dropped in `after` or sooner.
struct NotingProgram {
  using Function = std::function<void(ExploreRun&, const Notes&)>;

  Function before;
  std::vector<Function> actors;
  Function after;
};

// All orders in which the notes of the program can come. REQUIRES: what tasks compute does not
// depend on the schedule, nor do the program's own observations.
inline std::set<Order> orders_of(const NotingProgram& noting) {
  std::set<Order> orders;
  Notes notes;
  ExploreProgram program;
  program.before = [&](ExploreRun& run) {
    notes = Notes();
    if (noting.before) noting.before(run, notes);
  };
  for (const NotingProgram::Function& actor : noting.actors)
    program.actors.emplace_back([&notes, &actor](ExploreRun& run) { actor(run, notes); });
  program.after = [&](ExploreRun& run) {
    if (noting.after) noting.after(run, notes);
    orders.insert(notes.order());
    std::uint64_t hash = 1;
    for (const int who : notes.order()) hash = hash * 31 + static_cast<std::uint64_t>(who);
    run.observe(hash);
  };
  // The program is called for comparing too, and an order that came only there is none of those the
  // search came to.
  const Exploration found = explore_all(program);
  EXPECT_EQ(found.outcomes.size(), orders.size()) << found.report();
  return orders;
}

inline std::set<Order> orders_of(const NotingProgram::Function& actor) {
  NotingProgram program;
  program.actors.push_back(actor);
  return orders_of(program);
}

}  // namespace thalweg::test
