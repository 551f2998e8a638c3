// SPDX-License-Identifier: Apache-2.0
//
// thalweg/memory/info_index.hpp - which argument blocks are cached, and which of them may go.
//
// The bookkeeping of backend/metadata_info_cache.hpp: entries have numbers, keys are the exact
// words of a block, and the copies themselves are kept by whoever has the index.
//
//   free -> cached, unpinned (in a row by use; the oldest goes first) -> pinned by a window, graphs
//
// A window pins each entry that it touches, once; unpinned it counts as used. When the window's
// graph is made, the pin is the graph's; an entry that nothing pins any more goes when the last
// graph that had it does.
//
// Threads:    external synchronization.
// Errors:     none.
// Cost:       a look-up hashes once; all else is constant, but for what a window or graph pins.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "thalweg/base/export.hpp"
#include "thalweg/base/ids.hpp"

namespace thalweg::memory {

using GraphId = Id<struct GraphTag>;

struct InfoPolicy {
  std::size_t entries_max = 4096;              // 0: nothing is cached.
  std::uint64_t cached_bytes_max = 16u << 10;  // Larger blocks are not, but in a window.
};

class THALWEG_EXPORT InfoIndex {
 public:
  explicit InfoIndex(const InfoPolicy& policy);

  struct Found {
    std::uint32_t entry = 0;
    bool known = false;  // Otherwise it is new: whoever asked makes the copy, or forgets it.
    bool cached =
        true;  // Otherwise there is no entry: the block is too large, or nothing is cached.
    std::optional<std::uint32_t>
        evicted;  // Whose copy goes, to make room; may be the new entry's own.
  };

  // The entry of a block with these words, which counts as used.
  Found look_up(std::span<const std::uint64_t> words);

  // The copy of a new entry could not be made.
  void forget(std::uint32_t entry);

  // From here on each block is cached, nothing is evicted, and what is touched is pinned.
  // REQUIRES: no window is open.
  void begin_window();

  // The window's graph has its pins from now on, or nobody; then the cache goes back to its size.
  // Entries whose copies go are added to `gone`. REQUIRES: a window is open.
  void commit_window(GraphId graph, std::vector<std::uint32_t>& gone);
  void discard_window(std::vector<std::uint32_t>& gone);

  // The graph is gone. What it alone pinned goes.
  void release_graph(GraphId graph, std::vector<std::uint32_t>& gone);

  // All that is not pinned goes.
  void clear_unpinned(std::vector<std::uint32_t>& gone);

  bool window_open() const noexcept { return window_open_; }
  std::size_t entries() const noexcept { return size_; }
  std::size_t pinned() const noexcept { return pinned_; }
  const InfoPolicy& policy() const noexcept { return policy_; }

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;

  struct Entry {
    std::vector<std::uint64_t> words;  // Keeps its room.
    std::uint64_t hash = 0;
    std::uint32_t chain = kNone;  // The next of its bucket, or of the free ones.
    std::uint32_t older = kNone;  // In the row of unpinned ones.
    std::uint32_t newer = kNone;
    std::uint32_t pins = 0;  // By the window, and graphs.
    bool in_window = false;
  };

  std::uint32_t find(std::uint64_t hash, std::span<const std::uint64_t> words) const noexcept;
  std::uint32_t add(std::uint64_t hash, std::span<const std::uint64_t> words);
  void remove(std::uint32_t entry) noexcept;
  void touch(std::uint32_t entry);
  void link_newest(std::uint32_t entry) noexcept;
  void unlink(std::uint32_t entry) noexcept;
  void unpin(std::uint32_t entry, bool goes, std::vector<std::uint32_t>& gone);
  void trim(std::vector<std::uint32_t>& gone);
  void rehash(std::size_t buckets);

  const InfoPolicy policy_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> buckets_;  // A power of two.
  std::uint32_t free_ = kNone;
  std::uint32_t oldest_ = kNone;
  std::uint32_t newest_ = kNone;
  std::size_t size_ = 0;
  std::size_t pinned_ = 0;
  bool window_open_ = false;
  std::vector<std::uint32_t> window_;
  std::unordered_map<GraphId, std::vector<std::uint32_t>> graphs_;
};

}  // namespace thalweg::memory
