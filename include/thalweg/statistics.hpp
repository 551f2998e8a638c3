// SPDX-License-Identifier: Apache-2.0
//
// thalweg/statistics.hpp - what a device counts.

#pragma once

#include <cstdint>

namespace thalweg {

// A snapshot. Each counter is exact since the device was opened; two of them may be a few
// operations apart when other threads submit.
struct Statistics {
  std::uint64_t submissions = 0;   // Tasks accepted. Waits that took a turn of their own are apart.
  std::uint64_t empty_turns = 0;   // Serials taken only so that an owed wait had one.
  std::uint64_t waits_placed = 0;  // Device-side waits that tasks and streams were given.
  std::uint64_t waits_passed = 0;  // Waits left out because what they name had passed.
  std::uint64_t waits_covered = 0;   // Waits left out because another one implies them.
  std::uint64_t timeline_waits = 0;  // Waits for timelines: each takes a turn of its own.
  std::uint64_t fences = 0;          // Fences recorded.
  std::uint64_t futex_wakes = 0;     // Threads of the device woken by a system call.
  std::uint64_t host_waits = 0;      // Waits of the host, all reasons: the sum of the ledger.
  std::uint64_t queues_created = 0;
  std::uint64_t queues_destroyed = 0;
  std::uint64_t tasks_failed = 0;
  std::uint64_t tasks_skipped = 0;    // For they would have read bad bytes.
  std::uint64_t tasks_cancelled = 0;  // Stopped by a stop token before they began.
  std::uint64_t events_made = 0;      // Event objects made; the others were used again.

  // Time in which at least one task ran, and the sum over streams of the time each was running one,
  // in nanoseconds of the device's clock. busy_sum / busy_any is the overlap. Counted only on a
  // device opened with `measure_busy`.
  std::uint64_t busy_any_ns = 0;
  std::uint64_t busy_sum_ns = 0;
};

// Bytes of the device's memory; reserved = live + pending + cached, after rounding.
struct MemoryUsage {
  std::uint64_t allocations = 0;     // Live ones.
  std::uint64_t live_bytes = 0;      // With an owner; rounded sizes.
  std::uint64_t padding_bytes = 0;   // What the rounding adds; contained in live_bytes.
  std::uint64_t pending_bytes = 0;   // Dropped, and some use has not passed.
  std::uint64_t cached_bytes = 0;    // Free and safe.
  std::uint64_t reserved_bytes = 0;  // Taken from the system.
  std::uint64_t live_peak_bytes = 0;
  std::uint64_t reserved_peak_bytes = 0;
  std::uint64_t limit_bytes = 0;  // Most that may be reserved.
};

}  // namespace thalweg
