// SPDX-License-Identifier: Apache-2.0

#include "thalweg/base/error.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "base/explored.hpp"
#include "base/json.hpp"
#include "base/news.hpp"
#include "thalweg/base/failure.hpp"
#include "thalweg/base/result.hpp"

namespace thalweg {

struct Error::Body {
  ErrorKind kind;
  std::string message;
  std::source_location site;
  std::optional<Error> cause;
  std::vector<FailureReport> failures;
  std::shared_ptr<detail::News> news;

  Body(ErrorKind what, std::string text, std::source_location where)
      : kind(what), message(std::move(text)), site(where) {}
  Body(const Body&) = default;

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
    : body_(std::make_shared<Body>(kind, std::move(message), site)) {}

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

std::span<const FailureReport> Error::failures() const noexcept {
  return body_ ? std::span<const FailureReport>(body_->failures) : std::span<const FailureReport>();
}

// A copy, to be changed before anybody sees it.
std::shared_ptr<Error::Body> Error::copied() const {
  if (body_) return std::make_shared<Body>(*body_);
  return std::make_shared<Body>(kind(), std::string(message()), site());
}

Error Error::with_context(std::string_view context) const {
  const auto body = copied();
  body->message = fmt::format("{}: {}", context, message());
  return Error(body);
}

Error Error::at(std::source_location site) const {
  const auto body = copied();
  body->site = site;
  return Error(body);
}

Error Error::caused_by(const Error& root) const {
  const auto body = copied();
  body->cause = cause() != nullptr ? cause()->caused_by(root) : root;
  return Error(body);
}

namespace {

// "16 bytes from byte 4 of allocation 7", "16 bytes at address 0x7f12".
std::string bytes_text(const FailedBytes& bytes) {
  if (bytes.by_address)
    return fmt::format("{} bytes at address {:#x}", bytes.size_bytes, bytes.offset);
  return fmt::format("{} bytes from byte {} of allocation {}", bytes.size_bytes, bytes.offset,
                     bytes.allocation.value);
}

}  // namespace

Error unwritten(std::vector<FailureReport> reports, std::source_location site) {
  const FailureReport& first = reports.front();
  const std::string others =
      reports.size() == 1
          ? ""
          : fmt::format(", and others because of {} more failures", reports.size() - 1);
  const auto body = std::make_shared<Error::Body>(
      ErrorKind::unwritten,
      fmt::format("{} were left unwritten{}.", bytes_text(first.bytes), others), site);
  body->cause = first.root;
  body->failures = std::move(reports);
  return Error(body);
}

// News.

namespace detail {

struct ErrorNews {
  static Error with(const Error& error, std::shared_ptr<News> news) {
    const auto body = error.copied();
    body->news = std::move(news);
    return Error(body);
  }

  // Calls `function(news)` for the error's own, those of its failures and those of its causes.
  template <class F>
  static void for_each(const Error& error, F function) {
    for (const Error* at = &error; at != nullptr; at = at->cause()) {
      if (!at->body_) continue;
      if (at->body_->news) function(*at->body_->news);
      for (const FailureReport& report : at->body_->failures)
        if (report.root.body_ && report.root.body_->news) function(*report.root.body_->news);
    }
  }
};

Error with_news(const Error& error, std::shared_ptr<News> news) {
  return ErrorNews::with(error, std::move(news));
}

bool is_news(const Error& error) noexcept {
  bool any = false;
  ErrorNews::for_each(error, [&any](News&) { any = true; });
  return any;
}

void heard(const Error& error) noexcept {
  ErrorNews::for_each(error, [](News& news) { news.heard(); });
}

}  // namespace detail

// For people.

namespace {

// " [file:line]"; nothing where it is not known.
std::string place(const std::source_location& site) {
  return site.line() == 0 ? "" : fmt::format(" [{}:{}]", site.file_name(), site.line());
}

void write_way(std::string& text, const FailureReport& report) {
  const auto out = std::back_inserter(text);
  for (const SkippedTask& skipped : report.chain)
    fmt::format_to(out, "\n  by way of {}{}{}, skipped: it reads {}", skipped.task,
                   skipped.stream.empty() ? "" : fmt::format(" on stream `{}`", skipped.stream),
                   place(skipped.site), bytes_text(skipped.input));
  if (report.chain_dropped != 0) fmt::format_to(out, "\n  by way of {} more", report.chain_dropped);
}

void write_failures(std::string& text, std::span<const FailureReport> reports) {
  for (const FailureReport& report : reports) {
    if (&report != reports.data())
      fmt::format_to(std::back_inserter(text), "\n  and {}, because of {}: {}{}",
                     bytes_text(report.bytes), name(report.root.kind()), report.root.message(),
                     place(report.root.site()));
    write_way(text, report);
  }
}

}  // namespace

std::string Error::to_string() const {
  std::string text;
  for (const Error* error = this; error != nullptr; error = error->cause()) {
    if (error != this) text += "\n  caused by ";
    text += fmt::format("{}: {}{}", name(error->kind()), error->message(), place(error->site()));
    write_failures(text, error->failures());
  }
  return text;
}

// For programs.

namespace {

void write_site(std::string& text, const std::source_location& site) {
  fmt::format_to(std::back_inserter(text), "\"file\":{},\"line\":{}",
                 detail::json_string(site.file_name()), site.line());
}

std::string bytes_json(const FailedBytes& bytes) {
  return fmt::format("{{\"allocation\":{},\"{}\":{},\"size_bytes\":{}}}", bytes.allocation.value,
                     bytes.by_address ? "address" : "offset", bytes.offset, bytes.size_bytes);
}

void write_error(std::string& text, const Error& error);

void write_report(std::string& text, const FailureReport& report) {
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "{{\"failure\":{},\"bytes\":{},\"carriers\":{},\"skips\":{},\"root\":",
                 report.failure.value, bytes_json(report.bytes), report.carriers, report.skips);
  write_error(text, report.root);
  text += ",\"chain\":[";
  for (const SkippedTask& skipped : report.chain) {
    if (&skipped != report.chain.data()) text += ',';
    fmt::format_to(out, "{{\"task\":{},\"stream\":{},\"input\":{},",
                   detail::json_string(skipped.task), detail::json_string(skipped.stream),
                   bytes_json(skipped.input));
    write_site(text, skipped.site);
    text += '}';
  }
  fmt::format_to(out, "],\"chain_dropped\":{}}}", report.chain_dropped);
}

// Without the causes, which may be many.
void write_open(std::string& text, const Error& error) {
  fmt::format_to(std::back_inserter(text), "{{\"kind\":\"{}\",\"message\":{},", name(error.kind()),
                 detail::json_string(error.message()));
  write_site(text, error.site());
  if (error.failures().empty()) return;
  text += ",\"failures\":[";
  for (const FailureReport& report : error.failures()) {
    if (&report != error.failures().data()) text += ',';
    write_report(text, report);
  }
  text += ']';
}

void write_error(std::string& text, const Error& error) {
  std::size_t open = 0;
  for (const Error* at = &error; at != nullptr; at = at->cause()) {
    if (at != &error) text += ",\"cause\":";
    write_open(text, *at);
    ++open;
  }
  text.append(open, '}');
}

}  // namespace

std::string Error::to_json() const {
  std::string text;
  write_error(text, *this);
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
