// SPDX-License-Identifier: Apache-2.0

#include "thalweg/memory/info_index.hpp"

#include <algorithm>
#include <utility>

#include "thalweg/base/check.hpp"

namespace thalweg::memory {
namespace {

// Of MurmurHash3's 64-bit finalizer (Appleby, public domain), a word at a time.
std::uint64_t hash_of(std::span<const std::uint64_t> words) noexcept {
  std::uint64_t hash = words.size();
  for (std::uint64_t word : words) {
    hash = (hash ^ word) * 0xff51afd7ed558ccd;
    hash ^= hash >> 33;
    hash *= 0xc4ceb9fe1a85ec53;
    hash ^= hash >> 33;
  }
  return hash;
}

}  // namespace

InfoIndex::InfoIndex(const InfoPolicy& policy) : policy_(policy) { rehash(64); }

// Looking up.

InfoIndex::Found InfoIndex::look_up(std::span<const std::uint64_t> words) {
  const std::uint64_t hash = hash_of(words);
  Found found;
  if (const std::uint32_t entry = find(hash, words); entry != kNone) {
    touch(entry);
    found.entry = entry;
    found.known = true;
    return found;
  }
  const bool fits = policy_.entries_max != 0 && words.size_bytes() <= policy_.cached_bytes_max;
  if (!fits && !window_open_) {
    found.cached = false;
    return found;
  }
  if (!window_open_ && size_ >= policy_.entries_max) {
    // All are pinned: there is room for no more.
    if (oldest_ == kNone) {
      found.cached = false;
      return found;
    }
    // Its number is the next that is given out.
    found.evicted = oldest_;
    remove(oldest_);
  }
  found.entry = add(hash, words);
  touch(found.entry);
  return found;
}

std::uint32_t InfoIndex::find(std::uint64_t hash,
                              std::span<const std::uint64_t> words) const noexcept {
  std::uint32_t entry = buckets_[hash & (buckets_.size() - 1)];
  while (entry != kNone) {
    const Entry& each = entries_[entry];
    if (each.hash == hash &&
        std::equal(words.begin(), words.end(), each.words.begin(), each.words.end()))
      return entry;
    entry = each.chain;
  }
  return kNone;
}

std::uint32_t InfoIndex::add(std::uint64_t hash, std::span<const std::uint64_t> words) {
  if (free_ == kNone) {
    free_ = static_cast<std::uint32_t>(entries_.size());
    entries_.emplace_back();
    if (entries_.size() > buckets_.size()) rehash(buckets_.size() * 2);
  }
  const std::uint32_t entry = free_;
  Entry& made = entries_[entry];
  free_ = made.chain;
  made.words.assign(words.begin(), words.end());
  made.hash = hash;
  std::uint32_t& bucket = buckets_[hash & (buckets_.size() - 1)];
  made.chain = std::exchange(bucket, entry);
  ++size_;
  link_newest(entry);
  return entry;
}

void InfoIndex::rehash(std::size_t buckets) {
  buckets_.assign(buckets, kNone);
  std::vector<bool> unused(entries_.size());
  for (std::uint32_t entry = free_; entry != kNone; entry = entries_[entry].chain)
    unused[entry] = true;
  for (std::uint32_t entry = 0; entry != entries_.size(); ++entry) {
    if (unused[entry]) continue;
    std::uint32_t& bucket = buckets_[entries_[entry].hash & (buckets - 1)];
    entries_[entry].chain = std::exchange(bucket, entry);
  }
}

// REQUIRES: it is not pinned.
void InfoIndex::remove(std::uint32_t entry) noexcept {
  Entry& gone = entries_[entry];
  unlink(entry);
  std::uint32_t* at = &buckets_[gone.hash & (buckets_.size() - 1)];
  while (*at != entry) at = &entries_[*at].chain;
  *at = gone.chain;
  gone.chain = std::exchange(free_, entry);
  --size_;
}

void InfoIndex::forget(std::uint32_t entry) {
  Entry& gone = entries_[entry];
  if (gone.in_window) {
    window_.erase(std::find(window_.begin(), window_.end(), entry));
    gone.in_window = false;
    --gone.pins;
    --pinned_;
    link_newest(entry);
  }
  remove(entry);
}

// The row of those that may go.

void InfoIndex::link_newest(std::uint32_t entry) noexcept {
  Entry& linked = entries_[entry];
  linked.newer = kNone;
  linked.older = newest_;
  (newest_ != kNone ? entries_[newest_].newer : oldest_) = entry;
  newest_ = entry;
}

void InfoIndex::unlink(std::uint32_t entry) noexcept {
  Entry& linked = entries_[entry];
  (linked.older != kNone ? entries_[linked.older].newer : oldest_) = linked.newer;
  (linked.newer != kNone ? entries_[linked.newer].older : newest_) = linked.older;
}

void InfoIndex::touch(std::uint32_t entry) {
  Entry& used = entries_[entry];
  if (window_open_ && !used.in_window) {
    window_.push_back(entry);
    used.in_window = true;
    if (used.pins++ == 0) {
      unlink(entry);
      ++pinned_;
    }
  } else if (used.pins == 0) {
    unlink(entry);
    link_newest(entry);
  }
}

// Pins.

void InfoIndex::unpin(std::uint32_t entry, bool goes, std::vector<std::uint32_t>& gone) {
  if (--entries_[entry].pins != 0) return;
  --pinned_;
  link_newest(entry);
  if (!goes) return;
  gone.push_back(entry);
  remove(entry);
}

// Back to what the policy allows: the oldest go, and all that it would not have admitted.
void InfoIndex::trim(std::vector<std::uint32_t>& gone) {
  for (std::uint32_t entry = oldest_; entry != kNone;) {
    const std::uint32_t next = entries_[entry].newer;
    const std::uint64_t bytes = entries_[entry].words.size() * sizeof(std::uint64_t);
    if (size_ > policy_.entries_max || bytes > policy_.cached_bytes_max) {
      gone.push_back(entry);
      remove(entry);
    }
    entry = next;
  }
}

void InfoIndex::begin_window() {
  THALWEG_CHECK(!window_open_, "A window is open already.");
  window_open_ = true;
}

void InfoIndex::commit_window(GraphId graph, std::vector<std::uint32_t>& gone) {
  THALWEG_CHECK(window_open_, "No window is open.");
  window_open_ = false;
  std::vector<std::uint32_t>& pins = graphs_[graph];
  for (const std::uint32_t entry : window_) {
    entries_[entry].in_window = false;
    pins.push_back(entry);
  }
  window_.clear();
  trim(gone);
}

void InfoIndex::discard_window(std::vector<std::uint32_t>& gone) {
  THALWEG_CHECK(window_open_, "No window is open.");
  window_open_ = false;
  for (const std::uint32_t entry : window_) {
    entries_[entry].in_window = false;
    unpin(entry, false, gone);
  }
  window_.clear();
  trim(gone);
}

void InfoIndex::release_graph(GraphId graph, std::vector<std::uint32_t>& gone) {
  const auto found = graphs_.find(graph);
  if (found == graphs_.end()) return;
  for (const std::uint32_t entry : found->second) unpin(entry, true, gone);
  graphs_.erase(found);
}

void InfoIndex::clear_unpinned(std::vector<std::uint32_t>& gone) {
  while (oldest_ != kNone) {
    gone.push_back(oldest_);
    remove(oldest_);
  }
}

}  // namespace thalweg::memory
