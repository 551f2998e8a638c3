// SPDX-License-Identifier: Apache-2.0
//
// Callbacks under the search: they are steps of their own, and what may come before or behind one
// is not left out.

#include "support/every_schedule.hpp"
#include "unit/sim/explored.hpp"

namespace thalweg::test {
namespace {

// Callbacks that come before the search begins are counted like those of the search: otherwise the
// call that gives the second callback here would pass for what makes the first one possible, and
// the search would never look at the first one coming before that call.
TEST(SimCallbacks, OnesBeforeTheActorsDoNotShiftThoseOfTheActors) {
  for (int earlier = 0; earlier != 3; ++earlier) {
    NotingProgram program;
    program.before = [earlier](ExploreRun& run, const Notes&) {
      const Stream s = must(Stream::create(run.device()));
      const Future<void> future = s.host("before", {}, [] {});
      for (int i = 0; i != earlier; ++i) must(future.on_complete([] {}));
      must(s.synchronize());
    };
    program.actors.emplace_back([](ExploreRun& run, const Notes& notes) {
      const Stream s = must(Stream::create(run.device()));
      const Future<void> future = s.host("over", {}, [] {});
      must(s.synchronize());
      must(future.on_complete([notes] { notes.add(1); }));
      notes.add(0);
      must(future.on_complete([notes] { notes.add(2); }));
    });
    EXPECT_EQ(orders_of(program), (std::set<Order>{{0, 1, 2}, {1, 0, 2}})) << earlier;
  }
}

}  // namespace
}  // namespace thalweg::test
