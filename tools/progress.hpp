// SPDX-License-Identifier: Apache-2.0
//
// tools/progress.hpp - a bar on stderr that shows how far the work is, on a terminal only.

#pragma once

#include <cstdint>
#include <string_view>

namespace thalweg::tool {

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

}  // namespace thalweg::tool
