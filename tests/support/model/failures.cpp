// SPDX-License-Identifier: Apache-2.0

#include "support/model/failures.hpp"

#include <set>

namespace thalweg::test::model {

const Bad* Failures::at(int buffer, std::uint64_t byte) const {
  const auto found = bad_.find({buffer, byte});
  return found == bad_.end() ? nullptr : &found->second;
}

std::optional<Bad> Failures::run(int task, bool fails, const std::vector<Part>& parts) {
  // Who reads a bad byte is skipped: because of the first one, by part and then by place.
  std::optional<Bad> why;
  for (const Part& part : parts)
    for (std::uint64_t byte = part.begin; byte < part.end && !why; ++byte)
      if (part.how != Touching::write)
        if (const Bad* const bad = at(part.buffer, byte)) why = *bad;

  for (const Part& part : parts) {
    for (std::uint64_t byte = part.begin; byte < part.end; ++byte) {
      if (part.how == Touching::read) continue;
      if (why) {
        // What he would have written is bad in the same way, by way of him.
        Bad bad = *why;
        bad.way.insert(bad.way.begin(), task);
        bad_[{part.buffer, byte}] = bad;
      } else if (fails) {
        bad_[{part.buffer, byte}] = Bad{task, {}};
      } else {
        // Who ran has written all of it.
        bad_.erase({part.buffer, byte});
      }
    }
  }
  return why;
}

void Failures::forget(int buffer) {
  std::erase_if(bad_, [buffer](const auto& entry) { return entry.first.first == buffer; });
}

std::map<int, int> Failures::carriers() const {
  std::map<int, std::set<int>> buffers;
  for (const auto& [place, bad] : bad_) buffers[bad.failure].insert(place.first);
  std::map<int, int> counts;
  for (const auto& [failure, carrying] : buffers)
    counts[failure] = static_cast<int>(carrying.size());
  return counts;
}

}  // namespace thalweg::test::model
