// SPDX-License-Identifier: Apache-2.0
//
// contract/support/tiny_backend.hpp - a whole backend, as a user of the library would write one.
//
// It includes installed headers only, has no thread, and runs what can run inside announce(), on
// the thread of whoever submits or raises a timeline. While it is held nothing runs, so that tests
// decide what is in flight. On request it refuses the n-th call of a kind from now on.
//
// The end of a stream is told on a thread of its own: announce() of the last task comes under the
// queue's lock, which the completion takes.

#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <source_location>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "thalweg/backend/outcomes.hpp"
#include "thalweg/base/log.hpp"
#include "thalweg/runtime/open.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {

// 1 refuses the next call, 2 the one after it; 0 none.
class Refusal {
 public:
  // The nth call from now on, and the following ones: `times` in a row.
  void next(int nth = 1, int times = 1) noexcept {
    left_ = nth;
    times_ = times;
  }
  bool now() noexcept {
    if (left_ == 0 || --left_ != 0) return false;
    if (--times_ != 0) left_ = 1;
    return true;
  }

 private:
  int left_ = 0;
  int times_ = 0;
};

// What a test holds of the device it opened, and what it counts.
struct TinyControl {
  bool held = false;
  bool last_in_announce = false;  // Tells the end of a stream where it is announced.
  Refusal submit, wait_for, fence, create, alloc;
  std::atomic<int> streams{0};
  std::atomic<std::int64_t> bytes{0};
  int submits = 0;
  int waits = 0;
  order::Point last_wait;
  int fences = 0;
  std::vector<order::QueueIndex> indices;  // Of the streams made, in that order.

  std::function<void()> run;  // Runs what can run.
};

// How far each queue has come, for the pools: a point names a queue by its index.
inline std::atomic<std::uint64_t>& tiny_passed(order::QueueIndex index) {
  static std::array<std::atomic<std::uint64_t>, order::QueueTable::kSlots> passed{};
  return passed[index];
}

class TinyStorage {
 public:
  explicit TinyStorage(std::shared_ptr<TinyControl> control) : control_(std::move(control)) {}
  std::uint64_t alignment() const { return 64; }
  std::uint64_t granularity() const { return 64; }
  Result<backend::StorageHandle> alloc(std::uint64_t size_bytes) {
    void* const memory =
        control_->alloc.now() ? nullptr : ::operator new(size_bytes, kAlignment, std::nothrow);
    if (memory == nullptr) return Error(ErrorKind::out_of_memory, "Tiny has no memory left.");
    control_->bytes += static_cast<std::int64_t>(size_bytes);
    return backend::StorageHandle{reinterpret_cast<std::uintptr_t>(memory), size_bytes};
  }
  backend::StorageResource get(const backend::StorageHandle& handle) const { return {handle.id}; }
  void dealloc(const backend::StorageHandle& handle) {
    control_->bytes -= static_cast<std::int64_t>(handle.size_bytes);
    ::operator delete(reinterpret_cast<void*>(handle.id), kAlignment);
  }
  void flush() {}

 private:
  static constexpr std::align_val_t kAlignment{backend::kAlignmentBytesMax};
  std::shared_ptr<TinyControl> control_;
};

struct TinyMachine;

struct TinyQueue : TimelineWaiter {
  struct Wait {
    order::QueueIndex queue;
    std::uint64_t serial;
  };
  struct Entry {
    neutral::TaskKind kind;
    std::uint64_t serial;
    std::function<void()> body;
    std::vector<Wait> waits;
    Ref<neutral::Timeline> timeline;  // To wait for.
    std::uint64_t timeline_value = 0;
    Ref<neutral::Completion> completion;
    std::stop_token stop;
    std::source_location site;
    std::string name;
    std::vector<failure::Use> uses;
  };
  TinyMachine* machine;
  order::QueueIndex index;
  backend::Progress* progress;
  backend::Outcomes* outcomes;
  std::uint64_t published;
  std::deque<Entry> pending;
  std::vector<Wait> owed;
  bool at_timeline = false;
};

// What the streams of one device share. run() keeps it: the last stream may end inside.
struct TinyMachine : std::enable_shared_from_this<TinyMachine> {
  static bool passed(order::Point point) {
    return tiny_passed(point.queue()) >= point.serial().value;
  }

  TinyMachine(const std::shared_ptr<TinyControl>& given, std::uint64_t limit_bytes)
      : control(given),
        device_pool(TinyStorage(given), &passed, limit_bytes),
        host_pool(TinyStorage(given), &passed, limit_bytes) {}

  void run() {
    const auto self = shared_from_this();
    again = true;
    if (running || control->held) return;
    running = true;
    while (std::exchange(again, false)) {
      std::vector<std::shared_ptr<TinyQueue>> now;
      {
        const std::lock_guard lock(mutex);
        now = queues;
      }
      for (const auto& queue : now)
        while (step(*queue)) again = true;
    }
    running = false;
  }

  static bool step(TinyQueue& queue) {
    if (queue.pending.empty() || queue.at_timeline) return false;
    TinyQueue::Entry& front = queue.pending.front();
    for (const TinyQueue::Wait& wait : front.waits)
      if (tiny_passed(wait.queue) < wait.serial) return false;
    if (front.timeline) {
      queue.value = front.timeline_value;
      queue.fire = [](TimelineWaiter& waiter) noexcept {
        auto& self = static_cast<TinyQueue&>(waiter);
        self.at_timeline = false;
        self.machine->run();
      };
      queue.at_timeline = true;
      if (front.timeline->add(queue)) return false;
      queue.at_timeline = false;
    }
    TinyQueue::Entry entry = std::move(front);
    queue.pending.pop_front();
    if (entry.kind == neutral::TaskKind::last) {
      end(queue, entry);
      return false;
    }
    execute(queue, entry);
    pass(queue, entry.serial);
    return true;
  }

  static void pass(TinyQueue& queue, std::uint64_t serial) {
    tiny_passed(queue.index) = serial;
    queue.progress->passed(Serial{serial});
  }

  static void end(TinyQueue& queue, const TinyQueue::Entry& entry) {
    const bool at_once = queue.machine->control->last_in_announce;
    const auto tell = [&queue, serial = entry.serial, completion = entry.completion] {
      pass(queue, serial);
      completion->complete(nullptr);
    };
    if (at_once) {
      tell();
    } else {
      std::thread(tell).detach();
    }
  }

  // Whoever stops a task knows: the sink hears of failures only. All that is the program's runs
  // where waits are forbidden, the end of its function and the sink too: the task has not passed.
  // A task that reads bad bytes is not run; one that fails makes bad what it should have written.
  static void execute(TinyQueue& queue, TinyQueue::Entry& entry) {
    const NoWaitScope no_wait;
    backend::Outcomes& outcomes = *queue.outcomes;
    bool carried = false;
    std::optional<Error> error =
        outcomes.starts(entry.uses, entry.name, entry.site, static_cast<bool>(entry.completion));
    if (error) {
      ++queue.machine->counters.tasks_skipped;
      carried = true;
    } else {
      error = run_or_stop(*queue.machine, entry);
      if (error)
        carried = outcomes.failed(*error, entry.uses);
      else
        outcomes.succeeded(entry.uses);
    }
    entry.body = nullptr;
    if (entry.completion) {
      entry.completion->complete(error ? &*error : nullptr);
    } else if (error && !carried && error->kind() != ErrorKind::cancelled) {
      detail::to_error_sink(*error);
    }
  }

  static std::optional<Error> run_or_stop(TinyMachine& machine, TinyQueue::Entry& entry) {
    if (entry.stop.stop_requested()) {
      ++machine.counters.tasks_cancelled;
      return Error(ErrorKind::cancelled, "Tiny was told to stop before the task's turn.",
                   entry.site);
    }
    std::optional<Error> error = outcome(entry);
    if (error) ++machine.counters.tasks_failed;
    return error;
  }

  static std::optional<Error> outcome(const TinyQueue::Entry& entry) {
    try {
      if (entry.body) entry.body();
      return std::nullopt;
    } catch (const Error& refused) {
      return refused.at(entry.site);
    } catch (const std::exception& thrown) {
      return Error(ErrorKind::task_failed, thrown.what(), entry.site);
    } catch (...) {
      return Error(ErrorKind::task_failed, "A task threw no std::exception.", entry.site);
    }
  }

  std::shared_ptr<TinyControl> control;
  backend::MemoryPool<TinyStorage> device_pool;
  backend::MemoryPool<TinyStorage> host_pool;
  std::mutex mutex;
  std::vector<std::shared_ptr<TinyQueue>> queues;  // Guarded by `mutex`.
  bool running = false;
  bool again = false;
  backend::DriverCounters counters;
};

struct TinyFence {
  order::Point point;
  bool passed() const { return TinyMachine::passed(point); }
  Result<void> wait(Deadline) const {
    if (passed()) return {};
    return Error(ErrorKind::timeout, "Tiny does not wait.");
  }
};

class TinyStream {
 public:
  using Fence = TinyFence;
  using DeviceStorage = TinyStorage;
  using HostStorage = TinyStorage;
  using Signal = TinyQueue*;

  TinyStream(std::shared_ptr<TinyQueue> queue, const order::QueueOrder& order)
      : queue_(std::move(queue)),
        device_memory_(queue_->machine->device_pool, order),
        host_memory_(queue_->machine->host_pool, order) {
    ++queue_->machine->control->streams;
  }
  TinyStream(TinyStream&&) = default;
  TinyStream& operator=(TinyStream&&) = default;
  ~TinyStream() {
    if (!queue_) return;
    TinyMachine& machine = *queue_->machine;
    const std::lock_guard lock(machine.mutex);
    std::erase(machine.queues, queue_);
    --machine.control->streams;
  }

  backend::MemoryManagement<TinyStorage>& device_memory() { return device_memory_; }
  backend::MemoryManagement<TinyStorage>& host_memory() { return host_memory_; }
  backend::PendingDropQueue<TinyFence>& drop_queue() { return drop_queue_; }
  Signal signal() const { return queue_.get(); }
  static Result<TinyFence> fence(Signal queue) {
    TinyControl& control = *queue->machine->control;
    if (control.fence.now()) return Error(ErrorKind::internal, "Tiny records no fence.");
    ++control.fences;
    return TinyFence{order::Point(queue->index, Serial{queue->published})};
  }

 private:
  std::shared_ptr<TinyQueue> queue_;
  backend::MemoryManagement<TinyStorage> device_memory_;
  backend::MemoryManagement<TinyStorage> host_memory_;
  backend::PendingDropQueue<TinyFence> drop_queue_;
};

class TinyFactory {
 public:
  using Stream = TinyStream;
  explicit TinyFactory(TinyMachine& machine) : machine_(&machine) {}
  Result<TinyStream> create(const backend::StreamRequest& request) {
    if (machine_->control->create.now())
      return Error(ErrorKind::out_of_memory, "Tiny has no stream.");
    auto queue = std::make_shared<TinyQueue>();
    queue->machine = machine_;
    queue->index = request.index;
    queue->progress = request.progress;
    queue->outcomes = request.outcomes;
    queue->published = request.start.value;
    tiny_passed(request.index) = request.start.value;
    machine_->control->indices.push_back(request.index);
    const std::lock_guard lock(machine_->mutex);
    machine_->queues.push_back(queue);
    return TinyStream(std::move(queue), *request.order);
  }

 private:
  TinyMachine* machine_;
};

class TinyBackend {
 public:
  using Stream = TinyStream;
  using Factory = TinyFactory;

  // Its memory is the host's.
  static constexpr bool kHostAddresses = true;

  explicit TinyBackend(const std::shared_ptr<TinyControl>& control,
                       std::uint64_t limit_bytes = std::uint64_t{1} << 30)
      : machine_(std::make_shared<TinyMachine>(control, limit_bytes)), factory_(*machine_) {
    control->run = [machine = std::weak_ptr(machine_)] {
      if (const auto alive = machine.lock()) alive->run();
    };
  }

  TinyFactory& factory() { return factory_; }
  backend::MemorySource& device_pool() { return machine_->device_pool; }
  backend::MemorySource& host_pool() { return machine_->host_pool; }
  backend::DriverCounters counters() const { return machine_->counters; }

  static Result<void> submit(TinyStream& stream, const neutral::Task& task, Serial serial) {
    TinyQueue& queue = *stream.signal();
    TinyControl& control = *queue.machine->control;
    if (task.kind != neutral::TaskKind::last && control.submit.now())
      return Error(ErrorKind::queue_full, "Tiny takes no task.");
    ++control.submits;
    TinyQueue::Entry entry{
        task.kind, serial.value, body(task), std::exchange(queue.owed, {}), {}, 0,
        {},        {},           task.site,  std::string(task.name),        {}};
    for (const Access& access : task.accesses)
      if (backend::has_outcome(access)) entry.uses.push_back(backend::use_of(access));
    if (task.kind == neutral::TaskKind::wait) {
      entry.timeline = Ref<neutral::Timeline>::share(task.timeline);
      entry.timeline_value = task.value;
    }
    if (task.stop != nullptr) entry.stop = *task.stop;
    if (task.completion != nullptr)
      entry.completion = Ref<neutral::Completion>::share(task.completion);
    queue.pending.push_back(std::move(entry));
    queue.published = serial.value;
    return {};
  }

  static Result<Serial> wait_for(TinyStream& stream, TinyStream& source, Serial serial) {
    TinyControl& control = *stream.signal()->machine->control;
    if (control.wait_for.now()) return Error(ErrorKind::queue_full, "Tiny takes no wait.");
    ++control.waits;
    control.last_wait = order::Point(source.signal()->index, serial);
    stream.signal()->owed.push_back({source.signal()->index, serial.value});
    return serial;
  }

  static Result<TinyFence> fence(TinyStream::Signal signal) { return TinyStream::fence(signal); }
  static void announce(TinyStream& stream) { stream.signal()->machine->run(); }

 private:
  static std::byte* bytes(const Access& access) {
    return reinterpret_cast<std::byte*>(access.address());
  }

  static std::function<void()> copy(std::byte* to, std::uint64_t to_pitch, const std::byte* from,
                                    std::uint64_t from_pitch, const Access& shape) {
    return [=, row_bytes = shape.row_bytes, rows = shape.rows] {
      for (std::uint64_t row = 0; row != rows && row_bytes != 0; ++row)
        std::memcpy(to + row * to_pitch, from + row * from_pitch, row_bytes);
    };
  }

  static std::function<void()> body(const neutral::Task& task) {
    const auto access = [&task](std::size_t i) { return task.accesses[i]; };
    switch (task.kind) {
      case neutral::TaskKind::fill:
        return [to = bytes(access(0)), shape = access(0),
                pattern = std::array{task.pattern[0], task.pattern[1]}, step = task.pattern_bytes] {
          for (std::uint64_t row = 0; row != shape.rows; ++row)
            for (std::uint64_t at = 0; at != shape.row_bytes; at += step)
              std::memcpy(to + row * shape.pitch + at, pattern.data(), step);
        };
      case neutral::TaskKind::copy:
        return copy(bytes(access(0)), access(0).pitch, bytes(access(1)), access(1).pitch,
                    access(0));
      case neutral::TaskKind::upload:
        return copy(bytes(access(0)), access(0).pitch, task.host_source, task.host_pitch,
                    access(0));
      case neutral::TaskKind::read_back:
        return copy(task.host_target, task.host_pitch, bytes(access(0)), access(0).pitch,
                    access(0));
      case neutral::TaskKind::kernel:
        return [code = task.code, extent = task.extent,
                arguments = std::vector(task.arguments.begin(), task.arguments.end())] {
          const std::uint64_t cells = extent.x * extent.y * extent.z;
          if (cells != 0) code->run(arguments.data(), {extent, 0, cells});
        };
      case neutral::TaskKind::signal:
        return [timeline = Ref<neutral::Timeline>::share(task.timeline), value = task.value] {
          if (!timeline->raise(value))
            throw Error(ErrorKind::invalid_argument, "A timeline cannot go down.");
        };
      case neutral::TaskKind::stamp:
        return [time = Ref<neutral::Stamp>::share(task.time)] {
          time->set(std::chrono::steady_clock::now().time_since_epoch());
        };
      case neutral::TaskKind::indirect:
        return [code = task.code, from = bytes(task.accesses.back()),
                arguments = std::vector(task.arguments.begin(), task.arguments.end())] {
          Extent extent;
          std::memcpy(&extent, from, sizeof(extent));
          if (!launchable(extent)) throw std::length_error("A grid is too large for tiny.");
          const std::uint64_t cells = extent.x * extent.y * extent.z;
          if (cells != 0) code->run(arguments.data(), {extent, 0, cells});
        };
      case neutral::TaskKind::host:
      case neutral::TaskKind::native:
        return [function = std::make_shared<UniqueFunction>(std::move(*task.function))] {
          (*function)();
        };
      default:
        return {};
    }
  }

  std::shared_ptr<TinyMachine> machine_;
  TinyFactory factory_;
};

static_assert(backend::EventStreamBackend<TinyBackend>);

}  // namespace thalweg::test
