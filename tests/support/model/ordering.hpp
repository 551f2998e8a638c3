// SPDX-License-Identifier: Apache-2.0
//
// tests/support/model/ordering.hpp - the rules of ordering, as the simplest program that has them.
//
// It is told what took effect, in that order, and answers what follows:
//
//   open  reserve  bear                  conflicts(access)     what must be before it
//   take  use  wait  record  pass        needed(queue, must)   the waits that see to that
//                                        before(step)          what is before it as things are
//
// A step is what took a serial: a task, or an empty one. Every access ever made is kept, and for
// every step the set of all steps before it. Nothing is folded, forgotten or summed up: that is
// what the code under test does, and this is what it is held to. It has no line of the library.
// Each rule is a sentence in ordering.cpp, beside the lines that are it.
//
// What it does not know: gates and timelines, which order with the host and not with steps; which
// block a buffer gets, which is a choice and no rule.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "support/model/steps.hpp"

namespace thalweg::test::model {

// Numbers of the caller's.
enum class Queue : int {};
enum class Block : int {};   // Bytes, whoever owns them.
enum class Buffer : int {};  // An owner of the first bytes of a block.
enum class Event : int {};

enum class Mode : std::uint8_t {
  read,
  write,  // Or reads and writes: that makes no difference to the order.
  token,
};

// `rows` times `row_bytes` bytes, from `offset` on and `pitch` apart.
struct Access {
  Buffer buffer = {};
  Mode mode = Mode::read;
  std::uint64_t offset = 0;
  std::uint64_t row_bytes = 0;
  std::uint64_t rows = 1;
  std::uint64_t pitch = 0;
};

class Ordering {
 public:
  // What took effect.

  // A queue that is after nothing, whoever had its slot before.
  void open(Queue queue) { queues_[queue] = {}; }

  // `buffer` owns bytes of `block` from now on, and whoever owned them before does no more.
  void reserve(Buffer buffer, Block block) { blocks_[buffer] = block; }

  // The birth of a buffer whose bytes are still in use. `all` is an access of all of them.
  void bear(Access all, Queue home);

  Step take(Queue queue);
  void use(Step step, const Access& access) { uses_.push_back({step, access}); }

  // The queue was told to wait for the step.
  void wait(Queue queue, Step step);

  void record(Event event, Queue queue);

  // The host knows that the step is over.
  void pass(Step step) { passed_.add(step); }

  // What follows.

  // Steps that whoever makes the access must be after, passed ones included.
  Steps conflicts(const Access& access) const;

  // Steps that whoever waits for the event now must be after.
  Steps recorded(Event event) const;

  // The fewest steps that `queue` has to wait for, so that what it takes next is after all that is
  // left of `must`.
  Steps needed(Queue queue, const Steps& must) const;

  // Those that have not passed.
  Steps left(const Steps& steps) const { return steps.without(passed_); }

  const Steps& before(Step step) const { return before_[step]; }

  // What the queue's next step would be after.
  const Steps& next(Queue queue) const { return queues_.at(queue).next; }

  // Whether a wait of the queue has no step behind it yet. Then its last step does not stand for
  // all that it is after, and an empty one has to be taken where a single step must.
  bool owes(Queue queue) const { return queues_.at(queue).owes; }

  // The queue's last step, if it took one.
  std::optional<Step> last(Queue queue) const { return queues_.at(queue).last; }

  bool may_pass(Step step) const;
  bool passed(Step step) const { return passed_.has(step); }

  std::size_t steps() const { return before_.size(); }

 private:
  struct Line {
    Steps next;
    std::optional<Step> last;
    bool owes = false;
  };
  struct Use {
    Step step;
    Access access;
  };

  bool conflict(const Access& earlier, const Access& later) const;

  std::map<Queue, Line> queues_;
  std::map<Buffer, Block> blocks_;
  std::map<Event, Steps> recorded_;
  std::vector<Use> uses_;      // All there ever were.
  std::vector<Steps> before_;  // By step.
  Steps passed_;
};

}  // namespace thalweg::test::model
