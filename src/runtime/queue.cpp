// SPDX-License-Identifier: Apache-2.0

#include "runtime/queue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/plant.hpp"
#include "runtime/device.hpp"
#include "runtime/event.hpp"
#include "thalweg/order/placement.hpp"

namespace thalweg::runtime {
namespace {

using thalweg::detail::AllocationCore;
using thalweg::detail::EventCore;
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
      name_(options.name) {}

thalweg::detail::DeviceCore& Queue::device() const noexcept { return *device_; }

// Submission.

// What is wrong with a task that does not fit.
[[gnu::cold]] Error Queue::misuse(const neutral::Task& task) const {
  for (const Access& access : task.accesses) {
    const Allocation& allocation = record_of(access);
    if (&allocation.owner() != device_.get())
      return Error(ErrorKind::context_mismatch,
                   fmt::format("Memory of device `{}` (id {}) is used on a stream of device `{}` "
                               "(id {}).",
                               allocation.device().name(), allocation.device().id().value,
                               device_->name(), device_->id().value),
                   task.site);
    if (!inside(access, allocation.size_bytes))
      return Error(ErrorKind::invalid_argument,
                   fmt::format("{} bytes from byte {} are outside memory of {} bytes.",
                               access.row_bytes, access.offset, allocation.size_bytes),
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
    home = home && &allocation.home() == &slot_;
    if (&allocation.owner() != device_.get()) return Place::nowhere;
  }
  return home ? Place::home : Place::abroad;
}

bool Queue::shared(const neutral::Task& task) const noexcept {
  for (const Access& access : task.accesses)
    if (record_of(access).shared()) return true;
  return false;
}

// Gives the task its serial and enters its accesses. A null table says that all of them are at
// home.
Result<order::Point> Queue::hand_over(neutral::Task& task, const order::QueueTable* table) {
  order::QueueOrder& order = slot_.order;
  const Serial serial{order.last().value + 1};
  if (Result<void> accepted = stream_->submit(task, serial); !accepted) [[unlikely]]
    return std::move(accepted).error();
  order.take();
  const order::Point point = order.tail();
  if (table == nullptr) {
    for (const Access& access : task.accesses) record_of(access).map().apply_home(access, point);
  } else {
    for (const Access& access : task.accesses) record_of(access).map().apply(access, point, *table);
  }
  if (task.kind == neutral::TaskKind::kernel) slot_.kernels.add(*task.code, serial);
  ++counters_.submissions;
  return point;
}

Result<order::Point> Queue::submit(neutral::Task& task, Ref<Counted> keep_alive) {
  const Place place = place_of(task);
  if (place == Place::nowhere) [[unlikely]]
    return misuse(task);
  Result<order::Point> point = place == Place::home ? submit_at_home(task) : submit_ordered(task);
  if (!point) [[unlikely]]
    return std::move(point).error().at(task.site);
  if (keep_alive) keep(std::move(keep_alive), task.accesses[0].row_bytes * task.accesses[0].rows);
  stream_->announce();
  return point;
}

// The common path: no wait can be needed, and nobody else's lock.
Result<order::Point> Queue::submit_at_home(neutral::Task& task) {
  {
    const sync::Locked queue(slot_.lock);
    if (!shared(task)) [[likely]]
      return hand_over(task, nullptr);
  }
  return submit_ordered(task);
}

// The general path: some memory is not at home, or not here alone.
Result<order::Point> Queue::submit_ordered(neutral::Task& task) {
  Registry& registry = Registry::instance();
  const sync::Locked submission(registry.submission());
  for (const Access& access : task.accesses) {
    Allocation& allocation = record_of(access);
    if (&allocation.home() != &slot_) allocation.share();
  }
  const sync::Locked queue(slot_.lock);
  order::PointSet& candidates = registry.candidates();
  candidates.clear();
  for (const Access& access : task.accesses) record_of(access).map().collect(access, candidates);
  THALWEG_TRY(place_waits());
  return hand_over(task, &registry.table());
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
  Result<order::Point> point = [this] {
    const sync::Locked queue(slot_.lock);
    return tail_locked();
  }();
  stream_->announce();
  return point;
}

// Uploads.

void Queue::keep(Ref<Counted> item, std::uint64_t size_bytes) {
  backend::Items freed;
  const sync::Locked queue(slot_.lock);
  stream_->keep(std::move(item), size_bytes);
  stream_->poll(freed);
}

Result<order::Point> Queue::upload_copy(neutral::Task& task) {
  if (place_of(task) == Place::nowhere) return misuse(task);
  const Access& to = task.accesses[0];
  const std::uint64_t bytes = to.row_bytes * to.rows;
  if (bytes == 0) return submit(task, {});
  Result<backend::Block> block = reserve(backend::MemoryKind::host, bytes, {});
  if (!block) return std::move(block).error().with_context("staging an upload").at(task.site);
  auto staged = make_ref<StagedBytes>(*device_, *block);
  auto* const copy = reinterpret_cast<std::byte*>(block->resource.address);
  std::memcpy(copy, task.host_source, bytes);
  task.host_source = copy;
  return submit(task, std::move(staged));
}

// Events, other queues, timelines.

Result<void> Queue::record(EventCore& event, Site site) {
  auto& record = static_cast<Event&>(event);
  if (&record.owner() != &*device_)
    return Error(ErrorKind::context_mismatch,
                 fmt::format("An event of device `{}` is recorded on a stream of device `{}`.",
                             record.owner().name(), device_->name()),
                 site);
  {
    // The event names the point before anybody else can enqueue behind it.
    const sync::Locked queue(slot_.lock);
    Result<order::Point> point = tail_locked();
    if (!point) return std::move(point).error().at(site);
    record.set(*point);
  }
  stream_->announce();
  return {};
}

Result<void> Queue::wait_event(const EventCore& event, Site site) {
  const auto& record = static_cast<const Event&>(event);
  if (&record.owner() != &*device_)
    return Error(ErrorKind::context_mismatch,
                 fmt::format("A stream of device `{}` cannot wait for an event of device `{}`.",
                             device_->name(), record.owner().name()),
                 site);
  const sync::Locked submission(Registry::instance().submission());
  if (Result<void> waited = wait_point(record.latest()); !waited)
    return std::move(waited).error().at(site);
  return {};
}

Result<void> Queue::wait_queue(const QueueCore& other, Site site) {
  if (&other == this) return {};
  // The method is const for its caller: nothing he sees changes.
  auto& source = const_cast<Queue&>(static_cast<const Queue&>(other));
  if (&source.owner() != &*device_)
    return Error(ErrorKind::context_mismatch,
                 fmt::format("A stream of device `{}` cannot wait for one of device `{}`.",
                             device_->name(), source.owner().name()),
                 site);
  Result<order::Point> point = source.tail();
  if (!point) return std::move(point).error().at(site);
  const sync::Locked submission(Registry::instance().submission());
  if (Result<void> waited = wait_point(*point); !waited) return std::move(waited).error().at(site);
  return {};
}

Result<void> Queue::wait_timeline(TimelineCore& timeline, std::uint64_t value, Site site) {
  if (&timeline.device() != &*device_)
    return Error(ErrorKind::context_mismatch,
                 fmt::format("A stream of device `{}` cannot wait for a timeline of device `{}`.",
                             device_->name(), timeline.device().name()),
                 site);
  neutral::Task wait;
  wait.kind = neutral::TaskKind::wait;
  wait.site = site;
  wait.timeline = &timeline;
  wait.value = value;
  {
    const sync::Locked queue(slot_.lock);
    if (Result<void> accepted = stream_->submit(wait, Serial{slot_.order.last().value + 1});
        !accepted)
      return std::move(accepted).error().at(site);
    slot_.order.take();
    ++counters_.timeline_waits;
  }
  stream_->announce();
  return {};
}

Result<void> Queue::synchronize(Deadline deadline, Site site) {
  Result<order::Point> point = tail();
  if (!point) return std::move(point).error().at(site);
  THALWEG_TRY(device_->wait(*point, WaitReason::synchronize, deadline, site));
  backend::Items freed;
  poll(freed);
  return {};
}

bool Queue::poll(backend::Items& freed) {
  const sync::Locked queue(slot_.lock);
  stream_->flush(freed);
  return !slot_.order.wait_owed() && passed(program_end());
}

// Memory.

// A refusal is not the last word: finished work may still hold what it no longer needs.
Result<backend::Block> Queue::reserve(backend::MemoryKind kind, std::uint64_t size_bytes,
                                      const backend::ReserveOptions& options) {
  Result<backend::Block> block = try_reserve(kind, size_bytes, options);
  if (block || block.error().kind() != ErrorKind::out_of_memory) return block;
  device_->poll();
  return try_reserve(kind, size_bytes, options);
}

Result<backend::Block> Queue::try_reserve(backend::MemoryKind kind, std::uint64_t size_bytes,
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

Result<Ref<AllocationCore>> Queue::allocate(std::uint64_t size_bytes,
                                            const AllocationOptions& options, Site site) {
  backend::Block block;
  if (size_bytes != 0) {
    Result<backend::Block> reserved =
        reserve(backend::MemoryKind::device, size_bytes, {options.alignment_bytes, options.tag});
    if (!reserved) return std::move(reserved).error().at(site);
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
      device_->take_back(block, everything_before());
      return std::move(end).error().at(site);
    }
    birth = *end;
  }
  auto allocation = make_ref<Allocation>(device_, slot_, block, size_bytes);
  allocation->map().set_birth(birth);
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
  if (idle) return finalize();
  stream_->announce();
  end_step();
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
