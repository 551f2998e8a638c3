// SPDX-License-Identifier: Apache-2.0

#include "backend/host_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/thrown.hpp"

namespace thalweg::backend {

void fill_rows(std::byte* first, const Rows& rows, const std::uint64_t (&words)[2],
               std::uint32_t pattern_bytes) noexcept {
  const auto* const pattern = reinterpret_cast<const std::byte*>(words);
  const std::size_t step = pattern_bytes;
  if (rows.bytes == 0) return;
  for (std::uint64_t row = 0; row != rows.count; ++row) {
    std::byte* const to = first + row * rows.pitch;
    if (step == 1) {
      std::memset(to, static_cast<int>(*pattern), rows.bytes);
      continue;
    }
    // Doubles what is there.
    std::uint64_t done = std::min<std::uint64_t>(step, rows.bytes);
    std::memcpy(to, pattern, done);
    while (done < rows.bytes) {
      // Chunks that stay in the first-level cache once they are large.
      const std::uint64_t whole = std::min<std::uint64_t>(done, std::uint64_t{4096} / step * step);
      const std::uint64_t next = std::min(whole, rows.bytes - done);
      std::memcpy(to + done, to, next);
      done += next;
    }
  }
}

void copy_rows(std::byte* to, const Rows& rows, const std::byte* from,
               std::uint64_t from_pitch) noexcept {
  if (rows.bytes == 0) return;
  for (std::uint64_t row = 0; row != rows.count; ++row)
    std::memcpy(to + row * rows.pitch, from + row * from_pitch, rows.bytes);
}

Error thrown(std::string_view what, std::string_view name, std::source_location site) {
  return Error(ErrorKind::task_failed, fmt::format("{} `{}` threw {}.", what, name, thrown_words()),
               site);
}

Error grid_refused(std::string_view kernel, const Extent& extent, std::source_location site) {
  return Error(ErrorKind::task_failed,
               fmt::format("Kernel `{}` finds a grid of {} x {} x {} cells; 0 to 2^40 cells can be "
                           "launched, with y and z below 2^32.",
                           kernel, extent.x, extent.y, extent.z),
               site);
}

Error signal_refused(std::uint64_t value, std::uint64_t present, std::source_location site) {
  return Error(ErrorKind::invalid_argument,
               fmt::format("A stream's signal of {} comes when the timeline is at {} already.",
                           value, present),
               site);
}

Error stopped(std::string_view what, std::string_view name, std::source_location site) {
  return Error(ErrorKind::cancelled,
               name.empty() ? fmt::format("{} was stopped before it began.", what)
                            : fmt::format("{} `{}` was stopped before it began.", what, name),
               site);
}

}  // namespace thalweg::backend
