// SPDX-License-Identifier: Apache-2.0
//
// thalweg/base/error.hpp - what a refused call answers.
//
// An Error is one pointer wide and immutable: copying it shares the text. It says what failed as a
// sentence in the present tense with the value and the limit, the call site of the user's call,
// and, where it came from somewhere else, the cause.
//
// Threads:    an Error may be read from any thread.
// Ownership:  owns its text and its causes.

#pragma once

#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/export.hpp"

namespace thalweg {

// The kinds are stable: programs may branch on them. The text is for people and may change.
enum class ErrorKind : std::uint8_t {
  invalid_argument,
  invalid_size,
  invalid_handle,    // Moved from, default made, or of something that is closed.
  backend_mismatch,  // Two handles of different backends in one call.
  context_mismatch,  // Two handles of different devices in one call that takes one.
  not_found,
  out_of_memory,
  pools_in_use,
  queue_full,
  unsupported,
  unavailable,  // The backend, driver or device is not there, and the message says why.
  compile_failed,
  task_failed,  // A task ran and failed; the message holds its own words.
  unwritten,    // The bytes asked for were left unwritten by a failed or skipped task.
  cancelled,
  graph_state,
  not_capturable,
  capture_unjoined,
  event_not_recorded,
  timing_disabled,
  not_ready,
  wait_forbidden,  // A call would wait on the host where waiting is not allowed.
  timeout,         // The deadline came first. Everything is as it was.
  device_lost,
  internal,
};

// The name of the enumerator.
THALWEG_EXPORT std::string_view name(ErrorKind kind) noexcept;

class Error;

namespace detail {
struct ErrorNews;
}

// thalweg/base/failure.hpp
struct FailureReport;
THALWEG_EXPORT Error unwritten(std::vector<FailureReport> reports, std::source_location site);

class [[nodiscard]] THALWEG_EXPORT Error {
 public:
  Error(ErrorKind kind, std::string message,
        std::source_location site = std::source_location::current());

  ErrorKind kind() const noexcept;
  std::string_view message() const noexcept;

  // Where the user's call stands that was refused.
  const std::source_location& site() const noexcept;

  // The error this one follows from; null when it is the root.
  const Error* cause() const noexcept;

  // The last error of the chain of causes; *this when there is none.
  const Error& root() const noexcept;

  // Of an `unwritten`: each failure among the bytes that were asked for, once, in the order in
  // which they are met. Empty for other kinds. Valid as long as this error or a copy of it.
  std::span<const FailureReport> failures() const noexcept;

  // The same error with `context` put before its message: "upload of 12 bytes: ...".
  Error with_context(std::string_view context) const;

  // The same error as it shows at another call site.
  Error at(std::source_location site) const;

  // The same error with `cause` at the end of its chain.
  Error caused_by(const Error& cause) const;

  // For people: kind, message, call site, then for each failure what was skipped on the way, and
  // each cause on a line of its own.
  std::string to_string() const;

  // One JSON object: kind, message, file, line, and where there are any, failures and cause. Bytes
  // that are no UTF-8 are replaced.
  std::string to_json() const;

  struct Body;

 private:
  friend struct detail::ErrorNews;
  friend Error unwritten(std::vector<FailureReport> reports, std::source_location site);

  explicit Error(std::shared_ptr<const Body> body) noexcept;
  std::shared_ptr<Body> copied() const;

  std::shared_ptr<const Body> body_;  // Null only after a move.
};

}  // namespace thalweg
