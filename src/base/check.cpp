// SPDX-License-Identifier: Apache-2.0

#include "thalweg/base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace thalweg::detail {

void check_failed(const char* condition, const char* file, int line,
                  const std::string& message) noexcept {
  std::fprintf(stderr, "thalweg: broken invariant `%s` at %s:%d: %s\n", condition, file, line,
               message.c_str());
  std::abort();
}

}  // namespace thalweg::detail
