// SPDX-License-Identifier: Apache-2.0

#include "explore/settings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "backends/sim/effects.hpp"
#include "thalweg/base/no_wait.hpp"

namespace thalweg::explore_detail {

bool go_on(const std::function<bool(const ExploreProgress&)>& progress,
           const ExploreProgress& now) noexcept {
  try {
    return progress(now);
  } catch (...) {
    return false;
  }
}

Result<void> check_program(const ExploreProgram& program, std::source_location site) {
  if (NoWaitScope::active())
    return Error(ErrorKind::wait_forbidden,
                 "An exploration is forbidden in a NoWaitScope, which host functions and kernels "
                 "run in: its program waits.",
                 site);
  if (program.actors.empty())
    return Error(ErrorKind::invalid_argument, "A program without actors has nothing to explore.",
                 site);
  if (program.actors.size() > sim::kActorsMax)
    return Error(ErrorKind::invalid_argument,
                 fmt::format("A program of {} actors is explored; the limit is {}.",
                             program.actors.size(), sim::kActorsMax),
                 site);
  for (const ExploreProgram::Function& actor : program.actors)
    if (!actor) return Error(ErrorKind::invalid_argument, "An actor is an empty function.", site);
  return {};
}

Result<sim::Settings> settings_of(std::string_view device,
                                  std::initializer_list<std::string_view> left_out,
                                  std::source_location site) {
  if (device.empty())
    return Error(ErrorKind::invalid_argument,
                 "The name of the device is empty; `sim` is the simulated device.", site);
  THALWEG_TRY_ASSIGN(const device_name::DeviceName name, device_name::parse_name(device, site));
  if (name.backend != "sim")
    return Error(ErrorKind::invalid_argument,
                 fmt::format("Device `{}` is of backend `{}`; only simulated ones are explored.",
                             device, name.backend),
                 site);
  for (const auto& [option, value] : name.options)
    if (std::find(left_out.begin(), left_out.end(), option) != left_out.end())
      return Error(ErrorKind::invalid_argument,
                   fmt::format("Device `{}` has the option `{}`, which is the exploration's here, "
                               "not the device's.",
                               device, option),
                   site);
  return sim::apply(name, {}, site);
}

}  // namespace thalweg::explore_detail
