// SPDX-License-Identifier: Apache-2.0

#include "thalweg/base/forked.hpp"

namespace thalweg::detail {

constinit std::atomic<bool> forked_child{false};

[[gnu::cold]] Error forked_error(std::source_location site) {
  return Error(ErrorKind::unavailable,
               "The process was forked after its devices were opened; a child opens devices only "
               "when its parent had not used thalweg.",
               site);
}

}  // namespace thalweg::detail
