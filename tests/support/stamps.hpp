// SPDX-License-Identifier: Apache-2.0
//
// tests/support/stamps.hpp - when tasks ran, counted and not measured.
//
// A task stamps itself as often as it likes, from any thread; what is kept are its first and its
// last stamp. If `a` was over before `b` began, every stamp of `a` is below every one of `b`.
//
// Memory ordering: relaxed throughout, so that stamps order nothing the runtime should have ordered.
// All stamps come from one counter, whose order agrees with every happens-before there is.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace thalweg::test {

class Stamps {
 public:
  explicit Stamps(std::size_t tasks) : tasks_(tasks) {}

  void stamp(std::size_t task) noexcept {
    const std::uint64_t now = next_.fetch_add(1, std::memory_order_relaxed) + 1;
    Task& at = tasks_[task];
    std::uint64_t first = at.first.load(std::memory_order_relaxed);
    while (now < first && !at.first.compare_exchange_weak(first, now, std::memory_order_relaxed)) {
    }
    std::uint64_t last = at.last.load(std::memory_order_relaxed);
    while (now > last && !at.last.compare_exchange_weak(last, now, std::memory_order_relaxed)) {
    }
  }

  bool stamped(std::size_t task) const noexcept { return last(task) != 0; }
  std::uint64_t first(std::size_t task) const noexcept {
    return tasks_[task].first.load(std::memory_order_relaxed);
  }
  std::uint64_t last(std::size_t task) const noexcept {
    return tasks_[task].last.load(std::memory_order_relaxed);
  }

 private:
  struct Task {
    std::atomic<std::uint64_t> first{std::numeric_limits<std::uint64_t>::max()};
    std::atomic<std::uint64_t> last{0};
  };

  std::atomic<std::uint64_t> next_{0};
  std::vector<Task> tasks_;
};

}  // namespace thalweg::test
