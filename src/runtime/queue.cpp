// SPDX-License-Identifier: Apache-2.0

#include "runtime/queue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/plant.hpp"
#include "runtime/device.hpp"
#include "runtime/event.hpp"
#include "sync/parking.hpp"
#include "thalweg/base/forked.hpp"
#include "thalweg/order/placement.hpp"

namespace thalweg::runtime {
namespace {

using thalweg::detail::AllocationCore;
using thalweg::detail::EventCore;
using thalweg::detail::forked;
using thalweg::detail::forked_error;
using thalweg::detail::QueueCore;
using thalweg::detail::TimelineCore;

Allocation& record_of(const Access& access) noexcept {
  // The runtime makes every allocation.
  return static_cast<Allocation&>(*access.allocation);
}

// Whether all rows lie in memory of `size` bytes, without overflow on the way.
bool inside(const Access& access, std::uint64_t size) noexcept {
  if (access.offset > size || access.row_bytes > size - access.offset) return false;
  if (access.rows <= 1) return true;
  std::uint64_t span = 0;
  return !__builtin_mul_overflow(access.rows - 1, access.pitch, &span) &&
         span <= size - access.offset - access.row_bytes;
}

[[gnu::cold]] Error mapped(const Access& access, const OpenView& open) {
  return Error(ErrorKind::invalid_argument,
               fmt::format("A task {} bytes that overlap {} bytes the host has mapped {}.",
                           access.writes() ? "writes" : "reads", open.size_bytes,
                           open.writes ? "to write" : "to read"));
}

std::string describe(const Access& access) {
  std::string text;
  if (access.rows != 1)
    text = fmt::format("{} rows with a pitch of {} bytes of ", access.rows, access.pitch);
  return text + fmt::format("{} bytes from byte {}", access.row_bytes, access.offset);
}

// Bytes of page-locked memory, given back with the upload that used them.
class StagedBytes final : public Counted {
 public:
  StagedBytes(Device& device, const backend::Block& block) noexcept
      : device_(device), block_(block) {}
  ~StagedBytes() override { device_.take_back(block_, {}); }

 private:
  Device& device_;  // The queue that keeps the bytes keeps it.
  const backend::Block block_;
};

}  // namespace

// Told when the last task has passed.
class Queue::Retirement final : public neutral::Completion {
 public:
  explicit Retirement(Queue& queue) noexcept : queue_(queue) {}
  void complete(const Error*) noexcept override { queue_.end_step(); }

 private:
  Queue& queue_;
};

Queue::Queue(Ref<Device> device, Slot& slot, std::unique_ptr<backend::DriverStream> stream,
             const StreamOptions& options)
    : device_(std::move(device)),
      slot_(slot),
      stream_(std::move(stream)),
      priority_(options.priority),
      name_(options.name),
      limited_(options.room_bytes != 0),
      room_(options.room_bytes) {}

thalweg::detail::DeviceCore& Queue::device() const noexcept { return *device_; }

// Submission.

// The kind of error when a handle of another device is given where one of ours is needed.
ErrorKind Queue::mismatch(const Device& other) const noexcept {
  return other.driver().type() == device_->driver().type() ? ErrorKind::context_mismatch
                                                           : ErrorKind::backend_mismatch;
}

// What is wrong with a task that does not fit.
[[gnu::cold]] Error Queue::misuse(const neutral::Task& task) const {
  for (const Access& access : task.accesses) {
    const Allocation& allocation = record_of(access);
    if (task.kind == neutral::TaskKind::copy && !may_copy(task)) {
      const Allocation& to = record_of(task.accesses[0]);
      const Allocation& from = record_of(task.accesses[1]);
      if (to.owner().driver().type() != from.owner().driver().type())
        return Error(ErrorKind::backend_mismatch,
                     fmt::format("A copy goes from device `{}` to device `{}` of another backend; "
                                 "read it back and upload it.",
                                 from.owner().name(), to.owner().name()),
                     task.site);
      if (&to.owner() == device_.get() || &from.owner() == device_.get())
        return Error(ErrorKind::unsupported,
                     fmt::format("The backend `{}` does not copy between its devices; read back "
                                 "and upload.",
                                 device_->backend()),
                     task.site);
    }
    if (&allocation.owner() != device_.get() &&
        !(task.kind == neutral::TaskKind::copy && may_copy(task)))
      return Error(mismatch(allocation.owner()),
                   fmt::format("Memory of device `{}` (id {}) is used on a stream of device `{}` "
                               "(id {}).",
                               allocation.device().name(), allocation.device().id().value,
                               device_->name(), device_->id().value),
                   task.site);
    if (!inside(access, allocation.size_bytes))
      return Error(ErrorKind::invalid_argument,
                   fmt::format("{} are outside memory of {} bytes.", describe(access),
                               allocation.size_bytes),
                   task.site);
  }
  return Error(ErrorKind::internal, "A task that fits was refused.", task.site);
}

// Where the memory of a task is, as far as it can be told without a lock.
Queue::Place Queue::place_of(const neutral::Task& task) const noexcept {
  bool home = true;
  for (const Access& access : task.accesses) {
    const Allocation& allocation = record_of(access);
    if (!inside(access, allocation.size_bytes)) return Place::nowhere;
    home = home && allocation.home() == &slot_;
    if (&allocation.owner() != device_.get() && !may_copy(task)) [[unlikely]]
      return Place::nowhere;
  }
  return home ? Place::home : Place::abroad;
}

// Whether the task is a copy between this device and one that its backend reaches.
bool Queue::may_copy(const neutral::Task& task) const noexcept {
  if (task.kind != neutral::TaskKind::copy) return false;
  const Device& to = record_of(task.accesses[0]).owner();
  const Device& from = record_of(task.accesses[1]).owner();
  const Device& own = *device_;
  return (&to == &own || &from == &own) &&
         (&to == &from ||
          (to.driver().type() == from.driver().type() && own.driver().copies_between_devices()));
}

bool Queue::shared(const neutral::Task& task) const noexcept {
  for (const Access& access : task.accesses)
    if (record_of(access).shared()) return true;
  return false;
}

// What the backend says of a call, for the program: of a lost device that it is lost.
Error Queue::refused(Error error, Site site) const {
  if (Result<void> alive = device_->alive(site); !alive) return std::move(alive).error();
  return error.at(site);
}

// Gives the task its serial and enters its accesses. A null table says that all of them are at
// home.
Result<order::Point> Queue::hand_over(neutral::Task& task, const order::QueueTable* table,
                                      std::uint64_t room) {
  order::QueueOrder& order = slot_.order;
  const Serial serial{order.last().value + 1};
  if (plant::planted(plant::Bug::stop_taints_early) && task.stop != nullptr &&
      task.stop->stop_requested())
    for (const Access& access : task.accesses) {
      const failure::Use use = backend::use_of(access);
      Error planted(ErrorKind::cancelled, "Planted.");
      if (use.writes()) slot_.outcomes.failed(planted, {&use, 1});
    }
  if (Result<void> accepted = stream_->submit(task, serial); !accepted) [[unlikely]]
    return std::move(accepted).error();
  order.take();
  const order::Point point = order.tail();
  if (table == nullptr) {
    for (const Access& access : task.accesses) record_of(access).map().apply_home(access, point);
  } else {
    for (const Access& access : task.accesses) record_of(access).apply(access, point, *table);
  }
  if (task.code != nullptr) slot_.kernels.add(*task.code, serial);
  if (room != 0) [[unlikely]]
    room_.add(serial, room);
  ++counters_.submissions;
  return point;
}

Result<order::Point> Queue::submit(neutral::Task& task, Ref<Counted> keep_alive) {
  if (forked()) [[unlikely]]
    return forked_error(task.site);
  device_->turn(task.site);
  if (device_->closed()) [[unlikely]]
    return device_->closed_error(task.site);
  const Place place = place_of(task);
  if (place == Place::nowhere) [[unlikely]]
    return misuse(task);
  const std::uint64_t kept = keep_alive ? task.accesses[0].row_bytes * task.accesses[0].rows : 0;
  const std::uint64_t room = room_of(kept + task.arguments.size());
  Result<order::Point> point =
      place == Place::home ? submit_at_home(task, room) : submit_ordered(task, room);
  if (!point) [[unlikely]] {
    if (plant::planted(plant::Bug::refusal_elsewhere)) return point;
    return refused(std::move(point).error(), task.site);
  }
  if (keep_alive) keep(std::move(keep_alive), kept);
  if (task.kind == neutral::TaskKind::copy) keep_devices(task);
  stream_->announce();
  return point;
}

// Another device's pool does not end while a copy uses its memory.
void Queue::keep_devices(const neutral::Task& task) {
  for (const Access& access : task.accesses)
    if (Device& owner = record_of(access).owner(); &owner != device_.get())
      if (!plant::planted(plant::Bug::device_not_kept)) keep(Ref<Counted>::share(&owner), 0);
}

// The common path: no wait can be needed, and nobody else's lock.
Result<order::Point> Queue::submit_at_home(neutral::Task& task, std::uint64_t room) {
  {
    const sync::Locked queue(slot_.lock);
    if (!shared(task)) [[likely]] {
      if (room != 0) [[unlikely]]
        THALWEG_TRY(check_room(room));
      return hand_over(task, nullptr, room);
    }
  }
  return submit_ordered(task, room);
}

// The general path: some memory is not at home, or not here alone.
Result<order::Point> Queue::submit_ordered(neutral::Task& task, std::uint64_t room) {
  Registry& registry = Registry::instance();
  const sync::Locked submission(registry.submission());
  for (const Access& access : task.accesses) {
    Allocation& allocation = record_of(access);
    if (allocation.home() != &slot_) allocation.share();
  }
  for (const Access& access : task.accesses)
    if (const OpenView* const open = record_of(access).open_against(access)) [[unlikely]]
      return mapped(access, *open);
  const sync::Locked queue(slot_.lock);
  if (room != 0) THALWEG_TRY(check_room(room));
  order::PointSet& candidates = registry.candidates();
  candidates.clear();
  for (const Access& access : task.accesses)
    record_of(access).collect(access, candidates, registry.table());
  THALWEG_TRY(place_waits());
  return hand_over(task, &registry.table(), room);
}

// Makes what comes next wait for the candidates that it is not ordered after yet.
Result<void> Queue::place_waits() {
  Registry& registry = Registry::instance();
  order::choose_waits(slot_.order, registry.candidates(), registry.table(), registry.waits(),
                      waits_);
  std::uint64_t left = registry.waits().size();
  for (const order::Point wait : registry.waits()) {
    Slot& source = registry.slot(wait.queue());
    Result<Serial> covered = stream_->wait_for(*source.stream, wait.serial());
    if (!covered) {
      waits_.placed -= left;
      return std::move(covered).error();
    }
    --left;
    order::merge_wait(slot_.order, order::Point(wait.queue(), *covered), registry.table());
  }
  return {};
}

Result<void> Queue::wait_point(order::Point point) {
  Registry& registry = Registry::instance();
  registry.candidates().clear();
  registry.candidates().add(point);
  const sync::Locked queue(slot_.lock);
  return place_waits();
}

Result<order::Point> Queue::tail_locked() {
  if (ending_) return program_end();
  if (slot_.order.wait_owed() && !plant::planted(plant::Bug::wait_without_serial)) {
    neutral::Task turn;
    if (Result<void> accepted = stream_->submit(turn, Serial{slot_.order.last().value + 1});
        !accepted)
      return std::move(accepted).error();
    slot_.order.take();
    if (limited_) room_.add(slot_.order.last(), room_of(0));
    ++counters_.empty_turns;
  }
  return slot_.order.tail();
}

// The end of what the program enqueued: the last task is ours.
order::Point Queue::program_end() const noexcept {
  return ending_ ? order::Point(slot_.index, end_) : slot_.order.tail();
}

bool Queue::ended() const {
  const sync::Locked queue(slot_.lock);
  return ending_ && passed(program_end());
}

Result<order::Point> Queue::tail() {
  Result<order::Point> point = unannounced_tail();
  stream_->announce();
  return point;
}

Result<order::Point> Queue::unannounced_tail() {
  const sync::Locked queue(slot_.lock);
  return tail_locked();
}

// Uploads.

void Queue::keep(Ref<Counted> item, std::uint64_t size_bytes) {
  backend::Items freed;
  const sync::Locked queue(slot_.lock);
  stream_->keep(std::move(item), size_bytes);
  // With a limit each item has a fence of its own: what has passed is not held by what has not.
  limited_ ? stream_->flush(freed) : stream_->poll(freed);
}

Result<order::Point> Queue::upload_copy(neutral::Task& task) {
  if (forked()) [[unlikely]]
    return forked_error(task.site);
  if (place_of(task) == Place::nowhere) return misuse(task);
  const Access& to = task.accesses[0];
  const std::uint64_t bytes = to.row_bytes * to.rows;
  if (bytes == 0) return submit(task, {});
  device_->turn(task.site);
  if (device_->closed()) [[unlikely]]
    return device_->closed_error(task.site);
  if (limited_) {
    // Before memory is taken for it; and what former uploads no longer need goes first.
    backend::Items freed;
    const sync::Locked queue(slot_.lock);
    stream_->flush(freed);
    if (Result<void> fits = check_room(room_of(bytes)); !fits)
      return std::move(fits).error().at(task.site);
  }
  Result<backend::Block> block = reserve(MemoryKind::host, bytes, {.passed_only = true});
  if (!block) {
    Error error = refused(std::move(block).error(), task.site);
    return error.kind() == ErrorKind::device_lost ? error : error.with_context("staging an upload");
  }
  auto staged = make_ref<StagedBytes>(*device_, *block);
  if (backend::Observer* const observer = device_->observer(); observer != nullptr) [[unlikely]]
    observer->staged(block->resource.address, block->size_bytes);
  auto* const copy = reinterpret_cast<std::byte*>(block->resource.address);
  std::memcpy(copy, task.host_source, bytes);
  task.host_source = copy;
  return submit(task, std::move(staged));
}

// Room.

void Queue::pass_room() { room_.pass(Serial{sync::queue_timeline(slot_.index).answered_value()}); }

Result<void> Queue::check_room(std::uint64_t room) {
  pass_room();
  if (room_.fits(room)) [[likely]]
    return {};
  return Error(ErrorKind::queue_full,
               fmt::format("A task of {} bytes does not fit: {} of the stream's {} bytes of room "
                           "are taken.",
                           room, room_.taken_bytes(), room_.limit_bytes()));
}

Result<void> Queue::wait_for_room(Deadline deadline, std::uint64_t size_bytes, Site site) {
  if (forked()) [[unlikely]]
    return forked_error(site);
  const std::optional<sync::Moment> end = sync::end_of(deadline, device_->clock());
  const std::uint64_t room = room_of(size_bytes);
  device_->turn(site);
  THALWEG_TRY(device_->alive(site));
  for (;;) {
    Serial needed;
    if (limited_) {
      const sync::Locked queue(slot_.lock);
      pass_room();
      needed = room_.fits_after(room);
    }
    if (needed == Serial{}) break;
    Deadline left;
    if (end) left = Deadline(end->time - device_->clock().now());
    THALWEG_TRY(device_->wait(order::Point(slot_.index, needed), WaitReason::room, left, site));
  }
  backend::Items freed;
  poll(freed);
  return {};
}

// Events, other queues, timelines.

Result<void> Queue::record(EventCore& event, Site site) {
  if (forked()) [[unlikely]]
    return forked_error(site);
  auto& record = static_cast<Event&>(event);
  if (&record.owner() != &*device_)
    return Error(mismatch(record.owner()),
                 fmt::format("An event of device `{}` is recorded on a stream of device `{}`.",
                             record.owner().name(), device_->name()),
                 site);
  device_->turn(site);
  THALWEG_TRY(device_->usable(site));
  Ref<neutral::Stamp> time;
  if (record.timed()) time = make_ref<neutral::Stamp>();
  {
    // The event names the point before anybody else can enqueue behind it.
    const sync::Locked queue(slot_.lock);
    Result<order::Point> point = time ? record_time(*time, site) : tail_locked();
    if (time && !point && point.error().kind() == ErrorKind::unsupported) {
      time.reset();
      point = tail_locked();
    }
    if (!point) return refused(std::move(point).error(), site);
    record.set(*point, std::move(time));
  }
  stream_->announce();
  return {};
}

Result<order::Point> Queue::record_time(neutral::Stamp& time, Site site) {
  neutral::Task stamp;
  stamp.kind = neutral::TaskKind::stamp;
  stamp.site = site;
  stamp.time = &time;
  const std::uint64_t room = room_of(0);
  if (room != 0) THALWEG_TRY(check_room(room));
  return hand_over(stamp, nullptr, room);
}

// Waiting across devices of one backend is fine; another backend's queues say nothing to ours.
Result<void> Queue::waitable(const Device& other, std::string_view what, Site site) const {
  if (&other == device_.get() || other.driver().type() == device_->driver().type()) return {};
  return Error(
      ErrorKind::backend_mismatch,
      fmt::format("A stream of device `{}` cannot wait for {} of device `{}`, which is one "
                  "of another backend.",
                  device_->name(), what, other.name()),
      site);
}

Result<void> Queue::wait_event(const EventCore& event, Site site) {
  if (forked()) [[unlikely]]
    return forked_error(site);
  const auto& record = static_cast<const Event&>(event);
  THALWEG_TRY(waitable(record.owner(), "an event", site));
  if (device_->strict_events() && record.query() == EventState::not_recorded)
    return Error(
        ErrorKind::event_not_recorded,
        fmt::format("A stream of device `{}`, which is strict, waits for an event that was "
                    "never recorded.",
                    device_->name()),
        site);
  device_->turn(site);
  THALWEG_TRY(device_->usable(site));
  const sync::Locked submission(Registry::instance().submission());
  if (Result<void> waited = wait_point(record.latest()); !waited)
    return std::move(waited).error().at(site);
  return {};
}

Result<void> Queue::wait_queue(const QueueCore& other, Site site) {
  if (forked()) [[unlikely]]
    return forked_error(site);
  if (&other == this) return {};
  // The method is const for its caller: nothing he sees changes.
  auto& source = const_cast<Queue&>(static_cast<const Queue&>(other));
  THALWEG_TRY(waitable(source.owner(), "a stream", site));
  device_->turn(site);
  THALWEG_TRY(device_->usable(site));
  Result<order::Point> point = source.tail();
  if (!point) return std::move(point).error().at(site);
  const sync::Locked submission(Registry::instance().submission());
  if (Result<void> waited = wait_point(*point); !waited) return std::move(waited).error().at(site);
  return {};
}

Result<void> Queue::wait_timeline(TimelineCore& timeline, std::uint64_t value, Site site) {
  return timeline_task(neutral::TaskKind::wait, timeline, value, site);
}

Result<void> Queue::signal_timeline(TimelineCore& timeline, std::uint64_t value, Site site) {
  return timeline_task(neutral::TaskKind::signal, timeline, value, site);
}

// Whether the value is one that the timeline may take is known when the task's turn comes; one that
// is too low by now will not get better.
Result<void> Queue::check_signal(const TimelineCore& timeline, std::uint64_t value,
                                 Site site) const {
  if (backend::Observer* const observer = device_->observer(); observer != nullptr) [[unlikely]]
    observer->timeline_asked(timeline, value);
  if (const std::uint64_t present = timeline.value(); value < present)
    return Error(ErrorKind::invalid_argument,
                 fmt::format("A timeline at {} cannot go down to {}.", present, value), site);
  return {};
}

Result<void> Queue::timeline_task(neutral::TaskKind kind, TimelineCore& timeline,
                                  std::uint64_t value, Site site) {
  if (forked()) [[unlikely]]
    return forked_error(site);
  THALWEG_TRY(waitable(static_cast<Device&>(timeline.device()), "a timeline", site));
  device_->turn(site);
  if (device_->closed()) [[unlikely]]
    return device_->closed_error(site);
  if (kind == neutral::TaskKind::signal) THALWEG_TRY(check_signal(timeline, value, site));
  neutral::Task task;
  task.kind = kind;
  task.site = site;
  task.timeline = &timeline;
  task.value = value;
  const std::uint64_t room = room_of(0);
  {
    const sync::Locked queue(slot_.lock);
    if (room != 0)
      if (Result<void> fits = check_room(room); !fits) return std::move(fits).error().at(site);
    if (Result<void> accepted = stream_->submit(task, Serial{slot_.order.last().value + 1});
        !accepted)
      return refused(std::move(accepted).error(), site);
    slot_.order.take();
    if (room != 0) room_.add(slot_.order.last(), room);
    ++(kind == neutral::TaskKind::wait ? counters_.timeline_waits : counters_.submissions);
  }
  stream_->announce();
  return {};
}

Result<void> Queue::synchronize(Deadline deadline, Site site) {
  if (forked()) [[unlikely]]
    return forked_error(site);
  device_->turn(site);
  THALWEG_TRY(device_->alive(site));
  Result<order::Point> point = tail();
  if (!point) return std::move(point).error().at(site);
  THALWEG_TRY(device_->wait(*point, WaitReason::synchronize, deadline, site));
  backend::Items freed;
  poll(freed);
  return {};
}

Result<void> Queue::on_passed(Serial serial, UniqueFunction function, Site site) {
  if (forked()) [[unlikely]]
    return forked_error(site);
  device_->turn(site);
  THALWEG_TRY(device_->alive(site));
  const Serial last = [this] {
    const sync::Locked queue(slot_.lock);
    return slot_.order.last();
  }();
  if (serial > last)
    return Error(
        ErrorKind::invalid_argument,
        fmt::format("The stream has no task {}: its last is {}.", serial.value, last.value), site);
  device_->on_passed(order::Point(slot_.index, serial), std::move(function));
  return {};
}

bool Queue::poll(backend::Items& freed) {
  const sync::Locked queue(slot_.lock);
  stream_->flush(freed);
  return !slot_.order.wait_owed() && passed(program_end());
}

// Memory.

// A refusal is not the last word: finished work may still hold what it no longer needs.
Result<backend::Block> Queue::reserve(MemoryKind kind, std::uint64_t size_bytes,
                                      const backend::ReserveOptions& options) {
  Result<backend::Block> block = try_reserve(kind, size_bytes, options);
  if (block || block.error().kind() != ErrorKind::out_of_memory) return block;
  device_->poll();
  return try_reserve(kind, size_bytes, options);
}

Result<backend::Block> Queue::try_reserve(MemoryKind kind, std::uint64_t size_bytes,
                                          const backend::ReserveOptions& options) {
  return device_->with_memory([&]() -> Result<backend::Block> {
    Result<backend::Found> found = [&] {
      const sync::Locked queue(slot_.lock);
      return stream_->find(kind, size_bytes, options);
    }();
    if (!found) return std::move(found).error();
    if (found->found) return found->block;
    // Without the queue's lock, which submissions spin on.
    return stream_->grow(kind, found->rounded_bytes, size_bytes);
  });
}

Result<Ref<AllocationCore>> Queue::allocate(MemoryKind kind, std::uint64_t size_bytes,
                                            const AllocationOptions& options, Site site) {
  if (forked()) [[unlikely]]
    return forked_error(site);
  device_->turn(site);
  THALWEG_TRY(device_->usable(site));
  backend::Block block;
  const bool host = kind == MemoryKind::host;
  if (size_bytes == 0) {
    // Nothing is taken, and a bad request is one all the same.
    Result<std::uint64_t> rounded = backend::round_request(0, {options.alignment_bytes}, 1, 1);
    if (!rounded) return std::move(rounded).error().at(site);
  } else {
    Result<backend::Block> reserved =
        reserve(kind, size_bytes,
                {options.alignment_bytes, options.tag,
                 host && !plant::planted(plant::Bug::host_reuse_ordered)});
    if (!reserved) return refused(std::move(reserved).error(), site);
    block = *reserved;
    if (size_bytes > order::AccessMap::kSizeMax) {
      device_->take_back(block, {});
      return Error(ErrorKind::out_of_memory,
                   fmt::format("A buffer of {} bytes is larger than the limit of {} bytes.",
                               size_bytes, order::AccessMap::kSizeMax),
                   site);
    }
  }
  order::Point birth;
  if (block.in_use_on_home && !plant::planted(plant::Bug::empty_birth)) {
    // The bytes are free for what home enqueues from now on: others wait for home's present end.
    Result<order::Point> end = tail();
    if (!end) {
      if (!plant::planted(plant::Bug::block_lost_on_refusal))
        device_->take_back(block, everything_before());
      return std::move(end).error().at(site);
    }
    birth = *end;
  }
  auto allocation = make_ref<Allocation>(device_, slot_, block, size_bytes,
                                         host || device_->driver().host_addresses());
  allocation->map().set_birth(birth);
  if (backend::Observer* const observer = device_->observer(); observer != nullptr) [[unlikely]]
    observer->allocated(*allocation, kind, stream_->raw(), site);
  return Ref<AllocationCore>(std::move(allocation));
}

// What the queue's next task comes after: contains all former uses of a block found for it.
order::PointSet Queue::everything_before() const {
  order::PointSet points;
  const sync::Locked queue(slot_.lock);
  const order::Frontier& frontier = slot_.order.frontier();
  for (std::size_t i = 0; i != frontier.width(); ++i) {
    const auto index = static_cast<order::QueueIndex>(i);
    points.add(order::Point(index, frontier.of(index)));
  }
  points.add(slot_.order.tail());
  return points;
}

// The end.

// What is enqueued still runs. Two steps end the queue, and whoever makes the second one finalizes:
// the last task has passed, and it was announced.
void Queue::last_reference_gone() noexcept {
  device_->turn(Site::current());
  auto retirement = make_ref<Retirement>(*this);
  neutral::Task last;
  last.kind = neutral::TaskKind::last;
  last.completion = retirement.get();
  bool idle = false;
  {
    const sync::Locked queue(slot_.lock);
    // From here on a synchronize of the whole device enqueues nothing here.
    ending_ = true;
    end_ = slot_.order.last();
    // The common end: at once, and a program that makes and drops streams meets no limit.
    idle = passed(program_end()) && stream_->close_idle();
    // Refused: only when the system has no memory left for a slot. The queue then stays for good:
    // what is enqueued runs, and nothing is freed under it.
    if (!idle && !stream_->submit(last, Serial{end_.value + 1})) return;
    if (!idle) slot_.order.take();
  }
  if (idle) return finalize_idle();
  stream_->announce();
  end_step();
}

// With the last handle to a simulated device nobody is left to let it go on.
void Queue::finalize_idle() noexcept {
  if (device_->observer() == nullptr) [[likely]]
    return finalize();
  const Ref<Device> device = device_;
  finalize();
  device->turn(Site::current());
}

// Memory ordering: acquire and release: what the first did happens before the second finalizes.
void Queue::end_step() noexcept {
  if (end_steps_.fetch_sub(1, std::memory_order_acq_rel) == 1) finalize();
}

void Queue::finalize() noexcept {
  backend::Items freed;
  {
    const sync::Locked queue(slot_.lock);
    stream_->clear(freed);
  }
  freed.clear();
  device_->forget(*this);
  Registry& registry = Registry::instance();
  registry.close_slot(slot_);
  stream_.reset();
  registry.free_slot(slot_);
  delete this;
}

void Queue::add_to(Statistics& sum) const {
  const sync::Locked queue(slot_.lock);
  sum.submissions += counters_.submissions;
  sum.empty_turns += counters_.empty_turns;
  sum.waits_placed += waits_.placed;
  sum.waits_passed += waits_.passed;
  sum.waits_covered += waits_.covered;
  sum.timeline_waits += counters_.timeline_waits;
  sum.fences += stream_->fences();
}

}  // namespace thalweg::runtime
