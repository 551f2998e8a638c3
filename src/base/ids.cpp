// SPDX-License-Identifier: Apache-2.0

#include "thalweg/base/ids.hpp"

#include <atomic>

namespace thalweg::detail {

std::uint64_t next_id() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace thalweg::detail
