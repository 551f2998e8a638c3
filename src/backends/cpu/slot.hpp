// SPDX-License-Identifier: Apache-2.0
//
// backends/cpu/slot.hpp - how tasks lie in a queue.
//
//   slot 64 B    kind .. | wait 0 | wait 1 | 40 B of body         a body that is longer goes on in
//                the
//   slot 64 B    ........................................         following slots of the segment
//
// Waits ride on the slot of their task; a third and a fourth take a slot of kind `waits` before it.
// Slots are linked in segments of 128, which go round between producer and consumer: once warm,
// nothing is allocated, and there is no upper bound.

#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <source_location>
#include <stop_token>
#include <string_view>

#include "thalweg/base/task.hpp"
#include "thalweg/order/point.hpp"

namespace thalweg::cpu {

enum class SlotKind : std::uint8_t {
  empty,     // A serial and nothing else.
  touch,     // TouchBody: does nothing either, and has accesses.
  waits,     // Waits only; has no serial.
  skip,      // The rest of the segment is not used.
  fill,      // FillBody
  copy,      // CopyBody
  kernel,    // KernelBody, then the packed arguments.
  indirect,  // IndirectBody, then the packed arguments.
  host,      // HostBody, of native work too.
  gate,      // TimelineBody: waits for a timeline of the program's.
  signal,    // TimelineBody: raises one.
  stamp,     // StampBody: writes the time.
  guard,     // GuardBody: what may stop the task behind it; has no serial.
  last,      // Nothing comes after it.
};

struct alignas(64) Slot {
  SlotKind kind;
  std::uint8_t extra;     // Slots that follow with the rest of the body.
  bool guarded;           // A guard was before it.
  std::uint8_t uses;      // What it reads and writes, as uses.hpp keeps it: how many;
  std::uint16_t uses_at;  // and where, in bytes behind the beginning of the body.
  order::Point waits[2];
  neutral::Completion* completion;  // Owned reference, or null.
  std::byte body[32];
};
static_assert(sizeof(Slot) == 64);

inline constexpr std::size_t kSlotsPerSegment = 128;

struct Segment {
  // Raw, because bodies cross the borders between slots. A slot is written before it is published.
  alignas(64) std::byte memory[kSlotsPerSegment * sizeof(Slot)];
  Segment* next = nullptr;

  Slot& slot(std::size_t index) noexcept {
    return *std::launder(reinterpret_cast<Slot*>(memory + index * sizeof(Slot)));
  }
};

// Slots after the first that a body of `bytes` takes.
constexpr std::size_t extra_slots(std::size_t bytes) noexcept {
  return bytes <= sizeof(Slot::body)
             ? 0
             : (bytes - sizeof(Slot::body) + sizeof(Slot) - 1) / sizeof(Slot);
}

struct FillBody {
  std::source_location site;
  std::byte* to;
  std::uint64_t row_bytes;
  std::uint64_t rows;
  std::uint64_t pitch;
  std::uint64_t pattern[2];
  std::uint32_t pattern_bytes;
};

struct TouchBody {
  std::source_location site;
};

struct CopyBody {
  std::source_location site;
  std::byte* to;
  const std::byte* from;
  std::uint64_t row_bytes;
  std::uint64_t rows;
  std::uint64_t to_pitch;
  std::uint64_t from_pitch;
  neutral::TaskKind kind;  // For reports: an upload or a read may be one.
};

struct KernelBody {
  const KernelCode* code;
  std::source_location site;
  std::uint64_t x;
  std::uint32_t y;
  std::uint32_t z;

  Extent extent() const noexcept { return {x, y, z}; }
};
static_assert(sizeof(KernelBody) == sizeof(Slot::body));

struct IndirectBody {
  const KernelCode* code;
  std::source_location site;
  const std::byte* extent;  // An Extent, read when the kernel's turn comes.
};

struct HostBody {
  UniqueFunction function;
  std::source_location site;
  bool native;
  std::uint8_t name_bytes;
  char name[80];  // For reports; cut when longer.
};

struct TimelineBody {
  neutral::Timeline* timeline;  // Owned reference.
  std::uint64_t value;
  std::source_location site;
};

struct StampBody {
  neutral::Stamp* time;  // Owned reference.
};

struct GuardBody {
  std::stop_token stop;
};

// A body goes on behind its slot, so it is reached from the slot's address.
inline std::byte* body_address(Slot& slot) noexcept {
  return reinterpret_cast<std::byte*>(&slot) + offsetof(Slot, body);
}

template <class Body>
Body* body_of(Slot& slot) noexcept {
  return std::launder(reinterpret_cast<Body*>(body_address(slot)));
}

}  // namespace thalweg::cpu
