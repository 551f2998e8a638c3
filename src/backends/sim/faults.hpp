// SPDX-License-Identifier: Apache-2.0
//
// backends/sim/faults.hpp - which calls the simulated device refuses.
//
//   alloc:3           the third allocation of a run is refused
//   alloc:3+          and so is every one that follows
//   launch:1,fence:2  the first launch, and the second fence
//   seed:7            each call is refused with a chance of 1 in 64, drawn from 7
//
// Threads:    external synchronization: the world's lock.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "backends/sim/schedule.hpp"
#include "thalweg/base/result.hpp"
#include "thalweg/base/task.hpp"

namespace thalweg::sim {

enum class FaultSite : std::uint8_t {
  create_stream,
  alloc,    // The storage has no memory left.
  fence,    // Recording one.
  wait,     // Placing a wait for another stream.
  fill,     // Enqueueing a task of that kind.
  copy,     // Copies, uploads and read-backs.
  launch,   // Kernels.
  host,     // Host functions and native work.
  other,    // What is left: turns, timelines, stamps.
  compile,  // The first launch of a kernel.
  run,      // A task that was accepted fails when it runs: one of fill, copy, launch or host.
  lost,     // The device is lost before the n-th task runs.
  never,    // A fence is recorded and never passes.
  slow,     // The n-th stream takes a thousand times as long.
};
inline constexpr std::size_t kFaultSites = 14;

// The name of the enumerator.
std::string_view name(FaultSite site) noexcept;

// Where enqueueing a task is counted. REQUIRES: it is not `last`.
FaultSite site_of(neutral::TaskKind kind) noexcept;

class Faults {
 public:
  Faults() = default;

  // Errors: invalid_argument, naming what is wrong in `text`.
  static Result<Faults> parse(std::string_view text, std::source_location site);

  // Counts a call. Its number, from 1, when it is one to refuse; 0: it is not.
  std::uint64_t hit(FaultSite site) noexcept {
    const std::uint64_t call = ++calls_[index(site)];
    return any() && refuses(site, call) ? call : 0;
  }

  // What a call at `site` is one of, a bit for each row that is counted: which of its calls is
  // refused depends on their order. 0: none of them ever is.
  std::uint16_t rows(FaultSite site) const noexcept;

  // Whether anything may be refused.
  bool any() const noexcept { return !rules_.empty() || random_.has_value(); }

  // From here on nothing is refused.
  void end() noexcept;

  std::uint64_t calls(FaultSite site) const noexcept { return calls_[index(site)]; }

  // How often hit() has said so.
  std::uint64_t refused() const noexcept { return refused_; }

  // What the call of that number answers, which is refused: the message names the fault.
  static Error refusal(FaultSite site, std::uint64_t nth);

 private:
  struct Rule {
    FaultSite site;
    std::uint64_t nth;
    bool onwards;  // And all that follow.
  };

  bool refuses(FaultSite site, std::uint64_t call) noexcept;

  static std::size_t index(FaultSite site) noexcept { return static_cast<std::size_t>(site); }

  std::vector<Rule> rules_;
  std::optional<Random> random_;
  std::array<std::uint64_t, kFaultSites> calls_{};
  std::uint64_t refused_ = 0;
};

}  // namespace thalweg::sim
