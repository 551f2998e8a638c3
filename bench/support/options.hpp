// SPDX-License-Identifier: Apache-2.0
//
// support/options.hpp - the command line that every benchmark takes.

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace thalweg::bench {

struct Options {
  std::string bench;   // "submit", say.
  bool quick = false;  // Small parameters, few rounds: does it run, is it right.
  int rounds = 9;      // Undisturbed rounds wanted.
  std::string commit = "unknown";
  std::string machine;  // Found out when not given.
  std::string only;     // Of the cases, those whose name contains it.
  std::string cores;    // "one core" or "all cores"; empty: both.
};

// `rounds`: where the command line does not say.
// Errors: prints the usage on stderr and gives nothing.
std::optional<Options> parse_options(std::string_view bench, int argc, char** argv,
                                     int rounds = Options().rounds);

}  // namespace thalweg::bench
