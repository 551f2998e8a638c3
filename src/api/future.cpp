// SPDX-License-Identifier: Apache-2.0

#include "thalweg/future.hpp"

#include <utility>

#include "api/handle.hpp"
#include "base/callback.hpp"
#include "base/explored.hpp"
#include "base/news.hpp"
#include "thalweg/base/forked.hpp"
#include "thalweg/base/log.hpp"

namespace thalweg::detail {

FutureBase::~FutureBase() {
  if (!error_ || taken_) return;
  // Whoever stops a task knows. News tells itself, perhaps by the bytes it is about.
  if (error_->kind() == ErrorKind::cancelled || error_->kind() == ErrorKind::unwritten ||
      is_news(*error_))
    return;
  const ExploredProgram* const program = ExploredProgram::here();
  if (program == nullptr || !program->fails_on_purpose()) to_error_sink(*error_);
}

void FutureBase::complete(const Error* error) noexcept {
  if (error != nullptr) error_ = *error;
}

void FutureBase::accepted(Ref<DeviceCore> device, order::Point point) noexcept {
  device_ = std::move(device);
  point_ = point;
}

bool FutureBase::ready() const noexcept { return forked() || device_->passed(point_); }

Result<void> FutureBase::on_complete(UniqueFunction function, Site site) const {
  if (forked()) return forked_error(site);
  device_->on_passed(point_, std::move(function));
  return {};
}

Error no_function(Site site) { return no_callback(site); }

void call_here(UniqueFunction& function) noexcept { call_reporting(function); }

Result<void> FutureBase::wait(Deadline deadline, Site site) {
  THALWEG_TRY(device_->wait(point_, WaitReason::future, deadline, site));
  if (!error_) return {};
  taken_ = true;
  heard(*error_);
  return error_->site().line() == 0 ? error_->at(site) : *error_;
}

}  // namespace thalweg::detail
