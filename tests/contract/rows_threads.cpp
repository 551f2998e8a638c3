// SPDX-License-Identifier: Apache-2.0
//
// One handle and many threads.

#include <set>
#include <span>
#include <string>

#include "contract/support/work.hpp"

namespace thalweg::contract {
namespace {

// Eight threads call every const method of one Stream object at once. Each call succeeds whole: no
// two tasks have one serial, and every host function runs once. ThreadSanitizer sees the rest.
CONTRACT_ROW(S30, ConstMethodsMayBeCalledFromAllThreadsAtOnce) {
  ASSERT_TRUE(backend().any_thread) << "The backend is not for several threads.";
  constexpr int kThreads = 8;
  constexpr int kRounds = 25;
  const Stream s = stream();
  const Stream other = stream();
  const Event mark = event();
  const Timeline timeline = need(Timeline::create(device(), 1));
  const auto data = need(Array<int>::create(s, 64));
  const auto nothing = kernel("nothing", [](Cell) {});
  const Log log;
  std::mutex mutex;
  std::multiset<std::uint64_t> serials;
  on_threads(kThreads, [&](int thread) {
    const std::uint64_t own = static_cast<std::uint64_t>(thread) * 8;
    const auto mine = data.view(own, 4);
    const int values[] = {1, 2, 3, 4};
    for (int i = 0; i != kRounds; ++i) {
      const Result<Task> tasks[] = {s.fill(mine, i), s.copy(data.view(own + 4, 4), mine),
                                    s.upload(mine, std::span<const int>(values))};
      for (const Result<Task>& task : tasks) {
        EXPECT_EQ(refusal(task), "none");
        const std::lock_guard lock(mutex);
        if (task) serials.insert(task->serial().value);
      }
      const std::string launched = refusal(s.launch(nothing, 1));
      EXPECT_TRUE(launched == "none" || launched == "unsupported") << launched;
      auto lent = s.upload_borrowed(mine, std::span<const int>(values));
      static_cast<void>(log.enqueue(s, thread));
      EXPECT_EQ(refusal(s.record(mark)), "none");
      EXPECT_EQ(refusal(s.wait_event(mark)), "none");
      EXPECT_EQ(refusal(s.wait(other)), "none");
      EXPECT_EQ(refusal(s.wait(timeline, 1)), "none");
      const auto seen = s.read(data.view(own + 4, 4)).get(kLimit);
      EXPECT_TRUE(seen && *seen == std::vector<int>(4, i)) << message(seen);
      EXPECT_EQ(refusal(lent.get(kLimit)), "none");
      EXPECT_EQ(refusal(s.synchronize(kLimit)), "none");
      EXPECT_NE(s.raw(), other.raw());
      EXPECT_FALSE(s.is_same_queue(other));
      EXPECT_EQ(s.device(), device());
      EXPECT_EQ(s.priority(), 0);
      EXPECT_EQ(s.name(), "");
      EXPECT_TRUE(s.id());
    }
  });
  need(s.synchronize(kLimit));
  EXPECT_EQ(log.size(), std::size_t{kThreads} * kRounds);
  EXPECT_EQ(serials.size(), std::size_t{3} * kThreads * kRounds);
  EXPECT_EQ(serials.size(), std::set<std::uint64_t>(serials.begin(), serials.end()).size());
  const std::vector<int> seen = need(s.read(data).get(kLimit));
  for (std::size_t i = 0; i != seen.size(); ++i)
    EXPECT_EQ(seen[i], i % 8 < 4 ? static_cast<int>(i % 8) + 1 : kRounds - 1) << i;
}

}  // namespace
}  // namespace thalweg::contract
