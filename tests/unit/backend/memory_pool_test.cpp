// SPDX-License-Identifier: Apache-2.0
//
// MemoryPool: who may have which block, how much is kept, and what the numbers say.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/random.hpp"
#include "support/refusal.hpp"
#include "thalweg/backend/memory_management.hpp"

namespace thalweg::test {
namespace {

using backend::Block;
using backend::MemoryManagement;
using backend::MemoryUsageNumbers;
using backend::StorageHandle;
using order::Point;
using order::PointSet;

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// Memory that is only counted: addresses are made up.
struct FakeMemory {
  std::map<std::uint64_t, std::uint64_t> live;  // Bytes by id.
  std::uint64_t next = 1;
  int allocs = 0;
  int flushes = 0;
  bool refuse = false;
  std::uint64_t room = kMax;
  std::uint64_t granularity = 256;

  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const auto& [id, size] : live) sum += size;
    return sum;
  }
};

class FakeStorage {
 public:
  explicit FakeStorage(FakeMemory& memory) : memory_(&memory) {}
  std::uint64_t alignment() const { return 256; }
  std::uint64_t granularity() const { return memory_->granularity; }
  Result<StorageHandle> alloc(std::uint64_t size_bytes) {
    ++memory_->allocs;
    EXPECT_EQ(size_bytes % memory_->granularity, 0U);
    EXPECT_NE(size_bytes, 0U);
    if (memory_->refuse || size_bytes > memory_->room - memory_->bytes())
      return Error(ErrorKind::out_of_memory, "The fake has no memory left.");
    const std::uint64_t id = memory_->next++;
    memory_->live[id] = size_bytes;
    return StorageHandle{id, size_bytes};
  }
  backend::StorageResource get(const StorageHandle& handle) const { return {handle.id << 12}; }
  void dealloc(const StorageHandle& handle) { EXPECT_EQ(memory_->live.erase(handle.id), 1U); }
  void flush() { ++memory_->flushes; }

 private:
  FakeMemory* memory_;
};

// How far each of a few queues has come; a plain function tells the pool.
std::array<std::uint64_t, 8> passed_serials;
bool passed(Point point) { return point.serial().value <= passed_serials[point.queue()]; }

class MemoryPool : public ::testing::Test {
 protected:
  using Pool = backend::MemoryPool<FakeStorage>;

  MemoryPool() {
    passed_serials.fill(0);
    for (order::QueueIndex i = 0; i != orders.size(); ++i) orders[i].open(i, nullptr, Serial{0});
  }

  MemoryManagement<FakeStorage> on(order::QueueIndex queue) { return {*pool, orders[queue]}; }
  Result<Block> reserve(order::QueueIndex queue, std::uint64_t bytes) {
    return on(queue).reserve(bytes);
  }
  void limit(std::uint64_t bytes) {
    pool = std::make_unique<Pool>(FakeStorage(memory), &passed, bytes);
  }

  static Point at(order::QueueIndex queue, std::uint64_t serial) { return {queue, Serial{serial}}; }
  static PointSet uses(std::initializer_list<Point> points) {
    PointSet set;
    for (const Point point : points) set.add(point);
    return set;
  }

  FakeMemory memory;
  std::array<order::QueueOrder, 4> orders;
  std::unique_ptr<Pool> pool = std::make_unique<Pool>(FakeStorage(memory), &passed, 1024 * kMiB);
};

// Everything taken from the storage goes back to it, whether it was in use or not (the owner of a
// live block gives it back first).
TEST_F(MemoryPool, GivesEverythingBackAtItsEnd) {
  const Block a = *reserve(0, 1000);
  const Block b = *reserve(1, 5000);
  pool->release(a, {});
  pool->release(b, uses({at(0, 3)}));
  EXPECT_EQ(memory.live.size(), 2U);
  pool.reset();
  EXPECT_TRUE(memory.live.empty());
  EXPECT_GT(memory.flushes, 0);
}

// A block knows what it is: its resource, both its sizes, where it goes back to.
TEST_F(MemoryPool, ABlockKnowsItsSizesAndItsPool) {
  const Block block = *reserve(0, 1000);
  EXPECT_EQ(block.size_bytes, 1024U);
  EXPECT_EQ(block.requested_bytes, 1000U);
  EXPECT_EQ(block.resource.address, block.handle.id << 12);
  EXPECT_EQ(block.source, pool.get());
  EXPECT_FALSE(block.in_use_on_home);
  pool->release(block, {});
  EXPECT_EQ(reserve(0, 1010)->requested_bytes, 1010U);
}

// Uses on the taker's own queue: at once, and marked, because others must wait for that queue.
TEST_F(MemoryPool, ItsOwnQueueMayReuseAtOnce) {
  const Block block = *reserve(0, 1000);
  pool->release(block, uses({at(0, 5)}));
  const Block again = *reserve(0, 1000);
  EXPECT_EQ(again.handle.id, block.handle.id);
  EXPECT_TRUE(again.in_use_on_home);
}

// Another queue gets another block while a use has not passed, and this one, unmarked, when all
// have.
TEST_F(MemoryPool, AnotherQueueWaitsUntilTheUsesHavePassed) {
  const Block block = *reserve(0, 1000);
  pool->release(block, uses({at(0, 5), at(2, 7)}));
  passed_serials[0] = 5;
  const Block other = *reserve(1, 1000);
  EXPECT_NE(other.handle.id, block.handle.id);
  passed_serials[2] = 7;
  const Block again = *reserve(1, 1000);
  EXPECT_EQ(again.handle.id, block.handle.id);
  EXPECT_FALSE(again.in_use_on_home);
}

// A use that the taker's queue waits for is as good as one of its own; one serial later is not.
TEST_F(MemoryPool, WhatTheFrontierCoversMayBeReused) {
  const Block a = *reserve(0, 1000);
  const Block b = *reserve(0, 1000);
  pool->release(a, uses({at(0, 5)}));
  pool->release(b, uses({at(0, 6)}));
  orders[1].learn(at(0, 5), nullptr);
  const Block again = *reserve(1, 1000);
  EXPECT_EQ(again.handle.id, a.handle.id);
  EXPECT_TRUE(again.in_use_on_home);
  const Block fresh = *reserve(1, 1000);
  EXPECT_NE(fresh.handle.id, b.handle.id);
}

// Each of the uses must be safe: one that is not keeps the block.
TEST_F(MemoryPool, OneUnsafeUseKeepsTheBlock) {
  const Block block = *reserve(0, 1000);
  pool->release(block, uses({at(0, 1), at(1, 1), at(2, 1)}));
  passed_serials[0] = 1;
  orders[3].learn(at(1, 1), nullptr);
  EXPECT_NE(reserve(3, 1000)->handle.id, block.handle.id);
  orders[3].learn(at(2, 1), nullptr);
  EXPECT_EQ(reserve(3, 1000)->handle.id, block.handle.id);
}

// The smallest block that fits is taken, and none that would waste more than a quarter of the
// request.
TEST_F(MemoryPool, WastesAtMostAQuarter) {
  memory.granularity = 4;
  for (const std::uint64_t size : {400U, 500U, 504U, 600U}) {
    SCOPED_TRACE(size);
    const Block block = *reserve(0, size);
    pool->release(block, {});
    const int allocs = memory.allocs;
    const Block again = *reserve(0, 400);
    EXPECT_EQ(memory.allocs != allocs, size > 500);
    pool->release(again, {});
    pool->trim(0);
  }
  const Block large = *reserve(0, 500);
  const Block small = *reserve(0, 440);
  pool->release(large, {});
  pool->release(small, {});
  EXPECT_EQ(reserve(0, 400)->handle.id, small.handle.id);
}

// The limit counts what is reserved, cached blocks included; those are given back before it
// refuses, and the refusal names the size, the limit, what is live in how many blocks, and what
// cannot be given back.
TEST_F(MemoryPool, RefusesAboveTheLimitWithNumbers) {
  limit(4096);
  const Block a = *reserve(0, 1024);
  const Block b = *reserve(0, 2048);
  const auto refused = reserve(0, 1025);
  EXPECT_EQ(refusal(refused), "out_of_memory");
  for (const char* const number : {"1280", "4096", "3072", "2 blocks", "0 are kept"})
    EXPECT_NE(message(refused).find(number), std::string::npos)
        << number << ": " << message(refused);
  ASSERT_TRUE(reserve(0, 1024));
  pool->release(b, uses({at(1, 1)}));
  const auto kept = reserve(0, 2048);
  EXPECT_EQ(refusal(kept), "out_of_memory");
  EXPECT_NE(message(kept).find("2048 are kept"), std::string::npos) << message(kept);
  passed_serials[1] = 1;
  EXPECT_EQ(reserve(0, 1100)->size_bytes, 1280U);
  pool->release(a, {});
  EXPECT_EQ(pool->usage().limit, 4096U);
}

// Exactly the limit fits, alone; a granule more never does.
TEST_F(MemoryPool, TheLimitItselfFits) {
  limit(4096);
  const Block block = *reserve(0, 4096);
  EXPECT_EQ(refusal(reserve(0, 1)), "out_of_memory");
  pool->release(block, {});
  EXPECT_EQ(refusal(reserve(0, 4097)), "out_of_memory");
  EXPECT_TRUE(reserve(0, 4096));
}

// What the storage refuses is tried once more when there was something to give back; then its own
// error comes out, and the numbers are as before.
TEST_F(MemoryPool, TriesAgainWhenTheStorageRefuses) {
  memory.room = 4096;
  const Block cached = *reserve(0, 2048);
  pool->release(cached, {});
  EXPECT_TRUE(reserve(0, 4096));
  const MemoryUsageNumbers before = pool->usage();
  const int allocs = memory.allocs;
  const auto refused = reserve(0, 512);
  EXPECT_EQ(message(refused), "The fake has no memory left.");
  EXPECT_EQ(memory.allocs, allocs + 1);
  EXPECT_EQ(pool->usage().reserved, before.reserved);
  EXPECT_EQ(pool->usage().blocks, before.blocks);
  EXPECT_EQ(pool->usage().reserved_peak, 4096U);
}

// The same when it refuses with everything given back.
TEST_F(MemoryPool, AStorageThatAlwaysRefusesChangesNothing) {
  const Block cached = *reserve(0, 2048);
  pool->release(cached, {});
  memory.refuse = true;
  EXPECT_EQ(refusal(reserve(0, 4096)), "out_of_memory");
  EXPECT_EQ(pool->usage().reserved, 0U);
  EXPECT_EQ(pool->usage().live, 0U);
  memory.refuse = false;
  EXPECT_TRUE(reserve(0, 4096));
}

// trim() gives back the largest first, only as much as asked for, and nothing that is still used.
TEST_F(MemoryPool, TrimKeepsWhatIsInUse) {
  const Block small = *reserve(0, 1024);
  const Block used = *reserve(0, 4096);
  const Block large = *reserve(0, 2048);
  const Block live = *reserve(0, 8192);
  pool->release(small, {});
  pool->release(used, uses({at(1, 1)}));
  pool->release(large, {});
  EXPECT_EQ(pool->trim(kMax), 0U);
  EXPECT_EQ(pool->trim(4096 + 1024), 2048U);
  EXPECT_EQ(memory.live.count(large.handle.id), 0U);
  EXPECT_EQ(pool->trim(0), 1024U);
  EXPECT_EQ(memory.live.count(used.handle.id), 1U);
  EXPECT_EQ(memory.live.count(live.handle.id), 1U);
  passed_serials[1] = 1;
  EXPECT_EQ(pool->trim(0), 4096U);
  EXPECT_EQ(pool->trim(0), 0U);
  pool->release(live, {});
}

// Sizes at the end of the numbers: rounding up must not wrap to something small.
TEST_F(MemoryPool, SizesThatOverflowAreRefused) {
  const std::uint64_t granularity = memory.granularity;
  for (const std::uint64_t size : {kMax, kMax - 1, kMax - (granularity - 2)}) {
    EXPECT_EQ(refusal(reserve(0, size)), "invalid_size") << size;
    EXPECT_NE(message(reserve(0, size)).find(std::to_string(size)), std::string::npos);
  }
  const Block live = *reserve(0, 4096);
  for (const std::uint64_t size :
       {kMax - (granularity - 1), kMax - granularity, std::uint64_t{1} << 63})
    EXPECT_EQ(refusal(reserve(0, size)), "out_of_memory") << size;
  EXPECT_EQ(memory.allocs, 1);
  limit(kMax);
  EXPECT_EQ(refusal(reserve(0, kMax)), "invalid_size");
  memory.room = kMiB;
  EXPECT_EQ(message(reserve(0, kMax - granularity)), "The fake has no memory left.");
  const Block other = *reserve(0, 4096);
  EXPECT_EQ(refusal(reserve(0, kMax - granularity)), "out_of_memory");
  EXPECT_EQ(pool->usage().reserved, 4096U);
  static_cast<void>(live);
  static_cast<void>(other);
}

// No bytes are one granule, so that every block has an address of its own.
TEST_F(MemoryPool, ZeroBytesAreOneGranule) {
  EXPECT_EQ(reserve(0, 0)->size_bytes, 256U);
  EXPECT_EQ(reserve(0, 1)->size_bytes, 256U);
  EXPECT_EQ(reserve(0, 257)->size_bytes, 512U);
}

// Alignments up to the storage's own cost nothing; above it a block has at least the size from
// which on the storage aligns to the largest; what is no power of two, or larger, is refused.
TEST_F(MemoryPool, AlignmentsArePowersOfTwoUpToAPage) {
  for (const std::uint64_t alignment : {0U, 1U, 2U, 128U, 256U})
    EXPECT_EQ(*pool->round(10, {alignment, {}}), 256U) << alignment;
  for (const std::uint64_t alignment : {512U, 1024U, 4096U}) {
    EXPECT_EQ(*pool->round(10, {alignment, {}}), 4096U) << alignment;
    EXPECT_EQ(*pool->round(5000, {alignment, {}}), 5120U) << alignment;
  }
  for (const std::uint64_t alignment :
       {std::uint64_t{3}, std::uint64_t{384}, std::uint64_t{8192}, kMax, std::uint64_t{1} << 63}) {
    const auto refused = pool->round(10, {alignment, {}});
    EXPECT_EQ(refusal(refused), "invalid_argument") << alignment;
    EXPECT_NE(message(refused).find(std::to_string(alignment)), std::string::npos);
    EXPECT_NE(message(refused).find("4096"), std::string::npos);
  }
}

// A pool that is asked for ever other sizes keeps no more than what is live and 64 MiB besides when
// it takes more from the storage.
TEST_F(MemoryPool, CachesABoundedShare) {
  limit(1024 * kMiB);
  for (std::uint64_t i = 1; i <= 12; ++i) pool->release(*reserve(0, i * 10 * kMiB), {});
  const MemoryUsageNumbers usage = pool->usage();
  EXPECT_LE(usage.cached, 64 * kMiB + 120 * kMiB);
  ASSERT_TRUE(reserve(0, 1));
  EXPECT_LE(pool->usage().cached, 64 * kMiB);
}

// A block is found however many others of its size are still used elsewhere.
TEST_F(MemoryPool, FindsTheOneSafeBlockAmongMany) {
  std::vector<Block> blocks;
  for (int i = 0; i != 200; ++i) blocks.push_back(*reserve(0, 1024));
  for (const Block& block : blocks) pool->release(block, uses({at(1, 1)}));
  const Block safe = *reserve(0, 1024);
  EXPECT_EQ(memory.allocs, 201);
  pool->release(safe, {});
  EXPECT_EQ(reserve(0, 1024)->handle.id, safe.handle.id);
}

// Ten thousand random steps against lists of blocks: no block has two owners, none is handed to a
// queue for which one of its uses is not over, covered or its own, and all numbers agree at every
// step.
TEST_F(MemoryPool, KeepsItsRulesAndItsNumbersInRandomOrders) {
  constexpr std::uint64_t kLimit = 400 * 1024;
  limit(kLimit);
  Random random(3);
  struct Dropped {
    Block block;
    PointSet uses;
  };
  std::vector<Block> live;
  std::vector<Dropped> dropped;
  std::array<std::uint64_t, 4> enqueued{};
  std::uint64_t live_peak = 0;
  int refusals = 0;
  for (int step = 0; step != 10'000; ++step) {
    const auto queue = static_cast<order::QueueIndex>(random.below(4));
    switch (random.below(8)) {
      case 0:
      case 1:
      case 2: {
        const std::uint64_t size = 1 + random.below(random.chance(10) ? 60'000 : 3000);
        const auto block = reserve(queue, size);
        if (!block) {
          EXPECT_EQ(refusal(block), "out_of_memory");
          ++refusals;
          std::uint64_t used =
              0;  // What cannot be given back: then the limit really does not allow it.
          for (const Block& b : live) used += b.size_bytes;
          for (const Dropped& d : dropped)
            if (!std::all_of(d.uses.begin(), d.uses.end(), &passed)) used += d.block.size_bytes;
          ASSERT_GT(used + size, kLimit - 256);
          break;
        }
        ASSERT_GE(block->size_bytes, size);
        ASSERT_EQ(block->requested_bytes, size);
        for (const Block& other : live) ASSERT_NE(other.handle.id, block->handle.id);
        const auto former = std::find_if(dropped.begin(), dropped.end(), [&](const Dropped& d) {
          return d.block.handle.id == block->handle.id;
        });
        bool in_use = false;
        if (former != dropped.end()) {
          for (const Point use : former->uses) {
            if (passed(use)) continue;
            in_use = true;
            ASSERT_TRUE(use.queue() == queue || orders[queue].frontier().covers(use))
                << "step " << step;
          }
          dropped.erase(former);
        }
        ASSERT_EQ(block->in_use_on_home, in_use);
        live.push_back(*block);
        break;
      }
      case 3:
      case 4:
        if (!live.empty()) {
          const std::size_t which = random.below(static_cast<std::uint32_t>(live.size()));
          PointSet points;
          for (std::uint32_t n = random.below(3); n != 0; --n) {
            const auto user = static_cast<order::QueueIndex>(random.below(4));
            points.add(at(user, ++enqueued[user]));
          }
          pool->release(live[which], points);
          dropped.push_back({live[which], points});
          live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
        }
        break;
      case 5:
        if (passed_serials[queue] < enqueued[queue])
          passed_serials[queue] +=
              1 + random.below(static_cast<std::uint32_t>(enqueued[queue] - passed_serials[queue]));
        break;
      case 6: {
        const auto source = static_cast<order::QueueIndex>(random.below(4));
        if (source != queue && enqueued[source] != 0 && random.chance(30)) {
          orders[queue].learn(
              at(source, 1 + random.below(static_cast<std::uint32_t>(enqueued[source]))), nullptr);
          orders[queue].take();
        }
        break;
      }
      default:
        if (random.chance(10)) pool->trim(random.below(100'000));
    }
    // What trimming gave back is not there any more.
    std::erase_if(dropped,
                  [this](const Dropped& d) { return memory.live.count(d.block.handle.id) == 0; });
    MemoryUsageNumbers wanted;
    for (const Block& block : live) {
      ++wanted.blocks;
      wanted.live += block.size_bytes;
      wanted.padding += block.size_bytes - block.requested_bytes;
    }
    for (const Dropped& d : dropped)
      (std::all_of(d.uses.begin(), d.uses.end(), &passed) ? wanted.cached : wanted.pending) +=
          d.block.size_bytes;
    live_peak = std::max(live_peak, wanted.live);
    const MemoryUsageNumbers numbers = pool->usage();
    ASSERT_EQ(numbers.blocks, wanted.blocks) << "step " << step;
    ASSERT_EQ(numbers.live, wanted.live) << "step " << step;
    ASSERT_EQ(numbers.padding, wanted.padding) << "step " << step;
    ASSERT_EQ(numbers.pending, wanted.pending) << "step " << step;
    ASSERT_EQ(numbers.cached, wanted.cached) << "step " << step;
    ASSERT_EQ(numbers.reserved, wanted.live + wanted.pending + wanted.cached);
    ASSERT_EQ(numbers.reserved, memory.bytes());
    ASSERT_EQ(numbers.live_peak, live_peak);
    ASSERT_LE(numbers.reserved_peak, kLimit);
    ASSERT_GE(numbers.reserved_peak, numbers.reserved);
  }
  EXPECT_GT(refusals, 20);  // The limit was reached: the test tested it.
  EXPECT_LT(refusals, 3000);
}

}  // namespace
}  // namespace thalweg::test
