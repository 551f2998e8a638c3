// SPDX-License-Identifier: Apache-2.0
//
// base/plant.hpp - bugs that tests can switch on, to show that the tests find them.
//
// A build without THALWEG_TEST_HOOKS contains none of them: `planted` is a constant false there.

#pragma once

#include <cstdint>

#if defined(THALWEG_TEST_HOOKS)
#include <atomic>
#endif

namespace thalweg::plant {

enum class Bug : std::uint8_t {
  none,
  missing_write_after_read,  // A write does not wait for the reads before it.
  present_frontier,          // The source's present frontier is merged, not that of the serial.
  dropped_wait,              // Now and then a wait that is needed is left out.
  frontier_not_merged,       // A wait teaches the taker nothing: only adds waits.
  empty_birth,               // A reused block starts with an empty access map.
  free_without_home_point,   // A dropped block forgets what its home queue still does with it.
  wait_without_serial,       // An event is recorded although waits are owed and have no serial.
  map_ordered_only,          // The host gets a view of bytes that tasks still use.
  views_unguarded,           // Tasks are accepted on bytes the host has mapped.
  host_reuse_ordered,        // Page-locked memory is handed out again when its uses are ordered.
  imports_apart,             // Imports of the same bytes know nothing of one another.
  deleter_early,             // A deleter runs when the last handle is gone, used bytes or not.
  device_not_kept,           // A copy does not keep the other device.
  signal_at_submit,          // A stream's signal raises the timeline when it is enqueued.
  stop_at_submit,            // A stop is asked for when the task is enqueued, not at its turn.
  time_at_submit,            // A timed event notes when it was enqueued.
  block_lost_on_refusal,     // A block whose allocation is refused is not given back.
  refusal_elsewhere,         // A refused submission does not say at which call.
  taint_not_shed,            // What a dropped buffer carries stays for good.
  taint_by_address,          // Bad bytes are known by their address, whoever has them.
  late_failure,              // A failure is entered when the next outcome is.
  stop_taints_early,         // A task that will be stopped makes its outputs bad when submitted.
  sink_under_lock,           // The error sink is told of what went unheard under a lock.
};

#if defined(THALWEG_TEST_HOOKS)
// The bug that THALWEG_PLANT names by its number: for programs of tests that see no private header.
Bug from_environment() noexcept;

// Memory ordering: relaxed; tests set it while nothing runs.
inline std::atomic<Bug> current{from_environment()};
inline bool planted(Bug bug) noexcept { return current.load(std::memory_order_relaxed) == bug; }

// Plants a bug for a scope.
class Scope {
 public:
  explicit Scope(Bug bug) noexcept { current.store(bug, std::memory_order_relaxed); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope() { current.store(Bug::none, std::memory_order_relaxed); }
};
#else
constexpr bool planted(Bug) noexcept { return false; }
#endif

}  // namespace thalweg::plant
