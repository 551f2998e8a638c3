// SPDX-License-Identifier: Apache-2.0

#include "support/model/ordering.hpp"

#include <algorithm>

namespace thalweg::test::model {
namespace {

bool share_byte(const Access& a, const Access& b) {
  for (std::uint64_t i = 0; i != a.rows; ++i) {
    for (std::uint64_t j = 0; j != b.rows; ++j) {
      const std::uint64_t row_of_a = a.offset + i * a.pitch;
      const std::uint64_t row_of_b = b.offset + j * b.pitch;
      const std::uint64_t begin = std::max(row_of_a, row_of_b);
      if (begin < std::min(row_of_a + a.row_bytes, row_of_b + b.row_bytes)) return true;
    }
  }
  return false;
}

}  // namespace

Step Ordering::take(Queue queue) {
  Line& line = queues_.at(queue);
  const Step step = before_.size();
  // A step is after every step that its queue took before, after every step that its queue was told
  // to wait for before, and after all that is before one of these.
  before_.push_back(line.next);
  line.next.add(step);
  line.last = step;
  line.owes = false;
  return step;
}

void Ordering::wait(Queue queue, Step step) {
  Line& line = queues_.at(queue);
  // A wait takes no step: it holds for all that the queue takes from now on, and for nothing that
  // it took before.
  line.next.add(step).add(before_[step]);
  line.owes = true;
}

bool Ordering::conflict(const Access& earlier, const Access& later) const {
  // A token is after every earlier token of its buffer, whatever their bytes, if they have any.
  const bool same = earlier.buffer == later.buffer;
  if (same && earlier.mode == Mode::token && later.mode == Mode::token) return true;

  // Otherwise accesses are ordered by the bytes they share, and by nothing else.
  if (blocks_.at(earlier.buffer) != blocks_.at(later.buffer)) return false;
  if (!share_byte(earlier, later)) return false;

  // Whoever uses bytes is after all that former owners did with them, reads after reads included.
  if (!same) return true;

  // Of one owner, a write is after every earlier access, and a read after every earlier write; a
  // token counts as a write.
  return earlier.mode != Mode::read || later.mode != Mode::read;
}

Steps Ordering::conflicts(const Access& access) const {
  Steps must;
  for (const Use& use : uses_) {
    if (conflict(use.access, access)) must.add(use.step);
  }
  return must;
}

// A buffer whose bytes are still in use is born where its home ends: that counts as a write of all
// its bytes.
void Ordering::bear(Access all, Queue home) {
  all.mode = Mode::write;
  if (const std::optional<Step> end = last(home)) use(*end, all);
}

// A record stands for all that its queue is after by then, waits without a step included.
void Ordering::record(Event event, Queue queue) { recorded_[event] = next(queue); }

// A wait for an event is for the record that is the latest at the time of the call. Before the
// first one there is nothing to wait for.
Steps Ordering::recorded(Event event) const {
  const auto record = recorded_.find(event);
  return record == recorded_.end() ? Steps() : record->second;
}

Steps Ordering::needed(Queue queue, const Steps& must) const {
  // No wait is needed for what has passed, nor for what the queue is after anyway,
  const Steps open = left(must).without(next(queue));
  // nor for what another one that is waited for is after.
  Steps implied;
  for (const Step step : open.list()) implied.add(before_[step]);
  return open.without(implied);
}

// A step passes when all that is before it has passed.
bool Ordering::may_pass(Step step) const { return left(before_[step]).empty(); }

}  // namespace thalweg::test::model
