// SPDX-License-Identifier: Apache-2.0
//
// tests/support/model/blocks.hpp - what an allocator of offsets may do, told from its live blocks
// and nothing else.

#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>

namespace thalweg::test::model {

class Blocks {
 public:
  Blocks(std::uint64_t granule, std::uint64_t first, std::uint64_t size)
      : granule_(granule), first_(first), size_(size) {}

  void resize(std::uint64_t size) { size_ = size; }
  std::uint64_t size() const { return size_; }
  std::uint64_t live() const { return live_; }

  // What is wrong with handing out such a block for a request; empty: nothing. 0 is no alignment.
  std::string wrong(std::uint64_t offset, std::uint64_t size, std::uint64_t asked,
                    std::uint64_t alignment) const {
    if (offset % std::max(alignment, granule_) != 0) return "not aligned";
    if (size % granule_ != 0 || size < rounded(asked)) return "too small";
    if ((size - rounded(asked)) / granule_ > rounded(asked) / granule_ / 32)
      return "too much padding";
    if (offset < first_ || offset + size > first_ + size_) return "outside";
    const auto behind = blocks_.lower_bound(offset);
    if (behind != blocks_.end() && behind->first < offset + size) return "overlaps the next";
    if (behind != blocks_.begin() && std::prev(behind)->first + std::prev(behind)->second > offset)
      return "overlaps the one before";
    return {};
  }

  // Whether a request fits between the live blocks.
  bool fits(std::uint64_t asked, std::uint64_t alignment) const {
    return largest(std::max(alignment, granule_)) >= rounded(asked);
  }

  void add(std::uint64_t offset, std::uint64_t size) {
    blocks_[offset] = size;
    live_ += size;
  }
  void remove(std::uint64_t offset, std::uint64_t size) {
    blocks_.erase(offset);
    live_ -= size;
  }

  // The largest block that fits and begins at a multiple of `alignment`.
  std::uint64_t largest(std::uint64_t alignment) const {
    std::uint64_t largest = 0;
    std::uint64_t begin = first_;
    const auto hole = [&](std::uint64_t end) {
      const std::uint64_t at = (begin + alignment - 1) / alignment * alignment;
      if (at < end) largest = std::max(largest, end - at);
    };
    for (const auto& [offset, size] : blocks_) {
      hole(offset);
      begin = offset + size;
    }
    hole(first_ + size_);
    return largest;
  }

  // Behind the last live block.
  std::uint64_t end() const {
    return blocks_.empty() ? first_ : blocks_.rbegin()->first + blocks_.rbegin()->second;
  }

 private:
  // No bytes take a granule.
  std::uint64_t rounded(std::uint64_t asked) const {
    return std::max((asked + granule_ - 1) / granule_ * granule_, granule_);
  }

  std::uint64_t granule_;
  std::uint64_t first_;
  std::uint64_t size_;
  std::uint64_t live_ = 0;
  std::map<std::uint64_t, std::uint64_t> blocks_;  // Size by offset.
};

}  // namespace thalweg::test::model
