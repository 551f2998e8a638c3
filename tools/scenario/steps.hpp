// SPDX-License-Identifier: Apache-2.0
//
// tools/scenario/steps.hpp - the steps of a scenario from their JSON.

#pragma once

#include <cstdint>
#include <vector>

#include "scenario/fields.hpp"
#include "scenario/names.hpp"
#include "scenario/scenario.hpp"

namespace thalweg::tool::scenario {

// REQUIRES: `scenario` has its declarations, and `names` knows them.
Result<std::vector<Step>> read_steps(const Fields& fields, std::string_view key,
                                     const Scenario& scenario, const Names& names);

}  // namespace thalweg::tool::scenario
