// SPDX-License-Identifier: Apache-2.0
//
// tools/progress.hpp - how far the work is, on stderr.

#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

namespace thalweg::tool {

// A bar, on a terminal only.
class Progress {
 public:
  // Of `total` steps.
  explicit Progress(std::uint64_t total) noexcept;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Takes the bar away.
  ~Progress() { clear(); }

  // Shows that `what` is being done now.
  void show(std::string_view what);
  void step() noexcept { ++done_; }
  void clear();

 private:
  const bool terminal_;
  const std::uint64_t total_;
  std::uint64_t done_ = 0;
  bool shown_ = false;  // The bar stands on the terminal.
};

// Says on stderr how far work has come whose end is not known: on a terminal a line that changes,
// elsewhere a line every ten seconds.
class Ticker {
 public:
  Ticker() noexcept;
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

  // Takes the line away.
  ~Ticker() { clear(); }

  // `elapsed` since the work began.
  void show(std::chrono::nanoseconds elapsed, std::string_view what);
  void clear();

 private:
  const bool terminal_;
  std::chrono::nanoseconds next_{};  // Nothing is said before.
  bool shown_ = false;
};

}  // namespace thalweg::tool
