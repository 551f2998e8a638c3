// SPDX-License-Identifier: Apache-2.0

#include "thalweg/event.hpp"

#include <utility>

#include "api/handle.hpp"

namespace thalweg {

Result<Event> Event::create(const Device& device, std::source_location site) {
  if (!device.valid()) return detail::no_handle("device", site);
  THALWEG_TRY_ASSIGN(Ref<detail::EventCore> core, device.core()->create_event(false, site));
  return Event(std::move(core));
}

EventState Event::query() const noexcept { return core_ ? core_->query() : EventState::lost; }

Result<void> Event::wait(Deadline deadline, std::source_location site) const {
  if (!core_) return detail::no_handle("event", site);
  return core_->wait(deadline, site);
}

Result<void> Event::on_complete(UniqueFunction function, std::source_location site) const {
  if (!core_) return detail::no_handle("event", site);
  if (!function) return detail::no_callback(site);
  return core_->on_complete(std::move(function), site);
}

Result<TimedEvent> TimedEvent::create(const Device& device, std::source_location site) {
  if (!device.valid()) return detail::no_handle("device", site);
  THALWEG_TRY_ASSIGN(Ref<detail::EventCore> core, device.core()->create_event(true, site));
  return TimedEvent(std::move(core));
}

Result<std::chrono::nanoseconds> elapsed(const TimedEvent& from, const TimedEvent& to,
                                         std::source_location site) {
  if (!from.valid() || !to.valid()) return detail::no_handle("event", site);
  return from.core()->until(*to.core(), site);
}

}  // namespace thalweg
