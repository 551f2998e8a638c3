// SPDX-License-Identifier: Apache-2.0
//
// tests/support/program.hpp - random programs for a device, as plain data.
//
// A program is a prologue and a part for each host thread. Everything it does follows from one
// seed:
//
//   prologue   streams, events, gates, the buffers that all parts share
//   part 0     op, op, op, ...         each part on a thread of its own, with its own streams and
//   part 1     op, op, op, ...         buffers besides the shared ones
//
// Elements are 32-bit numbers and all arithmetic wraps. The operations do not commute (x = x * 3 +
// y), so a result depends on the order. What they compute is said here once and written down twice:
// in model/results.cpp on vectors, and in program_runner.cpp on the device.
//
// This file knows nothing of the library.

#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace thalweg::test {

// Elements [first, first + count) of a buffer; or so many of each of `rows` rows, `pitch` apart.
struct Range {
  int buffer = -1;  // -1: none.
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::uint32_t rows = 1;
  std::uint32_t pitch = 0;  // At least `count` where there are rows.

  bool given() const noexcept { return buffer >= 0; }
  bool tile() const noexcept { return rows != 1; }
  std::uint32_t total() const noexcept { return count * rows; }

  // Element `i` in the buffer, row by row.
  std::uint32_t element(std::uint32_t i) const noexcept {
    return tile() ? first + i / count * pitch + i % count : first + i;
  }
  bool contains(std::uint32_t at) const noexcept {
    if (at < first || total() == 0) return false;
    const std::uint32_t behind = at - first;
    const std::uint32_t row = tile() ? std::min(behind / pitch, rows - 1) : 0;
    return behind - row * pitch < count;
  }
};

// The cells of a launch whose grid the device reads lie at these distances in `a`, whatever its
// grid, which has at most so many.
inline constexpr std::uint32_t kGridX = 64;
inline constexpr std::uint32_t kGridY = 3;
inline constexpr std::uint32_t kGridZ = 2;

// Words of a buffer that holds a grid: three numbers of 64 bits.
inline constexpr std::uint32_t kGridWords = 6;

enum class OpKind : std::uint8_t {
  // Handles.
  create_stream,  // `stream`.
  drop_stream,    // `stream`: the last handle goes, work may be enqueued.
  create_buffer,  // `a`, whole, at home on `stream`; then `other` sets each element to `value`.
  create_upload,  // `a`, whole, at home on `stream`, made of pattern(value, i).
  drop_buffer,    // The buffer of `a`.

  // Tasks on `stream`. Where an index runs past the end of b or c it starts again at their first
  // element; an empty b or c counts as zeros. The `a` of fills, copies, uploads, reads and host
  // functions may be a tile, whose elements count row by row, and so may the `b` of a copy.
  fill,             // a[i] = value.
  fill_bytes,       // `a` counts bytes here: each becomes the low byte of `value`.
  copy,             // a[i] = b[i].
  affine,           // a[i] = a[i] * 3 + value in the first x * y * z elements.
  axpy,             // a[i] = a[i] * 3 + b[i] + value.
  combine,          // a[i] = b[i] * 5 + c[i] * 7 + value; every element of `a` is written.
  exchange,         // a[i], b[i] = b[i] + value, a[i] * 3 + 1.
  add,              // a[i] += value.
  add_pair,         // a[i] += value, b[i] += value.
  tile_axpy,        // a[i] = a[i] * 3 + b[i] + value, both tiles of one shape.
  tile_combine,     // a[i] = b[i] * 5 + c[i] * 7 + value, `a` and `b` as above.
  indirect,         // a[i] = a[i] * 3 + value in the cells of the grid that `c` holds.
  set_grid,         // `a`, which holds a grid, gets x, y, z, in one of three ways.
  host_update,      // a[i] = a[i] * 5 + b[i] + value, by a host function; ordered with all of `c`.
  host_write,       // a[i] = pattern(value, i), by a host function.
  host_opens_gate,  // A host function raises gate `gate` to `value`.
  upload_copy,      // a[i] = pattern(value, i), three ways.
  upload_move,
  upload_borrowed,
  read,  // Reads `a` back into future number `read`.

  // Order. No task.
  record,       // `event` on `stream`.
  wait_event,   // `stream` waits for `event`.
  wait_stream,  // `stream` waits for `other`.
  close_gate,   // `stream` waits until `gate` is at `value`.
  open_gate,    // The host raises `gate` to `value`.

  // The host.
  get,          // Takes what future `read` holds; waits for it.
  drop_future,  // Drops future `read`.
  test_future,  // Asks future `read` whether it is ready.
  host_waits_event,
  query_event,
  synchronize_stream,
  synchronize_device,
  try_synchronize,  // With a deadline of zero.
  poll,
  trim,
  refused,  // A submission on `stream` that is no legal one; `value` says which.
};

// The name of the enumerator.
const char* name(OpKind kind) noexcept;

struct Op {
  OpKind kind = OpKind::poll;
  int stream = -1;
  int other = -1;
  int event = -1;
  int gate = -1;
  int read = -1;
  Range a;
  Range b;
  Range c;
  std::uint32_t value = 0;
  std::uint32_t x = 1;  // The grid of `affine`, and what `set_grid` writes.
  std::uint32_t y = 1;
  std::uint32_t z = 1;
};

// Whether the device gets a task from it. create_buffer and create_upload submit one too.
bool is_task(OpKind kind) noexcept;

// Whether the host may be held by it until the device has done something.
bool waits_on_host(OpKind kind) noexcept;

// Element `i` of made-up contents.
inline std::uint32_t pattern(std::uint32_t value, std::uint32_t i) noexcept {
  return value * 2654435761u + i * 40503u;
}

// Bits of an element for what one thread adds to a shared buffer where there is no lock.
inline constexpr int kCommutingBits = 10;

// How the device is opened.
struct DeviceSetup {
  int workers = 1;
  int random_delay_us = 0;
  bool helping = true;
  bool skip_passed = true;

  // Options of a simulated device, "seed=3&copy_engines=1": it takes the place of the cpu.
  std::string sim = {};

  // What Device::open takes.
  std::string name() const;
};

struct Program {
  std::uint64_t seed = 0;
  DeviceSetup setup;

  // Submissions of several threads are made under one lock of the host, and logged. Without it,
  // what the threads do to shared buffers commutes: add, add_pair and read of whole buffers.
  bool locked = true;

  std::vector<Op> prologue;
  std::vector<std::vector<Op>> parts;

  // Ids in the operations are below these.
  int streams = 0;
  int buffers = 0;
  int events = 0;
  int gates = 0;
  int reads = 0;

  // Buffers below this are shared by the parts.
  int shared_buffers = 0;
};

// What programs are drawn from.
struct ProgramShape {
  int threads = 1;
  bool locked = true;

  // Buffers and streams are dropped in the middle, and others are made: memory is used again.
  bool drops = true;

  // The host waits in the middle.
  bool blocking = true;

  // Streams wait for gates that the host opens later.
  bool gates = true;

  // Views start and end at eighths of their buffers only, so that no access map is ever joined.
  bool coarse = false;

  // Of a tile. A map of more than 64 ranges is joined.
  std::uint32_t rows_max = 100;

  std::uint32_t ops_min = 10;
  std::uint32_t ops_max = 60;
};

Program make_program(std::uint64_t seed, const ProgramShape& shape);

// The order in which operations took effect. Part -1 is the prologue.
struct LogEntry {
  int part = -1;
  int index = 0;
};
using Log = std::vector<LogEntry>;

inline const Op& op_of(const Program& program, LogEntry entry) {
  const auto index = static_cast<std::size_t>(entry.index);
  return entry.part < 0 ? program.prologue[index]
                        : program.parts[static_cast<std::size_t>(entry.part)][index];
}

// One operation, and the whole program, for people.
std::string describe(const Op& op);
std::string describe(const Program& program);

}  // namespace thalweg::test
