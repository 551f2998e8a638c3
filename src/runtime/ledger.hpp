// SPDX-License-Identifier: Apache-2.0
//
// runtime/ledger.hpp - the waits of the host, by reason and call site.

#pragma once

#include <chrono>
#include <cstdint>

#include "sync/lock.hpp"
#include "thalweg/waits.hpp"

namespace thalweg::runtime {

class Ledger {
 public:
  void add(WaitReason reason, const std::source_location& site, std::chrono::nanoseconds time);

  std::uint64_t waits() const;

  // Longest first.
  WaitLedger records() const;

 private:
  // As many as there are call sites that wait.
  sync::Guarded<WaitLedger> records_{sync::Rank::ledger};
};

}  // namespace thalweg::runtime
