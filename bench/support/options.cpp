// SPDX-License-Identifier: Apache-2.0

#include "support/options.hpp"

#include <fmt/core.h>

#include <charconv>

#include "support/machine.hpp"

namespace thalweg::bench {
namespace {

constexpr std::string_view kUsage =
    "usage: bench_{} [--quick] [--rounds=N] [--cores=one|all] [--only=TEXT] [--commit=ID] "
    "[--machine=TEXT]\n"
    "Prints one JSON object a line. --only=TEXT: the cases whose name contains TEXT.\n";

// The rest of `argument` when it begins with `key`.
std::optional<std::string_view> value_of(std::string_view argument, std::string_view key) {
  if (!argument.starts_with(key)) return std::nullopt;
  return argument.substr(key.size());
}

bool parse_positive(std::string_view text, int& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && number > 0;
}

bool take(Options& options, std::string_view argument) {
  if (argument == "--quick") {
    options.quick = true;
    options.rounds = 1;
    return true;
  }
  if (const auto rounds = value_of(argument, "--rounds="))
    return parse_positive(*rounds, options.rounds);
  if (const auto cores = value_of(argument, "--cores=")) {
    options.cores = std::string(*cores) + (*cores == "one" ? " core" : " cores");
    return *cores == "one" || *cores == "all";
  }
  const auto set = [argument](std::string_view key, std::string& text) {
    const auto value = value_of(argument, key);
    if (value) text = *value;
    return value.has_value();
  };
  return set("--only=", options.only) || set("--commit=", options.commit) ||
         set("--machine=", options.machine);
}

}  // namespace

std::optional<Options> parse_options(std::string_view bench, int argc, char** argv, int rounds) {
  Options options;
  options.rounds = rounds;
  options.bench = bench;
  options.machine = describe_machine();
  for (int i = 1; i < argc; ++i) {
    if (take(options, argv[i])) continue;
    fmt::print(stderr, fmt::runtime(kUsage), bench);
    return std::nullopt;
  }
  return options;
}

}  // namespace thalweg::bench
