// SPDX-License-Identifier: Apache-2.0
//
// Whoever gets a block comes after all that its former owners enqueued: random programs of three
// queues that share a page, against a model that knows which task comes after which.

#include "thalweg/memory/page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <bitset>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/program_runner.hpp"
#include "support/random.hpp"
#include "support/refusal.hpp"
#include "thalweg/order/placement.hpp"

namespace thalweg::test {
namespace {

using memory::OffsetAllocator;
using memory::OffsetBlock;
using memory::Orders;
using memory::Page;
using order::Point;
using order::PointSet;
using order::QueueIndex;

constexpr std::uint64_t kGranule = 256;
constexpr std::uint32_t kGranules = 12;
constexpr std::uint32_t kQueues = 3;
constexpr std::size_t kTasksMax = 256;
using Tasks = std::bitset<kTasksMax>;

// What the queues of the present program have passed, as the page is told.
std::array<std::atomic<std::uint64_t>, kQueues> passed_words;

bool passed(Point point) {
  return point.none() || passed_words[point.queue()].load() >= point.serial().value;
}

// What a program leaves out that it may not.
enum class Bug {
  none,
  uses_forgotten,  // A block is free at once, whoever uses it.
  birth_empty,     // Other queues of the new owner wait for nothing.
  points_ignored,  // Free bytes are taken whatever the page says,
  points_lost,     // by whoever has got the page from another,
  run_at_once,     // and waiting ones without the waits.
};

class Program {
 public:
  Program(std::uint64_t seed, Bug bug)
      : random_(seed),
        bug_(bug),
        page_(must(OffsetAllocator::create({kGranules * kGranule, kGranule, 0}))) {
    for (std::uint32_t i = 0; i != kQueues; ++i) {
      passed_words[i] = 0;
      table_->set(static_cast<QueueIndex>(i), &queues_[i].order);
      queues_[i].order.open(static_cast<QueueIndex>(i), &passed_words[i], Serial{});
    }
  }

  // What went wrong; empty: nothing.
  std::string run(unsigned steps) {
    for (unsigned i = 0; i != steps && tasks_ + 8 < kTasksMax && wrong_.empty(); ++i) step();
    if (wrong_.empty() && bug_ == Bug::none) wind_up();
    return wrong_;
  }

 private:
  // Half a mebibyte: one for all programs.
  static order::QueueTable& table() {
    static const auto only = std::make_unique<order::QueueTable>();
    return *only;
  }

  struct Queue {
    order::QueueOrder order;
    Tasks before;                    // What its next task comes after.
    std::vector<std::size_t> tasks;  // By serial, from 1.
  };

  struct Block {
    OffsetBlock bytes;
    std::uint32_t home = 0;
    Point birth;
    PointSet uses;
  };

  void step() {
    const std::uint32_t queue = random_.below(kQueues);
    switch (random_.below(12)) {
      case 0:
      case 1:
      case 2:
        return reserve(queue);
      case 3:
      case 4:
      case 5:
        if (!blocks_.empty()) use(random_.below(static_cast<std::uint32_t>(blocks_.size())), queue);
        return;
      case 6:
      case 7:
        if (!blocks_.empty()) drop(random_.below(static_cast<std::uint32_t>(blocks_.size())));
        return;
      case 8:
        return wait(queue, random_.below(kQueues));
      case 9:
        holder_ = random_.below(kQueues + 1);
        handed_on_ = true;
        return;
      default:
        return finish();
    }
  }

  Orders orders(std::uint32_t queue) { return {queues_[queue].order, &passed}; }

  // A task; what it uses is said by whoever asks for it.
  std::size_t enqueue(std::uint32_t queue) {
    Queue& on = queues_[queue];
    const std::size_t task = tasks_++;
    before_[task] = on.before;
    on.before.set(task);
    on.tasks.push_back(task);
    on.order.take();
    return task;
  }

  // The queue's next task comes after the point.
  void wait_for(std::uint32_t queue, Point point) {
    if (point.queue() == queue || point.none()) return;
    const std::size_t task = queues_[point.queue()].tasks[point.serial().value - 1];
    queues_[queue].before |= before_[task];
    queues_[queue].before.set(task);
    order::merge_wait(queues_[queue].order, point, *table_);
  }

  void wait(std::uint32_t queue, std::uint32_t source) {
    const std::uint64_t last = queues_[source].tasks.size();
    if (last == 0) return;
    wait_for(queue, Point(static_cast<QueueIndex>(source),
                          Serial{1 + random_.below(static_cast<std::uint32_t>(last))}));
  }

  // As a new owner is told: what comes after this point of its home may use it.
  Point birth_on(std::uint32_t queue) {
    if (bug_ == Bug::birth_empty) return {};
    if (queues_[queue].order.wait_owed()) enqueue(queue);
    return queues_[queue].order.tail();
  }

  void reserve(std::uint32_t queue) {
    const std::uint64_t size = (1 + random_.below(4)) * kGranule;
    const std::uint64_t alignment = random_.below(4) == 0 ? 2 * kGranule : 0;
    if (holder_ == queue) page_.collect(orders(queue), 1 + random_.below(3));
    if (holder_ == kQueues) page_.collect(&passed);
    const bool ignored =
        bug_ == Bug::points_ignored || (bug_ == Bug::points_lost && handed_on_ && holder_ == queue);
    if (page_.open_to(orders(queue)) || ignored) {
      if (const auto taken = page_.take(size, alignment))
        return own(*taken, queue, page_.points().empty() ? Point() : birth_on(queue));
    }
    if (random_.below(2) == 0) return;
    const auto run = page_.find_run(size, alignment);
    if (!run) return;
    for (const Point point : run->points)
      if (!orders(queue).covers(point) && bug_ != Bug::run_at_once) wait_for(queue, point);
    const auto taken = page_.take_run(*run);
    if (!taken) return fail("A run is not taken.");
    if (taken->size_bytes != run->size_bytes || taken->offset != run->offset)
      return fail("Another block than the run is taken.");
    own(*taken, queue, birth_on(queue));
  }

  void own(const OffsetBlock& bytes, std::uint32_t queue, Point birth) {
    for (const Block& other : blocks_)
      if (other.bytes.offset < bytes.offset + bytes.size_bytes &&
          bytes.offset < other.bytes.offset + other.bytes.size_bytes)
        return fail("Two owners have the same bytes.");
    for (std::uint64_t at = bytes.offset / kGranule;
         at != (bytes.offset + bytes.size_bytes) / kGranule; ++at) {
      former_[at] |= present_[at];
      present_[at].reset();
    }
    blocks_.push_back({bytes, queue, birth, {}});
    blocks_.back().uses.add(birth);
  }

  void use(std::size_t at, std::uint32_t queue) {
    Block& block = blocks_[at];
    if (!orders(queue).covers(block.birth)) wait_for(queue, block.birth);
    const std::size_t task = enqueue(queue);
    block.uses.add(queues_[queue].order.tail());
    for (std::uint64_t byte = block.bytes.offset / kGranule;
         byte != (block.bytes.offset + block.bytes.size_bytes) / kGranule; ++byte) {
      present_[byte].set(task);
      // What is over was over when the task was enqueued.
      if ((former_[byte] & ~before_[task] & ~over_).any())
        return fail("A task uses bytes that a former owner's may still use.");
    }
  }

  void drop(std::size_t at) {
    const Block block = blocks_[at];
    blocks_[at] = blocks_.back();
    blocks_.pop_back();
    const PointSet none;
    page_.drop(block.bytes.handle, bug_ == Bug::uses_forgotten ? none : block.uses,
               orders(block.home), holder_ == block.home);
  }

  // The next task of some queue that may end does.
  void finish() {
    const std::uint32_t from = random_.below(kQueues);
    for (std::uint32_t i = 0; i != kQueues; ++i) {
      const std::uint32_t queue = (from + i) % kQueues;
      const std::uint64_t next = passed_words[queue];
      if (next == queues_[queue].tasks.size()) continue;
      const std::size_t task = queues_[queue].tasks[next];
      if ((before_[task] & ~over_).any()) continue;
      over_.set(task);
      passed_words[queue] = next + 1;
      return;
    }
  }

  // When all is over the page is whole again.
  void wind_up() {
    while (!blocks_.empty()) drop(0);
    if (!page_.blocks().fault().empty()) return fail(page_.blocks().fault());
    const std::uint64_t waiting = page_.waiting_bytes();
    if (page_.blocks().live_bytes() != waiting) return fail("What waits is not what is live.");
    for (std::size_t i = 0; i != kTasksMax; ++i) finish();
    page_.collect(&passed);
    if (!page_.open_to(orders(0)) || !page_.points().empty()) return fail("Points are left.");
    if (!page_.take(kGranules * kGranule)) return fail("The page is not whole again.");
  }

  void fail(std::string what) { wrong_ = std::move(what); }

  Random random_;
  const Bug bug_;
  Page page_;
  std::uint32_t holder_ = 0;  // kQueues: nobody.
  bool handed_on_ = false;
  std::array<Queue, kQueues> queues_;
  order::QueueTable* const table_ = &table();
  std::size_t tasks_ = 0;
  std::array<Tasks, kTasksMax> before_;  // What each task comes after.
  Tasks over_;
  std::vector<Block> blocks_;
  std::array<Tasks, kGranules> present_;  // Tasks of the present owner of each granule,
  std::array<Tasks, kGranules> former_;   // and of all former ones.
  std::string wrong_;
};

TEST(Page, NoOwnerMeetsTheTasksOfAFormerOne) {
  for_each_seed(1, 20'000, [](std::uint64_t seed) {
    const std::string wrong = Program(seed, Bug::none).run(120);
    EXPECT_EQ(wrong, "") << reproduce(seed);
    return wrong.empty();
  });
}

// Each rule is needed: a program that leaves one out is found.
TEST(Page, EachRuleIsNeeded) {
  for (const Bug bug : {Bug::uses_forgotten, Bug::birth_empty, Bug::points_ignored,
                        Bug::points_lost, Bug::run_at_once}) {
    std::uint64_t seed = 1;
    while (seed != 5'000 && Program(seed, bug).run(120).empty()) ++seed;
    EXPECT_LT(seed, 5'000u) << "bug " << static_cast<int>(bug);
  }
}

}  // namespace
}  // namespace thalweg::test
