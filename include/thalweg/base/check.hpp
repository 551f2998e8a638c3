// SPDX-License-Identifier: Apache-2.0
//
// thalweg/base/check.hpp - invariants of our own.
//
// THALWEG_CHECK aborts, in every build, when an invariant of the library is broken. The message is
// evaluated only then. THALWEG_ASSERT is for checks too costly for a release. Neither is for what a
// caller can get wrong: that is an Error.

#pragma once

#include <string>

#include "thalweg/base/export.hpp"

namespace thalweg::detail {
[[noreturn]] THALWEG_EXPORT void check_failed(const char* condition, const char* file, int line,
                                              const std::string& message) noexcept;
}  // namespace thalweg::detail

#define THALWEG_CHECK(condition, message)                                         \
  do {                                                                            \
    if (!(condition)) [[unlikely]]                                                \
      ::thalweg::detail::check_failed(#condition, __FILE__, __LINE__, (message)); \
  } while (false)

#if defined(NDEBUG)
#define THALWEG_ASSERT(condition, message) \
  do {                                     \
  } while (false)
#else
#define THALWEG_ASSERT(condition, message) THALWEG_CHECK(condition, message)
#endif
