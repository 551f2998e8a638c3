// SPDX-License-Identifier: Apache-2.0
//
// Tasks: how they come in, how one runs, and what is noted of it.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "backend/host_work.hpp"
#include "backends/sim/kernel.hpp"
#include "backends/sim/world.hpp"
#include "base/callback.hpp"
#include "thalweg/base/log.hpp"
#include "thalweg/base/no_wait.hpp"

namespace thalweg::sim {
namespace {

using Kind = neutral::TaskKind;

// Durations on the virtual clock, made up: a fixed cost, and bytes a nanosecond.
constexpr std::uint64_t kTaskNs = 2'000;
constexpr std::uint64_t kHostFunctionNs = 5'000;
constexpr std::uint64_t kTurnNs = 100;
constexpr std::uint64_t kBytesPerNs = 16;
constexpr std::uint64_t kSlower = 1'000;
constexpr std::uint64_t kSubmitNs = 100;

constexpr std::size_t kRememberedMax = 4096;

thread_local Queue* native_queue = nullptr;

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) noexcept {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 32);
}

std::uint64_t hash_bytes(std::uint64_t hash, const std::byte* bytes, std::size_t count) noexcept {
  for (; count >= 8; bytes += 8, count -= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, 8);
    hash = mix(hash, word);
  }
  std::uint64_t rest = count;
  for (std::size_t i = 0; i != count; ++i) rest = rest << 8 | static_cast<std::uint64_t>(bytes[i]);
  return mix(hash, rest);
}

bool copies(Kind kind) noexcept {
  return kind == Kind::copy || kind == Kind::upload || kind == Kind::read_back;
}

bool only_moves_bytes(Kind kind) noexcept { return kind == Kind::fill || copies(kind); }

std::uint64_t duration(const Op& op) noexcept {
  std::uint64_t bytes = 0;
  for (const OpAccess& access : op.accesses) bytes += access.rows * access.row_bytes;
  switch (op.kind) {
    case Kind::host:
    case Kind::native:
      return kHostFunctionNs + bytes / kBytesPerNs;
    case Kind::fill:
    case Kind::copy:
    case Kind::upload:
    case Kind::read_back:
    case Kind::kernel:
    case Kind::indirect:
      return kTaskNs + bytes / kBytesPerNs;
    default:
      return kTurnNs;
  }
}

// In reports of failures, as other backends have it.
std::string_view kind_name(const Op& op) noexcept {
  switch (op.kind) {
    case Kind::kernel:
    case Kind::indirect:
      return "Kernel";
    case Kind::host:
      return "Host function";
    case Kind::native:
      return "Native work";
    case Kind::fill:
      return "Fill";
    case Kind::copy:
      return "Copy";
    case Kind::upload:
      return "Upload";
    case Kind::read_back:
      return "Read";
    default:
      return "A task";
  }
}

std::string describe(const neutral::Task& task) {
  const auto named = [&task](std::string_view what) {
    return task.name.empty() ? std::string(what) : fmt::format("{} `{}`", what, task.name);
  };
  switch (task.kind) {
    case Kind::kernel:
    case Kind::indirect:
      return fmt::format("kernel `{}`", task.code->name());
    case Kind::host:
      return named("host function");
    case Kind::native:
      return named("native work");
    case Kind::empty:
      return task.accesses.empty() ? "turn" : "touch";
    default:
      return std::string(thalweg::name(task.kind));
  }
}

}  // namespace

Queue* World::running_native() noexcept { return native_queue; }

// Faults.

Result<void> World::call(FaultSite site) {
  const Lock lock(mutex_);
  return grant(site);
}

Result<void> World::grant(FaultSite site) {
  if (loss_.happened()) return loss_.cause();
  const std::uint64_t nth = count(site);
  if (nth == 0) {
    note_granted(site);
    return {};
  }
  Error refusal = Faults::refusal(site, nth);
  note_refusal(site, refusal);
  if (trace_ != nullptr) record(TraceKind::refuse).text = refusal.message();
  return refusal;
}

bool World::hit(FaultSite site) noexcept {
  const Lock lock(mutex_);
  return count(site) != 0;
}

// A call that is counted: which one it is depends on the order.
std::uint64_t World::count(FaultSite site) noexcept {
  if (noting_ && options_.faults.any()) effects_.counted |= options_.faults.rows(site);
  return options_.faults.hit(site);
}

void World::note_refusal(FaultSite fault, const Error& error) {
  if (!options_.explored) return;
  refusals_.push_back({fault, std::string(error.message()), caller_, false});
}

void World::note_granted(FaultSite fault) noexcept {
  for (Refusal& refusal : refusals_)
    if (refusal.fault == fault && refusal.caller.number == caller_.number) refusal.recovered = true;
}

// Coming in.

Op& World::take_op() {
  if (free_ops_.empty()) {
    ops_.push_back(std::make_unique<Op>());
    return *ops_.back();
  }
  Op* const op = free_ops_.back();
  free_ops_.pop_back();
  return *op;
}

void World::release(Op* op) noexcept { free_ops_.push_back(op); }

// Whether the bytes are a simulated device's.
bool World::in_arena(const std::byte* bytes) const noexcept {
  const auto address = reinterpret_cast<std::uint64_t>(bytes);
  return std::any_of(arenas_.begin(), arenas_.end(),
                     [address](const Arena* arena) { return arena->contains(address); });
}

void World::copy_task(Op& op, const neutral::Task& task) {
  for (const Access& access : task.accesses) {
    const auto known = allocations_.find(access.allocation->id.value);
    op.accesses.push_back({access.address(), access.row_bytes,
                           access.row_bytes == 0 ? 0 : access.rows, access.pitch, access.mode,
                           known != allocations_.end() ? access.allocation->id.value : 0,
                           access.offset});
    if (backend::has_outcome(access)) op.uses.push_back(backend::use_of(access));
  }
  if (task.kind == Kind::fill) {
    op.pattern[0] = task.pattern[0];
    op.pattern[1] = task.pattern[1];
    op.pattern_bytes = task.pattern_bytes;
  }
  if (task.kind == Kind::upload || task.kind == Kind::read_back) {
    op.host_source = task.host_source;
    op.host_target = task.host_target;
    op.host_pitch = task.host_pitch;
  }
  op.touches_program =
      std::any_of(op.accesses.begin(), op.accesses.end(),
                  [](const OpAccess& access) { return access.owner == 0 && access.rows != 0; }) ||
      (task.kind == Kind::upload && !in_arena(task.host_source));
  if (task.kind == Kind::wait || task.kind == Kind::signal) {
    op.timeline = Ref<neutral::Timeline>::share(task.timeline);
    op.timeline_value = task.value;
    if (options_.explored) static_cast<void>(raised(*task.timeline));
  }
  op.code = task.code;
  op.extent = task.extent;
  op.arguments.assign(task.arguments.begin(), task.arguments.end());
  if (task.function != nullptr) op.function = std::move(*task.function);
  if (task.time != nullptr) op.time = Ref<neutral::Stamp>::share(task.time);
  if (task.completion != nullptr) op.completion = Ref<neutral::Completion>::share(task.completion);
  if (task.stop != nullptr) op.stop = *task.stop;
}

// Waits that ride on the op.
void World::add_waits(Queue& queue, Op& op) {
  for (const auto& [place, point] : queue.state.owed) {
    Queue* const source = queue_at(place.queue - kFirstQueue);
    // Of a queue that has ended, gone_ knows.
    if (source == nullptr) continue;
    if (source->state.done >= place.position) {
      // It is over already, and comes before this one all the same.
      if (const VectorClock* const clock = source->clock_of(point.serial().value); clock != nullptr)
        op.knows.join(*clock);
      continue;
    }
    const std::size_t at = place.position - source->state.done - 1;
    Op* const waited = source->state.pending[at];
    waited->dependents.push_back(&op);
    op.waits.push_back(place);
    ++op.waits_left;
  }
  queue.state.owed.clear();
  op.foreign.swap(queue.state.owed_foreign);
  queue.state.owed_foreign.clear();
}

// `user` says what it is, and by which serial it is known.
Op& World::enqueue(Queue& queue, Kind kind, std::shared_ptr<User> user) {
  Op& op = take_op();
  op.kind = kind;
  user->stream = queue.name();
  user->lane = queue.lane();
  user->slot = queue.slot();
  user->position = ++queue.state.enqueued;
  op.order = submissions_++;
  op.actor = me();
  if (options_.explored) submitters_.push_back(op.actor);
  // Its place among the submissions of others is a choice of its own.
  if (running_op_ != nullptr || in_callback_) nested_from_ = std::min(nested_from_, op.order);
  op.knows = knowledge();
  op.knows.join(gone_);
  // Whoever enqueues from inside a task does so before the task's end.
  if (options_.explored && running_op_ != nullptr)
    op.knows.set(running_op_->user->slot, running_op_->user->position - 1);
  if (host_step_) move_time(now_ns() + kSubmitNs);
  op.ready_ns = now_ns();
  add_waits(queue, op);
  op.user = std::move(user);
  queue.state.pending.push_back(&op);
  ++pending_;
  if (noting_) effects_.enqueued.push_back({queue.process(), op.user->position});
  return op;
}

Result<void> World::compile(const KernelCode& code) {
  if (compiled_.find(code.name()) != compiled_.end()) return {};
  THALWEG_TRY(grant(FaultSite::compile));
  compiled_.emplace(code.name());
  return {};
}

Result<void> World::append(Queue& queue, const neutral::Task& task, Serial serial) {
  const Lock lock(mutex_);
  if (task.kind != Kind::last) THALWEG_TRY(grant(site_of(task.kind)));
  if (task.code != nullptr) THALWEG_TRY(compile(*task.code));
  auto user = std::make_shared<User>();
  user->what = describe(task);
  user->name = task.code != nullptr ? task.code->name() : task.name;
  user->serial = queue.shown(serial.value);
  user->site = task.site;
  Op& op = enqueue(queue, task.kind, std::move(user));
  copy_task(op, task);
  // A turn, a wait or a signal has nothing that could fail.
  const bool other = task.kind == Kind::last || site_of(task.kind) == FaultSite::other;
  if (!other) op.fails = count(FaultSite::run);
  op.duration_ns = duration(op) * (queue.state.slow ? kSlower : 1);
  queue.state.published = serial.value;
  queue.state.positions.push_back(op.user->position);
  queue.state.ending = queue.state.ending || task.kind == Kind::last;
  if (trace_ != nullptr && task.kind != Kind::last) record_submit(queue, op);
  moved();
  return {};
}

void World::append_raw(Queue& queue, std::string_view what, UniqueFunction work,
                       std::source_location site) {
  {
    const Lock lock(mutex_);
    auto user = std::make_shared<User>();
    user->what = fmt::format("raw work `{}`", what);
    user->name = what;
    user->serial = queue.shown(queue.state.published);
    user->raw = true;
    user->site = site;
    Op& op = enqueue(queue, Kind::native, std::move(user));
    op.raw = true;
    op.function = std::move(work);
    op.duration_ns = duration(op);
    if (trace_ != nullptr) record_submit(queue, op);
    moved();
  }
  announce();
}

Result<std::pair<order::Point, bool>> World::record_fence(Queue& queue) {
  const Lock lock(mutex_);
  THALWEG_TRY(grant(FaultSite::fence));
  return std::pair(order::Point(queue.index(), Serial{queue.state.published}),
                   count(FaultSite::never) != 0);
}

Result<void> World::owe(Queue& queue, order::Point point) {
  const Lock lock(mutex_);
  THALWEG_TRY(grant(FaultSite::wait));
  const Queue* const source = queue_of(point.queue());
  if (source == nullptr) {
    queue.state.owed_foreign.push_back(point);
    return {};
  }
  const std::uint32_t position = source->position_of(point.serial().value);
  if (position != 0) queue.state.owed.push_back({{source->process(), position}, point});
  if (trace_ == nullptr) return {};
  TraceEvent& event = record(TraceKind::wait);
  event.lane = queue.lane();
  event.serial = queue.shown(queue.state.published + 1);
  event.other_lane = source->lane();
  event.other_serial = source->shown(point.serial().value);
  return {};
}

// Running.

void World::step(Process process, Lock& lock) {
  if (process == kCallbacks) return run_callback(lock);
  run_op(*queues_[process - kFirstQueue], lock);
}

void World::run_callback(Lock& lock) {
  UniqueFunction function = std::move(callbacks_.front().function);
  callback_knows_ = std::move(callbacks_.front().knows);
  callbacks_.pop_front();
  in_callback_ = true;
  noting_ = wants_effects_ && choosing();
  host_step_ = false;
  effects_.clear();
  effects_.process = kCallbacks;
  effects_.program = true;
  effects_.done = {kCallbacks, ++callbacks_run_};
  running_ = std::this_thread::get_id();
  lock.unlock();
  {
    const NoWaitScope no_wait;
    call_reporting(function);
    function = {};
  }
  lock.lock();
  in_callback_ = false;
  // It may have told the host, by a variable.
  host_knows_.join(callback_knows_);
  running_ = std::thread::id();
  if (noting_) schedule_->happened(effects_);
  noting_ = false;
  moved();
}

// The task's turn has come: its clock, its time, what it touches.
void World::begin(Queue& queue, Op& op) {
  op.knows.join(queue.state.knows);
  // Work of another world may have passed on what came before it here.
  if (!op.foreign.empty() || (op.kind == Kind::wait && !options_.explored)) op.knows.join(done_);
  if (op.kind == Kind::wait) {
    if (const auto raised = timelines_.find(op.timeline.get()); raised != timelines_.end()) {
      op.knows.join(raised->second.knows);
      op.ready_ns = std::max(op.ready_ns, raised->second.time_ns);
    }
  }
  op.knows.set(queue.slot(), op.user->position);
  std::uint64_t start = std::max(queue.state.end_ns, op.ready_ns);
  if (!engines_.empty() && copies(op.kind)) {
    const auto engine = std::min_element(engines_.begin(), engines_.end());
    start = std::max(start, *engine);
    *engine = start + op.duration_ns;
  }
  queue.state.end_ns = start + op.duration_ns;
  if (!own_clock_) queue.state.end_ns = std::max(queue.state.end_ns, now_ns());
}

void World::note_effects(const Queue& queue, const Op& op) {
  effects_.clear();
  effects_.process = queue.process();
  effects_.done = {queue.process(), op.user->position};
  // Memory of the program's is like code of its: it looks there without a call.
  effects_.program = op.runs_program() || op.touches_program;
  effects_.seen = sees_program(op);
  // It will come after all that is over by then.
  effects_.all = !op.foreign.empty();
  effects_.any_bytes = op.runs_program();
  // What the end of a stream gives back, the host may take.
  effects_.pools = op.kind == Kind::last && live_actors_ != 0;
  effects_.engine = !engines_.empty() && copies(op.kind);
  effects_.awaited.assign(op.waits);
  for (const OpAccess& access : op.accesses)
    for (std::uint64_t row = 0; row != access.rows; ++row)
      note_bytes(access.bytes(row), access.mode != AccessMode::read);
  if (op.kind == Kind::wait) note_use(*op.timeline, 0, op.timeline_value, Effects::Use::awaited);
  if (op.kind == Kind::signal)
    note_use(*op.timeline, op.timeline->value(), op.timeline_value, Effects::Use::raised);
}

// By the number of the arena, which is the same in each run.
void World::note_bytes(Bytes bytes, bool written) {
  std::uint64_t begin = bytes.begin;
  for (const Arena* const arena : arenas_)
    if (arena->contains(bytes.begin))
      begin = arena->number() << 48 | (bytes.begin - arena->first());
  effects_.bytes.push_back({begin, begin + (bytes.end - bytes.begin), written});
}

void World::note_use(const neutral::Timeline& timeline, std::uint64_t from, std::uint64_t to,
                     Effects::Use use) {
  effects_.marks.push_back({raised(timeline).number, from, to, use});
}

World::Raised& World::raised(const neutral::Timeline& timeline) {
  const auto [at, named] = timelines_.try_emplace(&timeline);
  if (named) at->second.number = timelines_named_++;
  return at->second;
}

bool World::host_has(std::uint64_t allocation) const {
  const auto live = allocations_.find(allocation);
  return live != allocations_.end() && live->second.alive && live->second.mapped;
}

// What the task does, or whether it runs, meets what code of the program's does without a call: it
// stops a token, and uses memory that it has the address of. A kernel shows what was written there.
bool World::sees_program(const Op& op) const {
  if (op.stop.stop_possible()) return true;
  if (!any_mapped_) return false;
  return op.opaque() ||
         std::any_of(op.accesses.begin(), op.accesses.end(),
                     [this](const OpAccess& access) { return host_has(access.owner); }) ||
         (op.kind == Kind::upload &&
          host_has(owner_of(reinterpret_cast<std::uint64_t>(op.host_source))));
}

// The task may call.
Ran World::run_unlocked(Queue& queue, Op& op, Lock& lock) {
  running_ = std::this_thread::get_id();
  Queue* const outer = native_queue;
  native_queue = op.kind == Kind::native && !op.raw ? &queue : outer;
  const std::uint64_t now = queue.state.end_ns;
  running_op_ = &op;
  lock.unlock();
  Ran ran;
  {
    const NoWaitScope no_wait;  // Also for the ends of callables.
    ran = run_body(op, now);
    op.function = {};
  }
  lock.lock();
  running_op_ = nullptr;
  native_queue = outer;
  return ran;
}

void World::run_op(Queue& queue, Lock& lock) {
  Op& op = *queue.state.pending.front();
  noting_ = wants_effects_ && choosing();
  host_step_ = false;
  if (noting_) note_effects(queue, op);
  begin(queue, op);
  std::optional<Error> error = bad_input(queue, op, lock);
  const bool skipped = error.has_value();
  if (!error) error = failure_of(op);
  // Of what has failed, too: who comes behind it relies on its place in the order.
  if (!loss_.happened()) {
    if (op.opaque()) compare_memory(op, true);
    check_accesses(op);
  }
  if (!error) {
    // Explored, nobody waits for the lock meanwhile.
    Ran ran = options_.explored && only_moves_bytes(op.kind) ? run_body(op, queue.state.end_ns)
                                                             : run_unlocked(queue, op, lock);
    if (op.runs_program()) host_knows_.join(op.knows);
    error = std::move(ran.error);
    if (ran.unwritten.end != 0) broken_out(op, ran.unwritten);
    finish(queue, op);
  }
  // From here on nobody else goes on, whoever has the lock meanwhile.
  running_ = std::this_thread::get_id();
  // Of what has failed, too: there the bytes are known as bad, and not as never written.
  if (!options_.explored) tell_others(op, lock);
  const bool carried = !skipped && settle(queue, op, error, lock);
  pass(queue, op, error, skipped || carried, lock);
}

// The failure graph has a lock of its own, and tells the program of what is forgotten in it.
template <class F>
auto World::unlocked(Op& op, Lock& lock, F&& function) {
  running_ = std::this_thread::get_id();
  running_op_ = &op;
  lock.unlock();
  auto result = [&] {
    const NoWaitScope no_wait;
    return function();
  }();
  lock.lock();
  running_op_ = nullptr;
  return result;
}

// A task that reads bad bytes does not run.
std::optional<Error> World::bad_input(const Queue& queue, Op& op, Lock& lock) {
  backend::Outcomes& outcomes = queue.outcomes();
  if (loss_.happened() || op.uses.empty() || !outcomes.any_bad()) return std::nullopt;
  return unlocked(op, lock, [&] {
    return outcomes.starts(op.uses, op.user->what, op.user->site, op.completion.get() != nullptr);
  });
}

// Before the task is over for anybody. True when bytes carry its failure.
bool World::settle(const Queue& queue, Op& op, std::optional<Error>& error, Lock& lock) {
  backend::Outcomes& outcomes = queue.outcomes();
  if (!error && (op.uses.empty() || !outcomes.any_bad())) return false;
  return unlocked(op, lock, [&] {
    if (error) return outcomes.failed(*error, op.uses);
    outcomes.succeeded(op.uses);
    return false;
  });
}

// Why the task does not run, when it does not.
std::optional<Error> World::failure_of(const Op& op) {
  if (!loss_.happened())
    if (const std::uint64_t nth = count(FaultSite::lost); nth != 0) {
      effects_.all = true;
      loss_.happen(Faults::refusal(FaultSite::lost, nth));
      note_refusal(FaultSite::lost, loss_.cause());
    }
  if (loss_.happened() && op.kind != Kind::last) return loss_.cause().at(op.user->site);
  if (op.stop.stop_requested())
    return backend::stopped(kind_name(op), op.user->name, op.user->site);
  if (op.fails == 0) return std::nullopt;
  Error failure = Faults::refusal(FaultSite::run, op.fails).at(op.user->site);
  note_refusal(FaultSite::run, failure);
  if (options_.explored) refusals_.back().caller = {op.user->site, 0};
  return failure;
}

// The memory after the task.
void World::finish(Queue& queue, Op& op) {
  if (op.kind == Kind::signal) {
    Raised& signalled = raised(*op.timeline);
    signalled.knows.join(op.knows);
    signalled.time_ns = std::max(signalled.time_ns, queue.state.end_ns);
  }
  accept_writes(op);
  if (op.opaque()) compare_memory(op, false);
  note_output(op);
}

// Tells everybody that the task is over. The queue may be gone behind it.
void World::pass(Queue& queue, Op& op, std::optional<Error>& error, bool carried, Lock& lock) {
  const bool last = op.kind == Kind::last;
  queue.state.knows = op.knows;
  queue.state.pending.pop_front();
  --pending_;
  queue.state.done = op.user->position;
  done_.set(queue.slot(), op.user->position);
  for (Op* const dependent : op.dependents) {
    --dependent->waits_left;
    dependent->knows.join(op.knows);
    dependent->ready_ns = std::max(dependent->ready_ns, queue.state.end_ns);
  }
  if (error && noting_) {
    // It is counted; and whether it is worth a word depends on what was refused.
    effects_.seen = true;
    effects_.all = effects_.all || (!op.completion && options_.faults.any());
  }
  const std::uint64_t end_ns = queue.state.end_ns;
  std::vector<Finding> reports = take_reports();
  const bool counted = !op.raw;
  const std::uint64_t serial =
      counted ? queue.state.remembered + queue.state.ends.size() : queue.state.published;
  if (counted) {
    queue.state.ends.push_back(end_ns);
    if (options_.explored) queue.state.clocks.push_back(op.knows);
    if (queue.state.ends.size() > kRememberedMax) {
      queue.state.ends.pop_front();
      if (options_.explored) queue.state.clocks.pop_front();
      queue.state.positions.pop_front();
      ++queue.state.remembered;
    }
  }
  if (trace_ != nullptr && !last) {
    TraceEvent& event = record(TraceKind::run);
    event.lane = queue.lane();
    event.serial = op.user->serial;
    event.task = op.kind;
    event.raw = op.raw;
    event.duration_ns = op.duration_ns;
    event.time_ns = end_ns - op.duration_ns;
    if (error) event.text = thalweg::name(error->kind());
  }
  knowledge_at_end_ = op.knows;
  backend::Progress& progress = queue.progress();
  neutral::Completion* const completion = op.completion.get();
  lock.unlock();
  {
    // The error sink and what ends with the task are the program's.
    const NoWaitScope no_wait;
    to_sink(reports);
    if (error) {
      count_end(error->kind());
      if (completion == nullptr && !carried && error->kind() != ErrorKind::cancelled)
        nobody_heard(*error, op.user.get());
    }
    if (!last && completion != nullptr) completion->complete(error ? &*error : nullptr);
    if (counted) progress.passed(Serial{serial});
    if (last && completion != nullptr) completion->complete(nullptr);
    op.clear();
    error.reset();  // It may be news.
  }
  lock.lock();
  release(&op);
  running_ = std::thread::id();
  if (noting_) schedule_->happened(effects_);
  noting_ = false;
  moved();
}

// A failure that no future takes. Explored, only one that nobody asked for is worth a word.
void World::nobody_heard(const Error& error, const User* user) {
  if (!options_.explored) return thalweg::detail::to_error_sink(error);
  if (options_.faults.refused() != 0) return;
  Finding finding;
  finding.kind = FindingKind::error;
  if (user != nullptr) {
    finding.first.what = user->what;
    finding.first.lane = user->lane;
    finding.first.serial = user->serial;
  }
  finding.first.file = file_name(error.site().file_name());
  finding.first.line = error.site().line();
  finding.message = fmt::format("{} Nobody was told of it.", error.message());
  report(std::move(finding));
}

void World::count_end(ErrorKind kind) noexcept {
  std::atomic<std::uint64_t>& count = kind == ErrorKind::cancelled   ? cancelled_
                                      : kind == ErrorKind::unwritten ? skipped_
                                                                     : failed_;
  count.fetch_add(1, std::memory_order_relaxed);
}

void World::note_output(const Op& op) {
  if (!options_.explored || op.kind == Kind::last || op.raw) return;
  Output output;
  output.order = op.order;
  output.actor = op.actor;
  output.user = op.user;
  output.shape =
      mix(mix(static_cast<std::uint64_t>(op.kind), static_cast<std::uint64_t>(op.user->lane)),
          op.user->serial);
  for (const OpAccess& access : op.accesses)
    for (std::uint64_t row = 0; access.writes() && row != access.rows; ++row)
      shadow_.for_written(access.bytes(row), [&](Bytes bytes) {
        const auto* const first = reinterpret_cast<const std::byte*>(bytes.begin);
        output.bytes = hash_bytes(output.bytes, first, bytes.end - bytes.begin);
        if (options_.keep_bytes) {
          const FindingSide place = side(*op.user, AccessMode::write, bytes);
          output.kept.push_back(
              {place.buffer, place.begin, {first, first + bytes.end - bytes.begin}});
        }
      });
  if (op.kind == Kind::read_back)
    for (std::uint64_t row = 0; row != op.accesses[0].rows; ++row) {
      const std::byte* const first = op.host_target + row * op.host_pitch;
      output.bytes = hash_bytes(output.bytes, first, op.accesses[0].row_bytes);
      if (options_.keep_bytes)
        output.kept.push_back(
            {-1, row * op.accesses[0].row_bytes, {first, first + op.accesses[0].row_bytes}});
    }
  if (output.bytes != 0) outputs_.push_back(std::move(output));
}

void World::observe(std::uint64_t value) {
  const Lock lock(mutex_);
  observed_ = mix(observed_, value);
}

backend::DriverCounters World::counters() const noexcept {
  backend::DriverCounters counters;
  counters.tasks_failed = failed_.load(std::memory_order_relaxed);
  counters.tasks_cancelled = cancelled_.load(std::memory_order_relaxed);
  counters.tasks_skipped = skipped_.load(std::memory_order_relaxed);
  return counters;
}

void World::call_later(UniqueFunction function) noexcept {
  const Lock lock(mutex_);
  callbacks_.push_back({std::move(function), knowledge_at_end_});
  // Counted whether it is noted or not, as run_callback() counts.
  ++callbacks_added_;
  if (noting_) {
    effects_.enqueued.push_back({kCallbacks, callbacks_added_});
    effects_.calls = true;
  }
  moved();
}

}  // namespace thalweg::sim
