// SPDX-License-Identifier: Apache-2.0
//
// backends/cpu/workers.hpp - the threads of a device, what is ready for them, and hosts that help.
//
//   ready      three levels of priority, each 64 words of 64 bits, one bit a queue, and a summary
//              word. A queue is in no list: its state says whether it can run, the bit only where
//              to look. A bit that is stale costs one failed compare-and-swap.
//   idle       spin, then nap (short timed sleeps, which cost a submitter no system call), then
//              sleep on a futex. One spins at a time. docs/design/0002-cpu-backend.md has the
//              measurements.
//   help       a thread that waits for a point runs what that point depends on, up to it and no
//              further: never host functions, never what it does not wait for.
//   cells      a kernel with many cells is offered to idle threads, which take parts of it.
//
// Pairs that must see each other, each a sequentially consistent write before the other's read:
//   ready bit / idle_ and asleep_      a queue made ready, a worker going to sleep
//
// Threads:    all methods from any thread.
// Ownership:  Workers are never freed, only used again: a late signaller may still set a bit in
//             one. Its threads end by themselves after stop().

#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <vector>

#include "backends/cpu/queue.hpp"
#include "sync/lock.hpp"
#include "sync/parking.hpp"
#include "thalweg/backend/driver.hpp"
#include "thalweg/base/clock.hpp"
#include "thalweg/base/priority.hpp"
#include "thalweg/base/result.hpp"
#include "thalweg/base/task.hpp"

namespace thalweg::cpu {

struct WorkerOptions {
  unsigned workers = 2;
  bool helping = true;
  bool measure_busy = false;
  std::uint32_t random_delay_us = 0;
};

// Who may be woken for a queue that is ready.
enum class Wake : std::uint8_t { anybody, workers };

class Workers {
 public:
  static constexpr PriorityRange kPriorities{1, -1};
  static constexpr std::uint32_t kQueuesMax = 4096;  // Per device.

  // Starts the threads. REQUIRES: `clock` lives until after stop().
  // Errors: unavailable, when the system gives no thread.
  static Result<Workers*> start(const WorkerOptions& options, const Clock& clock);

  // Lets the threads end once they find nothing to do. REQUIRES: every queue is closed or idle.
  void stop() noexcept;

  // A place for a queue; kQueuesMax when none is left.
  std::uint32_t add(Queue& queue);
  void remove(std::uint32_t place) noexcept;

  // The queue at `place` is READY: sets its bit, and wakes somebody where no worker is idle and
  // awake.
  void ready(std::uint32_t place, int level, Wake wake) noexcept;

  // Blocks until `point` has passed. Without a deadline the caller helps.
  Result<void> wait(order::Point point, Deadline deadline);

  // Runs a kernel, with the help of idle workers when it has many cells. What it throws passes
  // through.
  void run_cells(const KernelCode& code, const std::byte* arguments, const Extent& extent) {
    const std::uint64_t total = extent.x * extent.y * extent.z;
    if (total >= kCellsForIdle) {
      run_many_cells(code, arguments, extent, total);
    } else if (total != 0) {
      code.run(arguments, {extent, 0, total});
    }
  }

  void count_failure() noexcept { failures_.fetch_add(1, std::memory_order_relaxed); }
  void count_skipped() noexcept { skipped_.fetch_add(1, std::memory_order_relaxed); }
  void count_cancelled() noexcept { cancelled_.fetch_add(1, std::memory_order_relaxed); }

  // The device's.
  const Clock& clock() const noexcept { return *clock_; }
  std::chrono::nanoseconds now() const noexcept { return clock_->now(); }
  backend::DriverCounters counters() const noexcept;

  // Around one task: delays it, and measures it, where the device was opened so.
  class Busy {
   public:
    explicit Busy(Workers& workers) noexcept : workers_(workers.plain_ ? nullptr : &workers) {
      if (workers_ != nullptr) workers_->begin_task(*this);
    }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;
    ~Busy() {
      if (workers_ != nullptr) workers_->end_task(*this);
    }

   private:
    friend class Workers;
    Workers* workers_;
    std::chrono::nanoseconds began_{0};
  };

 private:
  static constexpr int kLevels = 3;

  // Cells from which on a kernel is offered to threads that are awake: about 1 ns a cell against a
  // hand-over.
  static constexpr std::uint64_t kCellsForIdle = 4096;
  static constexpr std::size_t kWords = kQueuesMax / 64;

  struct alignas(64) Level {
    std::atomic<std::uint64_t> summary{0};
    std::atomic<std::uint32_t> cursor{0};  // The place after the latest that was picked.
    std::array<std::atomic<std::uint64_t>, kWords> words{};
  };

  // A kernel that others may take cells of. On the stack of the thread that runs it.
  struct Cells {
    const KernelCode& code;
    const std::byte* arguments;
    Extent extent;
    std::uint64_t total;
    std::uint64_t chunk;
    std::atomic<std::uint64_t> next{0};
    std::atomic<bool> taken{false};  // Nothing is left to take.
    sync::Guarded<std::exception_ptr, sync::SpinLock> thrown{sync::Rank::workers};
  };

  // A place where a kernel is offered.
  struct Offer {
    Cells* cells = nullptr;
    unsigned helpers = 0;
  };
  static constexpr std::size_t kOffers = 4;

  struct BusyTime {
    unsigned running = 0;
    std::chrono::nanoseconds since{0};
    std::chrono::nanoseconds any{0};
    std::chrono::nanoseconds sum{0};
  };

  Workers() = default;

  void work() noexcept;
  void retire() noexcept;
  Queue* pick() noexcept;
  Queue* pick(Level& level) noexcept;
  bool any_ready() const noexcept;
  void run_queue(Queue& queue) noexcept;
  bool idle() noexcept;
  bool sleep() noexcept;
  bool something_to_do() const noexcept;
  void wake_one(Wake wake) noexcept;
  void nudge_next() noexcept;

  bool drive(order::Point target) noexcept;
  void add_sleeper(sync::Sleeper& sleeper) noexcept;
  void remove_sleeper(sync::Sleeper& sleeper) noexcept;

  void run_many_cells(const KernelCode& code, const std::byte* arguments, const Extent& extent,
                      std::uint64_t total);
  bool help_with_cells() noexcept;
  void take_cells(Cells& cells) noexcept;

  void begin_task(Busy& busy) noexcept;
  void end_task(Busy& busy) noexcept;

  // Constant while threads run.
  WorkerOptions options_;
  const Clock* clock_ = nullptr;
  unsigned processors_ = 1;
  bool plain_ = true;  // Neither delay nor measurement.

  std::array<Level, kLevels> levels_;
  std::array<std::atomic<Queue*>, kQueuesMax> queues_{};
  sync::Guarded<std::vector<std::uint32_t>> free_places_{sync::Rank::workers};

  alignas(64) std::atomic<unsigned> idle_{0};  // Spinning or napping.
  std::atomic<unsigned> asleep_{0};            // In the futex, or on the way.
  std::atomic<unsigned> spinning_{0};          // At most one.
  std::atomic<std::uint32_t> epoch_{0};        // The futex word.
  std::atomic<bool> stopping_{false};
  std::atomic<unsigned> threads_{0};

  std::array<sync::Guarded<Offer, sync::SpinLock>, kOffers> offers_{
      sync::Guarded<Offer, sync::SpinLock>(sync::Rank::workers),
      sync::Guarded<Offer, sync::SpinLock>(sync::Rank::workers),
      sync::Guarded<Offer, sync::SpinLock>(sync::Rank::workers),
      sync::Guarded<Offer, sync::SpinLock>(sync::Rank::workers)};
  std::atomic<unsigned> open_offers_{0};

  // Hosts that are blocked and would rather help.
  sync::Guarded<sync::Sleeper*, sync::SpinLock> sleepers_{sync::Rank::workers, nullptr};
  std::atomic<unsigned> sleeping_hosts_{0};
  std::atomic<std::uint64_t> help_epoch_{0};  // Counts calls for help.

  std::atomic<std::uint64_t> futex_wakes_{0};
  std::atomic<std::uint64_t> failures_{0};
  std::atomic<std::uint64_t> cancelled_{0};
  std::atomic<std::uint64_t> skipped_{0};
  mutable sync::Guarded<BusyTime, sync::SpinLock> busy_{sync::Rank::ledger};

  Workers* next_free_ = nullptr;
};

}  // namespace thalweg::cpu
