// SPDX-License-Identifier: Apache-2.0
//
// The cache of argument blocks against a model that keeps a list.

#include "thalweg/backend/metadata_info_cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/program_runner.hpp"
#include "support/random.hpp"
#include "support/refusal.hpp"

namespace thalweg::test {
namespace {

using Words = std::vector<std::uint64_t>;
using Cache = backend::MetadataInfoCache<std::string>;
using GraphId = Cache::GraphId;

std::string text_of(const Words& words) {
  std::string text;
  for (const std::uint64_t word : words) text += std::to_string(word) + ",";
  return text;
}

// What is kept, in the order of use, and by whom it is pinned.
class Model {
 public:
  explicit Model(const Cache::Policy& policy) : policy_(policy) {}

  // Whether it is kept afterwards.
  bool use(const Words& words) {
    const auto known = std::find(row_.begin(), row_.end(), words);
    if (known != row_.end()) {
      row_.splice(row_.end(), row_, known);
    } else {
      if (!window_ && !admits(words)) return false;
      if (!window_ && row_.size() >= policy_.entries_max && !evict()) return false;
      row_.push_back(words);
    }
    if (window_ && !pinned_by_window(words)) window_->push_back(words);
    return true;
  }

  void begin() { window_.emplace(); }
  void end(std::optional<GraphId> graph) {
    const std::vector<Words> window = *std::exchange(window_, std::nullopt);
    for (const Words& words : window) {
      if (graph) graphs_[*graph].insert(words);
      // Unpinned, it counts as used.
      if (!pinned(words)) row_.splice(row_.end(), row_, std::find(row_.begin(), row_.end(), words));
    }
    // The oldest go, and all that would not have been admitted.
    for (auto at = row_.begin(); at != row_.end();) {
      const bool goes = !pinned(*at) && (row_.size() > policy_.entries_max || !admits(*at));
      at = goes ? row_.erase(at) : std::next(at);
    }
  }
  void release(GraphId graph) {
    const std::set<Words> had = std::exchange(graphs_[graph], {});
    row_.remove_if([&](const Words& words) { return had.count(words) != 0 && !pinned(words); });
  }
  void clear() {
    row_.remove_if([&](const Words& words) { return !pinned(words); });
  }

  std::multiset<std::string> kept() const {
    std::multiset<std::string> all;
    for (const Words& words : row_) all.insert(text_of(words));
    return all;
  }

 private:
  bool admits(const Words& words) const {
    return policy_.entries_max != 0 && words.size() * 8 <= policy_.cached_bytes_max;
  }
  bool pinned_by_window(const Words& words) const {
    return window_ && std::find(window_->begin(), window_->end(), words) != window_->end();
  }
  bool pinned(const Words& words) const {
    if (pinned_by_window(words)) return true;
    return std::any_of(graphs_.begin(), graphs_.end(),
                       [&words](const auto& graph) { return graph.second.count(words) != 0; });
  }
  bool evict() {
    const auto oldest = std::find_if(row_.begin(), row_.end(),
                                     [this](const Words& words) { return !pinned(words); });
    if (oldest == row_.end()) return false;
    row_.erase(oldest);
    return true;
  }

  const Cache::Policy policy_;
  std::list<Words> row_;
  std::optional<std::vector<Words>> window_;
  std::map<GraphId, std::set<Words>> graphs_;
};

void run(std::uint64_t seed) {
  Random random(seed);
  const Cache::Policy policy{random.below(9), 8u * random.below(5)};
  Cache cache(policy);
  Model model(policy);
  std::multiset<std::string> made;  // And not dropped.
  const auto drop = [&made](std::string copy) { made.erase(made.find(copy)); };
  std::uint64_t graphs = 0;
  for (int step = 0; step != 300; ++step) {
    switch (random.below(12)) {
      case 0:
        if (!cache.capturing()) {
          cache.begin_capture();
          model.begin();
        } else if (random.below(3) == 0) {
          cache.capture_discard(drop);
          model.end(std::nullopt);
        } else {
          cache.capture_commit(GraphId{++graphs}, drop);
          model.end(GraphId{graphs});
        }
        break;
      case 1:
        if (graphs != 0) {
          const GraphId graph{1 + random.below(static_cast<std::uint32_t>(graphs))};
          cache.graph_release(graph, drop);
          model.release(graph);
        }
        break;
      case 2:
        if (random.below(4) == 0 && !cache.capturing()) {
          cache.clear_unpinned(drop);
          model.clear();
        }
        break;
      default: {
        const Words words(1 + random.below(4), random.below(4));
        const bool fails = random.below(16) == 0;
        bool asked = false;
        auto info = cache.acquire(
            words,
            [&]() -> Result<std::string> {
              asked = true;
              if (fails) return Error(ErrorKind::out_of_memory, "No copy.");
              made.insert(text_of(words));
              return text_of(words);
            },
            drop);
        if (!info) {
          // Nothing but that an older one may have gone: the model does the same, and forgets.
          ASSERT_TRUE(fails && asked);
          ASSERT_EQ(made.count(text_of(words)), 0u);
          return;
        }
        ASSERT_EQ(info->handle(), text_of(words));
        const bool kept = model.use(words);
        ASSERT_EQ(!info->own(), kept);
        if (info->own()) drop(*std::exchange(info->own(), std::nullopt));
        break;
      }
    }
    ASSERT_EQ(made, model.kept()) << "step " << step;
    ASSERT_EQ(cache.entries(), made.size());
  }
  while (cache.capturing()) cache.capture_discard(drop);
  for (std::uint64_t graph = 1; graph <= graphs; ++graph) cache.graph_release(GraphId{graph}, drop);
  cache.clear_unpinned(drop);
  ASSERT_TRUE(made.empty());
  ASSERT_EQ(cache.pinned(), 0u);
}

TEST(MetadataInfoCache, KeepsWhatTheModelKeeps) {
  for_each_seed(1, 5'000, [](std::uint64_t seed) {
    run(seed);
    if (testing::Test::HasFatalFailure()) ADD_FAILURE() << reproduce(seed);
    return !testing::Test::HasFailure();
  });
}

// A copy that cannot be made leaves nothing behind, also in a window.
TEST(MetadataInfoCache, ARefusedCopyIsForgotten) {
  Cache cache;
  const auto drop = [](std::string) {};
  const auto refuse = []() -> Result<std::string> {
    return Error(ErrorKind::out_of_memory, "No copy.");
  };
  const auto make = []() -> Result<std::string> { return std::string("copy"); };
  const Words words{1, 2};
  EXPECT_EQ(refusal(cache.acquire(words, refuse, drop)), "out_of_memory");
  EXPECT_EQ(cache.entries(), 0u);
  cache.begin_capture();
  EXPECT_EQ(refusal(cache.acquire(words, refuse, drop)), "out_of_memory");
  EXPECT_EQ(cache.entries(), 0u);
  EXPECT_EQ(cache.pinned(), 0u);
  EXPECT_TRUE(cache.acquire(words, make, drop));
  EXPECT_EQ(cache.pinned(), 1u);
  cache.capture_discard(drop);
  EXPECT_EQ(cache.entries(), 1u);
  EXPECT_EQ(cache.pinned(), 0u);
}

// The words are compared, and not their hash alone.
TEST(MetadataInfoCache, BlocksThatDifferAreKeptApart) {
  Cache cache;
  const auto drop = [](std::string) {};
  for (std::uint64_t i = 0; i != 4096; ++i) {
    const Words words{i, i * i};
    const auto info =
        cache.acquire(words, [&]() -> Result<std::string> { return text_of(words); }, drop);
    ASSERT_TRUE(info);
  }
  for (std::uint64_t i = 0; i != 4096; ++i) {
    const Words words{i, i * i};
    const auto info = cache.acquire(
        words, []() -> Result<std::string> { return Error(ErrorKind::internal, "It was there."); },
        drop);
    ASSERT_TRUE(info);
    ASSERT_EQ(info->handle(), text_of(words));
  }
  EXPECT_EQ(cache.entries(), 4096u);
}

}  // namespace
}  // namespace thalweg::test
