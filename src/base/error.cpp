// SPDX-License-Identifier: Apache-2.0

#include "thalweg/base/error.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <utility>

#include "base/explored.hpp"
#include "thalweg/base/result.hpp"

namespace thalweg {

struct Error::Body {
  ErrorKind kind;
  std::string message;
  std::source_location site;
  std::optional<Error> cause;

  // Body by body: a long chain would need a deep stack.
  ~Body() {
    std::shared_ptr<const Body> next;
    if (cause) next = std::move(cause->body_);
    while (next && next.use_count() == 1) {
      // Nobody else has it, and every body is made without const.
      std::optional<Error>& further = const_cast<Body&>(*next).cause;
      std::shared_ptr<const Body> behind;
      if (further) behind = std::move(further->body_);
      next = std::move(behind);
    }
  }
};

std::string_view name(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::invalid_argument:
      return "invalid_argument";
    case ErrorKind::invalid_size:
      return "invalid_size";
    case ErrorKind::invalid_handle:
      return "invalid_handle";
    case ErrorKind::backend_mismatch:
      return "backend_mismatch";
    case ErrorKind::context_mismatch:
      return "context_mismatch";
    case ErrorKind::not_found:
      return "not_found";
    case ErrorKind::out_of_memory:
      return "out_of_memory";
    case ErrorKind::pools_in_use:
      return "pools_in_use";
    case ErrorKind::queue_full:
      return "queue_full";
    case ErrorKind::unsupported:
      return "unsupported";
    case ErrorKind::unavailable:
      return "unavailable";
    case ErrorKind::compile_failed:
      return "compile_failed";
    case ErrorKind::task_failed:
      return "task_failed";
    case ErrorKind::unwritten:
      return "unwritten";
    case ErrorKind::cancelled:
      return "cancelled";
    case ErrorKind::graph_state:
      return "graph_state";
    case ErrorKind::not_capturable:
      return "not_capturable";
    case ErrorKind::capture_unjoined:
      return "capture_unjoined";
    case ErrorKind::event_not_recorded:
      return "event_not_recorded";
    case ErrorKind::timing_disabled:
      return "timing_disabled";
    case ErrorKind::not_ready:
      return "not_ready";
    case ErrorKind::wait_forbidden:
      return "wait_forbidden";
    case ErrorKind::timeout:
      return "timeout";
    case ErrorKind::device_lost:
      return "device_lost";
    case ErrorKind::internal:
      return "internal";
  }
  return "unknown";
}

Error::Error(ErrorKind kind, std::string message, std::source_location site)
    : body_(std::make_shared<Body>(Body{kind, std::move(message), site, std::nullopt})) {}

Error::Error(std::shared_ptr<const Body> body) noexcept : body_(std::move(body)) {}

ErrorKind Error::kind() const noexcept { return body_ ? body_->kind : ErrorKind::invalid_handle; }

std::string_view Error::message() const noexcept {
  return body_ ? std::string_view(body_->message) : "The error was moved from.";
}

const std::source_location& Error::site() const noexcept {
  static const std::source_location nowhere;
  return body_ ? body_->site : nowhere;
}

const Error* Error::cause() const noexcept {
  return body_ && body_->cause ? &*body_->cause : nullptr;
}

const Error& Error::root() const noexcept {
  const Error* error = this;
  while (const Error* next = error->cause()) error = next;
  return *error;
}

Error Error::with_context(std::string_view context) const {
  std::optional<Error> inner;
  if (const Error* next = cause()) inner = *next;
  return Error(std::make_shared<Body>(
      Body{kind(), fmt::format("{}: {}", context, message()), site(), std::move(inner)}));
}

Error Error::at(std::source_location site) const {
  std::optional<Error> inner;
  if (const Error* next = cause()) inner = *next;
  return Error(
      std::make_shared<Body>(Body{kind(), std::string(message()), site, std::move(inner)}));
}

Error Error::caused_by(const Error& root) const {
  std::optional<Error> inner = root;
  if (const Error* next = cause()) inner = next->caused_by(root);
  return Error(
      std::make_shared<Body>(Body{kind(), std::string(message()), site(), std::move(inner)}));
}

std::string Error::to_string() const {
  std::string text;
  for (const Error* error = this; error != nullptr; error = error->cause()) {
    if (error != this) text += "\n  caused by ";
    text += fmt::format("{}: {} [{}:{}]", name(error->kind()), error->message(),
                        error->site().file_name(), error->site().line());
  }
  return text;
}

namespace detail {

// Nothing can be thrown while something else is on its way.
void exit_with(const Error& error) {
  ExploredProgram* const program = ExploredProgram::here();
  if (program != nullptr && std::uncaught_exceptions() == 0) {
    program->must_fails(error);
    throw MustFailed(error);
  }
  std::fprintf(stderr, "%s\n", error.to_string().c_str());
  std::exit(1);
}

}  // namespace detail
}  // namespace thalweg
