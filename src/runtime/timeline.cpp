// SPDX-License-Identifier: Apache-2.0

#include "runtime/timeline.hpp"

#include <fmt/format.h>

#include "sync/parking.hpp"
#include "thalweg/base/forked.hpp"

namespace thalweg::runtime {

using thalweg::detail::forked;
using thalweg::detail::forked_error;

Timeline::~Timeline() {
  if (backend::Observer* const observer = device_->observer(); observer != nullptr && !forked())
      [[unlikely]]
    observer->timeline_dropped(*this);
}

std::uint64_t Timeline::asked_value() const noexcept {
  if (backend::Observer* const observer = device_->observer(); observer != nullptr && !forked())
      [[unlikely]] {
    observer->turn(Site::current());
    observer->timeline_asked(*this, timeline_.value());
  }
  return timeline_.value();
}

Result<void> Timeline::signal(std::uint64_t value, Site site) {
  if (forked()) [[unlikely]]
    return forked_error(site);
  device_->turn(site);
  if (backend::Observer* const observer = device_->observer(); observer != nullptr)
    observer->timeline_raised(*this, timeline_.value(), value, site);
  if (timeline_.raise(value)) {
    device_->turn(site);
    return {};
  }
  return Error(ErrorKind::invalid_argument,
               fmt::format("A timeline at {} cannot go down to {}.", timeline_.value(), value),
               site);
}

Result<void> Timeline::wait(std::uint64_t value, Deadline deadline, Site site) {
  if (forked()) [[unlikely]]
    return forked_error(site);
  device_->turn(site);
  if (backend::Observer* const observer = device_->observer(); observer != nullptr)
    observer->timeline_asked(*this, value);
  THALWEG_TRY(device_->alive(site));
  if (timeline_.reached(value)) return {};
  THALWEG_TRY(device_->blocked(WaitReason::timeline, deadline, site, [&]() -> Result<void> {
    auto waited = device_->wait_for(*this, value, deadline);
    if (waited && (*waited || waited->error().kind() != ErrorKind::timeout))
      return *std::move(waited);
    if (!waited && sync::wait_until(timeline_, value, deadline, device_->clock())) return {};
    return Error(ErrorKind::timeout,
                 fmt::format("The deadline came while the timeline was at {}, below {}.",
                             timeline_.value(), value));
  }));
  return device_->alive(site);
}

}  // namespace thalweg::runtime
