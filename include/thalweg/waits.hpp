// SPDX-License-Identifier: Apache-2.0
//
// thalweg/waits.hpp - every wait of the host, with its reason.
//
// The runtime waits for device work only in calls that say so. Each wait is counted in the device's
// ledger: why, where in the program, how often and how long.

#pragma once

#include <chrono>
#include <cstdint>
#include <source_location>
#include <string_view>
#include <vector>

#include "thalweg/base/no_wait.hpp"

namespace thalweg {

enum class WaitReason : std::uint8_t { synchronize, event, future, timeline, map, room, close };

// The name of the enumerator.
THALWEG_EXPORT std::string_view name(WaitReason reason) noexcept;

// The waits of one reason at one call site. Only waits that really waited are counted, those that
// ended with `timeout` included; what was passed already costs nothing and is not in the ledger.
struct WaitRecord {
  WaitReason reason = WaitReason::synchronize;
  std::source_location site;
  std::uint64_t count = 0;
  std::chrono::nanoseconds total{0};  // By the device's clock.
};

// Sorted by total, longest first.
using WaitLedger = std::vector<WaitRecord>;

}  // namespace thalweg
