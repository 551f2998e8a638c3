// SPDX-License-Identifier: Apache-2.0
//
// contract/support/work.hpp - what rows hold streams with, and what they put on them.
//
// Tasks share what they touch: a row that ends early leaves nothing dangling.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "contract/support/row.hpp"

namespace thalweg::contract {

// Holds streams until it is opened; a held stream occupies no thread. The destructor opens it.
class Gate {
 public:
  explicit Gate(const Device& device) : timeline_(need(Timeline::create(device))) {}
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate() { static_cast<void>(timeline_.signal(1)); }

  // What is enqueued on `stream` from now on waits for open().
  void hold(const Stream& stream) const { need(stream.wait(timeline_, 1)); }

  void open() const { need(timeline_.signal(1)); }
  bool closed() const { return timeline_.value() == 0; }
  const Timeline& timeline() const noexcept { return timeline_; }

 private:
  Timeline timeline_;
};

// What ran, in order.
class Log {
 public:
  // A host function that adds `entry`.
  Future<void> enqueue(const Stream& stream, int entry,
                       std::source_location site = std::source_location::current()) const {
    return stream.host("log", {}, [state = state_, entry] { state->add(entry); }, site);
  }

  std::vector<int> entries() const {
    const std::lock_guard lock(state_->mutex);
    return state_->entries;
  }
  std::size_t size() const { return entries().size(); }
  bool empty() const { return size() == 0; }

 private:
  struct State {
    void add(int entry) {
      const std::lock_guard lock(mutex);
      entries.push_back(entry);
    }
    std::mutex mutex;
    std::vector<int> entries;
  };

  std::shared_ptr<State> state_ = std::make_shared<State>();
};

// Keeps one thread that runs host functions busy, until it is released.
class Blocker {
 public:
  explicit Blocker(const Stream& stream) {
    static_cast<void>(stream.host("blocker", {}, [state = state_] {
      state->started = true;
      state->release.wait();
    }));
  }
  Blocker(const Blocker&) = delete;
  Blocker& operator=(const Blocker&) = delete;
  ~Blocker() { release(); }

  bool started() const noexcept { return state_->started; }
  void release() noexcept {
    if (!std::exchange(released_, true)) state_->release.count_down();
  }

 private:
  struct State {
    std::atomic<bool> started{false};
    std::latch release{1};
  };

  std::shared_ptr<State> state_ = std::make_shared<State>();
  bool released_ = false;
};

// Runs `body(i)` on `count` threads that begin together, and waits for them.
template <class Body>
void on_threads(int count, Body body) {
  std::latch begin(count);
  std::vector<std::thread> threads;
  for (int i = 0; i != count; ++i)
    threads.emplace_back([&begin, &body, i] {
      begin.arrive_and_wait();
      body(i);
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace thalweg::contract
