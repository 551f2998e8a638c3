// SPDX-License-Identifier: Apache-2.0

#include "runtime/room.hpp"

#include <algorithm>
#include <limits>

namespace thalweg::runtime {

std::uint64_t Room::size_of(std::uint64_t more_bytes) noexcept {
  std::uint64_t bytes = 0;
  if (__builtin_add_overflow(more_bytes, StreamOptions::kRoomTaskBytes, &bytes))
    return std::numeric_limits<std::uint64_t>::max();
  return bytes;
}

void Room::add(Serial serial, std::uint64_t bytes) {
  enqueued_ += bytes;
  marks_.push_back({serial, enqueued_});
}

void Room::pass(Serial serial) noexcept {
  while (!marks_.empty() && marks_.front().serial <= serial) {
    passed_ = marks_.front().enqueued;
    marks_.pop_front();
  }
}

Serial Room::fits_after(std::uint64_t bytes) const noexcept {
  if (fits(bytes)) return Serial{};
  return std::partition_point(marks_.begin(), marks_.end(),
                              [&](const Mark& mark) { return !fits_behind(bytes, mark.enqueued); })
      ->serial;
}

}  // namespace thalweg::runtime
