// SPDX-License-Identifier: Apache-2.0
//
// tools/output_file.hpp - a file that is there whole or not at all.
//
// open() makes a temporary file beside the target, so that what cannot be written is known before
// the work starts; commit() fills it and gives it the target's name. A device or a pipe is written
// directly.
//
// Threads:    external synchronization. At most one OutputFile lives at a time.
// Errors:     invalid_argument, with the system's words.

#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "thalweg/base/result.hpp"

namespace thalweg::tool {

class [[nodiscard]] OutputFile {
 public:
  static Result<OutputFile> open(const std::string& path);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;

  // Removes what was not committed.
  ~OutputFile();

  // Writes `bytes` as the file's whole contents. Called once.
  Result<void> commit(std::span<const std::uint8_t> bytes);

  const std::string& path() const noexcept { return path_; }

 private:
  OutputFile(std::string path, std::string temporary, int descriptor) noexcept;

  void discard() noexcept;

  std::string path_;       // As it was given.
  std::string target_;     // What it leads to, symbolic links followed.
  std::string temporary_;  // Empty: there is none, and the target itself is open.
  int descriptor_ = -1;    // -1 after a move or commit().
};

}  // namespace thalweg::tool
