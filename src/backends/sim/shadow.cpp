// SPDX-License-Identifier: Apache-2.0

#include "backends/sim/shadow.hpp"

#include <algorithm>

namespace thalweg::sim {
namespace {

bool after(const VectorClock& clock, const User& user) noexcept {
  return clock.of(user.slot) >= user.position;
}

bool reads(AccessMode mode) noexcept { return mode != AccessMode::write; }
bool writes(AccessMode mode) noexcept { return mode != AccessMode::read; }

}  // namespace

bool Shadow::Range::alike(const Range& other) const {
  return owner == other.owner && state == other.state && writer == other.writer &&
         readers == other.readers;
}

// The first range that ends behind `address`.
Shadow::Ranges::const_iterator Shadow::first(std::uint64_t address) const {
  auto at = ranges_.upper_bound(address);
  if (at != ranges_.begin() && std::prev(at)->second.end > address) --at;
  return at;
}

Bytes Shadow::first_unwritten(Bytes bytes, std::uint64_t owner) const {
  std::uint64_t from = bytes.begin;
  for (auto at = first(bytes.begin); at != ranges_.end() && at->first < bytes.end; ++at) {
    if (from < at->first && owner != 0) return {from, at->first};
    // Whoever had the bytes before wrote nothing that the owner may rely on.
    const bool nobody = owner != 0 && (at->second.state == State::unwritten ||
                                       (at->second.owner != owner && at->second.owner != 0));
    if (nobody) return {std::max(from, at->first), std::min(at->second.end, bytes.end)};
    from = std::max(from, at->second.end);
  }
  return from < bytes.end && owner != 0 ? Bytes{from, bytes.end} : Bytes{};
}

void Shadow::split(std::uint64_t address) {
  const auto found = ranges_.upper_bound(address);
  if (found == ranges_.begin()) return;
  const auto at = std::prev(found);
  if (at->first == address || at->second.end <= address) return;
  Range upper = at->second;
  at->second.end = address;
  ranges_.emplace_hint(found, address, std::move(upper));
}

// Bytes nobody knows of: the device's are not written, the program's are.
void Shadow::fill_gaps(Bytes bytes, std::uint64_t owner) {
  Range fresh;
  fresh.owner = owner;
  fresh.state = owner == 0 ? State::written : State::unwritten;
  std::uint64_t from = bytes.begin;
  for (auto at = ranges_.lower_bound(bytes.begin); from < bytes.end; ++at) {
    const std::uint64_t to = at == ranges_.end() ? bytes.end : std::min(at->first, bytes.end);
    if (from < to) {
      fresh.end = to;
      at = ranges_.emplace_hint(at, from, fresh);
    }
    if (at == ranges_.end()) return;
    from = at->second.end;
  }
}

// Joins alike neighbours, from the range before `at` up to the one that begins at `end`.
void Shadow::join_alike(Ranges::iterator at, std::uint64_t end) {
  if (at != ranges_.begin()) --at;
  while (at != ranges_.end() && at->first < end) {
    const auto next = std::next(at);
    if (next == ranges_.end()) return;
    if (next->first == at->second.end && next->second.alike(at->second)) {
      at->second.end = next->second.end;
      ranges_.erase(next);
    } else {
      at = next;
    }
  }
}

std::optional<Shadow::Conflict> Shadow::enter(const std::shared_ptr<const User>& user,
                                              const VectorClock& clock, const Touch& touch,
                                              std::uint64_t begin, Range& range) {
  std::optional<Conflict> conflict;
  const bool fresh = touch.owner != range.owner;
  const auto clash = [&](const std::shared_ptr<const User>& earlier, AccessMode mode) {
    if (conflict || earlier == user || after(clock, *earlier)) return;
    conflict = Conflict{fresh ? FindingKind::reuse_in_flight : FindingKind::unordered,
                        earlier,
                        mode,
                        {begin, range.end}};
  };
  if (range.writer) clash(range.writer, AccessMode::write);
  if (writes(touch.mode) || fresh)
    for (const auto& reader : range.readers) clash(reader, AccessMode::read);
  if (fresh) {
    range.owner = touch.owner;
    range.state = touch.owner == 0 ? State::written : State::unwritten;
  }
  if (touch.mode == AccessMode::read && range.state == State::unwritten && !conflict)
    conflict =
        Conflict{FindingKind::unwritten_read, nullptr, AccessMode::write, {begin, range.end}};
  if (touch.mode == AccessMode::write) range.state = State::written;
  if (touch.mode == AccessMode::read_write && range.state == State::unwritten)
    range.state = State::perhaps;
  if (writes(touch.mode)) {
    range.writer = user;
    range.readers.clear();
  } else if (reads(touch.mode) && range.writer != user) {
    std::erase_if(range.readers, [&](const auto& reader) { return reader->slot == user->slot; });
    range.readers.push_back(user);
  }
  return conflict;
}

void Shadow::touch(const std::shared_ptr<const User>& user, const VectorClock& clock,
                   const Touch& touch, std::vector<Conflict>& conflicts) {
  const Bytes bytes = touch.bytes;
  if (bytes.begin >= bytes.end || touch.mode == AccessMode::token) return;
  auto first = ranges_.lower_bound(bytes.begin);
  // Most tasks touch the bytes that others touched before them.
  const bool known =
      first != ranges_.end() && first->first == bytes.begin && first->second.end == bytes.end;
  if (!known) {
    split(bytes.begin);
    split(bytes.end);
    fill_gaps(bytes, touch.owner);
    first = ranges_.lower_bound(bytes.begin);
  }
  bool found = false;
  for (auto at = first; at != ranges_.end() && at->first < bytes.end; ++at) {
    auto conflict = enter(user, clock, touch, at->first, at->second);
    if (conflict && !found) conflicts.push_back(*std::move(conflict));
    found = found || conflict.has_value();
  }
  join_alike(first, bytes.end);
}

void Shadow::write(Bytes bytes, std::uint64_t owner) {
  if (bytes.begin >= bytes.end) return;
  forget(bytes);
  Range range;
  range.end = bytes.end;
  range.owner = owner;
  range.state = State::written;
  ranges_.emplace(bytes.begin, std::move(range));
}

void Shadow::forget(Bytes bytes) {
  if (bytes.begin >= bytes.end) return;
  split(bytes.begin);
  split(bytes.end);
  ranges_.erase(ranges_.lower_bound(bytes.begin), ranges_.lower_bound(bytes.end));
}

}  // namespace thalweg::sim
