// SPDX-License-Identifier: Apache-2.0
//
// tools/scenario/program.hpp - a scenario as a program of the explorer.

#pragma once

#include "scenario/call_sites.hpp"
#include "scenario/scenario.hpp"
#include "thalweg/explore.hpp"

namespace thalweg::tool::scenario {

// The scenario and the call sites outlive the program.
ExploreProgram program_of(const Scenario& scenario, const CallSites& sites, bool with_faults);

}  // namespace thalweg::tool::scenario
