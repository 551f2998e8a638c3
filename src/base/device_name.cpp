// SPDX-License-Identifier: Apache-2.0

#include "base/device_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

namespace thalweg::device_name {
namespace {

Error bad_value(std::string_view option, std::string_view value, std::string_view allowed,
                std::source_location site) {
  return Error(ErrorKind::invalid_argument,
               fmt::format("Option `{}` is `{}`; {}.", option, value, allowed), site);
}

// The number the text begins with, and what follows it.
std::optional<std::pair<std::uint64_t, std::string_view>> leading_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc()) return std::nullopt;
  return std::pair(number, text.substr(static_cast<std::size_t>(end - text.data())));
}

}  // namespace

Result<DeviceName> parse_name(std::string_view name, std::source_location site) {
  DeviceName parsed;
  const std::size_t mark = name.find('?');
  parsed.backend = name.substr(0, mark);
  std::string_view rest =
      mark == std::string_view::npos ? std::string_view{} : name.substr(mark + 1);
  for (bool more = !rest.empty(); more;) {
    const std::string_view option = rest.substr(0, rest.find('&'));
    more = option.size() != rest.size();
    rest.remove_prefix(option.size() + (more ? 1 : 0));
    const std::size_t equal = option.find('=');
    if (equal == std::string_view::npos || equal == 0 || equal + 1 == option.size())
      return Error(
          ErrorKind::invalid_argument,
          fmt::format("`{}` in device name `{}` is not of the form option=value.", option, name),
          site);
    const std::string_view key = option.substr(0, equal);
    const bool twice = std::any_of(parsed.options.begin(), parsed.options.end(),
                                   [key](const auto& known) { return known.first == key; });
    if (twice)
      return Error(ErrorKind::invalid_argument,
                   fmt::format("Option `{}` is given twice in device name `{}`.", key, name), site);
    parsed.options.emplace_back(key, option.substr(equal + 1));
  }
  return parsed;
}

Result<std::uint64_t> parse_count(std::string_view option, std::string_view value,
                                  std::uint64_t least, std::uint64_t most,
                                  std::source_location site) {
  const auto number = leading_number(value);
  if (!number || !number->second.empty() || number->first < least || number->first > most)
    return bad_value(option, value, fmt::format("a number from {} to {} is allowed", least, most),
                     site);
  return number->first;
}

Result<bool> parse_switch(std::string_view option, std::string_view value,
                          std::source_location site) {
  if (value == "on") return true;
  if (value == "off") return false;
  return bad_value(option, value, "`on` and `off` are allowed", site);
}

Result<std::uint64_t> parse_bytes(std::string_view option, std::string_view value,
                                  std::source_location site) {
  constexpr std::string_view kAllowed =
      "a number of bytes from 1 to 2^63, with KiB, MiB or GiB behind it, is allowed";
  constexpr std::uint64_t kMost = std::uint64_t{1} << 63;
  const auto number = leading_number(value);
  if (!number) return bad_value(option, value, kAllowed, site);
  int shift = 0;
  if (number->second == "KiB") {
    shift = 10;
  } else if (number->second == "MiB") {
    shift = 20;
  } else if (number->second == "GiB") {
    shift = 30;
  } else if (!number->second.empty()) {
    return bad_value(option, value, kAllowed, site);
  }
  if (number->first == 0 || number->first > kMost >> shift)
    return bad_value(option, value, kAllowed, site);
  return number->first << shift;
}

}  // namespace thalweg::device_name
