// SPDX-License-Identifier: Apache-2.0
//
// backends/sim/effects.hpp - what one step of a run did, as far as other steps can tell.
//
// A run is a row of steps: of the host, from one of its turns to the next, and of a stream, one
// task each. Two steps that are not dependent() give the same wherever they stand, as long as
// nothing between them is: the explorer then runs one of the two orders.

#pragma once

#include <cstdint>

#include "backends/sim/short_list.hpp"

namespace thalweg::sim {

// Who takes steps. Actors of the host come first, then whoever runs callbacks, then queues by their
// slot.
using Process = std::uint16_t;
inline constexpr Process kActorsMax = 16;
inline constexpr Process kCallbacks = kActorsMax;
inline constexpr Process kFirstQueue = kActorsMax + 1;
inline constexpr Process kNobody = 0xffff;

// The task at a position of a queue, counted over all queues of the slot. Position 0 is none.
struct Place {
  Process queue = kNobody;
  std::uint32_t position = 0;
  friend bool operator==(Place a, Place b) noexcept {
    return a.queue == b.queue && a.position == b.position;
  }
};

struct Effects {
  // Bytes of memory [begin, end).
  struct Bytes {
    std::uint64_t begin;
    std::uint64_t end;
    bool written;
  };

  // A timeline of the program's was raised to `to`, or somebody asked where it is, or could take
  // this step because it is at `to`.
  enum class Use : std::uint8_t { raised, asked, awaited };
  struct Mark {
    std::uint32_t timeline;  // By World::number_of(): a node's effects outlive the run's addresses.
    std::uint64_t from;
    std::uint64_t to;
    Use use;
  };

  Process process = kNobody;
  bool program = false;    // Ran code of the program's, which may share anything with other code.
  bool any_bytes = false;  // May have touched bytes that nobody declared.
  bool pools = false;      // Memory or streams were taken or given back.
  bool seen = false;       // Meets code of the program's without a call: see sees_program().
  bool all = false;        // Makes a difference to every step: the device was lost, a wait was too
                           // long.
  bool calls = false;      // Put a callback behind others: they run in that order.
  bool engine = false;     // Used the copy engines, which give an order of their own.
  std::uint16_t counted = 0;  // Fault sites, a bit for each, that count the step.
  Place done;                 // The task that passed.

  ShortList<Bytes, 4> bytes;
  ShortList<Mark, 2> marks;
  ShortList<Place, 4> asked;     // Whether they had passed was asked. Position 0: any of the queue.
  ShortList<Place, 2> enqueued;  // Tasks that could not run before.
  ShortList<Place, 2> awaited;   // What had to pass before this step could be taken.

  void clear() noexcept;
};

// Whether the order of the two makes a difference; `a` came first.
bool dependent(const Effects& a, const Effects& b) noexcept;

// Whether `b` could not have been taken without `a`.
bool enables(const Effects& a, const Effects& b) noexcept;

}  // namespace thalweg::sim
