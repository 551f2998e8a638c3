// SPDX-License-Identifier: Apache-2.0
//
// tools/scenario/call_sites.hpp - places in a scenario's file as call sites.
//
// Findings, traces and errors name the call site of each call. For a scenario that is a line of its
// file, and no line of the program that carries it out.
//
// Ownership:  the locations that at() gives are valid as long as this object.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <string>

namespace thalweg::tool::scenario {

class CallSites {
 public:
  CallSites(std::string file, std::uint32_t lines);
  CallSites(const CallSites&) = delete;
  CallSites& operator=(const CallSites&) = delete;

  // REQUIRES: line <= lines.
  std::source_location at(std::uint32_t line) const noexcept;

 private:
  const std::string file_;
  std::unique_ptr<std::byte[]> places_;  // Null where this compiler's locations are unlike ours.
};

}  // namespace thalweg::tool::scenario
