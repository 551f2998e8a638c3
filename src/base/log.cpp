// SPDX-License-Identifier: Apache-2.0

#include "thalweg/base/log.hpp"

#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <utility>

#include "thalweg/base/forked.hpp"

namespace thalweg {
namespace {

// The hook is called outside the lock: it may call the runtime, or set another hook. (`base` is
// below the layer with the annotated locks.)
template <class Hook>
class Slot {
 public:
  void set(Hook hook) {
    // The former hook is destroyed without the lock: what it captured may log.
    auto next = hook ? std::make_shared<const Hook>(std::move(hook)) : nullptr;
    if (detail::forked()) return;
    std::lock_guard lock(mutex_);
    hook_.swap(next);
    present_.store(hook_ != nullptr, std::memory_order_release);
  }

  bool present() const noexcept { return present_.load(std::memory_order_acquire); }

  template <class... Args>
  bool call(const Args&... args) {
    std::shared_ptr<const Hook> hook;
    if (detail::forked()) return false;
    {
      std::lock_guard lock(mutex_);
      hook = hook_;
    }
    if (hook) (*hook)(args...);
    return hook != nullptr;
  }

 private:
  std::atomic<bool> present_{false};
  std::mutex mutex_;
  std::shared_ptr<const Hook> hook_;
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

void log(LogLevel level, std::string_view message) noexcept {
  try {
    if (logging()) log_slot().call(level, message);
  } catch (...) {
    std::fputs("thalweg: the log hook threw.\n", stderr);
  }
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
