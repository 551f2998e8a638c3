// SPDX-License-Identifier: Apache-2.0

#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace thalweg::tool {
namespace {

constexpr std::uint64_t kWidth = 24;

void write(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

Progress::Progress(std::uint64_t total) noexcept
    : terminal_(isatty(STDERR_FILENO) != 0), total_(total) {}

void Progress::show(std::string_view what) {
  if (!terminal_) return;
  shown_ = true;
  const std::uint64_t filled = total_ == 0 ? 0 : std::min(kWidth, kWidth * done_ / total_);
  // The end clears what the line before left to the right.
  write(fmt::format("\r[{:#<{}}{:.<{}}] {}\x1b[K", "", filled, "", kWidth - filled, what));
}

void Progress::clear() {
  if (shown_) write("\r\x1b[K");
  shown_ = false;
}

}  // namespace thalweg::tool
