// SPDX-License-Identifier: Apache-2.0
//
// thalweg/base/log.hpp - the log hook and the error sink.
//
// Both are process-wide and set by the program. Nothing is logged unless a hook is set. The error
// sink gets what no call could return: an error found in a destructor, and a failure of a task once
// nobody is left who could tell of it (the future of the task, the bytes that it left unwritten,
// who read them). Without a sink such an error is printed to stderr: it is never lost, but for
// failures that live when the process exits. In a forked child (base/forked.hpp) hooks are neither
// called nor set.
//
// Threads:    all functions may be called from any thread. A hook may be called from any thread,
//             also from one of the runtime's, never under a lock of the runtime.

#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "thalweg/base/error.hpp"

namespace thalweg {

enum class LogLevel : std::uint8_t { debug, info, warning, error };

using LogHook = std::function<void(LogLevel, std::string_view)>;
using ErrorSink = std::function<void(const Error&)>;

// Sets the hook, or removes it when empty. A call of the old hook that has begun on another thread
// may still be running afterwards.
THALWEG_EXPORT void set_log_hook(LogHook hook);

// Sets the sink, or removes it when empty; as set_log_hook().
THALWEG_EXPORT void set_error_sink(ErrorSink sink);

namespace detail {
THALWEG_EXPORT bool logging() noexcept;
THALWEG_EXPORT void log(LogLevel level, std::string_view message) noexcept;
THALWEG_EXPORT void to_error_sink(const Error& error) noexcept;
}  // namespace detail

}  // namespace thalweg
