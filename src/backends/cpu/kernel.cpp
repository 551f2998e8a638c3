// SPDX-License-Identifier: Apache-2.0

#include "backends/cpu/kernel.hpp"

#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "backend/host_work.hpp"
#include "backends/cpu/workers.hpp"
#include "base/plant.hpp"
#include "os/process.hpp"
#include "thalweg/base/log.hpp"

namespace thalweg::cpu {
namespace {

backend::Rows rows_of(const FillBody& fill) noexcept {
  return {fill.row_bytes, fill.rows, fill.pitch};
}
backend::Rows rows_of(const CopyBody& copy) noexcept {
  return {copy.row_bytes, copy.rows, copy.to_pitch};
}

void run(const FillBody& fill) noexcept {
  backend::fill_rows(fill.to, rows_of(fill), fill.pattern, fill.pattern_bytes);
}

void run(const CopyBody& copy) noexcept {
  backend::copy_rows(copy.to, rows_of(copy), copy.from, copy.from_pitch);
}

// The arguments lie behind the body.
template <class Body>
std::optional<Error> run_kernel(const Body& kernel, const Extent& extent, Workers& workers) {
  const auto* const arguments = reinterpret_cast<const std::byte*>(&kernel + 1);
  try {
    workers.run_cells(*kernel.code, arguments, extent);
    return std::nullopt;
  } catch (...) {
    return backend::thrown("Kernel", kernel.code->name(), kernel.site);
  }
}

std::string_view what_of(const HostBody& host) noexcept {
  return host.native ? "Native work" : "Host function";
}

std::optional<Error> run_indirect(const IndirectBody& kernel, Workers& workers) {
  Extent extent;
  std::memcpy(&extent, kernel.extent, sizeof(extent));
  if (launchable(extent)) return run_kernel(kernel, extent, workers);
  return backend::grid_refused(kernel.code->name(), extent, kernel.site);
}

std::optional<Error> run_host(HostBody& host) {
  try {
    host.function();
    return std::nullopt;
  } catch (...) {
    return backend::thrown(what_of(host), {host.name, host.name_bytes}, host.site);
  }
}

std::optional<Error> run_signal(const TimelineBody& signal) {
  if (signal.timeline->raise(signal.value)) return std::nullopt;
  return backend::signal_refused(signal.value, signal.timeline->value(), signal.site);
}

// Ends a task that nobody wants any more. Where its call stands is not kept for every kind.
[[gnu::cold]] Error stop(Slot& slot) {
  std::string_view what = "A task";
  std::string name;
  std::source_location site;
  const auto is_kernel = [&](const auto& kernel) {
    what = "Kernel";
    name = kernel.code->name();
    site = kernel.site;
  };
  if (slot.kind == SlotKind::kernel) {
    is_kernel(*body_of<KernelBody>(slot));
  } else if (slot.kind == SlotKind::indirect) {
    is_kernel(*body_of<IndirectBody>(slot));
  } else if (slot.kind == SlotKind::host) {
    auto* const host = body_of<HostBody>(slot);
    what = what_of(*host);
    name.assign(host->name, host->name_bytes);
    site = host->site;
    host->~HostBody();
  }
  return backend::stopped(what, name, site);
}

}  // namespace

void execute(Slot& slot, bool stopped, Workers& workers) noexcept {
  const Workers::Busy busy(workers);
  if (stopped) [[unlikely]] {
    const Error error = stop(slot);
    workers.count_cancelled();
    if (slot.completion != nullptr) slot.completion->complete(&error);
    return;
  }
  std::optional<Error> error;
  switch (slot.kind) {
    case SlotKind::fill:
      run(*body_of<FillBody>(slot));
      break;
    case SlotKind::copy:
      run(*body_of<CopyBody>(slot));
      break;
    case SlotKind::kernel: {
      const auto& kernel = *body_of<KernelBody>(slot);
      error = run_kernel(kernel, kernel.extent(), workers);
      os::end_forked_child();
      break;
    }
    case SlotKind::indirect:
      error = run_indirect(*body_of<IndirectBody>(slot), workers);
      os::end_forked_child();
      break;
    case SlotKind::host: {
      auto* const host = body_of<HostBody>(slot);
      error = run_host(*host);
      os::end_forked_child();
      host->~HostBody();
      break;
    }
    case SlotKind::gate:
      body_of<TimelineBody>(slot)->timeline->release();
      break;
    case SlotKind::signal: {
      const TimelineBody& signal = *body_of<TimelineBody>(slot);
      error = run_signal(signal);
      signal.timeline->release();
      break;
    }
    case SlotKind::stamp: {
      neutral::Stamp* const time = body_of<StampBody>(slot)->time;
      if (!plant::planted(plant::Bug::time_at_submit)) time->set(workers.now());
      time->release();
      break;
    }
    default:
      break;
  }
  if (error) [[unlikely]] {
    workers.count_failure();
    if (slot.completion == nullptr) thalweg::detail::to_error_sink(*error);
  }
  if (slot.completion != nullptr) slot.completion->complete(error ? &*error : nullptr);
}

}  // namespace thalweg::cpu
