// SPDX-License-Identifier: Apache-2.0

#include "thalweg/base/finding.hpp"

namespace thalweg {

std::string_view name(FindingKind kind) noexcept {
  switch (kind) {
    case FindingKind::unordered:
      return "unordered";
    case FindingKind::reuse_in_flight:
      return "reuse_in_flight";
    case FindingKind::host_race:
      return "host_race";
    case FindingKind::unwritten_read:
      return "unwritten_read";
    case FindingKind::undeclared_write:
      return "undeclared_write";
    case FindingKind::broken_out:
      return "broken_out";
    case FindingKind::contents:
      return "contents";
    case FindingKind::hidden_wait:
      return "hidden_wait";
    case FindingKind::leak:
      return "leak";
    case FindingKind::double_release:
      return "double_release";
    case FindingKind::deadlock:
      return "deadlock";
    case FindingKind::never_ran:
      return "never_ran";
    case FindingKind::check:
      return "check";
    case FindingKind::wrong_error:
      return "wrong_error";
    case FindingKind::error:
      return "error";
  }
  return "unknown";
}

}  // namespace thalweg
