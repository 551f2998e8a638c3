// SPDX-License-Identifier: Apache-2.0
//
// thalweg/map.hpp - the host's own use of memory that tasks use too.
//
//   {
//     auto values = must(map(array, for_update));   // waits for the tasks that use the bytes
//     for (float& v : values) v *= 2;
//   }                                               // tasks may have them again
//
// The host is one more user of the bytes: a view is given to it when every task it conflicts with
// has passed, not only been ordered. From the call on until the view is closed, tasks that conflict
// with it are refused with invalid_argument: any task with a view that writes, tasks that write
// with a view that reads.
//
// Memory of a HostArray can be mapped on every backend, device memory only where its addresses are
// the process's own (cpu); otherwise `unsupported`.
//
// Threads:    map() from any thread; one Mapped object needs external synchronization.
// Ownership:  a Mapped keeps the memory alive. Its destructor closes the view and never waits.

#pragma once

#include <cstddef>
#include <source_location>
#include <span>
#include <type_traits>
#include <utility>

#include "thalweg/buffer.hpp"

namespace thalweg {

// How the host will use the bytes.
struct ForReading {};  // Does not change them.
struct ForWriting {};  // Defines those it needs; what it does not write keeps its old value, and
                       // is good from now on, also where a failed task had left it unwritten.
struct ForUpdate {};   // Reads and changes them.
inline constexpr ForReading for_reading{};
inline constexpr ForWriting for_writing{};
inline constexpr ForUpdate for_update{};

template <class Mode>
concept MapMode = std::same_as<Mode, ForReading> || std::same_as<Mode, ForWriting> ||
                  std::same_as<Mode, ForUpdate>;

// An open view of the host. T is const for one that only reads.
template <class T>
class [[nodiscard]] Mapped {
 public:
  Mapped() noexcept = default;
  Mapped(Mapped&& other) noexcept
      : memory_(std::move(other.memory_)),
        mapping_(std::exchange(other.mapping_, {})),
        count_(std::exchange(other.count_, 0)) {}
  Mapped& operator=(Mapped&& other) noexcept {
    Mapped taken(std::move(other));
    std::swap(memory_, taken.memory_);
    std::swap(mapping_, taken.mapping_);
    std::swap(count_, taken.count_);
    return *this;
  }
  ~Mapped() { unmap(); }

  // Closes the view; its elements must not be touched any more. Nothing when it is closed.
  void unmap() noexcept {
    if (memory_) memory_->unmap(mapping_.ticket);
    memory_.reset();
    mapping_ = {};
    count_ = 0;
  }

  // Null and 0 when it is closed.
  T* data() const noexcept { return reinterpret_cast<T*>(mapping_.address); }
  std::size_t size() const noexcept { return count_; }
  T& operator[](std::size_t index) const noexcept { return data()[index]; }
  T* begin() const noexcept { return data(); }
  T* end() const noexcept { return data() + count_; }
  std::span<T> span() const noexcept { return {data(), count_}; }

  // For map().
  Mapped(Ref<detail::AllocationCore> memory, detail::HostMapping mapping,
         std::size_t count) noexcept
      : memory_(std::move(memory)), mapping_(mapping), count_(count) {}

 private:
  Ref<detail::AllocationCore> memory_;
  detail::HostMapping mapping_;
  std::size_t count_ = 0;
};

namespace detail {

THALWEG_EXPORT Result<HostMapping> map_view(const ViewParts& view, AccessMode mode, bool may_wait,
                                            Deadline deadline, Site site);

template <MapMode Mode>
inline constexpr AccessMode kAccessOf = std::same_as<Mode, ForReading>   ? AccessMode::read
                                        : std::same_as<Mode, ForWriting> ? AccessMode::write
                                                                         : AccessMode::read_write;

template <Viewable V, MapMode Mode>
using MappedElement = std::conditional_t<std::same_as<Mode, ForReading>,
                                         std::add_const_t<ElementOf<V>>, ElementOf<V>>;

template <Viewable V, MapMode Mode>
Result<Mapped<MappedElement<V, Mode>>> map(const V& view, Mode, bool may_wait, Deadline deadline,
                                           Site site) {
  static_assert(std::same_as<Mode, ForReading> || !std::is_const_v<ElementOf<V>>,
                "A View<const T> can only be read.");
  const ViewParts parts = ViewTraits<V>::parts(view);
  THALWEG_TRY_ASSIGN(const HostMapping mapping,
                     map_view(parts, kAccessOf<Mode>, may_wait, deadline, site));
  return Mapped<MappedElement<V, Mode>>(Ref<AllocationCore>::share(parts.memory), mapping,
                                        static_cast<std::size_t>(parts.count));
}

}  // namespace detail

// Waits on the host until the elements of `view` are free for `mode`, and opens a view on them.
// Errors: invalid_argument, when the host has a view open that conflicts, or the range leaves its
//         memory; unsupported; unwritten, when a byte is to be read that a task left unwritten;
//         timeout and wait_forbidden, which leave everything as it was.
template <Viewable V, MapMode Mode>
auto map(const V& view, Mode mode, Deadline deadline = {},
         std::source_location site = std::source_location::current()) {
  return detail::map(view, mode, true, deadline, site);
}

// The same without waiting. Errors: not_ready, when map() would have to wait.
template <Viewable V, MapMode Mode>
auto try_map(const V& view, Mode mode,
             std::source_location site = std::source_location::current()) {
  return detail::map(view, mode, false, {}, site);
}

}  // namespace thalweg
