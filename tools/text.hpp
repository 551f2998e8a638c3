// SPDX-License-Identifier: Apache-2.0
//
// tools/text.hpp - text for people: one-line messages, aligned tables, numbers with units.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/error.hpp"
#include "thalweg/base/result.hpp"

namespace thalweg::tool {

// `text` with control characters written out, so that it stays on one line and changes no terminal.
std::string on_one_line(std::string_view text);

// At most `bytes_max` bytes of the text, and dots behind them where there are more. No character of
// UTF-8 is cut in two.
std::string shortened(std::string_view text, std::size_t bytes_max);

// The text in quotes and on one line, shortened where there is much of it.
std::string in_quotes(std::string_view text);

// The message and those of its causes, on one line.
std::string message_of(const Error& error);

// Prints "thalweg: <text>" on stderr, on one line.
void complain(std::string_view text);

// Writes `text` to stdout and sees that it arrives. Errors: unavailable.
Result<void> print(std::string_view text);

double milliseconds(std::chrono::nanoseconds time) noexcept;

// "12.5 MiB".
std::string bytes_text(std::uint64_t bytes);

// Columns as wide as their widest cell. The first is aligned to the left, the others to the right.
class Table {
 public:
  explicit Table(std::vector<std::string> header) { rows_.push_back(std::move(header)); }

  // REQUIRES: as many cells as the header has.
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace thalweg::tool
