// SPDX-License-Identifier: Apache-2.0

#include "thalweg/base/trace.hpp"

#include <fmt/format.h>

#include <iterator>

namespace thalweg {
namespace {

// Every format string here is without `L`: fmt then asks no locale.
using Text = std::back_insert_iterator<std::string>;

std::string_view verb(AccessMode mode) noexcept {
  switch (mode) {
    case AccessMode::read:
      return "reads";
    case AccessMode::write:
      return "writes";
    case AccessMode::read_write:
      return "updates";
    case AccessMode::token:
      return "orders";
  }
  return "unknown";
}

// As the schedules name them: "h", "h1", "s0".
std::string lane_text(std::int32_t lane) {
  if (lane == kHostLane) return "h";
  return lane < 0 ? fmt::format("h{}", -1 - std::int64_t{lane}) : fmt::format("s{}", lane);
}

std::string buffer_text(std::int32_t buffer) {
  return buffer < 0 ? "memory" : fmt::format("b{}", buffer);
}

// A line feed or a backquote of the program's would end the line or the text early.
void add_escaped(Text out, std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || c == '`' || c == '\\')
      fmt::format_to(out, "\\x{:02x}", byte);
    else
      *out++ = c;
  }
}

void add_quoted(Text out, std::string_view text) {
  if (text.empty()) return;
  fmt::format_to(out, " `");
  add_escaped(out, text);
  *out++ = '`';
}

void add_range(Text out, std::int32_t buffer, std::uint64_t offset, std::uint64_t size_bytes) {
  fmt::format_to(out, " {}[{}, {})", buffer_text(buffer), offset, offset + size_bytes);
}

// The verb stands before the first of those that share it.
void add_accesses(Text out, const std::vector<TraceAccess>& accesses) {
  const TraceAccess* before = nullptr;
  for (const TraceAccess& access : accesses) {
    if (access.rows == 0) continue;  // Of no bytes.
    if (before == nullptr || before->mode != access.mode)
      fmt::format_to(out, " {}", verb(access.mode));
    add_range(out, access.buffer, access.offset, access.row_bytes);
    if (access.rows != 1) fmt::format_to(out, "x{} every {}", access.rows, access.pitch);
    before = &access;
  }
}

void add_place(Text out, const TraceEvent& event) {
  fmt::format_to(out, "{}", lane_text(event.lane));
  if (event.raw)
    fmt::format_to(out, " raw");
  else if (event.lane >= 0)
    fmt::format_to(out, "@{}", event.serial);
}

// A host that waits for no lane waits for a timeline.
void add_awaited(Text out, const TraceEvent& event) {
  if (event.other_lane < 0)
    fmt::format_to(out, " for timeline at {}", event.other_serial);
  else
    fmt::format_to(out, " for {}@{}", lane_text(event.other_lane), event.other_serial);
}

void add_task(Text out, const TraceEvent& event) {
  add_place(out, event);
  fmt::format_to(out, " {}", name(event.task));
  add_quoted(out, event.text);
  add_accesses(out, event.accesses);
}

void add_allocation(Text out, const TraceEvent& event) {
  fmt::format_to(out, "{} {} gets {} bytes from {}", lane_text(event.lane),
                 buffer_text(event.buffer), event.size_bytes, event.offset);
  add_quoted(out, event.text);
}

void add_run(Text out, const TraceEvent& event) {
  add_place(out, event);
  fmt::format_to(out, " from {} ns for {} ns", event.time_ns, event.duration_ns);
  if (!event.text.empty()) fmt::format_to(out, " failed");
  add_quoted(out, event.text);
}

void add_map(Text out, const TraceEvent& event) {
  fmt::format_to(out, "{}", lane_text(event.lane));
  add_range(out, event.buffer, event.offset, event.size_bytes);
  add_quoted(out, event.text);
}

void add_lane_and_text(Text out, const TraceEvent& event) {
  fmt::format_to(out, "{}", lane_text(event.lane));
  add_quoted(out, event.text);
}

void add_what(Text out, const TraceEvent& event) {
  switch (event.kind) {
    case TraceKind::submit:
      return add_task(out, event);
    case TraceKind::wait:
      add_place(out, event);
      return add_awaited(out, event);
    case TraceKind::run:
      return add_run(out, event);
    case TraceKind::host_wait:
    case TraceKind::host_went:
      add_lane_and_text(out, event);
      return add_awaited(out, event);
    case TraceKind::allocate:
      return add_allocation(out, event);
    case TraceKind::drop:
      fmt::format_to(out, "{} {}", lane_text(event.lane), buffer_text(event.buffer));
      return;
    case TraceKind::map:
    case TraceKind::unmap:
      return add_map(out, event);
    case TraceKind::signal:
      add_lane_and_text(out, event);
      fmt::format_to(out, " timeline to {}", event.serial);
      return;
    case TraceKind::finding:
      add_place(out, event);
      return add_quoted(out, event.text);
    case TraceKind::stream:
    case TraceKind::refuse:
    case TraceKind::end:
      return add_lane_and_text(out, event);
  }
}

class Fnv1a {
 public:
  void add(std::string_view bytes) noexcept {
    for (const char c : bytes) state_ = (state_ ^ static_cast<unsigned char>(c)) * kPrime;
  }
  std::uint64_t value() const noexcept { return state_; }

 private:
  static constexpr std::uint64_t kPrime = 0x100000001b3;
  std::uint64_t state_ = 0xcbf29ce484222325;
};

}  // namespace

std::string_view name(TraceKind kind) noexcept {
  switch (kind) {
    case TraceKind::stream:
      return "stream";
    case TraceKind::submit:
      return "submit";
    case TraceKind::wait:
      return "wait";
    case TraceKind::run:
      return "run";
    case TraceKind::host_wait:
      return "host_wait";
    case TraceKind::host_went:
      return "host_went";
    case TraceKind::allocate:
      return "allocate";
    case TraceKind::drop:
      return "drop";
    case TraceKind::map:
      return "map";
    case TraceKind::unmap:
      return "unmap";
    case TraceKind::signal:
      return "signal";
    case TraceKind::refuse:
      return "refuse";
    case TraceKind::finding:
      return "finding";
    case TraceKind::end:
      return "end";
  }
  return "unknown";
}

std::string_view name(neutral::TaskKind kind) noexcept {
  switch (kind) {
    case neutral::TaskKind::empty:
      return "empty";
    case neutral::TaskKind::fill:
      return "fill";
    case neutral::TaskKind::copy:
      return "copy";
    case neutral::TaskKind::upload:
      return "upload";
    case neutral::TaskKind::read_back:
      return "read_back";
    case neutral::TaskKind::kernel:
      return "kernel";
    case neutral::TaskKind::indirect:
      return "indirect";
    case neutral::TaskKind::host:
      return "host";
    case neutral::TaskKind::native:
      return "native";
    case neutral::TaskKind::wait:
      return "wait";
    case neutral::TaskKind::signal:
      return "signal";
    case neutral::TaskKind::stamp:
      return "stamp";
    case neutral::TaskKind::last:
      return "last";
  }
  return "unknown";
}

std::string to_text(const TraceEvent& event) {
  std::string text;
  const Text out(text);
  fmt::format_to(out, "{:<10}", name(event.kind));
  add_what(out, event);
  if (event.time_ns != 0 && event.kind != TraceKind::run)
    fmt::format_to(out, " at {} ns", event.time_ns);
  if (event.file.empty()) return text;
  text += ' ';
  add_escaped(out, event.file);
  fmt::format_to(out, ":{}", event.line);
  return text;
}

std::string to_text(const Trace& trace) {
  std::string text;
  for (const TraceEvent& event : trace) {
    text += to_text(event);
    text += '\n';
  }
  return text;
}

std::uint64_t hash(const Trace& trace) {
  Fnv1a hash;
  for (const TraceEvent& event : trace) {
    hash.add(to_text(event));
    hash.add("\n");
  }
  return hash.value();
}

std::string_view file_name(std::string_view path) noexcept {
  const std::size_t slash = path.find_last_of("/\\");
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace thalweg
