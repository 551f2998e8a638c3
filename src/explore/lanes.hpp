// SPDX-License-Identifier: Apache-2.0
//
// explore/lanes.hpp - where the events of a trace lie, for whoever draws them.
//
// A moment is a place on the axis. Moments are numbered from left to right; how far apart they are
// is the drawer's choice, as long as what it draws fits between them:
//
//   moment   0    1    2        3      4
//   host     a    b                    c      a, b, c are calls: each has a moment of its own.
//   s0            [ task 1     ]              Boxes that begin, or end, at one time share one.
//   s1                 [ task 1        ]
//
// Moments of different times lie in the order of the times, and those of one time in the order of
// the trace: what takes no time is seen as well as what takes long.
//
// Threads:    none.
// Ownership:  a layout borrows the events of its trace.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/trace.hpp"

namespace thalweg::lanes {

using Moment = std::size_t;

struct Row {
  std::int32_t lane = kHostLane;
  std::string_view name;  // A stream's own; may be empty.
};

// Something that fills its row from one moment to another.
struct Span {
  std::size_t row = 0;
  Moment begin = 0;
  Moment end = 0;
};

// A task on its stream.
struct Box : Span {
  const TraceEvent* submit = nullptr;  // Null: the trace does not say.
  const TraceEvent* run = nullptr;     // Null: it has not run. It then stands behind all that has.
  std::vector<const TraceEvent*> waits;  // Events of kind `wait` for this task.
  bool found = false;                    // A finding names it.

  // One of the two, which both say lane, serial and whether it is raw.
  const TraceEvent& event() const noexcept { return submit != nullptr ? *submit : *run; }
};

// The host waits; up to the last moment when it never ends.
struct HostWait : Span {
  const TraceEvent* began = nullptr;
  const TraceEvent* went = nullptr;  // Null: it never ended.
};

// A call of the host, a finding, or the end of a stream. It has a moment of its own.
struct Mark {
  std::size_t row = 0;
  Moment at = 0;
  const TraceEvent* event = nullptr;
};

struct Layout {
  std::vector<Row> rows;  // The actors of the host, then the streams.
  std::vector<Box> boxes;
  std::vector<HostWait> host_waits;
  std::vector<Mark> marks;
  std::vector<std::uint64_t> times_ns;  // Of each moment; never falls.
};

Layout layout_of(const Trace& trace);

// At least `width` from `begin` to `end`.
struct Need {
  Moment begin = 0;
  Moment end = 0;
  std::uint32_t width = 0;
};

// The places of the moments on a drawing, as near to one another as the needs allow: each is at
// least `apart` behind the one before, and more where time goes by, by the logarithm of it.
std::vector<std::uint32_t> places_of(const Layout& layout, std::uint32_t apart,
                                     const std::vector<Need>& needs);

// For each mark the moment up to which it has its row for itself.
std::vector<Moment> ends_of_marks(const Layout& layout);

// "h", "h1", "s0".
std::string lane_text(std::int32_t lane);

// "s0@1"; "timeline 3" for what no lane has.
std::string point_text(std::int32_t lane, std::uint64_t serial);

// "s0@1", or "s0 raw".
std::string point_of(const TraceEvent& event);

// A task in a few letters: its name, or its kind.
std::string_view label_of(const Box& box);

// A mark in a few letters.
std::string label_of(const Mark& mark);

// What a drawing has no room for: findings, refusals, and tasks that failed or have not run.
struct Note {
  std::string_view sign;  // "!", "refused:", "x" or "?": a box that it is about has it too.
  std::string text;       // May hold anything: words of the program's are in it.
  bool bad = false;       // Something that should not be.
};

std::vector<Note> notes_of(const Layout& layout);

// "10us": in the largest unit that leaves a whole number.
std::string time_text(std::uint64_t time_ns);

}  // namespace thalweg::lanes
