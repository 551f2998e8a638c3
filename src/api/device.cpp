// SPDX-License-Identifier: Apache-2.0

#include "thalweg/device.hpp"

#include "api/handle.hpp"

// Device::open is in the layer `builtin`, which knows the backends.

namespace thalweg {

Result<void> Device::synchronize(Deadline deadline, std::source_location site) const {
  if (!core_) return detail::no_handle("device", site);
  return core_->synchronize(deadline, site);
}

bool Device::poll() const noexcept { return !core_ || core_->poll(); }

std::uint64_t Device::trim(std::uint64_t keep_bytes) const noexcept {
  return core_ ? core_->trim(keep_bytes) : 0;
}

PriorityRange Device::priority_range() const noexcept {
  return core_ ? core_->priority_range() : PriorityRange{};
}

FailureScope Device::failure_scope() const noexcept {
  return core_ ? core_->failure_scope() : FailureScope::task;
}

Result<void> Device::close(Deadline deadline, std::source_location site) const {
  if (!core_) return detail::no_handle("device", site);
  return core_->close(deadline, site);
}

std::vector<LivingFailure> Device::failures() const {
  return core_ ? core_->failures() : std::vector<LivingFailure>();
}

Statistics Device::statistics() const { return core_ ? core_->statistics() : Statistics{}; }

MemoryUsage Device::memory_usage() const {
  return core_ ? core_->memory_usage(MemoryKind::device) : MemoryUsage{};
}

MemoryUsage Device::host_memory_usage() const {
  return core_ ? core_->memory_usage(MemoryKind::host) : MemoryUsage{};
}

WaitLedger Device::wait_ledger() const { return core_ ? core_->wait_ledger() : WaitLedger{}; }

std::string_view Device::name() const noexcept {
  return core_ ? core_->name() : std::string_view{};
}

std::string_view Device::backend() const noexcept {
  return core_ ? core_->backend() : std::string_view{};
}

DeviceId Device::id() const noexcept { return core_ ? core_->id() : DeviceId{}; }

}  // namespace thalweg
