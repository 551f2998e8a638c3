// SPDX-License-Identifier: Apache-2.0
//
// explore/settings.hpp - what explore() and explore_faults() are given, checked.

#pragma once

#include <functional>
#include <initializer_list>
#include <source_location>
#include <string_view>

#include "backends/sim/settings.hpp"
#include "thalweg/explore.hpp"

namespace thalweg::explore_detail {

// `device` without `left_out`, options that are no business of the device's here.
// Errors: invalid_argument, when the name is not one of a simulated device, or has one of these.
Result<sim::Settings> settings_of(std::string_view device,
                                  std::initializer_list<std::string_view> left_out,
                                  std::source_location site);

// What the program's function says; one that throws says no.
bool go_on(const std::function<bool(const ExploreProgress&)>& progress,
           const ExploreProgress& now) noexcept;

// Errors: invalid_argument, for a program without actors, with too many, or with an empty one.
Result<void> check_program(const ExploreProgram& program, std::source_location site);

}  // namespace thalweg::explore_detail
