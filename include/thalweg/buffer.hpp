// SPDX-License-Identifier: Apache-2.0
//
// thalweg/buffer.hpp - device memory: Buffer, Array and View. Rows with gaps between them are a
// View2D (thalweg/view2d.hpp).
//
// All three are counted handles: a copy names the same bytes. When the last one goes, the bytes
// become reusable once every task that was given them has passed; nobody waits for that. Work put
// on Stream::raw() is no such task until Stream::touch() or Stream::native() says what it uses.
//
// Threads:    const methods from any thread; one handle object must not be assigned or destroyed
//             while another thread uses that object.
// Errors:     a handle that is moved from or default made is refused where it is used:
//             invalid_handle.

#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <source_location>
#include <span>
#include <type_traits>
#include <utility>

#include "thalweg/interface.hpp"
#include "thalweg/view2d.hpp"

namespace thalweg {

class Device;
class Stream;

namespace detail {
// The options for elements of T. An alignment that is none stays, to be refused.
template <class T>
AllocationOptions aligned_for(AllocationOptions options) noexcept {
  std::uint64_t& alignment = options.alignment_bytes;
  if (alignment < alignof(T) && (alignment & (alignment - 1)) == 0) alignment = alignof(T);
  return options;
}
}  // namespace detail

// Bytes without a type.
class [[nodiscard]] THALWEG_EXPORT Buffer {
 public:
  Buffer() noexcept = default;

  // Memory whose home is `home`: work on that stream may use it without any wait, and so may, by
  // their accesses, all other streams of the device. The contents are undefined. Zero bytes give a
  // valid, empty buffer. Never waits for the device; may take memory from the system.
  // Errors: invalid_size, when the size cannot be rounded up; out_of_memory, with the limit;
  //         invalid_argument for an alignment that is no power of two or above 4096.
  static Result<Buffer> create(const Stream& home, std::uint64_t size_bytes,
                               const AllocationOptions& options = {},
                               std::source_location site = std::source_location::current());

  // Memory that the program made, for tasks of `device`: `size_bytes` bytes from `address`, which
  // stay there until `deleter` is called. It is called once, when no handle is left and every task
  // that was given the bytes has passed: on the thread that drops the last handle, or on one of the
  // runtime's. It does not wait. An empty deleter leaves the memory to the program, which then
  // finds out by other means when tasks have passed. Buffers of overlapping bytes are ordered as
  // one memory, on all devices to which the addresses mean the same: also what a task of one leaves
  // unwritten the other finds so, until it is written or neither is there and their tasks have
  // passed. Until the last of them is gone the program touches the bytes only through map().
  // Errors: invalid_argument for a null pointer with a size, or for bytes of the device's own;
  //         invalid_size for more than 2^56 bytes. The deleter is then not called.
  static Result<Buffer> adopt(const Device& device, void* address, std::uint64_t size_bytes,
                              UniqueFunction deleter = {},
                              std::source_location site = std::source_location::current());

  std::uint64_t size_bytes() const noexcept { return core_ ? core_->size_bytes : 0; }
  AllocationId id() const noexcept { return core_ ? core_->id : AllocationId{}; }
  bool valid() const noexcept { return static_cast<bool>(core_); }

  detail::AllocationCore* core() const noexcept { return core_.get(); }
  const Ref<detail::AllocationCore>& ref() const noexcept { return core_; }

  // For the functions that make one.
  explicit Buffer(Ref<detail::AllocationCore> core) noexcept : core_(std::move(core)) {}

 private:
  Ref<detail::AllocationCore> core_;
};

// A range of elements. View<const T> can only be read. The range is checked against the memory when
// the view is used, not when it is made.
template <class T>
class [[nodiscard]] View {
 public:
  using Element = T;
  static_assert(std::is_trivially_copyable_v<T>,
                "Device memory holds trivially copyable elements.");

  View() noexcept = default;

  // `count` elements from byte `offset_bytes` of `memory`, which must be a multiple of alignof(T).
  View(Ref<detail::AllocationCore> memory, std::uint64_t offset_bytes, std::uint64_t count) noexcept
      : memory_(std::move(memory)), offset_bytes_(offset_bytes), count_(count) {}
  View(const Buffer& memory, std::uint64_t offset_bytes, std::uint64_t count) noexcept
      : View(memory.ref(), offset_bytes, count) {}

  // A template, so that nvcc does not warn of a conversion to itself.
  template <std::same_as<const T> U>
    requires(!std::is_const_v<T>)
  operator View<U>() const noexcept {
    return {memory_, offset_bytes_, count_};
  }

  // Elements [first, first + count) of this view; a range that does not lie inside it is refused
  // where it is used.
  View subview(std::uint64_t first, std::uint64_t count) const noexcept {
    const bool inside = first <= count_ && count <= count_ - first;
    if (!inside) return {memory_, detail::kOutside, count};
    return {memory_, detail::byte_of(offset_bytes_, first, sizeof(T)), count};
  }

  // `height` rows of `width` elements, the first from element `first`, the others each `pitch`
  // elements behind the one before. What does not lie inside this view is refused where it is used.
  View2D<T> tile(std::uint64_t first, std::uint64_t width, std::uint64_t height,
                 std::uint64_t pitch) const noexcept {
    std::uint64_t end = 0;
    bool inside = first <= count_;
    if (inside && width != 0 && height != 0) {
      inside = !__builtin_mul_overflow(height - 1, pitch, &end) &&
               !__builtin_add_overflow(end, width, &end) && end <= count_ - first;
    }
    const std::uint64_t offset =
        inside ? detail::byte_of(offset_bytes_, first, sizeof(T)) : detail::kOutside;
    return {memory_, offset, width, height, pitch};
  }

  // 0 for an invalid handle.
  std::uint64_t count() const noexcept { return memory_ ? count_ : 0; }
  std::uint64_t size_bytes() const noexcept { return count() * sizeof(T); }
  std::uint64_t offset_bytes() const noexcept { return offset_bytes_; }
  detail::AllocationCore* core() const noexcept { return memory_.get(); }
  const Ref<detail::AllocationCore>& ref() const noexcept { return memory_; }

 private:
  Ref<detail::AllocationCore> memory_;
  std::uint64_t offset_bytes_ = 0;
  std::uint64_t count_ = 0;
};

// A Buffer of `count` elements.
template <class T>
class [[nodiscard]] Array {
 public:
  using Element = T;
  static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>,
                "Device memory holds trivially copyable elements.");

  Array() noexcept = default;

  // As Buffer::create().
  static Result<Array> create(const Stream& home, std::uint64_t count,
                              const AllocationOptions& options = {},
                              std::source_location site = std::source_location::current()) {
    if (count > std::numeric_limits<std::uint64_t>::max() / sizeof(T))
      return detail_too_many(count, sizeof(T), site);
    const AllocationOptions aligned = detail::aligned_for<T>(options);
    THALWEG_TRY_ASSIGN(Buffer memory, Buffer::create(home, count * sizeof(T), aligned, site));
    return Array(std::move(memory), count);
  }

  // As Buffer::adopt(), for elements that the program has.
  static Result<Array> adopt(const Device& device, std::span<T> elements,
                             UniqueFunction deleter = {},
                             std::source_location site = std::source_location::current()) {
    THALWEG_TRY_ASSIGN(Buffer memory, Buffer::adopt(device, elements.data(), elements.size_bytes(),
                                                    std::move(deleter), site));
    return Array(std::move(memory), elements.size());
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

  // 0 for an invalid handle.
  std::uint64_t count() const noexcept { return memory_.valid() ? count_ : 0; }
  std::uint64_t size_bytes() const noexcept { return count() * sizeof(T); }
  const Buffer& buffer() const noexcept { return memory_; }
  bool valid() const noexcept { return memory_.valid(); }

 private:
  Array(Buffer memory, std::uint64_t count) noexcept : memory_(std::move(memory)), count_(count) {}

  static Error detail_too_many(std::uint64_t count, std::uint64_t element_bytes,
                               std::source_location site);

  Buffer memory_;
  std::uint64_t count_ = 0;
};

namespace detail {
THALWEG_EXPORT Result<Buffer> create_buffer(const Stream& home, MemoryKind kind,
                                            std::uint64_t size_bytes,
                                            const AllocationOptions& options, Site site);
THALWEG_EXPORT Error too_many_elements(std::uint64_t count, std::uint64_t element_bytes, Site site);

// The parts of a view that a submission needs, without counting a reference.
struct ViewParts {
  AllocationCore* memory = nullptr;
  std::uint64_t offset_bytes = 0;
  std::uint64_t count = 0;
  std::uint32_t element_bytes = 0;
  std::uint32_t alignment_bytes = 0;
};

template <class V>
struct ViewTraits : std::false_type {};

template <class T>
struct ViewTraits<View<T>> : std::true_type {
  static ViewParts parts(const View<T>& view) noexcept {
    return {view.core(), view.offset_bytes(), view.count(), sizeof(T), alignof(T)};
  }
};

template <class T>
struct ViewTraits<Array<T>> : std::true_type {
  static ViewParts parts(const Array<T>& array) noexcept {
    return {array.buffer().core(), 0, array.count(), sizeof(T), alignof(T)};
  }
};

}  // namespace detail

template <class T>
Error Array<T>::detail_too_many(std::uint64_t count, std::uint64_t element_bytes,
                                std::source_location site) {
  return detail::too_many_elements(count, element_bytes, site);
}

// A View or an Array.
template <class V>
concept Viewable = detail::ViewTraits<std::remove_cvref_t<V>>::value;

// What submissions take: a View, an Array or a View2D.
template <class V>
concept AnyView = Viewable<V> || Viewable2D<V>;

template <AnyView V>
using ElementOf = typename std::remove_cvref_t<V>::Element;

namespace detail {

inline TileParts one_row(const ViewParts& view) noexcept {
  return {view.memory, view.offset_bytes,  view.count,          1,
          0,           view.element_bytes, view.alignment_bytes};
}

template <AnyView V>
TileParts parts_of(const V& view) noexcept {
  if constexpr (Viewable2D<V>) {
    return TileTraits<V>::parts(view);
  } else {
    return one_row(ViewTraits<V>::parts(view));
  }
}

}  // namespace detail

}  // namespace thalweg
