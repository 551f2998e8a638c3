// SPDX-License-Identifier: Apache-2.0
//
// What stays of queues and allocations: slots are used again, bytes go back from any thread, and
// waits of one call site are one line of the ledger.

#include "runtime/registry.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <source_location>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/ledger.hpp"
#include "runtime/queue.hpp"
#include "support/gate.hpp"
#include "support/refusal.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

using runtime::Registry;
using runtime::Slot;

order::QueueIndex index_of(const Stream& stream) {
  return static_cast<runtime::Queue&>(*stream.core()).slot().index;
}

// Slots of one's own, taken straight from the registry, so that no stream of another test is in
// between: given back in any order, they come again from the lowest up.
TEST(Registry, FreeSlotsComeLowestFirst) {
  Registry& registry = Registry::instance();
  std::vector<Slot*> slots;
  for (int i = 0; i != 8; ++i) slots.push_back(must(registry.acquire_slot(true)));
  const std::vector<order::QueueIndex> taken = [&slots] {
    std::vector<order::QueueIndex> indices;
    for (const Slot* slot : slots) indices.push_back(slot->index);
    return indices;
  }();
  for (const std::size_t i : {5U, 0U, 7U, 2U, 1U, 6U, 3U, 4U}) {
    registry.close_slot(*slots[i]);
    registry.free_slot(*slots[i]);
  }
  std::vector<order::QueueIndex> again;
  for (Slot*& slot : slots) {
    slot = must(registry.acquire_slot(true));
    again.push_back(slot->index);
  }
  EXPECT_TRUE(std::is_sorted(again.begin(), again.end()));
  EXPECT_LE(again.back(), *std::max_element(taken.begin(), taken.end()));
  for (Slot* slot : slots) {
    registry.close_slot(*slot);
    registry.free_slot(*slot);
  }
}

// A slot's next queue goes on counting where the former one stopped: points of the former have
// passed.
TEST(Registry, SerialsOfASlotNeverGoDown) {
  const Device device = must(Device::open("cpu?workers=1"));
  std::vector<std::pair<order::QueueIndex, std::uint64_t>> seen;
  for (int round = 0; round != 20; ++round) {
    {
      const Stream s = must(Stream::create(device));
      const auto v = must(Array<int>::create(s, 1));
      const Task task = must(s.fill(v, 1));
      for (const auto& [index, serial] : seen)
        EXPECT_TRUE(index != index_of(s) || task.serial().value > serial);
      seen.emplace_back(index_of(s), task.serial().value);
    }
    ASSERT_TRUE(comes_true([&device] {
      const Statistics now = device.statistics();
      return now.queues_destroyed == now.queues_created;
    }));
  }
}

// An event of a queue that is gone is done, also when its slot serves another queue that is held.
TEST(Registry, APointOfAFormerQueueHasPassed) {
  const Device device = must(Device::open("cpu?workers=1&skip_passed=off"));
  const Event event = must(Event::create(device));
  std::optional<Stream> stream = must(Stream::create(device));
  static_cast<void>(stream->host("f", {}, [] {}));
  must(stream->record(event));
  stream.reset();
  ASSERT_TRUE(comes_true([&device] { return device.statistics().queues_destroyed == 1; }));
  const Stream next = must(Stream::create(device));
  const Gate gate(device);
  gate.hold(next);
  auto held = next.host("f", {}, [] {});
  EXPECT_EQ(event.query(), EventState::done);
  must(event.wait(std::chrono::nanoseconds(1)));
  const Stream other = must(Stream::create(device));
  must(other.wait_event(event));
  must(other.host("f", {}, [] {}).get());
  EXPECT_FALSE(held.ready());
}

// Every thread may drop the last handle of a buffer, while its bytes are used and after; all bytes
// come back, each once.
TEST(Allocation, IsDroppedFromAnyThread) {
  const Device device = must(Device::open("cpu?workers=2"));
  const Stream home = must(Stream::create(device));
  const Stream other = must(Stream::create(device));
  std::vector<std::thread> threads;
  for (int t = 0; t != 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i != 100; ++i) {
        auto v = must(
            Array<int>::create(t % 2 == 0 ? home : other, 64 + 64 * static_cast<unsigned>(i % 3)));
        must(home.fill(v, 1));
        if (i % 3 != 0) must(other.fill(v, 2));
        std::thread([taken = std::move(v)]() mutable { taken = {}; }).join();
      }
    });
  for (std::thread& thread : threads) thread.join();
  must(device.synchronize());
  const MemoryUsage usage = device.memory_usage();
  EXPECT_EQ(usage.allocations, 0U);
  EXPECT_EQ(usage.live_bytes, 0U);
  EXPECT_EQ(usage.pending_bytes, 0U);
  EXPECT_EQ(usage.cached_bytes, usage.reserved_bytes);
  EXPECT_EQ(device.trim(), usage.reserved_bytes);
  EXPECT_EQ(device.memory_usage().reserved_bytes, 0U);
}

// One line for a reason at a call site, however often; another reason, line, column or file makes
// another.
TEST(Ledger, MergesBySiteAndReason) {
  using std::chrono::nanoseconds;
  runtime::Ledger ledger;
  EXPECT_EQ(ledger.waits(), 0U);
  EXPECT_TRUE(ledger.records().empty());
  const auto here = [](std::source_location site = std::source_location::current()) {
    return site;
  };
  const std::source_location one = here(), same_line = here();
  const std::source_location other = here();
  ledger.add(WaitReason::event, one, nanoseconds(5));
  ledger.add(WaitReason::event, one, nanoseconds(6));
  ledger.add(WaitReason::event, same_line, nanoseconds(1));
  ledger.add(WaitReason::event, other, nanoseconds(7));
  ledger.add(WaitReason::future, one, nanoseconds(100));
  ledger.add(WaitReason::event, one, nanoseconds(0));
  const WaitLedger records = ledger.records();
  ASSERT_EQ(records.size(), 4U);
  EXPECT_EQ(ledger.waits(), 6U);
  EXPECT_EQ(records[0].reason, WaitReason::future);
  EXPECT_EQ(records[1].count, 3U);
  EXPECT_EQ(records[1].total.count(), 11);
  EXPECT_EQ(records[2].site.line(), other.line());
  EXPECT_EQ(records[3].site.column(), same_line.column());
}

// Threads that add at once: every wait is counted.
TEST(Ledger, CountsEveryWait) {
  runtime::Ledger ledger;
  std::vector<std::thread> threads;
  const std::source_location site = std::source_location::current();
  for (int t = 0; t != 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i != 500; ++i)
        ledger.add(WaitReason::timeline, site, std::chrono::nanoseconds(1));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ledger.waits(), 2000U);
  EXPECT_EQ(ledger.records().at(0).total.count(), 2000);
}

}  // namespace
}  // namespace thalweg::test
