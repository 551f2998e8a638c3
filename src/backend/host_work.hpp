// SPDX-License-Identifier: Apache-2.0
//
// backend/host_work.hpp - what tasks do on backends whose memory the host can reach.

#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>

#include "thalweg/base/error.hpp"
#include "thalweg/base/grid.hpp"

namespace thalweg::backend {

// Rows of `bytes` bytes, `pitch` apart.
struct Rows {
  std::uint64_t bytes = 0;
  std::uint64_t count = 1;
  std::uint64_t pitch = 0;
};

// Repeats the first `pattern_bytes` of the pattern in each row.
void fill_rows(std::byte* to, const Rows& rows, const std::uint64_t (&pattern)[2],
               std::uint32_t pattern_bytes) noexcept;

// As many rows of as many bytes as `rows` has, from rows that are `from_pitch` apart.
void copy_rows(std::byte* to, const Rows& rows, const std::byte* from,
               std::uint64_t from_pitch) noexcept;

// What a task threw, as the task's failure: "Kernel `blur` threw std::bad_alloc: ...". REQUIRES: an
// exception is being handled.
Error thrown(std::string_view what, std::string_view name, std::source_location site);

// The failure of a kernel whose grid on the device is no launchable one.
Error grid_refused(std::string_view kernel, const Extent& extent, std::source_location site);

// The failure of a stream's signal that comes too late.
Error signal_refused(std::uint64_t value, std::uint64_t present, std::source_location site);

// The end of a task that was told to stop: "Kernel `blur` was stopped before it began." Without a
// name: "A task ...".
Error stopped(std::string_view what, std::string_view name, std::source_location site);

}  // namespace thalweg::backend
