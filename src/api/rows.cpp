// SPDX-License-Identifier: Apache-2.0

#include "api/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/handle.hpp"

namespace thalweg::detail {
namespace {

bool aligned(const TileParts& tile) noexcept {
  // The alignment is a power of two.
  return ((tile.memory->address + tile.offset_bytes) & (tile.alignment_bytes - 1)) == 0;
}

bool rows_overlap(const TileParts& tile) noexcept {
  return tile.height > 1 && tile.width != 0 && tile.pitch < tile.width;
}

// `height` rows of the tile, whether or not something lies between them.
Access rows_of(const TileParts& tile, std::uint64_t width, std::uint64_t height,
               AccessMode mode) noexcept {
  const std::uint64_t pitch = tile.height == 1 ? width : tile.pitch;
  return {tile.memory, tile.offset_bytes,          width * tile.element_bytes,
          height,      pitch * tile.element_bytes, mode};
}

// Rows that leave no gap are one.
Access joined(Access access) noexcept {
  if (access.rows == 0 || access.row_bytes == 0) {
    access.rows = 1;
    access.row_bytes = 0;
  } else if (access.rows > 1 && access.pitch <= access.row_bytes) {
    access.row_bytes = access.end() - access.offset;
    access.rows = 1;
  }
  return access;
}

// Row i of `low` and row j of `high` meet when (i - j) * pitch is less than low.row_bytes below, or
// less than high.row_bytes above, the distance of the two: i - j can only be its quotient or one
// more.
// REQUIRES: one pitch, longer than the rows; low.offset <= high.offset.
bool meets_equal(const Access& low, const Access& high) noexcept {
  const std::uint64_t apart = high.offset - low.offset;
  const std::uint64_t quotient = apart / low.pitch;
  const std::uint64_t rest = apart % low.pitch;
  return (rest < low.row_bytes && quotient < low.rows) ||
         (low.pitch - rest < high.row_bytes && quotient + 1 < low.rows);
}

// Row by row of the one with fewer rows where both are.
Meeting meeting_by_rows(const Access& a, const Access& b) noexcept {
  const std::uint64_t first =
      a.offset + a.row_bytes > b.offset ? 0 : (b.offset - a.offset - a.row_bytes) / a.pitch + 1;
  const std::uint64_t last = std::min(a.rows, (b.end() - a.offset - 1) / a.pitch + 1);
  if (first >= last) return Meeting::none;
  if (last - first > kRowsComparedMax) return Meeting::unknown;
  for (std::uint64_t row = first; row != last; ++row) {
    const std::uint64_t begin = a.offset + row * a.pitch;
    if (b.touches(begin, begin + a.row_bytes)) return Meeting::some;
  }
  return Meeting::none;
}

}  // namespace

bool well_formed(const TileParts& tile) noexcept {
  if (tile.memory == nullptr || tile.offset_bytes == kOutside || !aligned(tile)) return false;
  if (tile.empty()) return true;
  const std::uint64_t element = tile.element_bytes;
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  if (__builtin_mul_overflow(tile.width, tile.height, &count) ||
      __builtin_mul_overflow(count, element, &bytes))
    return false;
  if (tile.height == 1) return true;
  std::uint64_t span = 0;
  return !__builtin_mul_overflow(tile.pitch, element, &span) &&
         !__builtin_mul_overflow(span, tile.height - 1, &span) &&
         !__builtin_add_overflow(span, tile.width * element, &span) &&
         !__builtin_add_overflow(span, tile.offset_bytes, &span) &&
         !(tile.written && rows_overlap(tile));
}

Access access_of(const TileParts& tile, AccessMode mode) noexcept {
  if (tile.empty()) return {tile.memory, tile.offset_bytes, 0, 1, 0, mode};
  if (tile.height == 1 || tile.pitch == tile.width)
    return {tile.memory, tile.offset_bytes, tile.count() * tile.element_bytes, 1, 0, mode};
  return rows_of(tile, tile.width, tile.height, mode);
}

[[gnu::cold]] Error misuse(const TileParts& view, std::source_location site) {
  if (view.memory == nullptr) return no_handle("view", site);
  const std::string shape = fmt::format("A tile of {} x {} elements with a pitch of {}", view.width,
                                        view.height, view.pitch);
  if (view.offset_bytes == kOutside)
    return Error(ErrorKind::invalid_argument,
                 view.tile
                     ? shape + " is outside the view it was made of."
                     : fmt::format("A subview of {} elements is outside the view it was made of.",
                                   view.width),
                 site);
  if (!aligned(view))
    return Error(ErrorKind::invalid_argument,
                 fmt::format("A view at byte {} is not aligned to its elements' {} bytes.",
                             view.offset_bytes, view.alignment_bytes),
                 site);
  if (view.written && rows_overlap(view))
    return Error(ErrorKind::invalid_argument,
                 shape + " is written, and its rows overlap: it can only be read.", site);
  return Error(ErrorKind::invalid_argument,
               view.tile ? fmt::format("{}, of {} bytes each, is outside memory of {} bytes.",
                                       shape, view.element_bytes, view.memory->size_bytes)
                         : fmt::format("{} elements of {} bytes are outside memory of {} bytes.",
                                       view.width, view.element_bytes, view.memory->size_bytes),
               site);
}

Result<void> check_same_shape(const TileParts& to, const TileParts& from,
                              std::source_location site) {
  if (to.width == from.width && to.height == from.height) return {};
  return Error(ErrorKind::invalid_size,
               fmt::format("A tile of {} x {} elements does not fit one of {} x {}.", from.width,
                           from.height, to.width, to.height),
               site);
}

std::array<Access, 2> accesses_of_copy(const TileParts& to, const TileParts& from) noexcept {
  const Access whole_to = access_of(to, AccessMode::write);
  const Access whole_from = access_of(from, AccessMode::read);
  if (whole_to.rows == 1 && whole_from.rows == 1) return {whole_to, whole_from};
  // A View, or a tile of one row, goes along with the rows of the other.
  const TileParts& shape = to.height > 1 ? to : from;
  return {rows_of(to, shape.width, shape.height, AccessMode::write),
          rows_of(from, shape.width, shape.height, AccessMode::read)};
}

Meeting meeting(const Access& one, const Access& other) noexcept {
  const auto is_meeting = [](bool met) { return met ? Meeting::some : Meeting::none; };
  const Access a = joined(one);
  const Access b = joined(other);
  if (a.row_bytes == 0 || b.row_bytes == 0 || a.end() <= b.offset || b.end() <= a.offset)
    return Meeting::none;
  if (a.rows == 1) return is_meeting(b.touches(a.offset, a.end()));
  if (b.rows == 1) return is_meeting(a.touches(b.offset, b.end()));
  if (a.pitch == b.pitch)
    return is_meeting(a.offset <= b.offset ? meets_equal(a, b) : meets_equal(b, a));
  return a.rows <= b.rows ? meeting_by_rows(a, b) : meeting_by_rows(b, a);
}

Result<void> check_apart(const Access& to, const Access& from, std::source_location site) {
  const Meeting met = meeting(to, from);
  if (met == Meeting::none) [[likely]]
    return {};
  if (to.rows == 1)
    return Error(ErrorKind::invalid_argument,
                 fmt::format("A copy of {} bytes from byte {} to byte {} of one buffer overlaps.",
                             to.row_bytes, from.offset, to.offset),
                 site);
  const std::string what = fmt::format(
      "A copy of {} rows of {} bytes from byte {} with a pitch of {} to byte {} with a "
      "pitch of {} of one buffer",
      to.rows, to.row_bytes, from.offset, from.pitch, to.offset, to.pitch);
  return Error(
      ErrorKind::invalid_argument,
      met == Meeting::some
          ? what + " overlaps."
          : fmt::format("{} may overlap: with different pitches at most {} rows are compared.",
                        what, kRowsComparedMax),
      site);
}

}  // namespace thalweg::detail
