// SPDX-License-Identifier: Apache-2.0

#include "thalweg/waits.hpp"

namespace thalweg {

std::string_view name(WaitReason reason) noexcept {
  switch (reason) {
    case WaitReason::synchronize:
      return "synchronize";
    case WaitReason::event:
      return "event";
    case WaitReason::future:
      return "future";
    case WaitReason::map:
      return "map";
    case WaitReason::room:
      return "room";
    case WaitReason::timeline:
      return "timeline";
    case WaitReason::close:
      return "close";
  }
  return "unknown";
}

}  // namespace thalweg
