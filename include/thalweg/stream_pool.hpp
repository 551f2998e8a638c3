// SPDX-License-Identifier: Apache-2.0
//
// thalweg/stream_pool.hpp - a fixed number of streams that are handed out in turn.
//
// For programs that open many logical streams and do not care which of them share a queue. The
// first size() calls of next() give size() different streams; then they come again in that order.
// Two users of one stream are ordered one after the other, as they are submitted; use
// Stream::create() where that must not happen.
//
// Threads:    next() from any thread; each call is atomic.
// Ownership:  a counted handle: a copy is the same pool. Streams that were handed out outlive it.

#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "thalweg/stream.hpp"

namespace thalweg {

class [[nodiscard]] THALWEG_EXPORT StreamPool {
 public:
  // The most streams a pool has.
  static constexpr std::size_t kSizeMax = 4096;

  StreamPool() noexcept = default;

  // Errors: invalid_size, unless 1 <= size <= kSizeMax; those of Stream::create(), and then no
  //         stream is left.
  static Result<StreamPool> create(const Device& device, std::size_t size,
                                   const StreamOptions& options = {},
                                   std::source_location site = std::source_location::current());

  // The next stream in turn; an invalid one for an invalid pool.
  Stream next() const noexcept;

  // 0 for an invalid pool.
  std::size_t size() const noexcept;
  bool valid() const noexcept { return static_cast<bool>(body_); }

 private:
  struct Body {
    std::vector<Stream> streams;
    std::atomic<std::size_t> next{0};
  };

  std::shared_ptr<Body> body_;
};

}  // namespace thalweg
