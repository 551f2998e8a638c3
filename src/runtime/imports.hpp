// SPDX-License-Identifier: Apache-2.0
//
// runtime/imports.hpp - memory that the program made, by address.
//
// Imports that overlap are ordered as one memory. Each Import is a range of addresses with a
// record; when a new range overlaps some that are there, one Import over all of them takes their
// place, and they point to it:
//
//   import 1   [-------)                         record 1  --.
//   import 2                [-----)              record 2  --+--> one record over [-----------)
//   import 3        [-----------)                (joins them)     and records 1 and 2 as history
//
// A range stays until all uses of it have passed, also when no handle is left: the program may hand
// in the same bytes again at once.

#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "runtime/record.hpp"
#include "sync/lock.hpp"
#include "thalweg/base/ref.hpp"
#include "thalweg/order/queue_order.hpp"

namespace thalweg::runtime {

// Threads: what is not constant is guarded by the submission lock.
class Import final : public Counted {
 public:
  Import(std::uint64_t address, std::uint64_t size_bytes);

  std::uint64_t address() const noexcept { return address_; }
  std::uint64_t end() const noexcept { return address_ + size_bytes_; }

  // The one that has taken this one's place, or this one.
  Import& root() noexcept;

  // Of a root; offsets are counted from its address.
  Record& record() noexcept { return record_; }
  void collect(const Access& access, order::PointSet& out, const order::QueueTable& table);

  // All points that have not passed.
  order::PointSet points(const order::QueueTable& table);

 private:
  friend class Imports;

  const std::uint64_t address_;
  const std::uint64_t size_bytes_;
  Record record_;
  Ref<Import> into_;               // What it was joined into.
  std::vector<Ref<Import>> past_;  // Roots it was made of, until all their points have passed.

  // The last `orders` of the roots it was made of. Those of one memory are ordered with one
  // another wherever their bytes are, and no record of bytes tells of one without bytes.
  order::PointSet tokens_;
};

// Threads: any, without a lock.
class Imports {
 public:
  // Imports of one space share it when their bytes do.
  using Space = std::uint64_t;

  // What the bytes of a space are known by when something fails, with addresses for offsets.
  static AllocationId record_of(Space space) noexcept;

  // One more user of the bytes. REQUIRES: there are some, and no overflow.
  Ref<Import> add(Space space, std::uint64_t address, std::uint64_t size_bytes);

  // That user is gone.
  void drop(Space space, std::uint64_t address, std::uint64_t size_bytes);

  // Once more, when his tasks have passed: what is used by nobody and has passed is forgotten.
  void sweep(Space space, std::uint64_t address, std::uint64_t size_bytes);

  // For tests.
  std::size_t ranges() const;

 private:
  using Bytes = std::pair<std::uint64_t, std::uint64_t>;  // First, and the end.

  struct Range {
    Ref<Import> import;
    std::multimap<std::uint64_t, std::uint64_t> users;  // First byte, and the end.
  };
  // By space and first address; ranges of one space do not overlap.
  using Ranges = std::map<std::pair<Space, std::uint64_t>, Range>;

  static Ranges::iterator find(Ranges& ranges, Space space, std::uint64_t address);
  static void erase_if_over(Ranges& ranges, Ranges::iterator range);
  static std::vector<Bytes> unused(const Ranges& ranges, Space space, Bytes bytes);
  static std::vector<Error> forget_unused(const Ranges& ranges, Space space, Bytes bytes);

  sync::Guarded<Ranges> ranges_{sync::Rank::registry};
};

}  // namespace thalweg::runtime
