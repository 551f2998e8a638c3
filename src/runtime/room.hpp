// SPDX-License-Identifier: Apache-2.0
//
// runtime/room.hpp - how much host memory a queue's tasks hold that have not passed, and the limit.
//
//   serial        4       5       6       7          tasks that were enqueued
//   mark        128     256    5376    5504          bytes enqueued up to and including each
//                  ^ passed                          taken: 5504 - 128
//
// Pure: it is told what was enqueued and how far the queue has come.
//
// Threads:    external synchronization: the lock of the queue's slot.
// Bound:      a mark a task that has not passed, and so the limit divided by kRoomTaskBytes, and
// the
//             turns that the runtime takes itself.

#pragma once

#include <cstdint>

#include "thalweg/base/fifo.hpp"
#include "thalweg/base/ids.hpp"
#include "thalweg/interface.hpp"

namespace thalweg::runtime {

class Room {
 public:
  // A queue without a limit has one of 0 bytes that it never asks.
  explicit Room(std::uint64_t limit_bytes) noexcept : limit_bytes_(limit_bytes) {}

  // What a task takes that brings `more_bytes` with it.
  static std::uint64_t size_of(std::uint64_t more_bytes) noexcept;

  // The task `serial` was enqueued. REQUIRES: serials rise.
  void add(Serial serial, std::uint64_t bytes);

  // Everything up to `serial` has passed.
  void pass(Serial serial) noexcept;

  // A task fits when the limit allows it, and when nothing is taken.
  bool fits(std::uint64_t bytes) const noexcept { return fits_behind(bytes, passed_); }

  // The serial behind which it fits when nothing is added meanwhile; 0 when it fits now.
  Serial fits_after(std::uint64_t bytes) const noexcept;

  std::uint64_t taken_bytes() const noexcept { return enqueued_ - passed_; }
  std::uint64_t limit_bytes() const noexcept { return limit_bytes_; }

 private:
  struct Mark {
    Serial serial;
    std::uint64_t enqueued;
  };

  bool fits_behind(std::uint64_t bytes, std::uint64_t passed) const noexcept {
    const std::uint64_t taken = enqueued_ - passed;
    return taken == 0 || (bytes <= limit_bytes_ && taken <= limit_bytes_ - bytes);
  }

  const std::uint64_t limit_bytes_;
  std::uint64_t enqueued_ = 0;  // Bytes since the queue was made; differences of the two count.
  std::uint64_t passed_ = 0;
  Fifo<Mark> marks_;  // Of what has not passed.
};

}  // namespace thalweg::runtime
