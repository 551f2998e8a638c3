// SPDX-License-Identifier: Apache-2.0

#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace thalweg::tool {

std::string on_one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f)
      line += fmt::format("\\x{:02x}", byte);
    else
      line += c;
  }
  return line;
}

std::string shortened(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return std::string(text);
  while (bytes_max != 0 && (static_cast<unsigned char>(text[bytes_max]) & 0xc0) == 0x80)
    --bytes_max;
  return std::string(text.substr(0, bytes_max)) + "...";
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kQuotedMax = 60;
  return fmt::format("'{}'", on_one_line(shortened(text, kQuotedMax)));
}

std::string message_of(const Error& error) {
  std::string text(error.message());
  for (const Error* cause = error.cause(); cause != nullptr; cause = cause->cause())
    text += fmt::format(" Cause: {}", cause->message());
  return on_one_line(text);
}

void complain(std::string_view text) {
  const std::string line = fmt::format("thalweg: {}\n", on_one_line(text));
  std::fflush(stdout);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

Result<void> print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    return Error(ErrorKind::unavailable, "The standard output cannot be written.");
  return {};
}

double milliseconds(std::chrono::nanoseconds time) noexcept {
  return std::chrono::duration<double, std::milli>(time).count();
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string Table::text() const {
  std::vector<std::size_t> widths(rows_.front().size(), 0);
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());

  std::string text;
  const auto add_line = [&](const std::vector<std::string>& row) {
    std::string line = fmt::format("{:<{}}", row.front(), widths.front());
    for (std::size_t i = 1; i < row.size(); ++i) line += fmt::format("  {:>{}}", row[i], widths[i]);
    text += line + "\n";
  };
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    add_line(rows_[i]);
    if (i > 0) continue;
    std::vector<std::string> rule;
    for (const std::size_t width : widths) rule.emplace_back(width, '-');
    add_line(rule);
  }
  return text;
}

}  // namespace thalweg::tool
