// SPDX-License-Identifier: Apache-2.0
//
// thalweg/host_array.hpp - memory of the host that tasks and the host share: for staging.
//
// Its pages are locked where the system does that, so that a device's transfers need no copy on the
// way. Tasks use it like any view: `stream.copy(device_array, host_array)`. The host reads and
// writes it through map() and try_map() of thalweg/map.hpp.
//
// When the last handle goes, the bytes are handed out again only when every task that was given
// them has passed.
//
// Threads, Ownership, Errors: as thalweg/buffer.hpp.

#pragma once

#include <cstdint>
#include <limits>
#include <source_location>
#include <utility>

#include "thalweg/map.hpp"

namespace thalweg {

template <class T>
class [[nodiscard]] HostArray {
 public:
  using Element = T;
  static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>,
                "Memory of a device holds trivially copyable elements.");

  HostArray() noexcept = default;

  // `count` elements whose home is `home`. The contents are undefined. May take memory from the
  // system, which is slow when it locks pages; never waits for the device.
  // Errors: those of Buffer::create().
  static Result<HostArray> create(const Stream& home, std::uint64_t count,
                                  const AllocationOptions& options = {},
                                  std::source_location site = std::source_location::current()) {
    if (count > std::numeric_limits<std::uint64_t>::max() / sizeof(T))
      return detail::too_many_elements(count, sizeof(T), site);
    const AllocationOptions aligned = detail::aligned_for<T>(options);
    THALWEG_TRY_ASSIGN(Buffer memory, detail::create_buffer(home, MemoryKind::host,
                                                            count * sizeof(T), aligned, site));
    return HostArray(std::move(memory), count);
  }

  // All elements, or [first, first + count).
  View<T> view() const noexcept { return {memory_, 0, count_}; }
  View<T> view(std::uint64_t first, std::uint64_t count) const noexcept {
    return view().subview(first, count);
  }

  // As View::tile().
  View2D<T> tile(std::uint64_t first, std::uint64_t width, std::uint64_t height,
                 std::uint64_t pitch) const noexcept {
    return view().tile(first, width, height, pitch);
  }

  // The functions of thalweg/map.hpp on all elements.
  template <MapMode Mode>
  auto map(Mode mode, Deadline deadline = {},
           std::source_location site = std::source_location::current()) const {
    return thalweg::map(view(), mode, deadline, site);
  }
  template <MapMode Mode>
  auto try_map(Mode mode, std::source_location site = std::source_location::current()) const {
    return thalweg::try_map(view(), mode, site);
  }

  // 0 for an invalid handle.
  std::uint64_t count() const noexcept { return memory_.valid() ? count_ : 0; }
  std::uint64_t size_bytes() const noexcept { return count() * sizeof(T); }
  const Buffer& buffer() const noexcept { return memory_; }
  bool valid() const noexcept { return memory_.valid(); }

 private:
  HostArray(Buffer memory, std::uint64_t count) noexcept
      : memory_(std::move(memory)), count_(count) {}

  Buffer memory_;
  std::uint64_t count_ = 0;
};

namespace detail {

template <class T>
struct ViewTraits<HostArray<T>> : std::true_type {
  static ViewParts parts(const HostArray<T>& array) noexcept {
    return {array.buffer().core(), 0, array.count(), sizeof(T), alignof(T)};
  }
};

}  // namespace detail
}  // namespace thalweg
