// SPDX-License-Identifier: Apache-2.0

#include "runtime/device.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "os/process.hpp"
#include "os/real_clock.hpp"
#include "os/thread.hpp"
#include "runtime/after.hpp"
#include "runtime/allocation.hpp"
#include "runtime/event.hpp"
#include "runtime/queue.hpp"
#include "runtime/timeline.hpp"
#include "sync/parking.hpp"
#include "thalweg/runtime/open.hpp"

namespace thalweg::runtime {

using thalweg::detail::AllocationCore;
using thalweg::detail::EventCore;
using thalweg::detail::forked;
using thalweg::detail::forked_error;
using thalweg::detail::QueueCore;
using thalweg::detail::TimelineCore;

namespace {
// How often a stream is asked for again while others are about to go: some milliseconds.
constexpr int kTurnsForEnded = 1000;
}  // namespace

Device::Device(std::unique_ptr<backend::Driver> driver, const OpenOptions& options)
    : clock_(os::clock_or_real(options.clock)),
      driver_(std::move(driver)),
      observer_(driver_->observer()),
      loss_(driver_->loss()),
      backend_(options.backend),
      name_(options.name.empty() ? options.backend : options.name),
      skip_passed_(options.skip_passed),
      strict_events_(options.strict_events) {
  if (observer_ != nullptr) Failures::instance().observe(id_, observer_->share());
}

Device::~Device() {
  // What its memory carried is nobody's any more.
  Failures::instance().collect();
  if (loss_ != nullptr) Failures::instance().end_loss(id_);
  if (observer_ != nullptr) Failures::instance().observe(id_, nullptr);
  events_.with([](Events& events) {
    for (Event* const event : events.free) delete event;
  });
}

Result<Ref<QueueCore>> Device::create_queue(const StreamOptions& options, Site site) {
  if (forked()) return forked_error(site);
  turn(site);
  THALWEG_TRY(usable(site));
  const PriorityRange range = priority_range();
  if (!range.contains(options.priority))
    return Error(ErrorKind::invalid_argument,
                 fmt::format("Priority {} is outside {} (greatest) to {} (least) of device `{}`.",
                             options.priority, range.greatest, range.least, name_),
                 site);
  return make_queue(
      options,
      [this](const backend::StreamRequest& request) { return driver_->create_stream(request); },
      site);
}

// A native queue maps to one queue object: one that is known gets another handle.
Result<Ref<QueueCore>> Device::adopt_queue(NativeHandle handle, Ownership ownership,
                                           const StreamOptions& options, Site site) {
  if (forked()) return forked_error(site);
  THALWEG_TRY(usable(site));
  Ref<QueueCore> known = queues_.with([handle](const Queues& queues) {
    for (Queue* const queue : queues.live)
      if (queue->raw() == handle && queue->try_retain()) return Ref<QueueCore>::adopt(queue);
    return Ref<QueueCore>();
  });
  if (!known)
    return make_queue(
        options,
        [&](const backend::StreamRequest& request) {
          return driver_->adopt_stream(handle.value, ownership, request);
        },
        site);
  if (ownership == Ownership::borrowed) return known;
  return Error(ErrorKind::invalid_argument,
               fmt::format("Queue {} of device `{}` has an owner already: adopt it borrowed.",
                           handle.value, name_),
               site);
}

Result<Ref<QueueCore>> Device::make_queue(const StreamOptions& options, const MakeStream& make,
                                          Site site) {
  Registry& registry = Registry::instance();
  Result<Slot*> slot = registry.acquire_slot(skip_passed_);
  if (!slot) return std::move(slot).error().at(site);
  const Serial start{sync::queue_timeline((*slot)->index).value()};
  (*slot)->outcomes.open(id_, options.name);
  const backend::StreamRequest request{
      options.priority, options.name,      (*slot)->index, start, *slot,
      &(*slot)->order,  &(*slot)->outcomes};
  auto stream = make(request);
  // Streams that are gone, but for a thread that is about to let go of them, do not count.
  for (int turn = 0; !stream && turn != kTurnsForEnded && any_ended(); ++turn) {
    os::yield();
    stream = make(request);
  }
  if (!stream) {
    registry.close_slot(**slot);
    registry.free_slot(**slot);
    return std::move(stream).error().at(site);
  }
  backend::DriverStream* const driver_stream = stream->get();
  auto queue = make_ref<Queue>(Ref<Device>::share(this), **slot, *std::move(stream), options);
  {
    const sync::Locked submission(registry.submission());
    const sync::Locked locked((*slot)->lock);
    (*slot)->stream = driver_stream;
  }
  queues_.with([&queue](Queues& queues) {
    queues.live.push_back(queue.get());
    ++queues.ended.queues_created;
  });
  return Ref<QueueCore>(std::move(queue));
}

bool Device::any_ended() const {
  return queues_.with([](const Queues& queues) {
    return std::any_of(queues.live.begin(), queues.live.end(),
                       [](const Queue* queue) { return queue->ended(); });
  });
}

void Device::forget(Queue& queue) noexcept {
  queues_.with([&queue](Queues& queues) {
    queue.add_to(queues.ended);
    ++queues.ended.queues_destroyed;
    std::erase(queues.live, &queue);
  });
}

Result<Ref<EventCore>> Device::create_event(bool timed, Site site) {
  if (forked()) return forked_error(site);
  THALWEG_TRY(usable(site));
  Event* const used = events_.with([](Events& events) -> Event* {
    if (events.free.empty()) {
      ++events.made;
      return nullptr;
    }
    Event* const event = events.free.back();
    events.free.pop_back();
    return event;
  });
  if (used != nullptr) {
    used->reopen(Ref<Device>::share(this), timed);
    return Ref<EventCore>::adopt(used);
  }
  auto event = make_ref<Event>();
  event->open(Ref<Device>::share(this), timed);
  return Ref<EventCore>(std::move(event));
}

void Device::recycle(Event* event) noexcept {
  const bool kept = events_.with([event](Events& events) {
    const bool room = events.free.size() < kEventsKept;
    if (room) events.free.push_back(event);
    return room;
  });
  if (!kept) delete event;
}

Result<Ref<AllocationCore>> Device::adopt_memory(void* memory, std::uint64_t size_bytes,
                                                 UniqueFunction& deleter, Site site) {
  if (forked()) return forked_error(site);
  THALWEG_TRY(usable(site));
  const auto address = reinterpret_cast<std::uint64_t>(memory);
  std::uint64_t end = 0;
  if (size_bytes != 0 && memory == nullptr)
    return Error(ErrorKind::invalid_argument,
                 fmt::format("A null pointer names no {} bytes.", size_bytes), site);
  if (size_bytes > order::AccessMap::kSizeMax || __builtin_add_overflow(address, size_bytes, &end))
    return Error(ErrorKind::invalid_size,
                 fmt::format("{} bytes from address {:#x} are more than the limit of {} bytes, or "
                             "leave the address space.",
                             size_bytes, address, order::AccessMap::kSizeMax),
                 site);
  Ref<Import> import;
  if (size_bytes != 0) {
    const bool own = with_memory([&] {
      return driver_->device_memory().contains(address, size_bytes) ||
             driver_->host_memory().contains(address, size_bytes);
    });
    if (own)
      return Error(ErrorKind::invalid_argument,
                   fmt::format("{} bytes from address {:#x} are the device's own memory.",
                               size_bytes, address),
                   site);
    import = Registry::instance().imports().add(address_space(), address, size_bytes);
  }
  return Ref<AllocationCore>(make_ref<Allocation>(Ref<Device>::share(this), std::move(import),
                                                  address, size_bytes, driver_->host_addresses(),
                                                  std::move(deleter)));
}

Result<Ref<TimelineCore>> Device::create_timeline(std::uint64_t value, Site site) {
  if (forked()) return forked_error(site);
  THALWEG_TRY(usable(site));
  return Ref<TimelineCore>(make_ref<Timeline>(Ref<Device>::share(this), value));
}

// Waiting.

Error Device::lost_error(Site site) const {
  Failures::instance().told_of_loss(id_);
  return loss_->cause().with_context(fmt::format("device `{}` is lost", name_)).at(site);
}

Result<void> Device::may_block(WaitReason reason, Deadline deadline, Site site) const {
  if (NoWaitScope::active())
    return Error(ErrorKind::wait_forbidden,
                 fmt::format("A wait ({}) is forbidden in a NoWaitScope, which host functions and "
                             "kernels run in.",
                             thalweg::name(reason)),
                 site);
  if (deadline.within() && deadline.within()->count() <= 0)
    return Error(
        ErrorKind::timeout,
        fmt::format("The deadline of a wait ({}) was over when it began.", thalweg::name(reason)),
        site);
  return {};
}

Result<void> Device::wait(order::Point point, WaitReason reason, Deadline deadline, Site site) {
  if (forked()) return forked_error(site);
  turn(site);
  // A future knows itself how its task ended, which may have been before the loss.
  const bool says_itself = reason == WaitReason::future;
  if (!says_itself) THALWEG_TRY(alive(site));
  THALWEG_TRY(wait_passed(point, reason, deadline, site));
  return says_itself ? Result<void>() : alive(site);
}

Result<void> Device::wait_passed(order::Point point, WaitReason reason, Deadline deadline,
                                 Site site) {
  if (runtime::passed(point)) return {};
  return blocked(reason, deadline, site, [&]() -> Result<void> {
    if (auto waited = driver_->wait(point, deadline)) {
      if (*waited || waited->error().kind() != ErrorKind::timeout) return *std::move(waited);
    } else if (sync::wait_until(sync::queue_timeline(point.queue()), point.serial().value, deadline,
                                *clock_)) {
      return {};
    }
    return too_late(point);
  });
}

Error Device::too_late(order::Point point) const {
  const std::uint64_t passed = sync::queue_timeline(point.queue()).value();
  const std::uint64_t left = point.serial().value - std::min(point.serial().value, passed);
  const std::string stream = queues_.with([point](const Queues& queues) -> std::string {
    for (const Queue* const queue : queues.live)
      if (queue->end().queue() == point.queue()) return fmt::format("stream `{}`", queue->name());
    return "a stream of another device";
  });
  return Error(ErrorKind::timeout,
               fmt::format("The deadline came while {} task{} of {} had not passed.", left,
                           left == 1 ? "" : "s", stream));
}

// The end.

Error Device::closed_error(Site site) const {
  return Error(ErrorKind::invalid_handle, fmt::format("Device `{}` is closed.", name_), site);
}

// Whoever came before the flag was set is waited for; that may be more than once, for a submission
// may be on its way.
Result<void> Device::close(Deadline deadline, Site site) {
  if (forked()) return forked_error(site);
  if (NoWaitScope::active() && !work_left(nullptr).empty())
    return may_block(WaitReason::close, deadline, site);
  closed_.store(true, std::memory_order_relaxed);
  const std::optional<sync::Moment> end = sync::end_of(deadline, *clock_);
  turn(site);
  for (order::PointSet left = work_left(nullptr); !left.empty(); left = work_left(nullptr)) {
    for (const order::Point point : left) {
      Deadline within;
      if (end) within = Deadline(end->time - clock_->now());
      Result<void> waited = wait_passed(point, WaitReason::close, within, site);
      if (waited) continue;
      if (waited.error().kind() != ErrorKind::timeout) return waited;
      std::string streams;
      static_cast<void>(work_left(&streams));
      return Error(ErrorKind::timeout,
                   fmt::format("Device `{}` is closed with work left on {}.", name_, streams),
                   site);
    }
  }
  static_cast<void>(poll());
  static_cast<void>(trim(0));
  return {};
}

// The ends of the queues with something that has not passed, and, in words, how much.
order::PointSet Device::work_left(std::string* words) const {
  return queues_.with([words](const Queues& queues) {
    order::PointSet ends;
    for (const Queue* const queue : queues.live) {
      const order::Point end = queue->end();
      if (runtime::passed(end)) continue;
      ends.add(end);
      if (words == nullptr) continue;
      const std::uint64_t left = end.serial().value - sync::queue_timeline(end.queue()).value();
      *words += fmt::format("{}stream `{}` ({} task{})", words->empty() ? "" : ", ", queue->name(),
                            left, left == 1 ? "" : "s");
    }
    return ends;
  });
}

Result<void> Device::synchronize(Deadline deadline, Site site) {
  if (forked()) return forked_error(site);
  turn(site);
  THALWEG_TRY(alive(site));
  order::PointSet tails;
  std::optional<Error> refusal;
  std::vector<Ref<Queue>> touched;  // One that is ending gets no turn.
  queues_.with([&](Queues& queues) {
    touched.reserve(queues.live.size());
    for (Queue* const queue : queues.live) {
      Result<order::Point> tail = queue->unannounced_tail();
      if (queue->try_retain()) touched.push_back(Ref<Queue>::adopt(queue));
      if (tail) {
        tails.add(*tail);
      } else {
        refusal = std::move(tail).error();
      }
    }
  });
  // Behind the lock: the backend may run tasks here.
  for (const Ref<Queue>& queue : touched) queue->announce();
  touched.clear();
  if (refusal) return refusal->at(site);
  THALWEG_TRY(wait_all(tails, WaitReason::synchronize, deadline, site));
  THALWEG_TRY(alive(site));
  poll();
  return {};
}

Result<void> Device::wait_all(const order::PointSet& points, WaitReason reason, Deadline deadline,
                              Site site) {
  const std::optional<sync::Moment> end = sync::end_of(deadline, *clock_);
  for (const order::Point point : points) {
    Deadline left;
    if (end) left = Deadline(end->time - clock_->now());
    THALWEG_TRY(wait(point, reason, left, site));
  }
  return {};
}

void Device::on_passed(order::Point point, UniqueFunction function) {
  order::PointSet points;
  points.add(point);
  call_after(points, std::move(function), observer_);
  turn(Site::current());
}

bool Device::poll() noexcept {
  if (forked()) return true;
  turn({});
  Failures::instance().collect();
  // Destroyed last, without a lock: callables of the program are among it.
  backend::Items freed;
  return queues_.with([&freed](Queues& queues) {
    bool all = true;
    for (Queue* const queue : queues.live) all = queue->poll(freed) && all;
    return all;
  });
}

// Memory.

void Device::take_back(const backend::Block& block, order::PointSet uses) {
  with_memory([&] { block.source->release(block, std::move(uses)); });
}

std::uint64_t Device::trim(std::uint64_t keep_bytes) noexcept {
  if (forked()) return 0;
  turn(Site::current());
  return with_memory([&] {
    return driver_->device_memory().trim(keep_bytes) + driver_->host_memory().trim(keep_bytes);
  });
}

MemoryUsage Device::memory_usage(MemoryKind kind) const {
  if (forked()) return {};
  const sync::Locked memory(memory_);
  const backend::MemoryUsageNumbers numbers = kind == MemoryKind::device
                                                  ? driver_->device_memory().usage()
                                                  : driver_->host_memory().usage();
  MemoryUsage usage;
  usage.allocations = numbers.blocks;
  usage.live_bytes = numbers.live;
  usage.padding_bytes = numbers.padding;
  usage.pending_bytes = numbers.pending;
  usage.cached_bytes = numbers.cached;
  usage.reserved_bytes = numbers.reserved;
  usage.live_peak_bytes = numbers.live_peak;
  usage.reserved_peak_bytes = numbers.reserved_peak;
  usage.limit_bytes = numbers.limit;
  return usage;
}

std::vector<LivingFailure> Device::failures() const {
  if (forked()) return {};
  turn(Site::current());
  Failures::instance().collect();
  // What is listed depends on how far the queues are.
  if (observer_ != nullptr) static_cast<void>(work_left(nullptr));
  return Failures::instance().living(id_);
}

Statistics Device::statistics() const {
  if (forked()) return {};
  Statistics sum = queues_.with([](const Queues& queues) {
    Statistics all = queues.ended;
    for (const Queue* const queue : queues.live) queue->add_to(all);
    return all;
  });
  const backend::DriverCounters counters = driver_->counters();
  sum.futex_wakes = counters.futex_wakes;
  sum.tasks_failed = counters.tasks_failed;
  sum.tasks_skipped = counters.tasks_skipped;
  sum.tasks_cancelled = counters.tasks_cancelled;
  sum.events_made = events_.with([](const Events& events) { return events.made; });
  sum.busy_any_ns = counters.busy_any_ns;
  sum.busy_sum_ns = counters.busy_sum_ns;
  sum.host_waits = ledger_.waits();
  return sum;
}

bool has_passed(order::Point point) noexcept { return passed(point); }

Result<thalweg::Device> open(std::unique_ptr<backend::Driver> driver, const OpenOptions& options,
                             std::source_location site) {
  if (forked()) return forked_error(site);
  os::watch_forks();
  if (driver == nullptr || options.backend.empty())
    return Error(ErrorKind::invalid_argument,
                 "A device needs a driver and the name of its backend.", site);
  return thalweg::Device(make_ref<Device>(std::move(driver), options));
}

}  // namespace thalweg::runtime
