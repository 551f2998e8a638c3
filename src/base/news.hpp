// SPDX-License-Identifier: Apache-2.0
//
// base/news.hpp - an error that has to be told to somebody.
//
// News is shared by all that may yet tell of an error: the bytes that carry the failure, futures
// that were not taken, and errors that follow from it. Who gives the program one of these says
// heard(). News of which nobody heard says so when the last of them is gone, wherever that is:
// hence nobody lets go of such an error under a lock.
//
// Threads:    any.

#pragma once

#include <atomic>
#include <memory>

#include "thalweg/base/error.hpp"

namespace thalweg::detail {

class News {
 public:
  News() = default;
  News(const News&) = delete;
  News& operator=(const News&) = delete;

  // Says so, unless somebody heard.
  virtual ~News() = default;

  // Memory ordering: relaxed. Who lets go of the last share comes after all others by its count.
  void heard() noexcept { heard_.store(true, std::memory_order_relaxed); }
  bool was_heard() const noexcept { return heard_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> heard_{false};
};

// The same error, with a share in `news`.
Error with_news(const Error& error, std::shared_ptr<News> news);

// Whether the error, or a failure or cause of it, is news.
bool is_news(const Error& error) noexcept;

// The program is given `error`.
void heard(const Error& error) noexcept;

}  // namespace thalweg::detail
