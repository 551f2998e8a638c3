// SPDX-License-Identifier: Apache-2.0
//
// backends/sim/shadow.hpp - for each byte, who wrote it last and who has read it since.
//
//   address   0x1000        0x1100               0x1400
//             |  written     |  not written       |
//             |  s0@3, read  |  b1, new           |       ranges of bytes that were treated alike
//             |  by s1@2     |                    |
//
// It knows nothing of the runtime's order: two uses are ordered when the later one's clock, which
// is made of what the device was really told (queues, waits, timelines, and what had passed when a
// task was enqueued), holds the earlier one's place.
//
// Threads:    external synchronization: the world's lock.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/sim/clock.hpp"
#include "thalweg/base/finding.hpp"
#include "thalweg/base/task.hpp"

namespace thalweg::sim {

// A task, for as long as some byte remembers it.
struct User {
  std::string what;  // "kernel `blur`"
  std::string name;  // "blur"
  std::string stream;
  std::int32_t lane = -1;
  std::uint64_t serial = 0;
  std::size_t slot = 0;
  std::uint32_t position = 0;
  bool raw = false;
  std::source_location site;
};

struct Bytes {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// Bytes that one task touches, and on whose behalf. `owner` is the allocation's id, 0 for memory of
// the program's.
struct Touch {
  Bytes bytes;
  AccessMode mode = AccessMode::read;
  std::uint64_t owner = 0;
};

class Shadow {
 public:
  enum class State : std::uint8_t {
    unwritten,
    perhaps,  // Somebody who may leave bytes as they were had them before anybody wrote them.
    written,
  };

  // What is wrong between two users, or with one who reads what nobody wrote.
  struct Conflict {
    FindingKind kind = FindingKind::unordered;
    std::shared_ptr<const User> earlier;  // Null: nobody.
    AccessMode earlier_mode = AccessMode::read;
    Bytes bytes;
  };

  // `user`, who is ordered after what `clock` says, touches the bytes now. Gives back the first
  // conflict of each touch.
  void touch(const std::shared_ptr<const User>& user, const VectorClock& clock, const Touch& touch,
             std::vector<Conflict>& conflicts);

  // The host, or a storage, wrote the bytes.
  void write(Bytes bytes, std::uint64_t owner);

  // Nobody has the bytes any more.
  void forget(Bytes bytes);

  // Calls `function(Bytes)` for the parts of the bytes that were surely written.
  template <class Function>
  void for_written(Bytes bytes, Function function) const {
    for (auto at = first(bytes.begin); at != ranges_.end() && at->first < bytes.end; ++at)
      if (at->second.state == State::written && at->second.end > bytes.begin)
        function(Bytes{std::max(at->first, bytes.begin), std::min(at->second.end, bytes.end)});
  }

  // The first part of the bytes that surely nobody has written; empty when there is none. Bytes
  // nobody knows of are unwritten when `owner` is an allocation.
  Bytes first_unwritten(Bytes bytes, std::uint64_t owner) const;

 private:
  struct Range {
    std::uint64_t end = 0;
    std::uint64_t owner = 0;
    State state = State::unwritten;
    std::shared_ptr<const User> writer;
    std::vector<std::shared_ptr<const User>> readers;  // At most one a queue.

    bool alike(const Range& other) const;
  };
  using Ranges = std::map<std::uint64_t, Range>;

  Ranges::const_iterator first(std::uint64_t address) const;
  void split(std::uint64_t address);
  void fill_gaps(Bytes bytes, std::uint64_t owner);
  void join_alike(Ranges::iterator at, std::uint64_t end);
  static std::optional<Conflict> enter(const std::shared_ptr<const User>& user,
                                       const VectorClock& clock, const Touch& touch,
                                       std::uint64_t begin, Range& range);

  Ranges ranges_;  // By first address; they do not overlap.
};

}  // namespace thalweg::sim
