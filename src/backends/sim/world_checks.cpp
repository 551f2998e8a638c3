// SPDX-License-Identifier: Apache-2.0
//
// The checks: what touches which bytes, what memory holds, and who waits for ever.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "backends/sim/world.hpp"
#include "thalweg/base/log.hpp"

namespace thalweg::sim {
namespace {

constexpr std::size_t kFindingsMax = 64;

// Memory beyond this is not compared around tasks that may write anywhere.
constexpr std::uint64_t kComparedBytesMax = std::uint64_t{64} << 20;

// Behind each buffer of host memory, and what is written there.
constexpr std::uint64_t kGuardBytes = 64;
constexpr unsigned char kGuard = 0xfd;
static_assert(kGuardBytes <= Arena::kGapBytes);

Bytes guard_of(const Allocation& allocation) noexcept {
  const std::uint64_t end = allocation.address + allocation.size_bytes;
  return {end, end + kGuardBytes};
}

bool overlap(Bytes a, Bytes b) noexcept { return a.begin < b.end && b.begin < a.end; }

std::string site_text(const FindingSide& side) {
  return side.line == 0 ? std::string() : fmt::format("{}:{}", side.file, side.line);
}

// "raw work `gemm` put on s1 at main.cpp:15"
std::string raw_text(const FindingSide& side) {
  const std::string site = site_text(side);
  return fmt::format("{} put on s{}{}{}", side.what, side.lane, site.empty() ? "" : " at ", site);
}

std::string place(const FindingSide& side) {
  if (side.lane < 0) return "the host";
  return side.raw ? raw_text(side) : fmt::format("s{}@{}", side.lane, side.serial);
}

std::string_view verb(AccessMode mode) noexcept {
  return mode == AccessMode::read ? "reads" : mode == AccessMode::write ? "writes" : "changes";
}

// " (main.cpp:12)"; nothing without a site.
std::string in_brackets(const std::string& text) {
  return text.empty() ? std::string() : fmt::format(" ({})", text);
}

// "kernel `blur` (stream `a`, s0@3, main.cpp:12)"
std::string who_text(const FindingSide& side) {
  const std::string site = site_text(side);
  if (side.lane < 0) return "the host" + in_brackets(site);
  if (side.raw) return raw_text(side);
  const std::string stream =
      side.stream.empty() ? std::string() : fmt::format("stream `{}`, ", side.stream);
  return fmt::format("{} ({}{}{}{})", side.what, stream, place(side), site.empty() ? "" : ", ",
                     site);
}

// The first few of many, and how many more there are.
std::string few_of(const std::vector<std::string>& all) {
  constexpr std::size_t kShown = 4;
  const std::size_t shown = std::min(all.size(), kShown);
  std::string text;
  for (std::size_t i = 0; i != shown; ++i) {
    if (i != 0) text += i + 1 == all.size() ? " and " : ", ";
    text += all[i];
  }
  return all.size() > shown ? fmt::format("{} and {} more", text, all.size() - shown) : text;
}

bool same(const FindingSide& a, const FindingSide& b) noexcept {
  return a.lane == b.lane && a.serial == b.serial && a.line == b.line && a.what == b.what;
}

}  // namespace

void World::report(Finding finding) {
  const Lock lock(mutex_);
  add(std::move(finding));
}

void World::add(Finding finding) {
  const bool known = std::any_of(findings_.begin(), findings_.end(), [&](const Finding& old) {
    return old.kind == finding.kind && same(old.first, finding.first) &&
           same(old.second, finding.second) &&
           (finding.two_sides || old.message == finding.message);
  });
  if (known || findings_.size() >= kFindingsMax) return;
  if (trace_ != nullptr) {
    TraceEvent& event = record(TraceKind::finding);
    const FindingSide& side = finding.two_sides ? finding.second : finding.first;
    event.lane = side.lane;
    event.serial = side.serial;
    event.raw = side.raw;
    event.text = fmt::format("{}: {}", name(finding.kind), finding.message);
  }
  findings_.push_back(std::move(finding));
}

// A plain device tells the error sink.
std::vector<Finding> World::take_reports() {
  if (options_.explored || reported_to_sink_ == findings_.size()) return {};
  std::vector<Finding> reports(findings_.begin() + static_cast<std::ptrdiff_t>(reported_to_sink_),
                               findings_.end());
  reported_to_sink_ = findings_.size();
  return reports;
}

void World::to_sink(const std::vector<Finding>& reports) {
  for (const Finding& finding : reports)
    thalweg::detail::to_error_sink(Error(
        ErrorKind::internal,
        fmt::format("The simulated device found `{}`: {}", name(finding.kind), finding.message)));
}

// Sides.

std::uint64_t World::owner_of(std::uint64_t address) const {
  auto at = by_address_.lower_bound(address + 1);
  if (at == by_address_.begin()) return 0;
  --at;
  const auto live = allocations_.find(at->second);
  if (live == allocations_.end() || address >= at->first + live->second.size_bytes) return 0;
  return at->second;
}

FindingSide World::side(const User& user, AccessMode mode, Bytes bytes) const {
  FindingSide side;
  side.what = user.what;
  side.stream = user.stream;
  side.lane = user.lane;
  side.serial = user.serial;
  side.raw = user.raw;
  side.mode = mode;
  side.file = file_name(user.site.file_name());
  side.line = user.site.line();
  const auto live = allocations_.find(owner_of(bytes.begin));
  side.begin = bytes.begin;
  side.end = bytes.end;
  if (live != allocations_.end()) {
    side.buffer = live->second.number;
    side.begin -= live->second.address;
    side.end -= live->second.address;
  }
  return side;
}

FindingSide World::host_side(AccessMode mode, Bytes bytes, std::source_location site) const {
  User host;
  host.what = "the host";
  host.site = site;
  return side(host, mode, bytes);
}

// "writes b0[0, 64)". What lies behind a buffer and is nobody's is said to.
std::string World::touches_text(const FindingSide& side) const {
  return fmt::format("{} {} {}", who_text(side), verb(side.mode), bytes_text(side));
}

std::string World::bytes_text(const FindingSide& side) const {
  if (side.buffer >= 0) return fmt::format("b{}[{}, {})", side.buffer, side.begin, side.end);
  const std::string bytes = fmt::format("{} bytes", side.end - side.begin);
  const bool ours = std::any_of(arenas_.begin(), arenas_.end(), [&side](const Arena* arena) {
    return arena->contains(side.begin);
  });
  if (!ours) return bytes + " of the program's memory";
  const auto next = by_address_.lower_bound(side.begin);
  if (next != by_address_.begin()) {
    const auto before = allocations_.find(std::prev(next)->second);
    if (before != allocations_.end() &&
        before->second.address + before->second.size_bytes == side.begin)
      return fmt::format("{} behind the end of b{}", bytes, before->second.number);
  }
  return bytes + " that no buffer has";
}

void World::conflict(const Op& op, AccessMode mode, const Shadow::Conflict& conflict) {
  Finding finding;
  finding.kind = conflict.kind;
  finding.second = side(*op.user, mode, conflict.bytes);
  if (conflict.earlier == nullptr) {
    finding.first = finding.second;
    finding.message = fmt::format("{}, which nothing has written.", touches_text(finding.second));
    return add(std::move(finding));
  }
  finding.two_sides = true;
  finding.first = side(*conflict.earlier, conflict.earlier_mode, conflict.bytes);
  finding.missing_edge =
      fmt::format("{} must come after {}", place(finding.second), place(finding.first));
  const std::string_view how = conflict.kind == FindingKind::reuse_in_flight
                                   ? "the bytes of a buffer that was dropped; it may still run"
                                   : "and nothing orders the two";
  finding.message = fmt::format("{}; {}, {}. Missing: {}.", touches_text(finding.first),
                                touches_text(finding.second), how, finding.missing_edge);
  if (conflict.earlier->raw || op.raw)
    finding.message +=
        " Work on a raw queue is known to nobody until Stream::touch or Stream::native says so.";
  add(std::move(finding));
}

void World::check_accesses(Op& op) {
  for (const OpAccess& access : op.accesses) {
    for (std::uint64_t row = 0; row != access.rows; ++row) {
      conflicts_.clear();
      shadow_.touch(op.user, op.knows, {access.bytes(row), access.mode, access.owner}, conflicts_);
      for (const Shadow::Conflict& found : conflicts_) conflict(op, access.mode, found);
      for (const View& view : views_)
        if (access.mode != AccessMode::token && overlap(view.bytes, access.bytes(row)) &&
            (view.writes || access.writes())) {
          Finding finding;
          finding.kind = FindingKind::host_race;
          finding.two_sides = true;
          finding.first = host_side(view.writes ? AccessMode::read_write : AccessMode::read,
                                    access.bytes(row), view.site);
          finding.second = side(*op.user, access.mode, access.bytes(row));
          finding.message = fmt::format("{} in an open view; {}.", touches_text(finding.first),
                                        touches_text(finding.second));
          add(std::move(finding));
        }
    }
  }
}

void World::broken_out(const Op& op, Bytes bytes) {
  Finding finding;
  finding.kind = FindingKind::broken_out;
  finding.first = side(*op.user, AccessMode::write, bytes);
  finding.message =
      fmt::format("{} promises by an Out to write every byte, and leaves {} as they were.",
                  who_text(finding.first), bytes_text(finding.first));
  add(std::move(finding));
}

// Memory that tasks write without saying so.

void World::accept_writes(const Op& op) {
  for (const OpAccess& access : op.accesses) {
    if (!access.writes()) continue;
    for (Arena* const arena : arenas_) {
      if (arena->expected() == nullptr || !arena->contains(access.address)) continue;
      for (std::uint64_t row = 0; row != access.rows; ++row)
        std::memcpy(arena->expected() + (access.bytes(row).begin - arena->first()), access.row(row),
                    access.row_bytes);
    }
  }
}

// Bytes that are none of this world's may be another one's, which has not seen the task.
void World::tell_others(const Op& op, Lock& lock) {
  std::vector<Bytes> written;
  for (const OpAccess& access : op.accesses) {
    const bool own = std::any_of(arenas_.begin(), arenas_.end(), [&access](const Arena* arena) {
      return arena->contains(access.address);
    });
    for (std::uint64_t row = 0; access.writes() && !own && row != access.rows; ++row)
      written.push_back(access.bytes(row));
  }
  if (written.empty()) return;
  lock.unlock();
  for (const auto& world : others())
    if (!world->options_.explored) world->written_elsewhere(written);
  lock.lock();
}

void World::written_elsewhere(const std::vector<Bytes>& written) noexcept {
  const Lock lock(mutex_);
  for (const Bytes bytes : written)
    for (Arena* const arena : arenas_)
      if (arena->contains(bytes.begin)) accept_write(*arena, bytes);
}

// From outside of any task.
void World::accept_write(Arena& arena, Bytes bytes) {
  shadow_.write(bytes, owner_of(bytes.begin));
  if (arena.expected() != nullptr)
    std::memcpy(arena.expected() + (bytes.begin - arena.first()),
                reinterpret_cast<const std::byte*>(bytes.begin), bytes.end - bytes.begin);
}

// Where several threads call, others may write meanwhile what they declared elsewhere.
void World::compare_memory(Op& op, bool before) {
  if (several_ && !options_.explored) return;
  for (const Bytes guard : guards_) compare_guard(op, guard, before);
  for (Arena* const arena : arenas_)
    if (arena->expected() != nullptr && arena->used_bytes() <= kComparedBytesMax)
      compare_arena(op, *arena, before);
}

// What host memory holds is the host's affair, which may write it in a view: only the bytes behind
// it are looked at. They are in its block, or in the gap behind that.
void World::put_guard(Bytes guard) noexcept {
  std::memset(reinterpret_cast<void*>(guard.begin), kGuard, guard.end - guard.begin);
}

void World::compare_guard(Op& op, Bytes guard, bool before) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(guard.begin);
  const std::size_t size = guard.end - guard.begin;
  const auto changed = [](unsigned char byte) { return byte != kGuard; };
  const auto* const first = std::find_if(bytes, bytes + size, changed);
  if (first == bytes + size) return;
  std::size_t end = size;
  while (!changed(bytes[end - 1])) --end;
  undeclared(op, {guard.begin + static_cast<std::uint64_t>(first - bytes), guard.begin + end},
             before);
  put_guard(guard);
}

// All but what the host has open for writing: it may be at it now.
void World::compare_arena(Op& op, Arena& arena, bool before) {
  std::vector<Bytes> open;
  for (const View& view : views_)
    if (view.writes && arena.contains(view.bytes.begin)) open.push_back(view.bytes);
  std::sort(open.begin(), open.end(), [](Bytes a, Bytes b) { return a.begin < b.begin; });
  std::uint64_t from = arena.first();
  for (const Bytes view : open) {
    compare_bytes(op, arena, {from, view.begin}, before);
    from = std::max(from, view.end);
  }
  compare_bytes(op, arena, {from, arena.first() + arena.used_bytes()}, before);
}

void World::compare_bytes(Op& op, Arena& arena, Bytes bytes, bool before) {
  if (bytes.begin >= bytes.end) return;
  const std::byte* const found = arena.base() + (bytes.begin - arena.first());
  std::byte* const expected = arena.expected() + (bytes.begin - arena.first());
  const std::uint64_t size = bytes.end - bytes.begin;
  if (std::memcmp(found, expected, size) == 0) return;
  for (std::uint64_t at = 0; at != size;) {
    if (found[at] == expected[at]) {
      ++at;
      continue;
    }
    const std::uint64_t begin = at;
    // Bytes that happen to agree in between are part of the same write.
    constexpr std::uint64_t kGap = 8;
    std::uint64_t end = at;
    for (; at != size && at - end <= kGap; ++at)
      if (found[at] != expected[at]) end = at + 1;
    at = end;
    undeclared(op, {bytes.begin + begin, bytes.begin + end}, before);
    std::memcpy(expected + begin, found + begin, end - begin);
  }
}

// Raw work declares nothing to anybody: what it writes is found here, and is held against the
// others. Of tasks it is a broken declaration.
void World::undeclared(Op& op, Bytes bytes, bool before) {
  const std::uint64_t owner = owner_of(bytes.begin);
  if (op.raw && !before) {
    conflicts_.clear();
    shadow_.touch(op.user, op.knows, {bytes, AccessMode::read_write, owner}, conflicts_);
    for (const Shadow::Conflict& found : conflicts_) conflict(op, AccessMode::write, found);
    return;
  }
  Finding finding;
  finding.kind = FindingKind::undeclared_write;
  finding.first =
      before ? host_side(AccessMode::write, bytes, {}) : side(*op.user, AccessMode::write, bytes);
  finding.message =
      before ? fmt::format("Somebody wrote {} outside of any task and any view, before {} ran.",
                           bytes_text(finding.first), op.user->what)
             : fmt::format("{}, which it did not declare.", touches_text(finding.first));
  add(std::move(finding));
}

// The host gets bytes: nothing that touches them may be on its way.
void World::check_host(Bytes bytes, bool writes, std::uint64_t owner, std::source_location site) {
  for (const auto& queue : queues_) {
    if (!queue) continue;
    for (const Op* const op : queue->state.pending)
      for (const OpAccess& access : op->accesses)
        for (std::uint64_t row = 0; row != access.rows; ++row) {
          if (access.mode == AccessMode::token || !(writes || access.writes()) ||
              !overlap(bytes, access.bytes(row)))
            continue;
          Finding finding;
          finding.kind = FindingKind::host_race;
          finding.two_sides = true;
          finding.first = side(*op->user, access.mode, access.bytes(row));
          finding.second =
              host_side(writes ? AccessMode::write : AccessMode::read, access.bytes(row), site);
          finding.missing_edge =
              fmt::format("the host must wait until {} has passed", place(finding.first));
          finding.message =
              fmt::format("{}, and has not run; {}{}. Missing: {}.", touches_text(finding.first),
                          touches_text(finding.second),
                          owner == access.owner ? "" : " of a new owner", finding.missing_edge);
          add(std::move(finding));
        }
  }
}

// The host gets bytes to read: somebody has written them.
void World::check_written(Bytes bytes, std::uint64_t owner, std::source_location site) {
  const Bytes unwritten = shadow_.first_unwritten(bytes, owner);
  if (unwritten.begin == unwritten.end) return;
  Finding finding;
  finding.kind = FindingKind::unwritten_read;
  finding.first = host_side(AccessMode::read, unwritten, site);
  finding.message =
      fmt::format("{} in a view, which nothing has written.", touches_text(finding.first));
  add(std::move(finding));
}

// A view has its place among the submissions of all actors: what is written in it does.
void World::note_host_turn() {
  if (options_.explored && running_op_ == nullptr && !in_callback_) submitters_.push_back(me());
}

// Somebody who runs in a turn of the device waits for it.
Finding World::hidden_wait() const {
  Finding finding;
  finding.kind = FindingKind::hidden_wait;
  if (running_op_ != nullptr) finding.first = side(*running_op_->user, AccessMode::token, {});
  finding.message = fmt::format("{} waits on the host.",
                                running_op_ != nullptr ? running_op_->user->what : "A callback");
  return finding;
}

// Who waits for ever.

// Numbered in the order in which findings name them.
std::string World::timeline_text(const neutral::Timeline& timeline, std::uint64_t value) {
  const auto known = std::find(named_timelines_.begin(), named_timelines_.end(), &timeline);
  const auto number = known - named_timelines_.begin();
  if (known == named_timelines_.end()) named_timelines_.push_back(&timeline);
  return fmt::format("until timeline t{} reaches {}; it is at {}", number, value, timeline.value());
}

std::string World::blocked_who(const Queue& queue) const {
  const Op& op = *queue.state.pending.front();
  const FindingSide who = side(*op.user, AccessMode::token, {});
  return op.raw || op.kind == neutral::TaskKind::wait
             ? sim::place(who)
             : fmt::format("{} {}", sim::place(who), who.what);
}

// "waits (main.cpp:12) for s0@3"
std::string World::blocked_how(const Queue& queue) {
  const Op& op = *queue.state.pending.front();
  const std::string waits =
      "waits" + in_brackets(site_text(side(*op.user, AccessMode::token, {}))) + " ";
  if (op.kind == neutral::TaskKind::wait)
    return waits + timeline_text(*op.timeline, op.timeline_value);
  for (const Place place : op.waits)
    if (const Queue* const source = queue_at(place.queue - kFirstQueue);
        source != nullptr && source->state.done < place.position) {
      const User& user = *source->state.pending[place.position - source->state.done - 1]->user;
      return waits + "for " + sim::place(side(user, AccessMode::token, {}));
    }
  return waits + "for a queue elsewhere";
}

// "Actor h1 waits (main.cpp:12) for s0@3."
std::string World::waiter_text(std::uint16_t actor, const Until& until) {
  std::string text = actors_.size() > 1 && with_actors_
                         ? fmt::format("Actor h{} waits", actor == 0 ? "" : std::to_string(actor))
                         : std::string("The host waits");
  text += in_brackets(site_text(host_side(AccessMode::token, {}, until.site)));
  if (until.timeline != nullptr) {
    text += " " + timeline_text(*until.timeline, until.value);
  } else if (const Queue* const queue = queue_of(until.point.queue());
             queue != nullptr && !until.point.none()) {
    text += fmt::format(" for s{}@{}", queue->lane(), queue->shown(until.point.serial().value));
  }
  return text + ".";
}

void World::check_deadlock(const Until& until) {
  Finding finding;
  finding.kind = FindingKind::deadlock;
  finding.message = "Nothing can go on.";
  if (with_actors_) {
    for (std::size_t i = 0; i != actors_.size(); ++i)
      if (actors_[i].live && !actors_[i].until.holds())
        finding.message += " " + waiter_text(static_cast<std::uint16_t>(i), actors_[i].until);
  } else {
    finding.message += " " + waiter_text(0, until);
  }
  for (const auto& queue : queues_)
    if (queue && !queue->state.pending.empty())
      finding.message += fmt::format(" {} {}.", blocked_who(*queue), blocked_how(*queue));
  add(std::move(finding));
}

void World::check_never_ran() {
  if (aborting_) return;
  for (const auto& queue : queues_) {
    if (!queue || queue->state.pending.empty()) continue;
    Finding finding;
    finding.kind = FindingKind::never_ran;
    finding.first = side(*queue->state.pending.front()->user, AccessMode::token, {});
    finding.message = fmt::format("The program is over, and {} can never run: it {}.",
                                  blocked_who(*queue), blocked_how(*queue));
    add(std::move(finding));
  }
}

// Memory, as the runtime hands it out.

void World::attach(Arena& arena) {
  const Lock lock(mutex_);
  arena.set_number(++arenas_attached_);
  arenas_.push_back(&arena);
}

void World::detach(Arena& arena) noexcept {
  const Lock lock(mutex_);
  std::erase(arenas_, &arena);
}

void World::given_back(Bytes bytes, bool known) noexcept {
  const Lock lock(mutex_);
  if (known) {
    shadow_.forget(bytes);
    by_address_.erase(by_address_.lower_bound(bytes.begin), by_address_.lower_bound(bytes.end));
    return;
  }
  Finding finding;
  finding.kind = FindingKind::double_release;
  finding.message =
      fmt::format("{} bytes are given back that nobody has.", bytes.end - bytes.begin);
  add(std::move(finding));
}

void World::allocated(const Allocation& allocation, MemoryKind kind, std::uintptr_t home,
                      Site site) noexcept {
  const Lock lock(mutex_);
  if (noting_) effects_.pools = true;
  note_granted(FaultSite::alloc);
  const Live live{numbers_++, allocation.address, allocation.size_bytes, true, false, site};
  allocations_.insert_or_assign(allocation.id.value, live);
  ++live_;
  if (allocation.size_bytes != 0) {
    const auto [owner, fresh] = by_address_.emplace(allocation.address, allocation.id.value);
    const std::uint64_t former = std::exchange(owner->second, allocation.id.value);
    // As in dropped(): of this address it was the last that was kept.
    if (const auto dead = allocations_.find(former);
        !fresh && !options_.explored && dead != allocations_.end() && !dead->second.alive)
      allocations_.erase(dead);
  }
  if (kind == MemoryKind::host && allocation.size_bytes != 0) {
    put_guard(guard_of(allocation));
    guards_.push_back(guard_of(allocation));
  }
  if (kind == MemoryKind::host) {
    const Bytes bytes{allocation.address, allocation.address + allocation.size_bytes};
    check_host(bytes, true, allocation.id.value, site);
    if (noting_) note_bytes(bytes, true);
  }
  if (trace_ == nullptr) return;
  TraceEvent& event = record(TraceKind::allocate);
  event.other_lane = kHostLane - me();
  event.buffer = live.number;
  event.size_bytes = live.size_bytes;
  event.file = file_name(site.file_name());
  event.line = site.line();
  for (const Arena* const arena : arenas_)
    if (arena->contains(live.address)) event.offset = live.address - arena->first();
  for (const auto& queue : queues_)
    if (queue && queue->native_id() == home) event.lane = queue->lane();
}

void World::staged(std::uint64_t address, std::uint64_t size_bytes) noexcept {
  const Lock lock(mutex_);
  if (noting_) effects_.pools = true;
  note_granted(FaultSite::alloc);
  check_host({address, address + size_bytes}, true, 0, {});
  if (noting_) note_bytes({address, address + size_bytes}, true);
}

void World::dropped(const Allocation& allocation) noexcept {
  const Lock lock(mutex_);
  const auto found = allocations_.find(allocation.id.value);
  if (found == allocations_.end()) return;
  if (noting_) effects_.pools = true;
  if (!std::exchange(found->second.alive, false)) {
    Finding finding;
    finding.kind = FindingKind::double_release;
    finding.message = fmt::format("b{} is dropped twice.", found->second.number);
    add(std::move(finding));
    return;
  }
  --live_;
  std::erase_if(guards_,
                [guard = guard_of(allocation)](Bytes known) { return known.begin == guard.begin; });
  if (trace_ != nullptr) record(TraceKind::drop).buffer = found->second.number;
  // What has the address no more is never asked for again: tasks on it are known by their users.
  const auto at = by_address_.find(found->second.address);
  if (!options_.explored && (at == by_address_.end() || at->second != allocation.id.value))
    allocations_.erase(found);
}

void World::view_opened(const Access& access, std::uint64_t ticket, Site site) noexcept {
  const Lock lock(mutex_);
  const Bytes bytes{access.address(), access.address() + access.row_bytes};
  const std::uint64_t owner =
      allocations_.contains(access.allocation->id.value) ? access.allocation->id.value : 0;
  const std::size_t found = findings_.size();
  check_host(bytes, access.writes(), owner, site);
  // What a task has yet to write is a race already.
  if (access.mode == AccessMode::read && findings_.size() == found)
    check_written(bytes, owner, site);
  note_host_turn();
  views_.push_back({ticket, bytes, access.writes(), owner, site});
  host_gets(*access.allocation);
  if (noting_) note_bytes(bytes, access.writes());
  if (trace_ == nullptr) return;
  TraceEvent& event = record(TraceKind::map);
  const FindingSide side = host_side(access.mode, bytes, site);
  event.buffer = side.buffer;
  event.offset = side.begin;
  event.size_bytes = bytes.end - bytes.begin;
  event.file = side.file;
  event.line = side.line;
}

// The host keeps the address, whatever it does with it when the view is closed. Who opens the view
// makes a difference to whoever touches the memory: from then on he meets the program.
void World::host_gets(const Allocation& allocation) {
  const auto live = allocations_.find(allocation.id.value);
  if (!options_.explored || live == allocations_.end()) return;
  live->second.mapped = true;
  if (noting_) note_bytes({allocation.address, allocation.address + allocation.size_bytes}, true);
  // What it does there shows around tasks that may write anywhere.
  if (!std::exchange(any_mapped_, true)) effects_.any_bytes = true;
}

void World::view_closed(std::uint64_t ticket) noexcept {
  const Lock lock(mutex_);
  const auto found = std::find_if(views_.begin(), views_.end(),
                                  [ticket](const View& view) { return view.ticket == ticket; });
  if (found == views_.end()) return;
  const View view = *found;
  views_.erase(found);
  note_host_turn();
  if (view.writes) {
    shadow_.write(view.bytes, view.owner);
    for (Arena* const arena : arenas_)
      if (arena->contains(view.bytes.begin)) accept_write(*arena, view.bytes);
  }
  if (trace_ == nullptr) return;
  TraceEvent& event = record(TraceKind::unmap);
  event.buffer = host_side(AccessMode::read, view.bytes, view.site).buffer;
}

// "stream `out` (s2, main.cpp:23), b0 (main.cpp:25) and 3 more"; empty when there is nothing.
std::string World::alive_text() const {
  const Lock lock(mutex_);
  std::vector<std::string> alive;
  for (const auto& queue : queues_) {
    if (!queue) continue;
    const std::string site = site_text(host_side(AccessMode::token, {}, queue->made_at));
    const std::string name = queue->name().empty() ? "" : fmt::format(" `{}`", queue->name());
    alive.push_back(
        fmt::format("stream{} (s{}{}{})", name, queue->lane(), site.empty() ? "" : ", ", site));
  }
  std::vector<const Live*> buffers;
  for (const auto& [id, live] : allocations_)
    if (live.alive) buffers.push_back(&live);
  std::sort(buffers.begin(), buffers.end(),
            [](const Live* a, const Live* b) { return a->number < b->number; });
  for (const Live* const live : buffers)
    alive.push_back(fmt::format("b{}", live->number) +
                    in_brackets(site_text(host_side(AccessMode::token, {}, live->site))));
  return few_of(alive);
}

// Each has two kinds of memory.
std::size_t World::devices_alive() const noexcept {
  const Lock lock(mutex_);
  return arenas_.size() / 2;
}

std::uint64_t World::bytes_alive() const noexcept {
  const Lock lock(mutex_);
  std::uint64_t bytes = 0;
  for (const Arena* const arena : arenas_) bytes += arena->alive_bytes();
  return bytes;
}

// Records.

TraceEvent& World::record(TraceKind kind) {
  TraceEvent& event = trace_->emplace_back();
  event.kind = kind;
  event.lane = kHostLane - me();
  event.time_ns = now_ns();
  return event;
}

void World::record_wait(TraceKind kind, const Until& until) {
  if (until.nothing()) return;
  TraceEvent& event = record(kind);
  if (until.timeline != nullptr) {
    event.other_serial = until.value;
  } else if (const Queue* const queue = queue_of(until.point.queue())) {
    event.other_lane = queue->lane();
    event.other_serial = queue->shown(until.point.serial().value);
  }
}

void World::record_submit(const Queue& queue, const Op& op) {
  TraceEvent& event = record(TraceKind::submit);
  event.lane = queue.lane();
  event.serial = op.user->serial;
  event.task = op.kind;
  event.raw = op.raw;
  event.text = op.user->name;
  event.other_lane = kHostLane - me();
  event.file = file_name(op.user->site.file_name());
  event.line = op.user->site.line();
  for (const OpAccess& access : op.accesses) {
    const auto live = allocations_.find(access.owner);
    event.accesses.push_back({live == allocations_.end() ? -1 : live->second.number, access.mode,
                              access.offset, access.row_bytes, access.rows, access.pitch});
  }
}

}  // namespace thalweg::sim
