// SPDX-License-Identifier: Apache-2.0

#include "runtime/imports.hpp"

#include <algorithm>

#include "base/plant.hpp"
#include "runtime/registry.hpp"

namespace thalweg::runtime {

Import::Import(std::uint64_t address, std::uint64_t size_bytes)
    : address_(address), size_bytes_(size_bytes) {
  record_.map.reset(size_bytes);
}

Import& Import::root() noexcept {
  Import* root = this;
  while (root->into_) root = root->into_.get();
  return *root;
}

void Import::collect(const Access& access, order::PointSet& out, const order::QueueTable& table) {
  record_.map.collect(access, out);
  if (access.mode == AccessMode::token) {
    tokens_.remove_if([](order::Point point) { return passed(point); });
    out.add(tokens_);
  }
  std::erase_if(past_, [&table](const Ref<Import>& part) { return part->points(table).empty(); });
  for (const Ref<Import>& part : past_) {
    const std::uint64_t first = std::max(address_ + access.offset, part->address());
    const std::uint64_t last = std::min(address_ + access.end(), part->end());
    if (first >= last) continue;
    // Rows with gaps count as all the bytes between.
    const AccessMode mode = access.mode;
    part->record_.map.collect({nullptr, first - part->address(), last - first, 1, 0, mode}, out);
  }
}

order::PointSet Import::points(const order::QueueTable& table) {
  order::PointSet points;
  record_.map.points(points, table);
  for (const Ref<Import>& part : past_) points.add(part->points(table));
  points.remove_if([](order::Point point) { return passed(point); });
  return points;
}

Ref<Import> Imports::add(Space space, std::uint64_t address, std::uint64_t size_bytes) {
  if (plant::planted(plant::Bug::imports_apart)) return make_ref<Import>(address, size_bytes);
  return ranges_.with([&](Ranges& ranges) {
    std::uint64_t first = address;
    std::uint64_t last = address + size_bytes;
    const auto begin = find(ranges, space, address);
    if (begin != ranges.end() && begin->second.import->end() >= last &&
        begin->second.import->address() <= first) {
      ++begin->second.users;
      return begin->second.import;
    }
    auto next = begin != ranges.end() ? begin : ranges.lower_bound({space, address});
    Range joined;
    std::vector<Ref<Import>> parts;
    while (next != ranges.end() && next->first.first == space && next->first.second < last) {
      first = std::min(first, next->second.import->address());
      last = std::max(last, next->second.import->end());
      joined.users += next->second.users;
      parts.push_back(std::move(next->second.import));
      next = ranges.erase(next);
    }
    joined.import = make_ref<Import>(first, last - first);
    ++joined.users;
    {
      Import& whole = *joined.import;
      const sync::Locked submission(Registry::instance().submission());
      for (const Ref<Import>& part : parts) {
        for (OpenView view : part->record_.views) {
          view.offset += part->address() - first;
          whole.record_.views.push_back(view);
        }
        part->record_.views.clear();
        part->record_.map.collect({nullptr, 0, 0, 1, 0, AccessMode::token}, whole.tokens_);
        whole.tokens_.add(part->tokens_);
        for (Ref<Import>& older : part->past_) whole.past_.push_back(std::move(older));
        part->past_.clear();
        whole.past_.push_back(part);
        part->into_ = joined.import;
      }
    }
    Ref<Import> result = joined.import;
    ranges.emplace(std::pair(space, first), std::move(joined));
    return result;
  });
}

// The range that holds `address`.
Imports::Ranges::iterator Imports::find(Ranges& ranges, Space space, std::uint64_t address) {
  auto range = ranges.upper_bound({space, address});
  if (range == ranges.begin()) return ranges.end();
  --range;
  return range->first.first == space && range->second.import->end() > address ? range
                                                                              : ranges.end();
}

// Gives back the import that nobody uses any more.
Ref<Import> Imports::erase_if_over(Ranges& ranges, Ranges::iterator range) {
  if (range == ranges.end() || range->second.users != 0) return {};
  Registry& registry = Registry::instance();
  Ref<Import> import = range->second.import;
  {
    const sync::Locked submission(registry.submission());
    if (!import->points(registry.table()).empty()) return {};
    import->past_.clear();  // They point back to it.
  }
  ranges.erase(range);
  return import;
}

// Whoever brings the bytes again starts clean. Under the lock: what he leaves bad is his.
Failures::Unheard Imports::forget_failures(Space space, const Ref<Import>& erased) {
  if (!erased) return {};
  failure::Use all;
  all.allocation = record_of(space);
  all.offset = erased->address();
  all.row_bytes = erased->end() - erased->address();
  all.mode = AccessMode::write;
  return Failures::instance().forget(all);
}

AllocationId Imports::record_of(Space space) noexcept {
  // Ids of devices are none of allocations.
  static const AllocationId of_host = make_id<AllocationId>();
  return space == 0 ? of_host : AllocationId{space};
}

void Imports::drop(Space space, Import& import) {
  if (plant::planted(plant::Bug::imports_apart)) return;
  Failures::instance().tell(ranges_.with([&](Ranges& ranges) {
    const auto range = find(ranges, space, import.address());
    --range->second.users;
    return forget_failures(space, erase_if_over(ranges, range));
  }));
}

void Imports::sweep(Space space, std::uint64_t address) {
  Failures::instance().tell(ranges_.with([&](Ranges& ranges) {
    return forget_failures(space, erase_if_over(ranges, find(ranges, space, address)));
  }));
}

std::size_t Imports::ranges() const {
  return ranges_.with([](const Ranges& ranges) { return ranges.size(); });
}

}  // namespace thalweg::runtime
