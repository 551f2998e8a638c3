// SPDX-License-Identifier: Apache-2.0

#include "thalweg/stream_pool.hpp"

#include <fmt/format.h>

#include <utility>

namespace thalweg {

Result<StreamPool> StreamPool::create(const Device& device, std::size_t size,
                                      const StreamOptions& options, std::source_location site) {
  if (size == 0 || size > kSizeMax)
    return Error(ErrorKind::invalid_size,
                 fmt::format("A pool of {} streams; 1 to {} are possible.", size, kSizeMax), site);
  auto body = std::make_shared<Body>();
  body->streams.reserve(size);
  for (std::size_t i = 0; i != size; ++i) {
    THALWEG_TRY_ASSIGN(Stream stream, Stream::create(device, options, site));
    body->streams.push_back(std::move(stream));
  }
  StreamPool pool;
  pool.body_ = std::move(body);
  return pool;
}

// Memory ordering: relaxed; the numbers say nothing else. Wraps at a multiple of no interest.
Stream StreamPool::next() const noexcept {
  if (!body_) return {};
  const std::size_t turn = body_->next.fetch_add(1, std::memory_order_relaxed);
  return body_->streams[turn % body_->streams.size()];
}

std::size_t StreamPool::size() const noexcept { return body_ ? body_->streams.size() : 0; }

}  // namespace thalweg
