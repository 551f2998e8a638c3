// SPDX-License-Identifier: Apache-2.0

#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace thalweg::tool {
namespace {

constexpr std::uint64_t kWidth = 24;
constexpr std::chrono::milliseconds kTick(100);
constexpr std::chrono::seconds kSlowTick(10);

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

Ticker::Ticker() noexcept
    : terminal_(isatty(STDERR_FILENO) != 0), next_(terminal_ ? kTick : kSlowTick) {}

void Ticker::show(std::chrono::nanoseconds elapsed, std::string_view what) {
  if (elapsed < next_) return;
  next_ = elapsed + (terminal_ ? kTick : kSlowTick);
  write(terminal_ ? fmt::format("\r{}\x1b[K", what) : fmt::format("thalweg: {}\n", what));
  shown_ = terminal_;
}

void Ticker::clear() {
  if (shown_) write("\r\x1b[K");
  shown_ = false;
}

}  // namespace thalweg::tool
