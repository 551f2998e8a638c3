// SPDX-License-Identifier: Apache-2.0

#include "scenario/program.hpp"

#include <memory>
#include <utility>

#include "scenario/world.hpp"

namespace thalweg::tool::scenario {
namespace {

// All in one function: what ends the run early drops the handles as well.
ExploreProgram of_one_actor(const Scenario& scenario, const CallSites& sites, bool with_faults) {
  ExploreProgram program;
  program.actors.push_back([&scenario, &sites, with_faults](ExploreRun& run) {
    const auto world = std::make_shared<World>(scenario, sites, with_faults);
    world->create_all(run);
    world->perform(scenario.before, run);
    world->perform(scenario.actors.front(), run);
    world->perform(scenario.after, run);
    world->finish(run);
  });
  return program;
}

// The world of the present run.
struct Present {
  std::shared_ptr<World> world;

  void perform(const std::vector<Step>& steps, ExploreRun& run) {
    const std::shared_ptr<World> kept = world;
    try {
      if (kept) kept->perform(steps, run);
    } catch (...) {
      // No other function of this run may come after.
      world.reset();
      throw;
    }
  }
};

ExploreProgram of_actors(const Scenario& scenario, const CallSites& sites, bool with_faults) {
  const auto present = std::make_shared<Present>();
  ExploreProgram program;
  program.before = [present, &scenario, &sites, with_faults](ExploreRun& run) {
    present->world = std::make_shared<World>(scenario, sites, with_faults);
    present->world->create_all(run);
    present->perform(scenario.before, run);
  };
  for (const std::vector<Step>& steps : scenario.actors) {
    // Whoever does nothing would only have his turn before and behind everybody's.
    if (steps.empty() && (!program.actors.empty() || &steps != &scenario.actors.back())) continue;
    program.actors.push_back(
        [present, steps = &steps](ExploreRun& run) { present->perform(*steps, run); });
  }
  program.after = [present, &scenario](ExploreRun& run) {
    present->perform(scenario.after, run);
    const std::shared_ptr<World> world = std::move(present->world);
    if (world) world->finish(run);
  };
  return program;
}

}  // namespace

ExploreProgram program_of(const Scenario& scenario, const CallSites& sites, bool with_faults) {
  return scenario.actors.size() == 1 ? of_one_actor(scenario, sites, with_faults)
                                     : of_actors(scenario, sites, with_faults);
}

}  // namespace thalweg::tool::scenario
