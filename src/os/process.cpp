// SPDX-License-Identifier: Apache-2.0

#include "os/process.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string_view>

namespace thalweg::os {

void watch_forks() noexcept {
  // No static guard: a child that is forked meanwhile would find it taken.
  static constinit std::atomic<bool> watching{false};
  if (watching.exchange(true, std::memory_order_relaxed)) return;
  pthread_atfork(nullptr, nullptr,
                 [] { thalweg::detail::forked_child.store(true, std::memory_order_relaxed); });
}

void end_child() noexcept {
  constexpr std::string_view kText =
      "thalweg: a process that was forked in a task came back from it; it ends here.\n";
  // By the system alone: another thread of the parent may have held what stdio locks.
  if (write(STDERR_FILENO, kText.data(), kText.size()) < 0) _exit(EXIT_FAILURE);
  _exit(EXIT_FAILURE);
}

}  // namespace thalweg::os
