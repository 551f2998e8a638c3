// SPDX-License-Identifier: Apache-2.0

#include "thalweg/timeline.hpp"

#include <utility>

#include "api/handle.hpp"

namespace thalweg {

Result<Timeline> Timeline::create(const Device& device, std::uint64_t value,
                                  std::source_location site) {
  if (!device.valid()) return detail::no_handle("device", site);
  THALWEG_TRY_ASSIGN(Ref<detail::TimelineCore> core, device.core()->create_timeline(value, site));
  return Timeline(std::move(core));
}

Result<void> Timeline::signal(std::uint64_t value, std::source_location site) const {
  if (!core_) return detail::no_handle("timeline", site);
  return core_->signal(value, site);
}

Result<void> Timeline::wait(std::uint64_t value, Deadline deadline,
                            std::source_location site) const {
  if (!core_) return detail::no_handle("timeline", site);
  return core_->wait(value, deadline, site);
}

std::uint64_t Timeline::value() const noexcept { return core_ ? core_->asked_value() : 0; }

}  // namespace thalweg
