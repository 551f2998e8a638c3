// SPDX-License-Identifier: Apache-2.0
//
// Streams that a pool hands out in turn.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "contract/support/work.hpp"

namespace thalweg::contract {
namespace {

// As many streams as the pool has are different, then they come again in that order.
CONTRACT_ROW(L1, APoolHandsOutItsStreamsInTurn) {
  constexpr std::size_t kSize = 5;
  const StreamPool pool = need(StreamPool::create(device(), kSize));
  EXPECT_EQ(pool.size(), kSize);
  EXPECT_EQ(control().streams_created(), kSize);
  const StreamPool copy = pool;
  std::vector<QueueId> first;
  std::set<std::uint64_t> distinct;
  for (std::size_t i = 0; i != kSize; ++i) {
    first.push_back((i % 2 == 0 ? pool : copy).next().id());
    distinct.insert(first.back().value);
  }
  EXPECT_EQ(distinct.size(), kSize);
  for (std::size_t i = 0; i != 3 * kSize; ++i) EXPECT_EQ(pool.next().id(), first[i % kSize]);
  EXPECT_EQ(control().streams_created(), kSize);
}

// Eight threads take twice the size: each stream comes exactly twice.
CONTRACT_ROW(L1Threads, EachStreamComesEquallyOftenFromAnyThread) {
  ASSERT_TRUE(backend().any_thread) << "The backend is not for several threads.";
  constexpr std::size_t kThreads = 8;
  constexpr std::size_t kSize = 32;
  const StreamPool pool = need(StreamPool::create(device(), kSize));
  std::vector<std::vector<Stream>> taken(kThreads);
  on_threads(kThreads, [&](int i) {
    for (std::size_t j = 0; j != 2 * kSize / kThreads; ++j)
      taken[static_cast<std::size_t>(i)].push_back(pool.next());
  });
  std::map<std::uint64_t, int> times;
  for (const auto& streams : taken)
    for (const Stream& s : streams) ++times[s.id().value];
  EXPECT_EQ(times.size(), kSize);
  for (const auto& [id, count] : times) EXPECT_EQ(count, 2) << id;
}

// A held stream of the pool holds no other one of it.
CONTRACT_ROW(L2, StreamsOfAPoolAreQueuesOfTheirOwn) {
  const StreamPool pool = need(StreamPool::create(device(), 3, {.name = "pooled"}));
  const Stream held = pool.next();
  const Log log;
  const Gate gate(device());
  gate.hold(held);
  Future<void> behind = log.enqueue(held, 2);
  EXPECT_EQ(refusal(log.enqueue(pool.next(), 0).get(kLimit)), "none");
  EXPECT_EQ(refusal(log.enqueue(pool.next(), 1).get(kLimit)), "none");
  EXPECT_FALSE(behind.ready());
  EXPECT_EQ(held.name(), "pooled");
  gate.open();
  EXPECT_EQ(refusal(behind.get(kLimit)), "none");
}

// The pool goes first: its streams live as long as their handles.
CONTRACT_ROW(L3, StreamsOutliveTheirPool) {
  std::optional<StreamPool> pool = need(StreamPool::create(device(), 2));
  Stream kept = pool->next();
  pool.reset();
  EXPECT_TRUE(comes_true([this] { return control().streams_destroyed() == 1; }));
  EXPECT_EQ(refusal(Log().enqueue(kept, 1).get(kLimit)), "none");
  kept = Stream();
  EXPECT_TRUE(comes_true([this] { return control().streams_destroyed() == 2; }));
}

CONTRACT_ROW(L4, APoolThatCannotBeIsRefused) {
  EXPECT_EQ(refusal(StreamPool::create(device(), 0)), "invalid_size");
  EXPECT_EQ(refusal(StreamPool::create(device(), StreamPool::kSizeMax + 1)), "invalid_size");
  EXPECT_EQ(refusal(StreamPool::create(Device(), 2)), "invalid_handle");
  EXPECT_EQ(control().calls(Call::create_stream), 0U);
  const int outside = device().priority_range().least + 1;
  EXPECT_EQ(refusal(StreamPool::create(device(), 2, {.priority = outside})), "invalid_argument");

  control().refuse(Call::create_stream, Error(ErrorKind::out_of_memory, "full"), 3, 2000);
  EXPECT_EQ(refusal(StreamPool::create(device(), 4)), "out_of_memory");
  EXPECT_EQ(control().streams_created(), 2U);
  EXPECT_TRUE(comes_true([this] { return control().streams_destroyed() == 2; }));

  const StreamPool none;
  EXPECT_FALSE(none.valid());
  EXPECT_EQ(none.size(), 0U);
  EXPECT_FALSE(none.next().valid());
}

}  // namespace
}  // namespace thalweg::contract
