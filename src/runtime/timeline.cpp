// SPDX-License-Identifier: Apache-2.0

#include "runtime/timeline.hpp"

#include <fmt/format.h>

#include "sync/parking.hpp"
#include "thalweg/base/forked.hpp"

namespace thalweg::runtime {

using thalweg::detail::forked;
using thalweg::detail::forked_error;

Result<void> Timeline::signal(std::uint64_t value, Site site) {
  if (forked()) [[unlikely]]
    return forked_error(site);
  if (timeline_.raise(value)) return {};
  return Error(ErrorKind::invalid_argument,
               fmt::format("A timeline at {} cannot go down to {}.", timeline_.value(), value),
               site);
}

Result<void> Timeline::wait(std::uint64_t value, Deadline deadline, Site site) {
  if (forked()) [[unlikely]]
    return forked_error(site);
  if (timeline_.reached(value)) return {};
  return device_->blocked(WaitReason::timeline, deadline, site, [&] {
    return sync::wait_until(timeline_, value, deadline, device_->clock())
               ? Result<void>()
               : Error(ErrorKind::timeout,
                       fmt::format("The deadline came while the timeline was at {}, below {}.",
                                   timeline_.value(), value));
  });
}

}  // namespace thalweg::runtime
