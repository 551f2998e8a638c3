// SPDX-License-Identifier: Apache-2.0
//
// tools/arguments.hpp - the subcommands' options as they are typed.
//
// Numbers are kept as text and read here, so that every mistake gets one clear line.
//
// Errors:     invalid_argument, naming the option and its value.

#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "commands.hpp"
#include "thalweg/base/result.hpp"

namespace thalweg::tool {

struct DemoArguments {
  CLI::App* add_to(CLI::App& app);
  Result<DemoOptions> parsed() &&;

  DemoOptions options;
  std::string streams = "1,2,4";
  std::string bands;
  std::string repeats = "5";
};

struct ExploreArguments {
  CLI::App* add_to(CLI::App& app);
  Result<ExploreCommand> parsed() &&;

  ExploreCommand command;
  const CLI::Option* schedule = nullptr;
  std::string search;
  std::string seed;
  std::string runs;
  std::string steps;
  std::string changes;
  std::string preemptions;
  std::string time_limit;
  bool all = false;
  bool no_reduce = false;
  bool faults = false;

 private:
  Result<void> read_search();
  Result<void> check_search() const;
  Result<void> check_faults() const;
};

}  // namespace thalweg::tool
