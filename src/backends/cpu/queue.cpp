// SPDX-License-Identifier: Apache-2.0

#include "backends/cpu/queue.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "backends/cpu/kernel.hpp"
#include "backends/cpu/uses.hpp"
#include "backends/cpu/workers.hpp"
#include "base/plant.hpp"
#include "thalweg/base/check.hpp"

namespace thalweg::cpu {
namespace {

// Segments a queue keeps when its tasks have run: 16 MiB, or 52,428 kernels of three views in
// flight. Above it segments come from the system and go back, which costs page faults.
constexpr std::uint32_t kSegmentsKept = 2048;

// Queues nobody uses. They are never freed: see the invariants.
sync::Guarded<Queue*>& free_queues() {
  static auto& list = *new sync::Guarded<Queue*>(sync::Rank::workers, nullptr);
  return list;
}

// A multiple of 8.
std::size_t body_bytes(const neutral::Task& task) noexcept {
  switch (task.kind) {
    case neutral::TaskKind::empty:
      return task.accesses.empty() ? 0 : sizeof(TouchBody);
    case neutral::TaskKind::last:
      return 0;
    case neutral::TaskKind::fill:
      return sizeof(FillBody);
    case neutral::TaskKind::copy:
    case neutral::TaskKind::upload:
    case neutral::TaskKind::read_back:
      return sizeof(CopyBody);
    case neutral::TaskKind::kernel:
      return sizeof(KernelBody) + task.arguments.size();
    case neutral::TaskKind::indirect:
      return sizeof(IndirectBody) + task.arguments.size();
    case neutral::TaskKind::host:
    case neutral::TaskKind::native:
      return sizeof(HostBody);
    case neutral::TaskKind::wait:
    case neutral::TaskKind::signal:
      return sizeof(TimelineBody);
    case neutral::TaskKind::stamp:
      return sizeof(StampBody);
  }
  return 0;
}

std::byte* bytes_of(const Access& access) noexcept {
  return reinterpret_cast<std::byte*>(access.address());
}

void write_copy(Slot& slot, const neutral::Task& task, std::byte* to, std::uint64_t to_pitch,
                const std::byte* from, std::uint64_t from_pitch, const Access& shape) noexcept {
  slot.kind = SlotKind::copy;
  new (body_address(slot))
      CopyBody{task.site, to, from, shape.row_bytes, shape.rows, to_pitch, from_pitch, task.kind};
}

// A few words: a call of memcpy costs more. The size is a multiple of 8.
void write_arguments(std::byte* to, std::span<const std::byte> arguments) noexcept {
  for (std::size_t at = 0; at != arguments.size(); at += 8)
    std::memcpy(to + at, arguments.data() + at, 8);
}

void write_body(Slot& slot, const neutral::Task& task,
                [[maybe_unused]] const Workers& workers) noexcept {
  switch (task.kind) {
    case neutral::TaskKind::empty:
      slot.kind = task.accesses.empty() ? SlotKind::empty : SlotKind::touch;
      if (!task.accesses.empty()) new (body_address(slot)) TouchBody{task.site};
      break;
    case neutral::TaskKind::last:
      slot.kind = SlotKind::last;
      break;
    case neutral::TaskKind::fill: {
      const Access& to = task.accesses[0];
      slot.kind = SlotKind::fill;
      new (body_address(slot))
          FillBody{task.site,         bytes_of(to), to.row_bytes,
                   to.rows,           to.pitch,     {task.pattern[0], task.pattern[1]},
                   task.pattern_bytes};
      break;
    }
    case neutral::TaskKind::copy: {
      const Access& to = task.accesses[0];
      const Access& from = task.accesses[1];
      write_copy(slot, task, bytes_of(to), to.pitch, bytes_of(from), from.pitch, to);
      break;
    }
    case neutral::TaskKind::upload: {
      const Access& to = task.accesses[0];
      write_copy(slot, task, bytes_of(to), to.pitch, task.host_source, task.host_pitch, to);
      break;
    }
    case neutral::TaskKind::read_back: {
      const Access& from = task.accesses[0];
      write_copy(slot, task, task.host_target, task.host_pitch, bytes_of(from), from.pitch, from);
      break;
    }
    case neutral::TaskKind::kernel: {
      slot.kind = SlotKind::kernel;
      auto* const body = new (body_address(slot))
          KernelBody{task.code, task.site, task.extent.x, static_cast<std::uint32_t>(task.extent.y),
                     static_cast<std::uint32_t>(task.extent.z)};
      write_arguments(reinterpret_cast<std::byte*>(body + 1), task.arguments);
      break;
    }
    case neutral::TaskKind::indirect: {
      slot.kind = SlotKind::indirect;
      auto* const body = new (body_address(slot))
          IndirectBody{task.code, task.site, bytes_of(task.accesses.back())};
      write_arguments(reinterpret_cast<std::byte*>(body + 1), task.arguments);
      break;
    }
    case neutral::TaskKind::host:
    case neutral::TaskKind::native: {
      slot.kind = SlotKind::host;
      const bool native = task.kind == neutral::TaskKind::native;
      auto* const body =
          new (body_address(slot)) HostBody{std::move(*task.function), task.site, native, 0, {}};
      const std::size_t length = std::min(task.name.size(), sizeof(body->name));
      body->name_bytes = static_cast<std::uint8_t>(length);
      std::memcpy(body->name, task.name.data(), length);
      break;
    }
    case neutral::TaskKind::wait:
    case neutral::TaskKind::signal: {
      slot.kind = task.kind == neutral::TaskKind::wait ? SlotKind::gate : SlotKind::signal;
      if (slot.kind == SlotKind::signal && plant::planted(plant::Bug::signal_at_submit))
        task.timeline->raise(task.value);
      task.timeline->retain();
      new (body_address(slot)) TimelineBody{task.timeline, task.value, task.site};
      break;
    }
    case neutral::TaskKind::stamp: {
      slot.kind = SlotKind::stamp;
      task.time->retain();
      if (plant::planted(plant::Bug::time_at_submit)) task.time->set(workers.now());
      new (body_address(slot)) StampBody{task.time};
      break;
    }
  }
}

void write_guard(Slot& slot, const std::stop_token& stop) {
  slot.kind = SlotKind::guard;
  new (body_address(slot)) GuardBody{stop};
}

}  // namespace

Queue* Queue::acquire() noexcept {
  Queue* queue = free_queues().with([](Queue*& first) {
    Queue* const taken = first;
    if (taken != nullptr) first = taken->next_free_;
    return taken;
  });
  if (queue == nullptr) queue = new (std::nothrow) Queue();
  if (queue == nullptr) return nullptr;
  if (queue->head_segment_ == nullptr) {
    Segment* const segment = queue->new_segment();
    if (segment == nullptr) {
      release(queue);
      return nullptr;
    }
    queue->head_segment_ = queue->tail_segment_ = segment;
    queue->head_ = queue->tail_ = 0;
  }
  return queue;
}

void Queue::release(Queue* queue) noexcept {
  queue->free_segments();
  queue->owed_.clear();
  free_queues().with([queue](Queue*& first) {
    queue->next_free_ = first;
    first = queue;
  });
}

void Queue::open(Workers& workers, backend::Outcomes& outcomes, order::QueueIndex index,
                 std::uint32_t place, int level, Serial start) noexcept {
  workers_ = &workers;
  outcomes_ = &outcomes;
  place_ = place;
  level_ = level;
  native_id_ = static_cast<std::uintptr_t>(thalweg::detail::next_id());
  next_serial_ = start.value + 1;
  for_worker_.store(false, std::memory_order_relaxed);
  published_.store(start.value, std::memory_order_relaxed);
  index_.store(index, std::memory_order_release);
  state_.store(State::idle, std::memory_order_release);
}

// Producer.

// Of two points of one queue the later one says it all.
void Queue::owe(order::Point point) {
  for (order::Point& owed : owed_) {
    if (owed.queue() != point.queue()) continue;
    owed = std::max(owed, point);
    return;
  }
  owed_.push_back(point);
}

Segment* Queue::new_segment() noexcept {
  if (spare_ == nullptr) spare_ = returned_.exchange(nullptr, std::memory_order_acquire);
  if (Segment* const segment = spare_; segment != nullptr) {
    spare_ = segment->next;
    segment->next = nullptr;
    return segment;
  }
  auto* const segment = new (std::nothrow) Segment;
  if (segment != nullptr) segments_.fetch_add(1, std::memory_order_relaxed);
  return segment;
}

Slot* Queue::next_slot(std::size_t extra_max) noexcept {
  if (tail_ + 1 + extra_max > kSlotsPerSegment) {
    Segment* const segment = new_segment();
    if (segment == nullptr) return nullptr;
    if (tail_ < kSlotsPerSegment) (new (&tail_segment_->slot(tail_)) Slot)->kind = SlotKind::skip;
    tail_segment_->next = segment;
    tail_segment_ = segment;
    tail_ = 0;
  }
  Slot* const slot = new (&tail_segment_->slot(tail_)) Slot;
  slot->guarded = false;
  slot->uses = 0;
  slot->completion = nullptr;
  return slot;
}

void Queue::take_slot(Slot& slot, std::size_t extra) noexcept {
  slot.extra = static_cast<std::uint8_t>(extra);
  tail_ += 1 + extra;
  // The consumer had the lines of the next task last. They come while the submitter does something
  // else: or else the next locked instruction waits for them.
  if (tail_ + 1 < kSlotsPerSegment) [[likely]] {
    __builtin_prefetch(tail_segment_->memory + tail_ * sizeof(Slot), 1);
    __builtin_prefetch(tail_segment_->memory + (tail_ + 1) * sizeof(Slot), 1);
  }
}

// All owed waits but the last two, which ride on the task itself.
bool Queue::append_waits() noexcept {
  while (owed_.size() > 2) {
    Slot* const slot = next_slot(0);
    if (slot == nullptr) return false;
    take_slot(*slot, 0);
    slot->kind = SlotKind::waits;
    for (order::Point& wait : slot->waits) {
      if (owed_.size() <= 2) break;
      wait = owed_.back();
      owed_.pop_back();
    }
  }
  return true;
}

Result<void> Queue::append(const neutral::Task& task, Serial serial) {
  if (!owed_.empty() && !append_waits()) [[unlikely]]
    return Error(ErrorKind::out_of_memory, "The system has no memory for a stream's waits.");
  // A segment too many is no harm where the second of the two is refused: a guard without a task
  // guards nothing.
  Slot* const guard = task.stop != nullptr ? next_slot(0) : nullptr;
  if (guard != nullptr) {
    take_slot(*guard, 0);
    const bool planted = plant::planted(plant::Bug::stop_at_submit);
    write_guard(*guard, planted && !task.stop->stop_requested() ? std::stop_token() : *task.stop);
  }
  const std::size_t uses_at = body_bytes(task);
  const std::size_t bytes_max = uses_at + uses_bytes_max(task.accesses.size());
  Slot* const slot =
      task.stop != nullptr && guard == nullptr ? nullptr : next_slot(extra_slots(bytes_max));
  if (slot == nullptr) [[unlikely]]
    return Error(ErrorKind::out_of_memory, "The system has no memory for a stream's tasks.");
  slot->uses_at = static_cast<std::uint16_t>(uses_at);
  // First: it may throw, and the slot is not taken yet.
  const std::byte* const end = write_uses(*slot, task.accesses);
  write_body(*slot, task, *workers_);
  take_slot(*slot, extra_slots(static_cast<std::size_t>(end - body_address(*slot))));
  slot->guarded = guard != nullptr;
  if (task.completion != nullptr) {
    task.completion->retain();
    slot->completion = task.completion;
  }
  if (!owed_.empty()) {
    std::copy(owed_.begin(), owed_.end(), slot->waits);
    owed_.clear();
  }
  published_.exchange(serial.value, std::memory_order_seq_cst);
  return {};
}

void Queue::announce() noexcept {
  if (state_.load(std::memory_order_seq_cst) != State::idle) return;
  State idle = State::idle;
  if (state_.compare_exchange_strong(idle, State::ready, std::memory_order_seq_cst))
    workers_->ready(place_, level_, Wake::anybody);
}

// Consumer.

Slot* Queue::front() noexcept {
  if (head_ == kSlotsPerSegment || head_segment_->slot(head_).kind == SlotKind::skip) {
    Segment* const done = head_segment_;
    head_segment_ = done->next;
    head_ = 0;
    recycle(done);
  }
  return &head_segment_->slot(head_);
}

void Queue::recycle(Segment* segment) noexcept {
  if (segments_.load(std::memory_order_relaxed) > kSegmentsKept) {
    segments_.fetch_sub(1, std::memory_order_relaxed);
    delete segment;
    return;
  }
  segment->next = returned_.load(std::memory_order_relaxed);
  while (!returned_.compare_exchange_weak(segment->next, segment, std::memory_order_release)) {
  }
}

void Queue::free_segments() noexcept {
  for (Segment* list :
       {std::exchange(spare_, nullptr), returned_.exchange(nullptr, std::memory_order_acquire)}) {
    while (list != nullptr) {
      segments_.fetch_sub(1, std::memory_order_relaxed);
      delete std::exchange(list, list->next);
    }
  }
}

void Queue::give_back(Wake wake) noexcept {
  // A ready bit is set after the state is stored: then no bit is lost. By then the queue may have
  // run to its end and serve another stream, so what names the bit is read before.
  Workers& workers = *workers_;
  const std::uint32_t place = place_;
  const int level = level_;
  state_.store(State::ready, std::memory_order_release);
  workers.ready(place, level, wake);
}

// True when parked: then the queue may already run elsewhere.
bool Queue::park(order::Point point) noexcept {
  sync::Timeline& source = sync::queue_timeline(point.queue());
  if (source.reached(point.serial().value)) return false;
  value = point.serial().value;
  fire = &unpark;
  parked_on_.store(point, std::memory_order_release);
  // Before it is in the list: who fires it finds it parked.
  state_.store(State::parked, std::memory_order_release);
  if (source.add(*this)) return true;
  state_.store(State::running, std::memory_order_relaxed);
  return false;
}

bool Queue::park_at_gate(const TimelineBody& gate) noexcept {
  if (gate.timeline->value() >= gate.value) return false;
  value = gate.value;
  fire = &unpark;
  parked_on_.store(order::Point(), std::memory_order_release);
  // Before it is in the list: who fires it finds it parked.
  state_.store(State::parked, std::memory_order_release);
  if (gate.timeline->add(*this)) return true;
  state_.store(State::running, std::memory_order_relaxed);
  return false;
}

void Queue::unpark(TimelineWaiter& waiter) noexcept {
  static_cast<Queue&>(waiter).give_back(Wake::anybody);
}

Queue::End Queue::run(const Permit& permit) noexcept {
  const order::QueueIndex index = this->index();
  std::uint64_t published = published_.load(std::memory_order_acquire);
  std::uint32_t tasks = 0;
  for (;;) {
    if (next_serial_ > published) {
      published = published_.load(std::memory_order_acquire);
      if (next_serial_ > published) {
        state_.exchange(State::idle, std::memory_order_seq_cst);
        if (published_.load(std::memory_order_seq_cst) == published) return End::drained;
        State idle = State::idle;
        if (!state_.compare_exchange_strong(idle, State::running, std::memory_order_seq_cst))
          return End::drained;
        // Between the two the queue may have ended and begun to serve another stream.
        if (this->index() != index) {
          give_back(Wake::anybody);
          return End::drained;
        }
        published = published_.load(std::memory_order_acquire);
        continue;
      }
    }
    if (next_serial_ > permit.serial_max || tasks == permit.tasks_max) return End::stopped;
    Slot& slot = *front();
    for (order::Point& wait : slot.waits) {
      if (wait.none()) continue;
      if (park(wait)) return End::parked;
      wait = order::Point();
    }
    switch (slot.kind) {
      case SlotKind::waits:
        head_ += 1;
        continue;
      case SlotKind::guard: {
        auto* const guard = body_of<GuardBody>(slot);
        stop_ = std::move(guard->stop);
        guard->~GuardBody();
        head_ += 1;
        continue;
      }
      case SlotKind::host:
      case SlotKind::last:
        if (!permit.host_functions) {
          for_worker_.store(true, std::memory_order_relaxed);
          return End::stopped;
        }
        for_worker_.store(false, std::memory_order_relaxed);
        break;
      case SlotKind::gate:
        if (park_at_gate(*body_of<TimelineBody>(slot))) return End::parked;
        break;
      default:
        break;
    }
    const std::uint64_t serial = next_serial_++;
    if (finish(slot, serial) == End::closed) return End::closed;
    ++tasks;
  }
}

// Runs the task and lets its serial pass. `stopped` means: go on.
Queue::End Queue::finish(Slot& slot, std::uint64_t serial) noexcept {
  if (slot.kind == SlotKind::last) {
    neutral::Completion* const completion = slot.completion;
    head_ += 1;
    state_.store(State::closed, std::memory_order_release);
    timeline().advance(serial);
    // From here on the queue may be somebody else's.
    if (completion != nullptr) {
      completion->complete(nullptr);
      completion->release();
    }
    return End::closed;
  }
  neutral::Completion* const completion = slot.completion;
  const bool stopped = slot.guarded && std::exchange(stop_, {}).stop_requested();
  execute(slot, stopped, *workers_, *outcomes_);
  head_ += 1 + std::size_t{slot.extra};
  timeline().advance(serial);
  // Late: it may free memory, which nobody should wait for.
  if (completion != nullptr) completion->release();
  return End::stopped;
}

}  // namespace thalweg::cpu
