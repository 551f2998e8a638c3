// SPDX-License-Identifier: Apache-2.0
//
// backends/sim/bell.hpp - wakes the threads that wait in plain worlds.
//
// There is one for the process: work of one world can end waits of another, and nothing happens so
// often that waking too many would matter. Whoever waits hears the bell first, then looks whether
// he can go on, and then sleeps until it has been rung since.
//
// Threads:    any; a leaf: nothing is locked under its lock.

#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace thalweg::sim {

class Bell {
 public:
  // Never destroyed.
  static Bell& instance() noexcept {
    static Bell& bell = *new Bell;
    return bell;
  }

  std::uint64_t heard() const noexcept { return rung_.load(std::memory_order_seq_cst); }

  void ring() noexcept {
    rung_.fetch_add(1, std::memory_order_seq_cst);
    // A sleeper who is not seen here has not looked at `rung_` for the last time yet.
    if (sleepers_.load(std::memory_order_seq_cst) == 0) return;
    {
      const std::lock_guard lock(mutex_);
    }
    rings_.notify_all();
  }

  // Sleeps until it has been rung since it was heard.
  void sleep(std::uint64_t heard) noexcept {
    std::unique_lock lock(mutex_);
    const Sleeping sleeping(sleepers_);
    rings_.wait(lock, [&] { return this->heard() != heard; });
  }

  // The same until `end` at the latest, by the machine's clock.
  void sleep(std::uint64_t heard, std::chrono::steady_clock::time_point end) noexcept {
    std::unique_lock lock(mutex_);
    const Sleeping sleeping(sleepers_);
    rings_.wait_until(lock, end, [&] { return this->heard() != heard; });
  }

 private:
  struct Sleeping {
    explicit Sleeping(std::atomic<std::uint32_t>& sleepers) noexcept : count(sleepers) { ++count; }
    ~Sleeping() { --count; }
    std::atomic<std::uint32_t>& count;
  };

  std::atomic<std::uint64_t> rung_{0};
  std::atomic<std::uint32_t> sleepers_{0};
  std::mutex mutex_;
  std::condition_variable rings_;
};

}  // namespace thalweg::sim
