// SPDX-License-Identifier: Apache-2.0
//
// sync/lock.hpp - the two locks, their ranks, and state behind a lock.
//
// A thread takes locks in rising rank only; a build with assertions aborts on a wrong order.
// Nothing that may block, and no code of the user's, runs under either lock.
//
//   SpinLock   held for some tens of instructions, or seldom wanted by two. It backs off, then
//              yields; not fair, and that makes it fast (docs/design/0004-several-threads.md).
//   Mutex      for everything else.

#pragma once

#include <atomic>
#include <mutex>
#include <utility>

#include "os/thread.hpp"
#include "sync/annotations.hpp"
#include "thalweg/base/check.hpp"

namespace thalweg::sync {

// In the order in which they may be taken.
enum class Rank : unsigned char {
  memory = 1,  // Pools of memory of a device: outermost, for the system may take its time.
  registry,    // Lists of devices and queues.
  submission,  // One for the process: orders submissions that concern several queues.
  queue,       // One a queue; never two at once.
  waiters,     // The list of those who wait for a timeline.
  workers,     // The lists of a worker pool.
  ledger,      // Counters of waits.
  failures,    // The bytes that are bad.
  leaf,        // A backend's own: nothing is locked under it.
};

namespace detail {
#if defined(NDEBUG)
inline void check_rank(Rank) noexcept {}
inline void pop_rank(Rank) noexcept {}
#else
void check_rank(Rank rank) noexcept;
void pop_rank(Rank rank) noexcept;
#endif
}  // namespace detail

class THALWEG_CAPABILITY("mutex") SpinLock {
 public:
  constexpr explicit SpinLock(Rank rank) noexcept : rank_(rank) {}
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;

  void lock() noexcept THALWEG_ACQUIRE() THALWEG_UNCHECKED {
    detail::check_rank(rank_);
    if (taken_.exchange(true, std::memory_order_acquire)) [[unlikely]]
      lock_slow();
  }

  void unlock() noexcept THALWEG_RELEASE() THALWEG_UNCHECKED {
    detail::pop_rank(rank_);
    taken_.store(false, std::memory_order_release);
  }

 private:
  void lock_slow() noexcept;

  std::atomic<bool> taken_{false};
  const Rank rank_;
};

class THALWEG_CAPABILITY("mutex") Mutex {
 public:
  constexpr explicit Mutex(Rank rank) noexcept : rank_(rank) {}
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() noexcept THALWEG_ACQUIRE() THALWEG_UNCHECKED {
    detail::check_rank(rank_);
    mutex_.lock();
  }

  void unlock() noexcept THALWEG_RELEASE() THALWEG_UNCHECKED {
    detail::pop_rank(rank_);
    mutex_.unlock();
  }

 private:
  std::mutex mutex_;
  const Rank rank_;
};

template <class Lock>
class THALWEG_SCOPED_CAPABILITY Locked {
 public:
  explicit Locked(Lock& lock) noexcept THALWEG_ACQUIRE(lock) : lock_(lock) { lock_.lock(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  ~Locked() THALWEG_RELEASE() { lock_.unlock(); }

 private:
  Lock& lock_;
};

// A T that is reached only under its lock.
template <class T, class Lock = Mutex>
class Guarded {
 public:
  explicit Guarded(Rank rank) : lock_(rank) {}
  template <class... Args>
  explicit Guarded(Rank rank, Args&&... args) : lock_(rank), value_(std::forward<Args>(args)...) {}

  // Calls `function(T&)` under the lock and gives back its result.
  template <class F>
  decltype(auto) with(F&& function) {
    Locked<Lock> locked(lock_);
    return std::forward<F>(function)(value_);
  }

  template <class F>
  decltype(auto) with(F&& function) const {
    Locked<Lock> locked(lock_);
    return std::forward<F>(function)(std::as_const(value_));
  }

 private:
  mutable Lock lock_;
  T value_ THALWEG_GUARDED_BY(lock_);
};

}  // namespace thalweg::sync
