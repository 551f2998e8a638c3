// SPDX-License-Identifier: Apache-2.0
//
// Who goes on: actors, threads that wait, queues. What one task does is in world_tasks.cpp.

#include "backends/sim/world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "backends/sim/bell.hpp"
#include "os/futex.hpp"
#include "thalweg/base/no_wait.hpp"

namespace thalweg::sim {

thread_local std::uint16_t this_actor = 0;

namespace {

// Worlds of the process, for what crosses between them. Never destroyed.
class Worlds {
 public:
  static Worlds& instance() noexcept {
    static Worlds& worlds = *new Worlds;
    return worlds;
  }

  void add(const std::shared_ptr<World>& world) {
    const std::lock_guard lock(mutex_);
    list_.emplace_back(world.get(), world);
  }

  void remove(const World& world) noexcept {
    const std::lock_guard lock(mutex_);
    std::erase_if(list_, [&world](const auto& entry) { return entry.first == &world; });
  }

  std::vector<std::shared_ptr<World>> others(const World* than) {
    std::vector<std::shared_ptr<World>> alive;
    const std::lock_guard lock(mutex_);
    for (const auto& [address, world] : list_)
      if (address != than)
        if (auto shared = world.lock()) alive.push_back(std::move(shared));
    return alive;
  }

 private:
  std::mutex mutex_;
  std::vector<std::pair<const World*, std::weak_ptr<World>>> list_;
};

// A moment of the machine's clock, as far as there are such. Longer waits look again then.
std::chrono::steady_clock::time_point end_of(std::uint64_t from_now_ns) noexcept {
  constexpr std::uint64_t kLongest = 3'600'000'000'000;
  return std::chrono::steady_clock::now() +
         std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(from_now_ns, kLongest)));
}

Error nothing_goes_on() {
  return Error(ErrorKind::wait_forbidden,
               "Nothing can end this wait: no task of the simulated device can run, and no actor "
               "can go on.");
}

}  // namespace

std::shared_ptr<World> World::create(WorldOptions options) {
  std::shared_ptr<World> world(new World(std::move(options)));
  Worlds::instance().add(world);
  return world;
}

World::World(WorldOptions options)
    : options_(std::move(options)),
      own_clock_(options_.clock ? nullptr : std::make_shared<VirtualClock>()),
      clock_(options_.clock ? options_.clock : own_clock_),
      only_(std::this_thread::get_id()),
      engines_(options_.copy_engines) {
  use(options_.schedule.get());
  if (options_.explored) take_stock();
}

void World::use(Schedule* schedule) noexcept {
  schedule_ = schedule;
  wants_effects_ = schedule != nullptr && schedule->wants_effects();
}

World::~World() {
  Worlds::instance().remove(*this);
  if (options_.explored) leave_stock();
}

std::pair<std::shared_ptr<World>, Queue*> World::find_native(std::uintptr_t id) noexcept {
  for (auto& world : Worlds::instance().others(nullptr)) {
    const Lock lock(world->mutex_);
    for (const auto& queue : world->queues_)
      if (queue && queue->native_id() == id) return {world, queue.get()};
  }
  return {};
}

// Waiting.

bool World::Until::holds() const noexcept {
  if (timeline != nullptr) return timeline->value() >= value || (loss && loss->happened());
  return point.none() || sync::queue_timeline(point.queue()).reached(point.serial().value);
}

std::uint64_t World::now_ns() const noexcept {
  const std::chrono::nanoseconds now = own_clock_ ? own_clock_->now() : clock_->now();
  return static_cast<std::uint64_t>(now.count());
}

void World::move_time(std::uint64_t to_ns) noexcept {
  if (!own_clock_) return;
  const std::uint64_t now = now_ns();
  if (to_ns > now) own_clock_->advance(std::chrono::nanoseconds(to_ns - now));
}

// By the clock, which ends with the last nanosecond that a signed number holds.
std::optional<std::uint64_t> World::limit_of(Deadline deadline) const noexcept {
  if (!deadline.within()) return std::nullopt;
  const std::chrono::nanoseconds now = clock_->now();
  const std::chrono::nanoseconds left = std::chrono::nanoseconds::max() - now;
  return static_cast<std::uint64_t>((now + std::min(*deadline.within(), left)).count());
}

Result<void> World::wait(order::Point point, Deadline deadline) {
  Until until;
  until.point = point;
  until.site = sites_[me()];
  until.limit_ns = limit_of(deadline);
  const Went went = go_on(until);
  if (went == Went::on) return {};
  if (went == Went::stuck) return nothing_goes_on();
  return Error(ErrorKind::timeout, "The deadline came before the work was done.");
}

Result<void> World::wait(neutral::Timeline& timeline, std::uint64_t value, Deadline deadline) {
  Until until;
  until.timeline = &timeline;
  until.value = value;
  until.site = sites_[me()];
  until.loss = &loss_;
  until.limit_ns = limit_of(deadline);
  const Went went = go_on(until);
  if (went == Went::on) return {};
  if (went == Went::stuck) return nothing_goes_on();
  return Error(ErrorKind::timeout, "The deadline came before the timeline was there.");
}

void World::turn(Site site) noexcept {
  static_cast<void>(go_on({}));
  if (options_.explored) {
    sites_[me()] = site;
    return note_caller(site);
  }
  // What the call before it did without a word: a timeline was raised, a handle went.
  Bell::instance().ring();
  if (!NoWaitScope::active()) drain_others();
}

void World::note_caller(Site site) noexcept {
  if (site.line() == 0 || !options_.faults.any()) return;
  const Lock lock(mutex_);
  caller_ = {site, ++callers_};
}

// The task may be over before the call comes back: what it did to memory of the program's, or by
// code of the program's, is then seen without another call.
void World::announce() noexcept { turn({}); }

World::Went World::go_on(const Until& until) noexcept {
  if (options_.explored) return go_on_here(until);
  // The device may end with a task that runs here.
  const std::shared_ptr<World> self = shared_from_this();
  return go_on_here(until);
}

World::Went World::go_on_here(const Until& until) noexcept {
  Lock lock(mutex_);
  if (running_ != std::thread::id() && running_ == std::this_thread::get_id()) {
    if (!until.nothing() && !until.holds()) add(hidden_wait());
    return until.holds() ? Went::on : Went::stuck;
  }
  // Host functions and callbacks of other worlds, and programs that forbid it.
  if (NoWaitScope::active() && until.nothing()) return Went::on;
  if (trace_ != nullptr) record_wait(TraceKind::host_wait, until);
  // Tasks and other actors call meanwhile.
  const Caller caller = caller_;
  const Went went = with_actors_ ? go_on_explored(until, lock) : go_on_plain(until, lock);
  caller_ = caller;
  if (trace_ != nullptr) record_wait(TraceKind::host_went, until);
  return went;
}

// Choices.

bool World::can_run(const Op& op) const noexcept {
  if (op.waits_left != 0) return false;
  if (loss_.happened()) return true;
  for (const order::Point point : op.foreign)
    if (!sync::queue_timeline(point.queue()).reached(point.serial().value)) return false;
  return op.kind != neutral::TaskKind::wait || op.timeline->value() >= op.timeline_value;
}

// Fills ready_ with who can take the next step.
void World::collect(const Until& until) {
  ready_.clear();
  constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t limit = kNever;
  const auto host = [&](Process process, const Until& waits) {
    if (waits.holds()) {
      ready_.push_back(process);
    } else if (waits.limit_ns) {
      limit = std::min(limit, *waits.limit_ns);
    }
  };
  if (with_actors_) {
    for (std::size_t i = 0; i != actors_.size(); ++i)
      if (actors_[i].live) host(static_cast<Process>(i), actors_[i].until);
  } else {
    host(0, until);
  }
  // A deadline ends the wait before what would be over later.
  if (!ready_.empty() || !own_clock_) limit = kNever;
  if (!callbacks_.empty()) ready_.push_back(kCallbacks);
  if (pending_ == 0) return;
  std::optional<int> priority;
  const std::size_t hosts = ready_.size();
  for (const auto& queue : queues_) {
    if (!queue || queue->state.pending.empty()) continue;
    const Op& op = *queue->state.pending.front();
    if (!can_run(op)) continue;
    if (limit != kNever && std::max(queue->state.end_ns, op.ready_ns) + op.duration_ns > limit)
      continue;
    if (!options_.explored) {
      // A plain device keeps priorities among what can run; explored, they are the hint they are.
      if (priority && queue->priority() > *priority) continue;
      if (priority && queue->priority() < *priority) ready_.resize(hosts);
      priority = queue->priority();
    }
    ready_.push_back(queue->process());
  }
}

bool World::choosing() const noexcept { return schedule_ != nullptr && !aborting_ && !over_limit_; }

// Without choices queues go first, and then whoever went last.
Process World::choose() {
  Process chosen = kNobody;
  if (choosing()) {
    chosen = ready_[schedule_->choose(ready_, last_)];
  } else {
    const auto behind = std::find_if(ready_.begin(), ready_.end(),
                                     [](Process process) { return process >= kCallbacks; });
    const bool again = std::find(ready_.begin(), ready_.end(), last_) != ready_.end();
    const auto next = std::find_if(ready_.begin(), ready_.end(),
                                   [this](Process process) { return process > last_; });
    // Beyond the limit everybody comes in turn: one may poll for what another does.
    chosen = behind != ready_.end()                ? *behind
             : again && !over_limit_               ? last_
             : over_limit_ && next != ready_.end() ? *next
                                                   : ready_.front();
  }
  last_ = chosen;
  ++steps_;
  if (steps_max_ != 0 && steps_ >= steps_max_) over_limit_ = true;
  return chosen;
}

void World::finish_host_step() {
  if (!host_step_) return;
  host_step_ = false;
  if (noting_) schedule_->happened(effects_);
  noting_ = false;
}

void World::begin_host_step(std::uint16_t actor, const Until& until) {
  host_step_ = true;
  noting_ = wants_effects_ && choosing();
  if (until.nothing() && !noting_) return;
  if (!until.nothing() && !until.point.none()) {
    if (const Queue* const queue = queue_of(until.point.queue())) {
      move_time(queue->end_of(until.point.serial().value));
      learn(queue->clock_of(until.point.serial().value));
    }
  } else if (until.timeline != nullptr) {
    if (const auto raised = timelines_.find(until.timeline); raised != timelines_.end()) {
      move_time(raised->second.time_ns);
      learn(&raised->second.knows);
    }
  }
  if (!noting_) return;
  effects_.clear();
  effects_.process = actor;
  effects_.program = true;
  // Nobody could go on before the deadline: whoever was there until then makes a difference.
  effects_.all = actors_[actor].timed_out;
  for (const View& view : views_) note_bytes(view.bytes, view.writes);
  if (until.timeline != nullptr) {
    note_use(*until.timeline, 0, until.value, Effects::Use::awaited);
  } else if (const Queue* const queue = queue_of(until.point.queue());
             queue != nullptr && !until.point.none()) {
    effects_.awaited.push_back({queue->process(), queue->position_of(until.point.serial().value)});
  }
}

// Explored worlds.

std::uint16_t World::me() const noexcept { return this_actor; }

World::Went World::go_on_explored(const Until& until, Lock& lock) {
  const std::uint16_t self = me();
  actors_[self].until = until;
  actors_[self].timed_out = false;
  finish_host_step();
  for (;;) {
    collect(until);
    if (ready_.empty()) {
      if (const auto late = expire()) {
        take_turn(*late);
        if (*late == self) {
          begin_host_step(self, {});
          return Went::timeout;
        }
        hand_over(*late, lock);
        return await_turn(self, lock);
      }
      give_up(until);
      begin_host_step(self, {});
      return Went::stuck;
    }
    if (aborting_ && !until.nothing() && ready_.back() < kCallbacks && !until.holds()) {
      begin_host_step(self, {});
      return Went::stuck;
    }
    const Process chosen = choose();
    if (chosen == self) {
      begin_host_step(self, until);
      return Went::on;
    }
    if (chosen < kActorsMax) {
      hand_over(chosen, lock);
      return await_turn(self, lock);
    }
    step(chosen, lock);
  }
}

// From here on the turn is the other's. He is woken without the lock, which he takes first.
void World::hand_over(std::uint16_t to, Lock& lock) {
  current_ = to;
  actors_[to].called.fetch_add(1, std::memory_order_relaxed);
  lock.unlock();
  os::futex_wake(&actors_[to].called, 1);
  lock.lock();
}

void World::sleep_until_called(std::uint16_t self, Lock& lock) {
  const Actor& actor = actors_[self];
  while (current_ != self) {
    const std::uint32_t heard = actor.called.load(std::memory_order_relaxed);
    lock.unlock();
    os::futex_wait(actor.called, heard);
    lock.lock();
  }
}

World::Went World::await_turn(std::uint16_t self, Lock& lock) {
  sleep_until_called(self, lock);
  const Actor& actor = actors_[self];
  begin_host_step(self, actor.timed_out || aborting_ ? Until{} : actor.until);
  if (actor.timed_out) return Went::timeout;
  return actor.until.holds() ? Went::on : Went::stuck;
}

// Whose wait was too long goes on: nobody else could, and it is a step all the same.
void World::take_turn(std::uint16_t late) {
  ready_.assign(1, late);
  static_cast<void>(choose());
}

// The actor whose deadline is the next to come; its wait is over.
std::optional<std::uint16_t> World::expire() {
  std::optional<std::uint16_t> first;
  for (std::size_t i = 0; i != actors_.size(); ++i) {
    const Actor& actor = actors_[i];
    if (actor.live && actor.until.limit_ns &&
        (!first || *actor.until.limit_ns < *actors_[*first].until.limit_ns))
      first = static_cast<std::uint16_t>(i);
  }
  if (!first) return std::nullopt;
  move_time(*actors_[*first].until.limit_ns);
  actors_[*first].timed_out = true;
  return first;
}

// Nothing can go on: from here on nobody waits, and the program comes to its end.
void World::give_up(const Until& until) {
  if (!aborting_) check_deadlock(until);
  aborting_ = true;
}

// Somebody whose wait is over by his deadline, or whom nothing can help.
void World::hand_over_stuck(Lock& lock) {
  if (ready_.empty() && !aborting_)
    if (const auto late = expire()) {
      take_turn(*late);
      return hand_over(*late, lock);
    }
  const auto next =
      std::find_if(actors_.begin(), actors_.end(), [](const Actor& actor) { return actor.live; });
  if (!next->until.holds()) give_up(next->until);
  hand_over(static_cast<std::uint16_t>(next - actors_.begin()), lock);
}

void World::leave(std::uint16_t self, Lock& lock) {
  finish_host_step();
  actors_[self].live = false;
  if (--live_actors_ == 0) return;
  for (;;) {
    collect({});
    if (ready_.empty() || (aborting_ && ready_.back() < kCallbacks)) {
      return hand_over_stuck(lock);
    }
    const Process chosen = choose();
    if (chosen < kActorsMax) return hand_over(chosen, lock);
    step(chosen, lock);
  }
}

void World::begin_actor(std::uint16_t actor, const std::function<void()>& body) {
  const std::uint16_t before = std::exchange(this_actor, actor);
  {
    Lock lock(mutex_);
    sleep_until_called(actor, lock);
    begin_host_step(actor, {});
  }
  body();
  {
    Lock lock(mutex_);
    leave(actor, lock);
  }
  this_actor = before;
}

// Who begins. What was enqueued before there were actors may run first.
void World::choose_first(Lock& lock) {
  current_ = 0;
  while (actors_.size() != 1) {
    collect({});
    const Process chosen = choose();
    if (chosen < kActorsMax) {
      current_ = chosen;
      return;
    }
    step(chosen, lock);
  }
}

void World::run(const std::vector<std::function<void()>>& actors) {
  {
    Lock lock(mutex_);
    actors_ = std::vector<Actor>(actors.size());
    for (Actor& actor : actors_) actor.live = true;
    live_actors_ = actors.size();
    with_actors_ = true;
    last_ = 0;
    choose_first(lock);
  }
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < actors.size(); ++i)
    threads.emplace_back(
        [this, i, &actors] { begin_actor(static_cast<std::uint16_t>(i), actors[i]); });
  begin_actor(0, actors[0]);
  for (std::thread& thread : threads) thread.join();
  Lock lock(mutex_);
  drain(lock);
  with_actors_ = false;
}

void World::drain(Lock& lock) {
  for (;;) {
    collect({});
    std::erase_if(ready_, [](Process process) { return process < kCallbacks; });
    if (ready_.empty()) return;
    step(choose(), lock);
  }
}

void World::settle() {
  Lock lock(mutex_);
  drain(lock);
}

void World::finish() {
  Lock lock(mutex_);
  drain(lock);
  check_never_ran();
}

// Plain worlds.

std::vector<std::shared_ptr<World>> World::others() const {
  return Worlds::instance().others(this);
}

World::Went World::go_on_plain(const Until& until, Lock& lock) {
  note_thread();
  std::optional<std::chrono::steady_clock::time_point> end;
  for (;;) {
    const std::uint64_t heard = Bell::instance().heard();
    if (running_ == std::thread::id()) {
      collect(until);
      if (!ready_.empty()) {
        const Process chosen = ready_.front() == 0 && ready_.size() == 1 ? Process{0} : choose();
        if (chosen != 0) {
          step(chosen, lock);
          continue;
        }
        begin_host_step(0, until);
        drain_if_ending(lock);
        return Went::on;
      }
    } else if (until.holds()) {
      return Went::on;
    }
    if (options_.explored) {
      // Before the actors, or after them: there is nobody else.
      if (!until.limit_ns) {
        give_up(until);
        return Went::stuck;
      }
      move_time(*until.limit_ns);
      return Went::timeout;
    }
    if (step_elsewhere(lock)) continue;
    if (is_over(until)) return Went::timeout;
    if (!end && until.limit_ns) end = end_of(*until.limit_ns - now_ns());
    sleep(until, heard, end, lock);
  }
}

void World::moved() const noexcept {
  if (!options_.explored) Bell::instance().ring();
}

// Who calls, as far as it matters: whether it is one thread or several.
void World::note_thread() noexcept { several_ = several_ || only_ != std::this_thread::get_id(); }

// No handle to a stream is left: nobody but the device itself can make it go on.
void World::drain_if_ending(Lock& lock) {
  while (running_ == std::thread::id() && all_ending()) {
    collect({});
    std::erase_if(ready_, [](Process process) { return process < kCallbacks; });
    if (ready_.empty()) return;
    step(choose(), lock);
  }
}

bool World::all_ending() const noexcept {
  return std::all_of(queues_.begin(), queues_.end(),
                     [](const auto& queue) { return !queue || queue->state.ending; });
}

// Lets other worlds take a step. True when one did.
bool World::step_elsewhere(Lock& lock) {
  lock.unlock();
  bool stepped = false;
  for (const auto& world : others())
    stepped = (!world->options_.explored && world->step_if_ready()) || stepped;
  lock.lock();
  return stepped;
}

bool World::step_if_ready() noexcept {
  Lock lock(mutex_);
  if (running_ != std::thread::id()) return false;
  collect({});
  std::erase_if(ready_, [](Process process) { return process < kCallbacks; });
  if (ready_.empty()) return false;
  step(choose(), lock);
  drain_if_ending(lock);
  return true;
}

// What this call did may have made work elsewhere possible that nobody has a handle to.
void World::drain_others() noexcept {
  for (const auto& world : others()) {
    if (world->options_.explored) continue;
    Lock lock(world->mutex_);
    world->drain_if_ending(lock);
  }
}

bool World::is_over(const Until& until) const noexcept {
  return until.limit_ns && now_ns() >= *until.limit_ns;
}

// Until the bell rings. A deadline that only the world's own clock could bring, with no other
// thread in sight, comes at once; with several threads, the time that others take is the machine's,
// and `end` is when the deadline is over by it.
void World::sleep(const Until& until, std::uint64_t heard,
                  const std::optional<std::chrono::steady_clock::time_point>& end, Lock& lock) {
  if (!end) {
    lock.unlock();
    Bell::instance().sleep(heard);
    lock.lock();
    return;
  }
  if (own_clock_ && !several_) return move_time(*until.limit_ns);
  struct Ringing : Alarm {
    std::atomic<bool> fired{false};
  } alarm;
  alarm.when = std::chrono::nanoseconds(static_cast<std::int64_t>(*until.limit_ns));
  alarm.fire = [](Alarm& due) noexcept {
    Bell& bell = Bell::instance();
    static_cast<Ringing&>(due).fired = true;  // It may be gone from here on.
    bell.ring();
  };
  lock.unlock();
  if (!own_clock_ && clock_->add(alarm)) {
    Bell::instance().sleep(heard);
    if (!clock_->remove(alarm))
      while (!alarm.fired) std::this_thread::yield();
    lock.lock();
    return;
  }
  Bell::instance().sleep(heard, *end);
  lock.lock();
  if (std::chrono::steady_clock::now() >= *end) move_time(*until.limit_ns);
}

// Queues.

Result<Queue*> World::add(const backend::StreamRequest& request) {
  const Lock lock(mutex_);
  THALWEG_TRY(grant(FaultSite::create_stream));
  std::size_t slot = 0;
  while (slot != queues_.size() && queues_[slot]) ++slot;
  if (slot == kNobody - kFirstQueue)
    return Error(ErrorKind::out_of_memory,
                 fmt::format("A simulated world has at most {} streams at a time.", slot));
  if (slot == queues_.size()) {
    queues_.emplace_back();
    positions_.push_back(0);
  }
  queues_[slot] =
      std::make_unique<Queue>(*this, request, slot, lanes_++, positions_[slot], take_state());
  Queue& queue = *queues_[slot];
  queue.made_at = sites_[me()];
  queue.state.slow = count(FaultSite::slow) != 0;
  queue.state.end_ns = now_ns();
  effects_.pools = true;
  if (options_.explored) request.progress->watch(&queue);
  if (trace_ != nullptr) {
    TraceEvent& event = record(TraceKind::stream);
    event.lane = queue.lane();
    event.text = queue.name();
  }
  return &queue;
}

void World::remove(Queue& queue) noexcept {
  std::unique_ptr<Queue> gone;
  const Lock lock(mutex_);
  if (options_.explored) {
    queue.progress().watch(nullptr);
    gone_.join(queue.state.knows);
    // Whoever looks for it from then on finds it over.
    effects_.seen = effects_.seen || live_actors_ != 0;
  }
  effects_.pools = true;
  if (trace_ != nullptr) record(TraceKind::end).lane = queue.lane();
  positions_[queue.slot()] = queue.state.enqueued;
  pending_ -= queue.state.pending.size();
  leave_state(queue.take_state());
  gone = std::move(queues_[queue.slot()]);
}

std::size_t World::queues_alive() const noexcept {
  const Lock lock(mutex_);
  return static_cast<std::size_t>(std::count_if(
      queues_.begin(), queues_.end(), [](const auto& queue) { return queue != nullptr; }));
}

Queue* World::queue_at(std::size_t slot) const noexcept {
  return slot < queues_.size() ? queues_[slot].get() : nullptr;
}

Queue* World::queue_of(order::QueueIndex index) const noexcept {
  for (const auto& queue : queues_)
    if (queue && queue->index() == index) return queue.get();
  return nullptr;
}

bool World::close_idle(Queue& queue) noexcept {
  const Lock lock(mutex_);
  return queue.state.pending.empty() && running_ == std::thread::id();
}

// What the host asks.

void World::asked(Queue& queue, std::uint64_t serial) noexcept {
  const Lock lock(mutex_);
  if (noting_) {
    const bool everything = serial == PassWatch::kEverything;
    const std::uint32_t position = everything ? 0 : queue.position_of(serial);
    if (everything || position != 0) effects_.asked.push_back({queue.process(), position});
  }
  if (!queue.timeline().reached(serial)) return;
  if (host_step_) move_time(queue.end_of(serial));
  learn(serial == PassWatch::kEverything ? &queue.state.knows : queue.clock_of(serial));
}

void World::learn(const VectorClock* clock) {
  if (clock == nullptr) return;
  if (running_op_ != nullptr) {
    running_op_->knows.join(*clock);
  } else if (in_callback_) {
    callback_knows_.join(*clock);
  } else {
    host_knows_.join(*clock);
  }
}

// Of whoever enqueues now.
const VectorClock& World::knowledge() const noexcept {
  if (!options_.explored) return done_;
  if (running_op_ != nullptr) return running_op_->knows;
  return in_callback_ ? callback_knows_ : host_knows_;
}

void World::timeline_asked(const neutral::Timeline& timeline, std::uint64_t value) noexcept {
  const Lock lock(mutex_);
  if (noting_) note_use(timeline, 0, value, Effects::Use::asked);
  if (const auto raised = timelines_.find(&timeline); raised != timelines_.end())
    learn(&raised->second.knows);
}

void World::timeline_raised(const neutral::Timeline& timeline, std::uint64_t from, std::uint64_t to,
                            Site site) noexcept {
  const Lock lock(mutex_);
  if (noting_) note_use(timeline, from, to, Effects::Use::raised);
  if (to < from) return;
  Raised& signalled = raised(timeline);
  signalled.knows.join(knowledge());
  signalled.knows.join(gone_);
  signalled.time_ns = std::max(signalled.time_ns, now_ns());
  if (trace_ == nullptr) return;
  TraceEvent& event = record(TraceKind::signal);
  event.serial = to;
  event.file = file_name(site.file_name());
  event.line = site.line();
}

void World::timeline_dropped(const neutral::Timeline& timeline) noexcept {
  const Lock lock(mutex_);
  timelines_.erase(&timeline);
}

}  // namespace thalweg::sim
