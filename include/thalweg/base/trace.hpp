// SPDX-License-Identifier: Apache-2.0
//
// thalweg/base/trace.hpp - the event record: what happened on a device, in order.
//
//   submit    s1@2 kernel `blur` reads b0[0, 64) writes b1[0, 64) main.cpp:12
//   wait      s1@2 for s0@3
//   run       s1@2 from 120 ns for 10000 ns
//
// Streams and buffers are counted by the device in the order in which they were made, and serials
// from the start of their stream: nothing in a record depends on the machine, on other devices, or
// on what the process did before. Times are the device's.
//
// Threads:    plain values.
// Ownership:  an event owns its texts.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/access.hpp"
#include "thalweg/base/export.hpp"
#include "thalweg/base/task.hpp"

namespace thalweg {

enum class TraceKind : std::uint8_t {
  stream,  // A stream was made: `lane`; `text` is its name.
  submit,  // A task was accepted: `lane`, `serial`, `task`, `text`, `accesses`.
  wait,    // What comes next on `lane`, at `serial`, waits for `other_lane` at `other_serial`.
  run,     // A task ran: `lane`, `serial`, from `time_ns` for `duration_ns`; `text` how it failed.
  host_wait,  // The host began to wait for `other_lane` at `other_serial`, or for a timeline.
  host_went,  // The host's wait is over.
  allocate,   // `buffer` got `size_bytes` from `offset` of the device's memory; `lane` is home.
  drop,       // The last handle of `buffer` went.
  map,        // The host opened a view of `buffer`.
  unmap,      // And closed it.
  signal,     // The host raised a timeline to `serial`.
  refuse,     // A call was refused; `text` says which and why.
  finding,    // A rule was broken; `text` says which.
  end,        // A stream ended: `lane`.
};

// The name of the enumerator.
THALWEG_EXPORT std::string_view name(TraceKind kind) noexcept;
THALWEG_EXPORT std::string_view name(neutral::TaskKind kind) noexcept;

// Lanes below 0 are those of the host: -1 - n is its n-th actor.
inline constexpr std::int32_t kHostLane = -1;

struct TraceAccess {
  std::int32_t buffer = -1;  // -1: memory of the program's.
  AccessMode mode = AccessMode::read;
  std::uint64_t offset = 0;  // Bytes.
  std::uint64_t row_bytes = 0;
  std::uint64_t rows = 1;
  std::uint64_t pitch = 0;
};

struct TraceEvent {
  TraceKind kind = TraceKind::submit;
  neutral::TaskKind task = neutral::TaskKind::empty;
  bool raw = false;  // Work that was put on a native queue past the runtime: it has no serial.
  std::int32_t lane = kHostLane;
  std::int32_t other_lane = kHostLane;
  std::int32_t buffer = -1;
  std::uint64_t serial = 0;
  std::uint64_t other_serial = 0;
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t time_ns = 0;
  std::uint64_t duration_ns = 0;
  std::string text;
  std::string file;  // Of the call: the file's own name, without folders.
  std::uint32_t line = 0;
  std::vector<TraceAccess> accesses;
};

using Trace = std::vector<TraceEvent>;

// One event a line, the same bytes on every machine.
THALWEG_EXPORT std::string to_text(const TraceEvent& event);
THALWEG_EXPORT std::string to_text(const Trace& trace);

// The FNV-1a hash (64 bits) of to_text().
THALWEG_EXPORT std::uint64_t hash(const Trace& trace);

// A file's own name, without the folders that differ between machines.
THALWEG_EXPORT std::string_view file_name(std::string_view path) noexcept;

}  // namespace thalweg
