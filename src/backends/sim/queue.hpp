// SPDX-License-Identifier: Apache-2.0
//
// backends/sim/queue.hpp - one in-order queue of a simulated device, and the tasks on it.
//
//   done              pending                       owed: waits that ride on the next task
//   | 1 | 2 | 3 |     | 4 | 5 (raw) | 6 |     <---
//
// Positions count what was enqueued, also what was put there past the runtime (raw), and go on
// counting over all queues of a slot; serials are the runtime's.
//
// Threads:    the world's lock guards all but constants.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "backends/sim/clock.hpp"
#include "backends/sim/effects.hpp"
#include "backends/sim/shadow.hpp"
#include "sync/timeline.hpp"
#include "thalweg/backend/outcomes.hpp"
#include "thalweg/backend/stream_factory.hpp"
#include "thalweg/base/fifo.hpp"
#include "thalweg/base/task.hpp"
#include "thalweg/base/unique_function.hpp"

namespace thalweg::sim {

class World;
class Queue;

// One access of a task, with the address it resolves to.
struct OpAccess {
  std::uint64_t address = 0;  // Of the first row's first byte.
  std::uint64_t row_bytes = 0;
  std::uint64_t rows = 1;
  std::uint64_t pitch = 0;
  AccessMode mode = AccessMode::read;
  std::uint64_t owner = 0;   // Id of the allocation; 0: memory of the program's.
  std::uint64_t offset = 0;  // In the allocation.

  std::byte* row(std::uint64_t n) const noexcept {
    return reinterpret_cast<std::byte*>(address + n * pitch);
  }
  Bytes bytes(std::uint64_t n) const noexcept {
    return {address + n * pitch, address + n * pitch + row_bytes};
  }
  bool writes() const noexcept {
    return mode == AccessMode::write || mode == AccessMode::read_write;
  }
};

// A task on a queue. Used again: what it holds keeps its room.
struct Op {
  neutral::TaskKind kind = neutral::TaskKind::empty;
  bool raw = false;
  std::shared_ptr<const User> user;
  std::uint64_t order = 0;  // The number of its submission in the world.
  std::uint16_t actor = 0;  // Who submitted it.
  std::vector<OpAccess> accesses;
  std::vector<failure::Use> uses;

  // Waits: what is not done yet, who waits for this one, and queues of other worlds.
  std::uint32_t waits_left = 0;
  std::vector<Place> waits;
  std::vector<Op*> dependents;
  std::vector<order::Point> foreign;

  VectorClock knows;
  std::uint64_t ready_ns = 0;
  std::uint64_t duration_ns = 0;

  // The task's own, see neutral::Task.
  std::uint64_t pattern[2] = {};
  std::uint32_t pattern_bytes = 0;
  const std::byte* host_source = nullptr;
  std::byte* host_target = nullptr;
  std::uint64_t host_pitch = 0;
  const KernelCode* code = nullptr;
  Extent extent;
  std::vector<std::byte> arguments;
  UniqueFunction function;
  Ref<neutral::Timeline> timeline;
  std::uint64_t timeline_value = 0;
  Ref<neutral::Stamp> time;
  Ref<neutral::Completion> completion;
  std::stop_token stop;
  std::uint64_t fails = 0;  // The number of the fault that says so; 0: none does.

  // Uses memory that the program brought, or reads what it lent.
  bool touches_program = false;

  Op() = default;
  Op(const Op&) = delete;
  Op& operator=(const Op&) = delete;

  bool opaque() const noexcept {
    using Kind = neutral::TaskKind;
    return raw || kind == Kind::kernel || kind == Kind::indirect || kind == Kind::host ||
           kind == Kind::native;
  }

  // Runs code of the program's that may touch more than bytes: a kernel does not.
  bool runs_program() const noexcept {
    using Kind = neutral::TaskKind;
    return raw || kind == Kind::host || kind == Kind::native;
  }

  void clear() noexcept;
};

class Queue final : public PassWatch {
 public:
  struct State;

  // `state` is as new.
  Queue(World& world, const backend::StreamRequest& request, std::size_t slot, std::int32_t lane,
        std::uint32_t position, std::unique_ptr<State> state);
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  World& world() const noexcept { return world_; }
  order::QueueIndex index() const noexcept { return index_; }
  std::size_t slot() const noexcept { return slot_; }
  Process process() const noexcept { return static_cast<Process>(kFirstQueue + slot_); }
  std::int32_t lane() const noexcept { return lane_; }
  int priority() const noexcept { return priority_; }
  const std::string& name() const noexcept { return name_; }
  std::uintptr_t native_id() const noexcept { return native_id_; }
  backend::Outcomes& outcomes() const noexcept { return *outcomes_; }
  backend::Progress& progress() const noexcept { return *progress_; }
  sync::Timeline& timeline() const noexcept { return sync::queue_timeline(index_); }

  // Serials are shown from the start of the stream.
  std::uint64_t shown(std::uint64_t serial) const noexcept { return serial - start_; }

  // The position of a serial; 0 when it is forgotten, or was never enqueued here.
  std::uint32_t position_of(std::uint64_t serial) const noexcept {
    if (serial < state.remembered || serial - state.remembered >= state.positions.size()) return 0;
    return state.positions[serial - state.remembered];
  }

  // When the task with that serial was over. REQUIRES: it is done.
  std::uint64_t end_of(std::uint64_t serial) const noexcept {
    if (serial < state.remembered || serial - state.remembered >= state.ends.size()) return 0;
    return state.ends[serial - state.remembered];
  }

  // What came before the task with that serial, which is done, and itself. Null when it is not
  // known. Of one that is forgotten, the oldest that is not: it came later.
  const VectorClock* clock_of(std::uint64_t serial) const noexcept {
    if (serial <= start_) return nullptr;
    const std::uint64_t at = serial < state.remembered ? 0 : serial - state.remembered;
    return at < state.clocks.size() ? &state.clocks[at] : nullptr;
  }

  // A wait that rides on the next task.
  struct Owed {
    Place place;
    order::Point point;
  };

  // The world's. Its members are used by the world alone.
  struct State {
    // As new, with the room it had.
    void clear() noexcept;

    Fifo<Op*> pending;
    std::vector<Owed> owed;
    std::vector<order::Point> owed_foreign;
    std::uint32_t enqueued = 0;  // Position of the last one.
    std::uint32_t done = 0;
    std::uint64_t published = 0;  // Serial of the last one.
    VectorClock knows;
    std::uint64_t end_ns = 0;
    bool ending = false;  // The last task is enqueued.
    bool slow = false;

    // For each serial that is remembered: where it is, when it was over, and, in explored worlds,
    // what came before it. By serial, from `remembered` on.
    std::uint64_t remembered = 0;
    Fifo<std::uint32_t> positions;
    Fifo<std::uint64_t> ends;
    Fifo<VectorClock> clocks;
  };
  State& state;

  std::source_location made_at;  // For reports. Set by the world.

  // For another queue. REQUIRES: nobody uses this one any more.
  std::unique_ptr<State> take_state() noexcept { return std::move(owned_state_); }

  void asked(std::uint64_t serial) noexcept override;

 private:
  std::unique_ptr<State> owned_state_;
  World& world_;
  const order::QueueIndex index_;
  const std::size_t slot_;
  const std::int32_t lane_;
  const int priority_;
  const std::string name_;
  const std::uint64_t start_;
  backend::Progress* const progress_;
  backend::Outcomes* const outcomes_;
  const std::uintptr_t native_id_;
};

}  // namespace thalweg::sim
