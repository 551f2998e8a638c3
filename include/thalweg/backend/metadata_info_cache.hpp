// SPDX-License-Identifier: Apache-2.0
//
// thalweg/backend/metadata_info_cache.hpp - device copies of argument blocks that are too large to
// travel with a launch.
//
// Shapes, strides and scalars are often the same from one launch to the next: so a copy is kept by
// the exact words. While a graph is captured each copy that a launch uses is pinned, whatever its
// size, and stays until the graph is gone: a graph's nodes name the copy.
//
//   acquire(words)                       the copy, made when it is not there
//   begin_capture() .. capture_commit(graph) or capture_discard()
//   graph_release(graph)
//
// A copy that is not kept any more is given to `drop`: what is enqueued may use it still.
//
// Threads:    external synchronization: the queue's lock.
// Ownership:  owns the copies that it keeps.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "thalweg/base/result.hpp"
#include "thalweg/memory/info_index.hpp"

namespace thalweg::backend {

template <class Handle>
class MetadataInfoCache {
 public:
  using Policy = memory::InfoPolicy;
  using GraphId = memory::GraphId;

  explicit MetadataInfoCache(const Policy& policy = {}) : index_(policy) {}
  MetadataInfoCache(const MetadataInfoCache&) = delete;
  MetadataInfoCache& operator=(const MetadataInfoCache&) = delete;

  // A copy for one launch. Valid until the next call that is not const.
  class Info {
   public:
    const Handle& handle() const noexcept { return own_ ? *own_ : *kept_; }

    // Not kept: the caller's, who drops it behind the launch. Otherwise empty.
    std::optional<Handle>& own() noexcept { return own_; }

   private:
    friend class MetadataInfoCache;
    const Handle* kept_ = nullptr;
    std::optional<Handle> own_;
  };

  // The copy of a block. `make()` gives a Result<Handle>; its error is given back, and nothing has
  // changed but that an older copy may have gone. `drop(Handle&&)` takes a copy that goes.
  template <class Make, class Drop>
  Result<Info> acquire(std::span<const std::uint64_t> words, Make&& make, Drop&& drop) {
    Info info;
    const memory::InfoIndex::Found found = index_.look_up(words);
    if (found.evicted) let_go(*found.evicted, drop);
    if (found.known) {
      info.kept_ = &*copies_[found.entry];
      return info;
    }
    Result<Handle> made = std::forward<Make>(make)();
    if (!made) {
      if (found.cached) index_.forget(found.entry);
      return std::move(made).error();
    }
    if (!found.cached) {
      info.own_ = *std::move(made);
      return info;
    }
    if (found.entry >= copies_.size()) copies_.resize(found.entry + 1);
    info.kept_ = &copies_[found.entry].emplace(*std::move(made));
    return info;
  }

  // REQUIRES: none is under way.
  void begin_capture() { index_.begin_window(); }

  // REQUIRES: one is under way.
  template <class Drop>
  void capture_commit(GraphId graph, Drop&& drop) {
    index_.commit_window(graph, gone_);
    drop_gone(drop);
  }
  template <class Drop>
  void capture_discard(Drop&& drop) {
    index_.discard_window(gone_);
    drop_gone(drop);
  }

  // The graph is gone. What no other graph uses goes; what it never had is no matter.
  template <class Drop>
  void graph_release(GraphId graph, Drop&& drop) {
    index_.release_graph(graph, gone_);
    drop_gone(drop);
  }

  template <class Drop>
  void clear_unpinned(Drop&& drop) {
    index_.clear_unpinned(gone_);
    drop_gone(drop);
  }

  bool capturing() const noexcept { return index_.window_open(); }
  std::size_t entries() const noexcept { return index_.entries(); }
  std::size_t pinned() const noexcept { return index_.pinned(); }

 private:
  template <class Drop>
  void let_go(std::uint32_t entry, Drop& drop) {
    drop(std::move(*copies_[entry]));
    copies_[entry].reset();
  }

  template <class Drop>
  void drop_gone(Drop& drop) {
    for (const std::uint32_t entry : gone_) let_go(entry, drop);
    gone_.clear();
  }

  memory::InfoIndex index_;
  std::vector<std::optional<Handle>> copies_;  // By entry.
  std::vector<std::uint32_t> gone_;            // Empty between calls.
};

}  // namespace thalweg::backend
