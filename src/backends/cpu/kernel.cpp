// SPDX-License-Identifier: Apache-2.0

#include "backends/cpu/kernel.hpp"

#include <fmt/format.h>

#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <typeinfo>
#include <utility>

#include "backends/cpu/workers.hpp"
#include "base/plant.hpp"
#include "os/process.hpp"
#include "thalweg/base/log.hpp"

#if defined(__GNUC__)
#include <cstdlib>
#include <cxxabi.h>
#endif

namespace thalweg::cpu {
namespace {

std::string type_name(const std::type_info& type) {
  int status = 0;
  char* const plain = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  std::string text = status == 0 ? plain : type.name();
  std::free(plain);
  return text;
}

// REQUIRES: an exception is being handled.
Error failure(std::string_view what, std::string_view name, std::source_location site) {
  std::string cause = "something that is no std::exception";
  try {
    throw;
  } catch (const std::exception& thrown) {
    const char* const text = thrown.what();
    cause = fmt::format("{}: {}", type_name(typeid(thrown)), text != nullptr ? text : "no text");
  } catch (...) {
  }
  return Error(ErrorKind::task_failed, fmt::format("{} `{}` threw {}.", what, name, cause), site);
}

void run_fill(const FillBody& fill) noexcept {
  const auto* const pattern = reinterpret_cast<const std::byte*>(fill.pattern);
  const std::size_t step = fill.pattern_bytes;
  for (std::uint64_t row = 0; row != fill.rows; ++row) {
    std::byte* const to = fill.to + row * fill.pitch;
    if (fill.row_bytes == 0) continue;
    if (step == 1) {
      std::memset(to, static_cast<int>(*pattern), fill.row_bytes);
      continue;
    }
    // Doubles what is there.
    std::uint64_t done = std::min<std::uint64_t>(step, fill.row_bytes);
    std::memcpy(to, pattern, done);
    while (done < fill.row_bytes) {
      // Chunks that stay in the first-level cache once they are large.
      const std::uint64_t whole = std::min<std::uint64_t>(done, std::uint64_t{4096} / step * step);
      const std::uint64_t next = std::min(whole, fill.row_bytes - done);
      std::memcpy(to + done, to, next);
      done += next;
    }
  }
}

void run_copy(const CopyBody& copy) noexcept {
  if (copy.row_bytes == 0) return;
  for (std::uint64_t row = 0; row != copy.rows; ++row)
    std::memcpy(copy.to + row * copy.to_pitch, copy.from + row * copy.from_pitch, copy.row_bytes);
}

// The arguments lie behind the body.
template <class Body>
std::optional<Error> run_kernel(const Body& kernel, const Extent& extent, Workers& workers) {
  const auto* const arguments = reinterpret_cast<const std::byte*>(&kernel + 1);
  try {
    workers.run_cells(*kernel.code, arguments, extent);
    return std::nullopt;
  } catch (...) {
    return failure("Kernel", kernel.code->name(), kernel.site);
  }
}

std::string_view what_of(const HostBody& host) noexcept {
  return host.native ? "Native work" : "Host function";
}

std::optional<Error> run_indirect(const IndirectBody& kernel, Workers& workers) {
  Extent extent;
  std::memcpy(&extent, kernel.extent, sizeof(extent));
  if (launchable(extent)) return run_kernel(kernel, extent, workers);
  return Error(ErrorKind::task_failed,
               fmt::format("Kernel `{}` finds a grid of {} x {} x {} cells; 0 to 2^40 cells can be "
                           "launched, with y and z below 2^32.",
                           kernel.code->name(), extent.x, extent.y, extent.z),
               kernel.site);
}

std::optional<Error> run_host(HostBody& host) {
  try {
    host.function();
    return std::nullopt;
  } catch (...) {
    return failure(what_of(host), {host.name, host.name_bytes}, host.site);
  }
}

std::optional<Error> run_signal(const TimelineBody& signal) {
  if (signal.timeline->raise(signal.value)) return std::nullopt;
  return Error(ErrorKind::invalid_argument,
               fmt::format("A stream's signal of {} comes when the timeline is at {} already.",
                           signal.value, signal.timeline->value()),
               signal.site);
}

// Ends a task that nobody wants any more. Where its call stands is not kept for every kind.
[[gnu::cold]] Error stop(Slot& slot) {
  std::string_view what = "A task";
  std::string name;
  std::source_location site;
  const auto is_kernel = [&](const auto& kernel) {
    what = "Kernel";
    name = fmt::format(" `{}`", kernel.code->name());
    site = kernel.site;
  };
  if (slot.kind == SlotKind::kernel) {
    is_kernel(*body_of<KernelBody>(slot));
  } else if (slot.kind == SlotKind::indirect) {
    is_kernel(*body_of<IndirectBody>(slot));
  } else if (slot.kind == SlotKind::host) {
    auto* const host = body_of<HostBody>(slot);
    what = what_of(*host);
    name = fmt::format(" `{}`", std::string_view(host->name, host->name_bytes));
    site = host->site;
    host->~HostBody();
  }
  return Error(ErrorKind::cancelled, fmt::format("{}{} was stopped before it began.", what, name),
               site);
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
      run_fill(*body_of<FillBody>(slot));
      break;
    case SlotKind::copy:
      run_copy(*body_of<CopyBody>(slot));
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
