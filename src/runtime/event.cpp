// SPDX-License-Identifier: Apache-2.0

#include "runtime/event.hpp"

#include <fmt/format.h>

#include <array>

#include "runtime/after.hpp"

namespace thalweg::runtime {

void Event::open(Ref<Device> device, bool timed) noexcept {
  device_ = std::move(device);
  timed_ = timed;
  point_.store(kNever, std::memory_order_relaxed);
  record_.with([](Timed& record) { record = {}; });
}

// The device takes it first: it may end with this reference.
void Event::last_reference_gone() noexcept {
  const Ref<Device> device = std::move(device_);
  record_.with([](Timed& record) { record = {}; });
  device->recycle(this);
}

void Event::set(order::Point point, Ref<neutral::Stamp> time) {
  if (timed_) {
    record_.with([&](Timed& record) {
      record.point = point;
      record.time.swap(time);
    });
  }
  point_.store(point, std::memory_order_release);
}

// Which refusal comes first is part of the contract.
Result<std::chrono::nanoseconds> Event::until(const EventCore& core,
                                              thalweg::detail::Site site) const {
  if (thalweg::detail::forked()) return thalweg::detail::forked_error(site);
  device_->turn(site);
  THALWEG_TRY(device_->alive(site));
  const auto& later = static_cast<const Event&>(core);
  if (later.device_ != device_)
    return Error(ErrorKind::context_mismatch,
                 fmt::format("Events of device `{}` (id {}) and of device `{}` (id {}) have no "
                             "common clock.",
                             device_->name(), device_->id().value, later.device_->name(),
                             later.device_->id().value),
                 site);
  const std::array<Timed, 2> records{record(), later.record()};
  for (const Timed& record : records) {
    const bool without =
        record.point != kNever && (!record.time || (passed(record.point) && !record.time->time()));
    if (!timed_ || !later.timed_ || without)
      return Error(ErrorKind::timing_disabled, "An event was recorded without a time.", site);
  }
  for (const Timed& record : records)
    if (record.point == kNever)
      return Error(ErrorKind::event_not_recorded,
                   "The time of an event is asked for that was never recorded.", site);
  for (const Timed& record : records)
    if (!passed(record.point))
      return Error(ErrorKind::not_ready,
                   "The time of an event is asked for before its record has passed.", site);
  return *records[1].time->time() - *records[0].time->time();
}

Result<void> Event::on_complete(UniqueFunction function, thalweg::detail::Site site) {
  if (thalweg::detail::forked()) return thalweg::detail::forked_error(site);
  const order::Point latest = point();
  if (latest == kNever)
    return Error(ErrorKind::event_not_recorded,
                 "A callback is asked for after an event that was never recorded.", site);
  order::PointSet points;
  points.add(latest);
  device_->turn(site);
  THALWEG_TRY(device_->alive(site));
  call_after(points, std::move(function), device_->observer());
  device_->turn(site);
  return {};
}

}  // namespace thalweg::runtime
