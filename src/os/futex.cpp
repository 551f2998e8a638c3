// SPDX-License-Identifier: Apache-2.0

#include "os/futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

namespace thalweg::os {

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::optional<std::chrono::nanoseconds> timeout) noexcept {
  timespec limit{};
  if (timeout) {
    const auto ns = std::max<std::int64_t>(timeout->count(), 0);
    limit.tv_sec = static_cast<time_t>(ns / 1'000'000'000);
    limit.tv_nsec = static_cast<long>(ns % 1'000'000'000);
  }
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, timeout ? &limit : nullptr, nullptr, 0);
}

void futex_wake(const std::atomic<std::uint32_t>* word, int count) noexcept {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

}  // namespace thalweg::os
