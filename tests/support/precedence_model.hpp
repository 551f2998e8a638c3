// SPDX-License-Identifier: Apache-2.0
//
// tests/support/precedence_model.hpp - which tasks of a program come before which, and how few
// waits it takes.
//
// Three things put one task before another, and nothing else does: the order of a queue, declared
// accesses that conflict, and explicit waits. With every place in a queue goes the set of places
// before it, one serial a queue:
//
//   A:  1 ---- 2 ---- 3            before(C@1) = {A: 2, B: 1}: one wait for B@1 was enough, since
//   B@1
//               \                  itself had waited for A@2.
//   B:           1 -----+
//                        \                                                                        |
//   C:                    1
//
// The fewest waits of a task: of the places it conflicts with, those that its queue is not already
// after and that no other of them is after. An explicit wait needs one when its queue is not
// already after the place it names. A record or a stream that is waited for, on a queue with a wait
// that nothing was enqueued after, makes a place of its own, so that it stands for that wait too.
//
// What it does not know: gates (they order with the host and not with tasks), and that reused
// memory orders its next owner after the last one. For programs with drops, before() is what must
// hold and not all that may.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "support/program.hpp"

namespace thalweg::test {

class Precedence {
 public:
  Precedence(const Program& program, const Log& log);

  // The log positions of all tasks, in order.
  const std::vector<std::size_t>& tasks() const { return tasks_; }

  // Whether the task at log position `earlier` comes before the one at `later`.
  bool before(std::size_t earlier, std::size_t later) const;

  // The fewest waits of the whole program, where nothing is known to have passed.
  std::uint64_t waits_min() const { return waits_min_; }

  // The waits of one log position.
  std::uint64_t waits_at(std::size_t position) const { return waits_at_[position]; }

 private:
  using Clock = std::vector<int>;  // By queue, the serial up to which something is before.

  struct Place {
    int queue = -1;
    int serial = 0;
  };

  struct Queue {
    Clock now;                  // Before whatever is enqueued next. Own entry: the last serial.
    std::vector<Clock> clocks;  // Before each serial; [0] is serial 1.
    bool waits = false;         // A wait was placed and nothing enqueued since.
  };

  // Bytes that all accesses of the program treat alike.
  struct Segment {
    std::optional<Place> write;
    std::vector<Place> reads;
  };

  enum class Mode : std::uint8_t { read, write, token };
  struct Access {
    Range bytes;
    Mode mode = Mode::read;
  };

  static std::vector<Access> accesses_of(const Op& op);
  static int stream_of(const Op& op);

  void cut(const Program& program, const Log& log);
  std::vector<Segment*> segments(const Access& access);
  void run(const Op& op, std::size_t position);
  void run_task(const Op& op, std::size_t position);
  void wait(int queue, Place place, std::size_t position);
  Place enqueue(int queue);
  Place tail(int queue);
  bool covers(const Clock& clock, Place place) const;
  const Clock& clock_of(Place place) const;

  std::vector<Queue> queues_;
  std::vector<int> queue_of_stream_;
  std::vector<Place> events_;
  std::map<int, std::vector<std::uint32_t>> cuts_;  // By buffer: where segments start, in bytes.
  std::map<int, std::vector<Segment>> bytes_;       // By buffer. One more than cuts: the tokens.
  std::vector<std::size_t> tasks_;
  std::vector<Place> place_of_;  // By log position.
  std::vector<std::uint64_t> waits_at_;
  std::uint64_t waits_min_ = 0;
};

}  // namespace thalweg::test
