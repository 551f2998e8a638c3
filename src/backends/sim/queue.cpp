// SPDX-License-Identifier: Apache-2.0

#include "backends/sim/queue.hpp"

#include <atomic>

#include "backends/sim/world.hpp"
#include "thalweg/base/ids.hpp"

namespace thalweg::sim {

void Op::clear() noexcept {
  user.reset();
  raw = false;
  accesses.clear();
  uses.clear();
  waits_left = 0;
  waits.clear();
  dependents.clear();
  foreign.clear();
  knows.clear();
  ready_ns = 0;
  code = nullptr;
  arguments.clear();
  function = {};
  timeline.reset();
  time.reset();
  completion.reset();
  stop = {};
  touches_program = false;
  fails = 0;
}

Queue::Queue(World& world, const backend::StreamRequest& request, std::size_t slot,
             std::int32_t lane, std::uint32_t position, std::unique_ptr<State> given)
    : state(*given),
      owned_state_(std::move(given)),
      world_(world),
      index_(request.index),
      slot_(slot),
      lane_(lane),
      priority_(request.priority),
      name_(request.name),
      start_(request.start.value),
      progress_(request.progress),
      outcomes_(request.outcomes),
      native_id_(static_cast<std::uintptr_t>(thalweg::detail::next_id())) {
  state.enqueued = position;
  state.done = position;
  state.published = start_;
  state.remembered = start_ + 1;
}

void Queue::State::clear() noexcept {
  pending.clear();
  owed.clear();
  owed_foreign.clear();
  knows.clear();
  positions.clear();
  ends.clear();
  clocks.clear();
  end_ns = 0;
  ending = false;
  slow = false;
}

void Queue::asked(std::uint64_t serial) noexcept { world_.asked(*this, serial); }

}  // namespace thalweg::sim
