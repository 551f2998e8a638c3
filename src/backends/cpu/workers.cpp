// SPDX-License-Identifier: Apache-2.0

#include "backends/cpu/workers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "os/futex.hpp"
#include "os/process.hpp"
#include "os/thread.hpp"
#include "thalweg/base/no_wait.hpp"

namespace thalweg::cpu {
namespace {

using std::chrono::microseconds;
using std::chrono::steady_clock;

// Measured (docs/design/0002-cpu-backend.md): a nap of 20 us with several processors, of 50 us with
// one, where each wake-up takes the submitter's processor; 2 ms of naps before the futex.
constexpr microseconds kSpin{50};
constexpr microseconds kNapWithSeveral{20};
constexpr microseconds kNapWithOne{50};
constexpr microseconds kNapsInAll{2000};

// Tasks before a worker looks whether something else should run.
constexpr std::uint32_t kQuantum = 32;

// Cells from which on a kernel is offered to threads that sleep: about 1 ns a cell against a
// wake-up.
constexpr std::uint64_t kCellsForSleeping = 65536;
constexpr std::uint64_t kChunkMin = 1024;

// Never freed: see Ownership in the header.
sync::Guarded<Workers*>& free_workers() {
  static auto& list = *new sync::Guarded<Workers*>(sync::Rank::workers, nullptr);
  return list;
}

// Random enough for delays: xorshift, one state a thread.
std::uint64_t next_random() noexcept {
  static std::atomic<std::uint64_t> threads{0x9e3779b97f4a7c15};
  thread_local std::uint64_t state = threads.fetch_add(0x9e3779b97f4a7c15) | 1;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

}  // namespace

Result<Workers*> Workers::start(const WorkerOptions& options, const Clock& clock) {
  Workers* workers = free_workers().with([](Workers*& first) {
    Workers* const taken = first;
    if (taken != nullptr) first = taken->next_free_;
    return taken;
  });
  if (workers == nullptr) workers = new Workers();
  workers->options_ = options;
  workers->clock_ = &clock;
  workers->processors_ = os::processors();
  workers->plain_ = !options.measure_busy && options.random_delay_us == 0;
  workers->stopping_.store(false);
  workers->futex_wakes_.store(0);
  workers->failures_.store(0);
  workers->cancelled_.store(0);
  workers->skipped_.store(0);
  workers->busy_.with([](BusyTime& busy) { busy = {}; });
  workers->free_places_.with([](std::vector<std::uint32_t>& places) {
    places.clear();
    for (std::uint32_t place = kQueuesMax; place != 0; --place) places.push_back(place - 1);
  });
  workers->threads_.store(options.workers);
  unsigned started = 0;
  while (started != options.workers &&
         os::start_thread("thalweg-cpu", [workers] { workers->work(); }))
    ++started;
  if (started == options.workers) return workers;
  workers->stop();
  if (workers->threads_.fetch_sub(options.workers - started) == options.workers - started)
    workers->retire();
  return Error(
      ErrorKind::unavailable,
      fmt::format("The system gives the cpu backend {} of {} threads.", started, options.workers));
}

void Workers::retire() noexcept {
  free_workers().with([this](Workers*& first) {
    next_free_ = first;
    first = this;
  });
}

void Workers::stop() noexcept {
  // Read first: once the threads have ended, somebody else may be starting here.
  const int count = static_cast<int>(options_.workers);
  stopping_.store(true, std::memory_order_seq_cst);
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  os::futex_wake(&epoch_, count);
}

std::uint32_t Workers::add(Queue& queue) {
  const std::uint32_t place = free_places_.with([](std::vector<std::uint32_t>& places) {
    if (places.empty()) return kQueuesMax;
    const std::uint32_t taken = places.back();
    places.pop_back();
    return taken;
  });
  if (place != kQueuesMax) queues_[place].store(&queue, std::memory_order_release);
  return place;
}

void Workers::remove(std::uint32_t place) noexcept {
  queues_[place].store(nullptr, std::memory_order_release);
  free_places_.with([place](std::vector<std::uint32_t>& places) { places.push_back(place); });
}

// Ready queues.

void Workers::ready(std::uint32_t place, int number, Wake wake) noexcept {
  Level& level = levels_[static_cast<std::size_t>(number)];
  const std::size_t word = place / 64;
  level.words[word].fetch_or(std::uint64_t{1} << place % 64, std::memory_order_seq_cst);
  // Seen set, it is cleared later than the bit was set, and whoever clears it looks at the word
  // again.
  const std::uint64_t mark = std::uint64_t{1} << word;
  if ((level.summary.load(std::memory_order_seq_cst) & mark) == 0)
    level.summary.fetch_or(mark, std::memory_order_seq_cst);
  if (idle_.load(std::memory_order_seq_cst) == 0) wake_one(wake);
}

void Workers::wake_one(Wake wake) noexcept {
  if (asleep_.load(std::memory_order_seq_cst) != 0) {
    epoch_.fetch_add(1, std::memory_order_seq_cst);
    os::futex_wake(&epoch_, 1);
    futex_wakes_.fetch_add(1, std::memory_order_relaxed);
  } else if (wake == Wake::anybody && sleeping_hosts_.load(std::memory_order_seq_cst) != 0) {
    // All workers are busy: a host that waits may be able to run what is ready.
    help_epoch_.fetch_add(1, std::memory_order_seq_cst);
    nudge_next();
  }
}

// Wakes a host that was not woken for the latest of the calls for help. One who can do nothing
// passes it on: each is woken at most once a call.
void Workers::nudge_next() noexcept {
  if (sleeping_hosts_.load(std::memory_order_seq_cst) == 0) return;
  const bool woke = sleepers_.with([this](sync::Sleeper*& first) {
    const std::uint64_t epoch = help_epoch_.load(std::memory_order_seq_cst);
    if (epoch == 0) return false;
    for (sync::Sleeper* sleeper = first; sleeper != nullptr; sleeper = sleeper->next_sleeper) {
      if (std::exchange(sleeper->help_epoch, epoch) != epoch) return sleeper->nudge();
    }
    return false;
  });
  if (woke) futex_wakes_.fetch_add(1, std::memory_order_relaxed);
}

bool Workers::any_ready() const noexcept {
  return std::any_of(levels_.begin(), levels_.end(), [](const Level& level) {
    return level.summary.load(std::memory_order_seq_cst) != 0;
  });
}

Queue* Workers::pick() noexcept {
  for (Level& level : levels_) {
    while (level.summary.load(std::memory_order_seq_cst) != 0) {
      if (Queue* const queue = pick(level)) return queue;
    }
  }
  return nullptr;
}

// One look at the level: null when the bit it took was stale or there was none. It begins behind
// the latest place that was picked, so queues of a level take turns.
Queue* Workers::pick(Level& level) noexcept {
  const std::uint32_t cursor = level.cursor.load(std::memory_order_relaxed);
  std::size_t w = cursor / 64;
  std::uint64_t bits = level.words[w].load(std::memory_order_seq_cst) & ~std::uint64_t{0}
                                                                            << cursor % 64;
  if (bits == 0) {
    const std::uint64_t summary = level.summary.load(std::memory_order_seq_cst);
    if (summary == 0) return nullptr;
    const std::uint64_t behind = std::rotr(summary, static_cast<int>((w + 1) % 64));
    w = (static_cast<std::size_t>(std::countr_zero(behind)) + w + 1) % 64;
    bits = level.words[w].load(std::memory_order_seq_cst);
  }
  std::atomic<std::uint64_t>& word = level.words[w];
  if (bits == 0) {
    level.summary.fetch_and(~(std::uint64_t{1} << w), std::memory_order_seq_cst);
    if (word.load(std::memory_order_seq_cst) != 0)
      level.summary.fetch_or(std::uint64_t{1} << w, std::memory_order_seq_cst);
    return nullptr;
  }
  const auto b = static_cast<std::uint32_t>(std::countr_zero(bits));
  const std::uint32_t place = static_cast<std::uint32_t>(w) * 64 + b;
  level.cursor.store((place + 1) % kQueuesMax, std::memory_order_relaxed);
  // The bit goes before the state is tried: a queue made ready after that sets it again.
  word.fetch_and(~(std::uint64_t{1} << b), std::memory_order_seq_cst);
  Queue* const queue = queues_[place].load(std::memory_order_acquire);
  return queue != nullptr && queue->take() ? queue : nullptr;
}

// Workers.

void Workers::work() noexcept {
  // Whatever runs here, destructors and the error sink included, must not wait for a queue: it may
  // be the one that runs.
  const NoWaitScope no_wait;
  os::sharpen_timers();
  for (;;) {
    if (Queue* const queue = pick()) {
      if (idle_.load(std::memory_order_seq_cst) == 0 && any_ready()) wake_one(Wake::anybody);
      run_queue(*queue);
    } else if (!help_with_cells()) {
      if (!idle()) break;
    }
  }
  if (threads_.fetch_sub(1, std::memory_order_acq_rel) == 1) retire();
}

void Workers::run_queue(Queue& queue) noexcept {
  Queue::Permit permit;
  permit.host_functions = true;
  permit.tasks_max = kQuantum;
  while (queue.run(permit) == Queue::End::stopped) {
    if (!any_ready()) continue;
    queue.give_back(Wake::anybody);
    return;
  }
}

bool Workers::something_to_do() const noexcept {
  return any_ready() || open_offers_.load(std::memory_order_seq_cst) != 0 ||
         stopping_.load(std::memory_order_seq_cst);
}

// Waits for something to do. False when the thread shall end.
bool Workers::idle() noexcept {
  idle_.fetch_add(1, std::memory_order_seq_cst);
  const auto began = steady_clock::now();
  // With one processor a second thread that naps only takes the submitter's time.
  if (processors_ == 1 && idle_.load(std::memory_order_seq_cst) > 1) return sleep();
  if (processors_ > 1 && spinning_.exchange(1, std::memory_order_relaxed) == 0) {
    for (unsigned turn = 0; !something_to_do(); ++turn) {
      os::pause();
      if (turn % 64 != 63) continue;
      const auto spent = steady_clock::now() - began;
      if (spent > kSpin) break;
      if (spent > microseconds(2)) os::yield();
    }
    spinning_.store(0, std::memory_order_relaxed);
  }
  const microseconds nap = processors_ > 1 ? kNapWithSeveral : kNapWithOne;
  while (!something_to_do()) {
    if (steady_clock::now() - began > kSpin + kNapsInAll) return sleep();
    os::sleep_for(nap);
  }
  idle_.fetch_sub(1, std::memory_order_seq_cst);
  return any_ready() || !stopping_.load(std::memory_order_seq_cst);
}

bool Workers::sleep() noexcept {
  const std::uint32_t epoch = epoch_.load(std::memory_order_seq_cst);
  asleep_.fetch_add(1, std::memory_order_seq_cst);
  idle_.fetch_sub(1, std::memory_order_seq_cst);
  if (!something_to_do()) os::futex_wait(epoch_, epoch);
  asleep_.fetch_sub(1, std::memory_order_seq_cst);
  return any_ready() || !stopping_.load(std::memory_order_seq_cst);
}

// Hosts.

// Runs what `target` needs to pass `serial`, as far as this thread may. True when it has passed.
//
// The chain: the target, or what it is parked on, and so on. Each link was submitted before the one
// that waits for it, so the chain ends.
bool Workers::drive(order::Point target) noexcept {
  constexpr int kSpins = 400;
  int spins = 0;
  const sync::Timeline& timeline = sync::queue_timeline(target.queue());
  const std::uint64_t serial = target.serial().value;
  for (;;) {
    auto* queue = static_cast<Queue*>(timeline.owner());
    order::QueueIndex link = target.queue();
    std::uint64_t upto = serial;
    // Queues are never freed, and one that serves another index by now is told by that.
    if (queue == nullptr) return timeline.reached(serial);
    for (bool follow = true; follow;) {
      follow = false;
      if (sync::queue_timeline(link).reached(upto)) break;
      switch (queue->state()) {
        case Queue::State::ready: {
          if (queue->for_worker()) return false;
          if (!queue->take()) break;
          if (queue->index() != link) {
            queue->give_back(Wake::anybody);
            break;
          }
          // Another device's tasks run on that device's threads.
          if (&queue->workers() != this) {
            queue->give_back(Wake::anybody);
            return false;
          }
          const Queue::Permit permit{upto, std::numeric_limits<std::uint32_t>::max(), false};
          const NoWaitScope no_wait;
          if (queue->run(permit) != Queue::End::stopped) break;
          // A queue that is stopped at its limit is announced again: others may wait for the rest.
          // One that is stopped at a host function is for workers.
          const bool done = sync::queue_timeline(link).reached(upto);
          queue->give_back(done ? Wake::anybody : Wake::workers);
          if (!done) return false;
          break;
        }
        case Queue::State::parked: {
          const order::Point parked_on = queue->parked_on();
          // Not reached after this was read: then the queue is parked on the way to `upto`.
          if (queue->index() != link || sync::queue_timeline(link).reached(upto)) break;
          if (parked_on.none()) return false;
          auto* const next = static_cast<Queue*>(sync::queue_timeline(parked_on.queue()).owner());
          if (next == nullptr) break;
          queue = next;
          link = parked_on.queue();
          upto = parked_on.serial().value;
          follow = true;
          break;
        }
        default:  // Somebody runs it: he may be done soon.
          if (++spins > kSpins) return timeline.reached(serial);
          if (processors_ > 1) {
            os::pause();
          } else {
            os::yield();
            spins += kSpins / 8;
          }
          break;
      }
    }
    if (timeline.reached(serial)) return true;
    if (++spins > kSpins) return false;
  }
}

Result<void> Workers::wait(order::Point point, Deadline deadline) {
  sync::Timeline& timeline = sync::queue_timeline(point.queue());
  // A task that is helped with may be long: who has a deadline does not help.
  if (!options_.helping || deadline.within()) {
    if (sync::wait_until(timeline, point.serial().value, deadline, *clock_)) return {};
    return Error(ErrorKind::timeout, "The deadline came before the work was done.");
  }
  if (drive(point)) return {};
  sync::Sleeper sleeper(timeline, point.serial().value);
  add_sleeper(sleeper);
  // From here on a nudge is remembered, so nothing that becomes ready is missed.
  for (bool nudged = false; !drive(point);) {
    if (nudged) nudge_next();
    if (sleeper.sleep(std::nullopt) == sync::Sleeper::Woken::reached) break;
    nudged = true;
  }
  remove_sleeper(sleeper);
  // A call for help that came with the end, or that this thread did not need, is not lost.
  nudge_next();
  return {};
}

void Workers::add_sleeper(sync::Sleeper& sleeper) noexcept {
  sleepers_.with([&](sync::Sleeper*& first) {
    sleeper.next_sleeper = first;
    sleeper.previous_sleeper = nullptr;
    if (first != nullptr) first->previous_sleeper = &sleeper;
    first = &sleeper;
  });
  sleeping_hosts_.fetch_add(1, std::memory_order_seq_cst);
}

void Workers::remove_sleeper(sync::Sleeper& sleeper) noexcept {
  sleeping_hosts_.fetch_sub(1, std::memory_order_seq_cst);
  sleepers_.with([&](sync::Sleeper*& first) {
    if (sleeper.next_sleeper != nullptr)
      sleeper.next_sleeper->previous_sleeper = sleeper.previous_sleeper;
    (sleeper.previous_sleeper != nullptr ? sleeper.previous_sleeper->next_sleeper : first) =
        sleeper.next_sleeper;
  });
}

// Kernels over many cells.

void Workers::run_many_cells(const KernelCode& code, const std::byte* arguments,
                             const Extent& extent, std::uint64_t total) {
  const bool others = idle_.load(std::memory_order_relaxed) != 0 ||
                      (total >= kCellsForSleeping && asleep_.load(std::memory_order_relaxed) != 0);
  if (!others) return code.run(arguments, {extent, 0, total});
  std::uint64_t chunk = std::max(total / (std::uint64_t{options_.workers + 1} * 8), kChunkMin);
  if (chunk > extent.x) chunk = (chunk + extent.x - 1) / extent.x * extent.x;  // Whole rows.
  Cells cells{code, arguments, extent, total, chunk};
  auto* offer = offers_.begin();
  for (; offer != offers_.end(); ++offer) {
    const bool placed = offer->with([&cells](Offer& place) {
      if (place.cells != nullptr || place.helpers != 0) return false;
      place.cells = &cells;
      return true;
    });
    if (placed) break;
  }
  if (offer == offers_.end()) {
    code.run(arguments, {extent, 0, total});
    return;
  }
  open_offers_.fetch_add(1, std::memory_order_seq_cst);
  if (idle_.load(std::memory_order_seq_cst) == 0 && total >= kCellsForSleeping &&
      asleep_.load(std::memory_order_seq_cst) != 0)
    wake_one(Wake::workers);
  take_cells(cells);
  // Whoever helps is in a part of at most `chunk` cells.
  for (unsigned turn = 0;; ++turn) {
    const bool alone = offer->with([](Offer& place) {
      place.cells = nullptr;
      return place.helpers == 0;
    });
    if (alone) break;
    turn < 1000 ? os::pause() : os::yield();
  }
  if (const std::exception_ptr thrown = cells.thrown.with([](auto& first) { return first; }))
    std::rethrow_exception(thrown);
}

bool Workers::help_with_cells() noexcept {
  if (open_offers_.load(std::memory_order_seq_cst) == 0) return false;
  for (auto& offer : offers_) {
    Cells* const cells = offer.with([](Offer& place) -> Cells* {
      if (place.cells == nullptr ||
          place.cells->next.load(std::memory_order_relaxed) >= place.cells->total)
        return nullptr;
      ++place.helpers;
      return place.cells;
    });
    if (cells == nullptr) continue;
    take_cells(*cells);
    offer.with([](Offer& place) { --place.helpers; });
    return true;
  }
  return false;
}

void Workers::take_cells(Cells& cells) noexcept {
  for (;;) {
    const std::uint64_t first = cells.next.fetch_add(cells.chunk, std::memory_order_relaxed);
    if (first >= cells.total) break;
    try {
      cells.code.run(cells.arguments,
                     {cells.extent, first, std::min(first + cells.chunk, cells.total)});
    } catch (...) {
      cells.thrown.with([](std::exception_ptr& kept) {
        if (!kept) kept = std::current_exception();
      });
      cells.next.store(cells.total, std::memory_order_relaxed);
    }
    os::end_forked_child();
  }
  // Whoever finds first that nothing is left ends the offer: idle threads do not look at it again.
  if (!cells.taken.exchange(true, std::memory_order_relaxed))
    open_offers_.fetch_sub(1, std::memory_order_seq_cst);
}

// Measurement.

void Workers::begin_task(Busy& busy) noexcept {
  if (options_.random_delay_us != 0) {
    const std::uint64_t us = next_random() % (options_.random_delay_us + std::uint64_t{1});
    // Half of the tasks are not delayed: orders differ more that way.
    if (next_random() % 2 == 0) os::sleep_for(microseconds(us));
  }
  if (!options_.measure_busy) return;
  busy.began_ = clock_->now();
  busy_.with([&](BusyTime& time) {
    if (time.running++ == 0) time.since = busy.began_;
  });
}

void Workers::end_task(Busy& busy) noexcept {
  if (!options_.measure_busy) return;
  busy_.with([&](BusyTime& time) {
    // Read under the lock: times of different threads come in order.
    const std::chrono::nanoseconds now = clock_->now();
    time.sum += now - busy.began_;
    if (--time.running == 0) time.any += now - time.since;
  });
}

backend::DriverCounters Workers::counters() const noexcept {
  backend::DriverCounters counters;
  counters.futex_wakes = futex_wakes_.load(std::memory_order_relaxed);
  counters.tasks_failed = failures_.load(std::memory_order_relaxed);
  counters.tasks_cancelled = cancelled_.load(std::memory_order_relaxed);
  counters.tasks_skipped = skipped_.load(std::memory_order_relaxed);
  busy_.with([&](const BusyTime& time) {
    counters.busy_any_ns = static_cast<std::uint64_t>(time.any.count());
    counters.busy_sum_ns = static_cast<std::uint64_t>(time.sum.count());
  });
  return counters;
}

}  // namespace thalweg::cpu
