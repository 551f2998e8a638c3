// SPDX-License-Identifier: Apache-2.0

#include "runtime/imports.hpp"

#include <algorithm>

#include "base/plant.hpp"
#include "runtime/failures.hpp"
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
  std::vector<Error> forgotten;
  return ranges_.with([&](Ranges& ranges) {
    std::uint64_t first = address;
    std::uint64_t last = address + size_bytes;
    // The sweep of a former user may come later.
    forgotten = forget_unused(ranges, space, {first, last});
    const auto begin = find(ranges, space, address);
    if (begin != ranges.end() && begin->second.import->end() >= last &&
        begin->second.import->address() <= first) {
      begin->second.users.emplace(address, last);
      return begin->second.import;
    }
    auto next = begin != ranges.end() ? begin : ranges.lower_bound({space, address});
    Range joined;
    std::vector<Ref<Import>> parts;
    while (next != ranges.end() && next->first.first == space && next->first.second < last) {
      first = std::min(first, next->second.import->address());
      last = std::max(last, next->second.import->end());
      joined.users.merge(next->second.users);
      parts.push_back(std::move(next->second.import));
      next = ranges.erase(next);
    }
    joined.import = make_ref<Import>(first, last - first);
    joined.users.emplace(address, address + size_bytes);
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

void Imports::erase_if_over(Ranges& ranges, Ranges::iterator range) {
  if (range == ranges.end() || !range->second.users.empty()) return;
  Registry& registry = Registry::instance();
  const Ref<Import> import = range->second.import;
  {
    const sync::Locked submission(registry.submission());
    if (!import->points(registry.table()).empty()) return;
    import->past_.clear();  // They point back to it.
  }
  ranges.erase(range);
}

// Of the bytes, those that are no user's.
std::vector<Imports::Bytes> Imports::unused(const Ranges& ranges, Space space, Bytes bytes) {
  std::vector<Bytes> all;
  auto [first, end] = bytes;
  auto range = ranges.lower_bound({space, end});
  while (range != ranges.begin() && std::prev(range)->first.first == space &&
         std::prev(range)->second.import->end() > first)
    --range;
  for (; range != ranges.end() && range->first < std::pair(space, end); ++range) {
    for (const auto& [begin, last] : range->second.users) {
      if (begin >= end || last <= first) continue;
      if (begin > first) all.emplace_back(first, begin);
      first = last;
    }
  }
  if (first < end) all.emplace_back(first, end);
  return all;
}

AllocationId Imports::record_of(Space space) noexcept {
  // Ids of devices are none of allocations.
  static const AllocationId of_host = make_id<AllocationId>();
  return space == 0 ? of_host : AllocationId{space};
}

void Imports::drop(Space space, std::uint64_t address, std::uint64_t size_bytes) {
  if (plant::planted(plant::Bug::imports_apart)) return;
  ranges_.with([&](Ranges& ranges) {
    auto& users = find(ranges, space, address)->second.users;
    const auto [begin, end] = users.equal_range(address);
    users.erase(std::find(
        begin, end, std::pair<const std::uint64_t, std::uint64_t>(address, address + size_bytes)));
  });
}

// Whoever brings the bytes again starts clean where they are no user's and no task of a former one
// is left. Under the lock: what he leaves bad is his. What is given back goes without it.
std::vector<Error> Imports::forget_unused(const Ranges& ranges, Space space, Bytes bytes) {
  Failures& failures = Failures::instance();
  std::vector<Error> forgotten;
  if (!failures.any().load(std::memory_order_acquire)) return forgotten;
  Registry& registry = Registry::instance();
  for (const auto& [first, end] : unused(ranges, space, bytes)) {
    order::PointSet points;
    {
      const sync::Locked submission(registry.submission());
      for (const auto& [key, range] : ranges) {
        Import& import = *range.import;
        const std::uint64_t from = std::max(first, import.address());
        const std::uint64_t to = std::min(end, import.end());
        if (key.first != space || from >= to) continue;
        import.collect({nullptr, from - import.address(), to - from, 1, 0, AccessMode::read_write},
                       points, registry.table());
      }
    }
    if (!std::all_of(points.begin(), points.end(), is_over)) continue;
    failure::Use use;
    use.allocation = record_of(space);
    use.offset = first;
    use.row_bytes = end - first;
    use.mode = AccessMode::write;
    for (Error& error : failures.forget(use)) forgotten.push_back(std::move(error));
  }
  return forgotten;
}

void Imports::sweep(Space space, std::uint64_t address, std::uint64_t size_bytes) {
  if (plant::planted(plant::Bug::imports_apart)) return;
  const std::vector<Error> forgotten = ranges_.with([&](Ranges& ranges) {
    erase_if_over(ranges, find(ranges, space, address));
    return forget_unused(ranges, space, {address, address + size_bytes});
  });
}

std::size_t Imports::ranges() const {
  return ranges_.with([](const Ranges& ranges) { return ranges.size(); });
}

}  // namespace thalweg::runtime
