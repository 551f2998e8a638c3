// SPDX-License-Identifier: Apache-2.0
//
// thalweg/view2d.hpp - View2D: rows of elements that lie a pitch apart in device memory.
//
//   first       pitch                `width` elements of every `pitch`, `height` times
//   |-----------|xxxxx......|xxxxx......|xxxxx|
//               ^ row 0     ^ row 1     ^ row 2
//
// Made by View::tile() and Array::tile(). What lies between the rows is not touched, and tasks on
// tiles that share no element are independent: the columns of one array on several streams, say.
// The order is exact for up to 64 rows; a tile of more rows orders like all the bytes from its
// first to its last.
//
// Threads:    const methods from any thread; one handle object must not be assigned or destroyed
//             while another thread uses that object.
// Ownership:  a counted handle, as a View.
// Errors:     where the tile is used: invalid_handle, when it is moved from or default made;
//             invalid_argument, when it leaves what it was made of, is not aligned, has more bytes
//             than 2^64, or is written although its rows overlap.

#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "thalweg/interface.hpp"

namespace thalweg {

namespace detail {
// The offset of a subview that is outside its view.
inline constexpr std::uint64_t kOutside = std::numeric_limits<std::uint64_t>::max();

// Byte `offset` and `elements` behind it; kOutside when there is no such byte.
constexpr std::uint64_t byte_of(std::uint64_t offset, std::uint64_t elements,
                                std::uint64_t element_bytes) noexcept {
  std::uint64_t at = 0;
  const bool overflow = offset == kOutside ||
                        __builtin_mul_overflow(elements, element_bytes, &at) ||
                        __builtin_add_overflow(at, offset, &at);
  return overflow ? kOutside : at;
}
}  // namespace detail

// View2D<const T> can only be read. All numbers are elements.
template <class T>
class [[nodiscard]] View2D {
 public:
  using Element = T;
  static_assert(std::is_trivially_copyable_v<T>,
                "Device memory holds trivially copyable elements.");

  View2D() noexcept = default;

  // Rows from byte `offset_bytes` of `memory`, which must be a multiple of alignof(T). With one row
  // the pitch has no meaning. With a pitch below `width` rows share elements, and can be read only.
  View2D(Ref<detail::AllocationCore> memory, std::uint64_t offset_bytes, std::uint64_t width,
         std::uint64_t height, std::uint64_t pitch) noexcept
      : memory_(std::move(memory)),
        offset_bytes_(offset_bytes),
        width_(width),
        height_(height),
        pitch_(pitch) {}

  // A template, so that nvcc does not warn of a conversion to itself.
  template <std::same_as<const T> U>
    requires(!std::is_const_v<T>)
  operator View2D<U>() const noexcept {
    return {memory_, offset_bytes_, width_, height_, pitch_};
  }

  // The columns [x, x + width) of the rows [y, y + height); what does not lie inside this tile is
  // refused where it is used.
  View2D subview(std::uint64_t x, std::uint64_t y, std::uint64_t width,
                 std::uint64_t height) const noexcept {
    const bool inside = x <= width_ && width <= width_ - x && y <= height_ && height <= height_ - y;
    std::uint64_t offset = inside ? offset_bytes_ : detail::kOutside;
    // Without elements it is nowhere in particular; the end of the last row may be no byte of ours.
    if (inside && width != 0 && height != 0) {
      std::uint64_t elements = 0;
      const bool overflow = __builtin_mul_overflow(y, pitch_, &elements) ||
                            __builtin_add_overflow(elements, x, &elements);
      offset = overflow ? detail::kOutside : detail::byte_of(offset, elements, sizeof(T));
    }
    return {memory_, offset, width, height, pitch_};
  }

  // 0 for an invalid handle.
  std::uint64_t width() const noexcept { return memory_ ? width_ : 0; }
  std::uint64_t height() const noexcept { return memory_ ? height_ : 0; }
  std::uint64_t pitch() const noexcept { return pitch_; }
  std::uint64_t offset_bytes() const noexcept { return offset_bytes_; }
  detail::AllocationCore* core() const noexcept { return memory_.get(); }
  const Ref<detail::AllocationCore>& ref() const noexcept { return memory_; }

 private:
  Ref<detail::AllocationCore> memory_;
  std::uint64_t offset_bytes_ = 0;
  std::uint64_t width_ = 0;
  std::uint64_t height_ = 0;
  std::uint64_t pitch_ = 0;
};

namespace detail {

// The parts of a View or a View2D that a submission needs, without counting a reference. A View is
// one row.
struct TileParts {
  AllocationCore* memory = nullptr;
  std::uint64_t offset_bytes = 0;
  std::uint64_t width = 0;
  std::uint64_t height = 1;
  std::uint64_t pitch = 0;
  std::uint32_t element_bytes = 0;
  std::uint32_t alignment_bytes = 0;
  bool tile = false;     // Made of a View2D: for messages.
  bool written = false;  // Its rows must not overlap.

  bool empty() const noexcept { return width == 0 || height == 0; }

  // REQUIRES: well_formed().
  std::uint64_t count() const noexcept { return width * height; }

  TileParts as_written() const noexcept {
    TileParts parts = *this;
    parts.written = true;
    return parts;
  }
};

// Whether the tile names memory, is aligned, counts bytes, and may be written if it is. Its range
// is checked by the runtime.
THALWEG_EXPORT bool well_formed(const TileParts& tile) noexcept;

// The bytes of a tile; one row where nothing lies between its rows.
// REQUIRES: well_formed().
THALWEG_EXPORT Access access_of(const TileParts& tile, AccessMode mode) noexcept;

template <class V>
struct TileTraits : std::false_type {};

template <class T>
struct TileTraits<View2D<T>> : std::true_type {
  static TileParts parts(const View2D<T>& view) noexcept {
    return {view.core(),  view.offset_bytes(), view.width(), view.height(),
            view.pitch(), sizeof(T),           alignof(T),   true};
  }
};

}  // namespace detail

// A View2D.
template <class V>
concept Viewable2D = detail::TileTraits<std::remove_cvref_t<V>>::value;

}  // namespace thalweg
