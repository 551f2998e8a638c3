// SPDX-License-Identifier: Apache-2.0

#include "thalweg/base/log.hpp"

#include <atomic>
#include <cstdio>
#include <memory>
#include <shared_mutex>
#include <utility>

namespace thalweg {
namespace {

// A hook is called under a shared lock, so that replacing it waits for calls that have begun. `base`
// knows no lock of ours, and this one guards nothing of the runtime's.
template <class Hook>
class Slot {
 public:
  void set(Hook hook) {
    std::unique_lock lock(mutex_);
    hook_ = std::move(hook);
    present_.store(static_cast<bool>(hook_), std::memory_order_release);
  }

  bool present() const noexcept { return present_.load(std::memory_order_acquire); }

  template <class... Args>
  bool call(const Args&... args) {
    std::shared_lock lock(mutex_);
    if (!hook_) return false;
    hook_(args...);
    return true;
  }

 private:
  std::atomic<bool> present_{false};
  std::shared_mutex mutex_;
  Hook hook_;
};

// Never destroyed: threads of the runtime may still report while the process exits.
Slot<LogHook>& log_slot() {
  static Slot<LogHook>& slot = *new Slot<LogHook>;
  return slot;
}

Slot<ErrorSink>& sink_slot() {
  static Slot<ErrorSink>& slot = *new Slot<ErrorSink>;
  return slot;
}

}  // namespace

void set_log_hook(LogHook hook) { log_slot().set(std::move(hook)); }

void set_error_sink(ErrorSink sink) { sink_slot().set(std::move(sink)); }

namespace detail {

bool logging() noexcept { return log_slot().present(); }

void log(LogLevel level, std::string_view message) {
  if (logging()) log_slot().call(level, message);
}

void to_error_sink(const Error& error) noexcept {
  try {
    if (sink_slot().call(error)) return;
  } catch (...) {
    std::fputs("thalweg: the error sink threw; the error follows.\n", stderr);
  }
  std::fprintf(stderr, "thalweg: %s\n", error.to_string().c_str());
}

}  // namespace detail
}  // namespace thalweg
