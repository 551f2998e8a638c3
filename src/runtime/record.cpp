// SPDX-License-Identifier: Apache-2.0

#include "runtime/record.hpp"

#include <algorithm>

namespace thalweg::runtime {

const OpenView* Record::against(const Access& access) const noexcept {
  if (access.mode == AccessMode::token) return nullptr;
  const auto clash = std::find_if(views.begin(), views.end(), [&access](const OpenView& view) {
    return (view.writes || access.writes()) &&
           access.touches(view.offset, view.offset + view.size_bytes);
  });
  return clash == views.end() ? nullptr : &*clash;
}

const OpenView* Record::view(std::uint64_t ticket) const noexcept {
  const auto found = std::find_if(views.begin(), views.end(),
                                  [ticket](const OpenView& view) { return view.ticket == ticket; });
  return found == views.end() ? nullptr : &*found;
}

void Record::close(std::uint64_t ticket) noexcept {
  std::erase_if(views, [ticket](const OpenView& view) { return view.ticket == ticket; });
}

}  // namespace thalweg::runtime
