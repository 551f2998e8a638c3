// SPDX-License-Identifier: Apache-2.0

#include "thalweg/map.hpp"

#include "api/rows.hpp"
#include "thalweg/stream.hpp"

namespace thalweg::detail {

Result<HostMapping> map_view(const ViewParts& view, AccessMode mode, bool may_wait,
                             Deadline deadline, Site site) {
  if (!well_formed(view)) return misuse(one_row(view), site);
  return view.memory->map(view.offset_bytes, view.count * view.element_bytes, mode, may_wait,
                          deadline, site);
}

}  // namespace thalweg::detail
