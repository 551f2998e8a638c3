// SPDX-License-Identifier: Apache-2.0

#include "backends/cpu/kernel.hpp"

#include <fmt/format.h>

#include <cctype>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/host_work.hpp"
#include "backends/cpu/uses.hpp"
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

// Who a task is, for reports.
struct Words {
  std::string_view what = "A task";
  std::string name;
  std::source_location site;

  // As in the middle of a sentence.
  std::string text() const {
    std::string words(what);
    words[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(words[0])));
    return name.empty() ? words : fmt::format("{} `{}`", words, name);
  }
};

[[gnu::cold]] Words words_of(Slot& slot) {
  switch (slot.kind) {
    case SlotKind::fill:
      return {"Fill", "", body_of<FillBody>(slot)->site};
    case SlotKind::touch:
      return {"Touch", "", body_of<TouchBody>(slot)->site};
    case SlotKind::copy: {
      const CopyBody& copy = *body_of<CopyBody>(slot);
      const bool up = copy.kind == neutral::TaskKind::upload;
      const bool back = copy.kind == neutral::TaskKind::read_back;
      return {up ? "Upload" : back ? "Read" : "Copy", "", copy.site};
    }
    case SlotKind::kernel: {
      const KernelBody& kernel = *body_of<KernelBody>(slot);
      return {"Kernel", std::string(kernel.code->name()), kernel.site};
    }
    case SlotKind::indirect: {
      const IndirectBody& kernel = *body_of<IndirectBody>(slot);
      return {"Kernel", std::string(kernel.code->name()), kernel.site};
    }
    case SlotKind::host: {
      const HostBody& host = *body_of<HostBody>(slot);
      return {what_of(host), std::string(host.name, host.name_bytes), host.site};
    }
    default:
      return {};
  }
}

// Why a task is not run; null: it is. Bad bytes come first: a stop is read when its turn has come.
[[gnu::cold]] std::optional<Error> held_back(Slot& slot, bool stopped, Workers& workers,
                                             backend::Outcomes& outcomes) {
  const std::vector<failure::Use> uses = uses_of(slot);
  const Words words = words_of(slot);
  const bool told = slot.completion != nullptr;
  if (std::optional<Error> bad = outcomes.starts(uses, words.text(), words.site, told)) {
    workers.count_skipped();
    return bad;
  }
  if (!stopped) return std::nullopt;
  workers.count_cancelled();
  Error error = backend::stopped(words.what, words.name, words.site);
  outcomes.failed(error, uses);
  return error;
}

// Does what the task is for, and destroys the body.
std::optional<Error> run(Slot& slot, Workers& workers) {
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
  return error;
}

}  // namespace

void execute(Slot& slot, bool stopped, Workers& workers, backend::Outcomes& outcomes) noexcept {
  const Workers::Busy busy(workers);
  std::optional<Error> error;
  if (stopped || outcomes.any_bad()) [[unlikely]]
    error = held_back(slot, stopped, workers, outcomes);
  if (error) [[unlikely]] {
    if (slot.kind == SlotKind::host) body_of<HostBody>(slot)->~HostBody();
  } else {
    error = run(slot, workers);
    if (error) [[unlikely]] {
      workers.count_failure();
      if (!outcomes.failed(*error, uses_of(slot)) && slot.completion == nullptr)
        thalweg::detail::to_error_sink(*error);
    } else if (outcomes.any_bad()) [[unlikely]] {
      outcomes.succeeded(uses_of(slot));
    }
  }
  destroy_uses(slot);
  if (slot.completion != nullptr) slot.completion->complete(error ? &*error : nullptr);
}

}  // namespace thalweg::cpu
