// SPDX-License-Identifier: Apache-2.0
//
// thalweg/base/access.hpp - what a task declares about the bytes it touches.
//
// An Access names rows of one allocation:
//
//   offset      pitch               row_bytes of every pitch, `rows` times
//   |-----------|xxxxx......|xxxxx......|xxxxx|
//               ^ row 0     ^ row 1     ^ row 2
//
// With one row the pitch has no meaning. The ordering of tasks follows from these declarations
// alone.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "thalweg/base/ids.hpp"

namespace thalweg {

enum class AccessMode : std::uint8_t {
  read,
  write,       // Defines every byte and reads none.
  read_write,  // May leave bytes as they were, and counts as reading them.
  token,       // Orders like read_write, and touches no byte.
};

// Says for ever whether an allocation is still there: lives are used again and never freed. Written
// by the runtime alone. It goes to another allocation only when each task of the one before has
// passed: so a task may keep the life in place of the id.
class AllocationLife {
 public:
  AllocationLife() noexcept = default;
  AllocationLife(AllocationId allocation, std::uint64_t size_bytes) noexcept {
    begin(allocation, size_bytes);
  }

  // Memory ordering: acquire; pairs with the release when the last handle goes.
  bool is_of(AllocationId allocation) const noexcept {
    return word_.load(std::memory_order_acquire) == (allocation.value << 1 | 1);
  }

  // Whose it is; between two allocations, whose it was.
  AllocationId owner() const noexcept {
    return AllocationId{word_.load(std::memory_order_acquire) >> 1};
  }

  // The owner's.
  std::uint64_t size_bytes() const noexcept { return size_bytes_; }

  void begin(AllocationId allocation, std::uint64_t size_bytes) noexcept {
    size_bytes_ = size_bytes;
    word_.store(allocation.value << 1 | 1, std::memory_order_release);
  }
  void end() noexcept { word_.store(owner().value << 1, std::memory_order_release); }

 private:
  std::atomic<std::uint64_t> word_{0};  // The owner's id << 1 | whether it is there.
  std::uint64_t size_bytes_ = 0;
};

// What a backend sees of an allocation. The runtime owns it and derives from it.
struct Allocation {
  AllocationId id;
  std::uint64_t size_bytes = 0;

  // Address of the first byte as the device's kernels see it; 0 where the device has no addresses.
  std::uint64_t address = 0;

  // The backend's own object for the bytes (a cl_mem, say); null where the address is enough.
  void* resource = nullptr;

  // Whose bytes these are when something fails: `record` has byte 0 of this at `record_offset`, and
  // `life` says whether it is still there (null: for ever). Memory that the program brought shares
  // a record with all that may overlap it; what has a life is a record of its own, and the offset
  // is 0. No record: the bytes take no part.
  AllocationId record;
  std::uint64_t record_offset = 0;
  const AllocationLife* life = nullptr;
};

struct Access {
  Allocation* allocation = nullptr;
  std::uint64_t offset = 0;
  std::uint64_t row_bytes = 0;
  std::uint64_t rows = 1;
  std::uint64_t pitch = 0;
  AccessMode mode = AccessMode::read;

  bool writes() const noexcept { return mode != AccessMode::read; }
  std::uint64_t address() const noexcept { return allocation->address + offset; }

  // One past the last byte, counted from the start of the allocation. REQUIRES: no overflow.
  std::uint64_t end() const noexcept {
    return rows == 0 ? offset : offset + (rows - 1) * pitch + row_bytes;
  }

  // Whether a row has a byte in [begin, last). REQUIRES: begin <= last; no overflow.
  bool touches(std::uint64_t begin, std::uint64_t last) const noexcept {
    if (rows == 0 || row_bytes == 0 || begin == last) return false;
    if (rows == 1 || pitch <= row_bytes) return begin < end() && offset < last;
    // The first row that ends behind `begin`.
    const std::uint64_t row =
        begin < offset + row_bytes ? 0 : (begin - offset - row_bytes) / pitch + 1;
    return row < rows && offset + row * pitch < last;
  }
};

}  // namespace thalweg
