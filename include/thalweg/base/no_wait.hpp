// SPDX-License-Identifier: Apache-2.0
//
// thalweg/base/no_wait.hpp - a scope in which this thread must not wait for a device.

#pragma once

#include "thalweg/base/export.hpp"

namespace thalweg {

// While one lives, every call of the runtime on this thread that would wait returns
// `wait_forbidden` instead; a call that finds its condition met already goes on. Host functions and
// kernels run inside one. Scopes nest.
//
// Threads:    concerns the thread that made it, which also destroys it.
class THALWEG_EXPORT NoWaitScope {
 public:
  NoWaitScope() noexcept;
  NoWaitScope(const NoWaitScope&) = delete;
  NoWaitScope& operator=(const NoWaitScope&) = delete;
  ~NoWaitScope();

  // Whether this thread is inside one.
  static bool active() noexcept;
};

}  // namespace thalweg
