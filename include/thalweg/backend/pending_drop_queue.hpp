// SPDX-License-Identifier: Apache-2.0
//
// thalweg/backend/pending_drop_queue.hpp - what an asynchronous task still needs on the host.
//
//   push     adds to what is staged            | item item item |
//   flush    closes that with one fence        [fence 1: items] [fence 2: items]
//   poll     takes out every generation whose fence has passed, in any number, never blocking
//
// Bound: none of its own; the staged part is flushed at kItemsMax items or kBytesMax bytes. The
// runtime flushes behind each item of a stream whose room is limited, and refuses what does not
// fit.
//
// Threads:    external synchronization (the queue's lock). Items are handed to the caller, who
//             destroys them without a lock.
// Errors:     a fence that cannot be recorded keeps its generation until a later fence passes:
//             nothing is freed early.

#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "thalweg/backend/fence.hpp"
#include "thalweg/base/fifo.hpp"
#include "thalweg/base/ref.hpp"

namespace thalweg::backend {

template <Fence F>
class PendingDropQueue {
 public:
  static constexpr std::size_t kItemsMax = 64;
  static constexpr std::uint64_t kBytesMax = std::uint64_t{64} << 20;

  using Items = std::vector<Ref<Counted>>;

  // Keeps `item`, which holds `size_bytes`, until what is enqueued now has passed.
  void push(Ref<Counted> item, std::uint64_t size_bytes) {
    staged_.push_back(std::move(item));
    staged_bytes_ += size_bytes;
    outstanding_bytes_ += size_bytes;
  }

  bool should_flush() const noexcept {
    return staged_.size() >= kItemsMax || staged_bytes_ >= kBytesMax;
  }

  // Closes the staged generation with the fence that `record()` gives: Result<F>. Records none when
  // nothing is staged. Returns what `record` returned as error; the generation then waits for the
  // next fence.
  template <class Record>
  Result<void> flush(Record&& record) {
    if (staged_.empty()) return {};
    Result<F> fence = record();
    if (!fence) return std::move(fence).error();
    generations_.push_back(
        Generation{std::move(*fence), std::exchange(staged_, {}), std::exchange(staged_bytes_, 0)});
    ++fences_;
    return {};
  }

  // Moves the items of every generation that has passed to `freed`. Never blocks.
  void poll(Items& freed) {
    while (!generations_.empty() && generations_.front().fence.passed()) take_front(freed);
  }

  // Waits until all generations have passed, and moves their items to `freed`. What is staged
  // stays.
  Result<void> drain(Deadline deadline, Items& freed) {
    while (!generations_.empty()) {
      THALWEG_TRY(generations_.front().fence.wait(deadline));
      take_front(freed);
    }
    return {};
  }

  // Moves everything to `freed`. REQUIRES: all that was enqueued has passed.
  void clear(Items& freed) {
    while (!generations_.empty()) take_front(freed);
    move_items(staged_, freed);
    staged_bytes_ = 0;
    outstanding_bytes_ = 0;
  }

  bool empty() const noexcept { return staged_.empty() && generations_.empty(); }
  std::uint64_t outstanding_bytes() const noexcept { return outstanding_bytes_; }
  std::uint64_t fences() const noexcept { return fences_; }

 private:
  struct Generation {
    F fence;
    Items items;
    std::uint64_t size_bytes = 0;
  };

  static void move_items(Items& from, Items& to) {
    to.insert(to.end(), std::move_iterator(from.begin()), std::move_iterator(from.end()));
    from.clear();
  }

  void take_front(Items& freed) {
    move_items(generations_.front().items, freed);
    outstanding_bytes_ -= generations_.front().size_bytes;
    generations_.pop_front();
  }

  Items staged_;
  std::uint64_t staged_bytes_ = 0;
  std::uint64_t outstanding_bytes_ = 0;  // Staged and closed.
  std::uint64_t fences_ = 0;
  Fifo<Generation> generations_;  // Fences of one stream: the front passes first.
};

}  // namespace thalweg::backend
