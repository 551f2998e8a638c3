// SPDX-License-Identifier: Apache-2.0
//
// tools/scenario/scenario.hpp - a program for the explorer as data. docs/scenarios.md describes the
// file it is read from.
//
// Objects are declared once, and steps name them by their number in their list. What is read from a
// file is checked: every number names something, and every range lies in its buffer.
//
// Threads:    plain values.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "thalweg/base/error.hpp"
#include "thalweg/base/result.hpp"
#include "thalweg/event.hpp"

namespace thalweg::tool::scenario {

// More is refused: a file cannot take the memory or the time of the machine.
inline constexpr std::size_t kFileBytesMax = std::size_t{4} << 20;
inline constexpr std::uint32_t kLinesMax = 200'000;
inline constexpr std::size_t kObjectsMax = 1024;
inline constexpr std::size_t kAccessesMax = 8;  // Of one task.
inline constexpr std::uint64_t kBufferBytesMax = std::uint64_t{1} << 28;
inline constexpr std::uint64_t kRepeatsMax = 10'000;  // Nested ones multiplied.
inline constexpr std::size_t kNameMax = 64;

enum class Element : std::uint8_t { u8, u32 };

constexpr std::uint64_t size_of(Element element) noexcept { return element == Element::u8 ? 1 : 4; }

enum class ObjectKind : std::uint8_t { stream, buffer, event, timeline };

struct ObjectId {
  ObjectKind kind = ObjectKind::stream;
  std::size_t index = 0;  // In the list of its kind.
};

// What all declarations have. `later` objects are made by a step.
struct Declared {
  std::string name;
  std::uint32_t line = 0;
  bool later = false;
};

struct StreamSpec : Declared {
  int priority = 0;
};

struct BufferSpec : Declared {
  std::size_t home = 0;
  Element element = Element::u32;
  std::uint64_t count = 0;
  bool host = false;  // Page-locked memory of the host.
};

struct EventSpec : Declared {};

struct TimelineSpec : Declared {
  std::uint64_t value = 0;
};

// Elements [first, first + count) of a buffer.
struct Range {
  std::size_t buffer = 0;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

struct Touches {
  std::vector<Range> reads;
  std::vector<Range> writes;
  std::vector<Range> updates;

  std::size_t count() const noexcept { return reads.size() + writes.size() + updates.size(); }
};

enum class Compute : std::uint8_t {
  mix,  // Writes a hash of all that was read, in its order, and of the task's name.
  set,  // Writes `value`.
  add,  // Adds `value` to what it updates.
};

struct Step;

struct Fill {
  std::size_t stream = 0;
  Range to;
  std::uint32_t value = 0;
};

struct Copy {
  std::size_t stream = 0;
  Range to;
  Range from;
};

struct Upload {
  std::size_t stream = 0;
  Range to;
  std::vector<std::uint32_t> values;
};

enum class WorkKind : std::uint8_t { host, native, kernel, raw };

// A task of the program's own code.
struct Work {
  WorkKind kind = WorkKind::host;
  std::size_t stream = 0;
  std::string name;
  Touches declared;    // None of raw work.
  Touches undeclared;  // What it touches besides.
  Compute compute = Compute::mix;
  std::uint32_t value = 0;
  std::uint64_t leaves = 0;  // kernel: elements at the end that it does not write.
  std::vector<Step> steps;   // host: what it calls.
};

struct Touch {
  std::size_t stream = 0;
  Touches touches;
};

struct Record {
  std::size_t stream = 0;
  std::size_t event = 0;
};

struct WaitEvent {
  std::size_t stream = 0;
  std::size_t event = 0;
};

struct WaitStream {
  std::size_t stream = 0;
  std::size_t other = 0;
};

struct WaitTimeline {
  std::size_t stream = 0;
  std::size_t timeline = 0;
  std::uint64_t value = 0;
};

struct Signal {
  std::optional<std::size_t> stream;  // None: the host signals.
  std::size_t timeline = 0;
  std::uint64_t value = 0;
};

using DeadlineNs = std::optional<std::uint64_t>;

// The host waits for one of the two.
struct HostWait {
  std::optional<std::size_t> event;
  std::optional<std::size_t> timeline;
  std::uint64_t value = 0;
  DeadlineNs deadline;
};

struct Create {
  ObjectId object;
};

struct Drop {
  ObjectId object;
};

// Values of elements; a single one stands for all. Empty: anything.
using Values = std::vector<std::uint32_t>;

struct Read {
  std::size_t stream = 0;
  Range from;
  Values expect;
  DeadlineNs deadline;
  bool wait = true;  // Off: the future is dropped.
};

enum class MapFor : std::uint8_t { reading, writing, update };

// The host opens a view, looks at it, writes it, and closes it.
struct Map {
  Range of;
  MapFor mode = MapFor::reading;
  Values expect;
  std::optional<std::uint32_t> value;
  DeadlineNs deadline;
};

struct Synchronize {
  std::optional<std::size_t> stream;  // None: the device.
  DeadlineNs deadline;
};

struct Query {
  std::size_t event = 0;
  std::vector<EventState> expect;  // Any of them. Empty: anything.
};

struct Poll {
  std::optional<bool> expect;
};

struct Repeat {
  std::uint64_t times = 0;
  std::vector<Step> steps;
};

// What may come of a step: a kind of error, or none.
using Outcome = std::optional<ErrorKind>;

struct Step {
  std::uint32_t line = 0;
  std::string verb;
  std::vector<Outcome> outcomes;  // Any of them. Empty: only success.
  std::variant<Fill, Copy, Upload, Work, Touch, Record, WaitEvent, WaitStream, WaitTimeline, Signal,
               HostWait, Create, Drop, Read, Map, Synchronize, Query, Poll, Repeat>
      what;
};

struct Scenario {
  std::string file;  // For messages.
  std::string device = "sim";
  std::uint32_t device_line = 0;  // 0: the file does not say.
  std::vector<StreamSpec> streams;
  std::vector<BufferSpec> buffers;
  std::vector<EventSpec> events;
  std::vector<TimelineSpec> timelines;
  std::vector<Step> before;
  std::vector<std::vector<Step>> actors;
  std::vector<Step> after;
  std::uint32_t lines = 1;  // Of the file.
};

// Errors: invalid_argument: "<name>:<line>: <the key, what is wrong with it, and what it takes>".
Result<Scenario> parse(std::string_view text, std::string_view name);

// "not_recorded": as the files have it.
std::string_view name(EventState state) noexcept;

}  // namespace thalweg::tool::scenario
