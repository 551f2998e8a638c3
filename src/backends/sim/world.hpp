// SPDX-License-Identifier: Apache-2.0
//
// backends/sim/world.hpp - what simulated devices share that take turns: the tasks that can run,
// who chooses among them, the time, and the checks.
//
//   host      submit   submit            wait . . . . . . . .    query
//               |        |                |                       |
//   choice:   go on | s0 | s1 ...       s0 | s1 ...             go on | s0 ...
//
// A device goes on only inside calls of the host: in each a Schedule chooses who takes the next
// step, the host or a queue whose first task can run. One step is one task, from its start to its
// end. So everything that happens follows from the choices.
//
// Time is by cause: a task begins when its queue, what it waits for, and its submission are over,
// and the host's time moves when it learns of an end. So it does not depend on the order of steps
// that have nothing to do with each other.
//
// A world is explored or plain. Explored, its host is one or several actors, each on a thread of
// its own, of which one runs at a time. Plain, the host's threads call as they like; one of them at
// a time runs a task, and those that wait sleep when there is none.
//
// Threads:    all public methods from any thread.
// Ownership:  shared by its devices.

#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "backends/sim/effects.hpp"
#include "backends/sim/faults.hpp"
#include "backends/sim/flat_map.hpp"
#include "backends/sim/queue.hpp"
#include "backends/sim/schedule.hpp"
#include "backends/sim/shadow.hpp"
#include "backends/sim/storage.hpp"
#include "sync/lock.hpp"
#include "thalweg/backend/driver.hpp"
#include "thalweg/backend/loss.hpp"
#include "thalweg/base/finding.hpp"
#include "thalweg/base/trace.hpp"
#include "thalweg/base/virtual_clock.hpp"

namespace thalweg::sim {

struct Ran;
struct Stock;

struct WorldOptions {
  std::uint32_t copy_engines = 0;  // 0: as many as are needed.
  Faults faults;

  // Null: the world's own. With one of the program's, the world does not move the time.
  std::shared_ptr<const Clock> clock;

  // Of a plain world. May be null.
  std::unique_ptr<Schedule> schedule;

  bool explored = false;
  bool keep_bytes = false;  // Of what tasks write, besides their hash.
};

// Bytes that a task wrote, or read for the host.
struct OutputBytes {
  std::int32_t buffer = -1;  // Of no buffer of a device: the program's memory, or a future's.
  std::uint64_t offset = 0;
  std::vector<std::byte> bytes;
};

// What a task left, for comparing with the sequential run.
struct Output {
  std::uint64_t order = 0;  // Of the submission.
  std::uint64_t shape = 0;  // A hash of what was submitted where.
  std::uint64_t bytes = 0;  // A hash of the bytes.
  std::uint16_t actor = 0;
  std::shared_ptr<const User> user;
  std::vector<OutputBytes> kept;  // When the world keeps bytes.
};

// A call of the program's; they are counted.
struct Caller {
  std::source_location site;
  std::uint64_t number = 0;
};

// A backend call that was refused.
struct Refusal {
  FaultSite fault = FaultSite::create_stream;
  std::string message;  // What it answered: names the fault.
  Caller caller;

  // The same call of the program's tried again, and got it.
  bool recovered = false;
};

// An allocation of the runtime's.
struct Live {
  std::int32_t number = 0;
  std::uint64_t address = 0;
  std::uint64_t size_bytes = 0;
  bool alive = false;
  bool mapped = false;  // The host had its address.
  std::source_location site;
};

class World final : public backend::Observer, public std::enable_shared_from_this<World> {
 public:
  static std::shared_ptr<World> create(WorldOptions options);
  ~World();

  // From the thread's stock.
  static void* operator new(std::size_t size);
  static void operator delete(void* memory) noexcept;

  // The choices of what comes next; outlives its use. Null: nothing is chosen, queues go first.
  void use(Schedule* schedule) noexcept;

  // Explored worlds.

  // Steps from which on nothing is chosen.
  void limit_steps(std::uint64_t steps) noexcept { steps_max_ = steps; }

  // Runs the actors by turns, the first one on this thread, until all are done, and then what can
  // still run.
  void run(const std::vector<std::function<void()>>& actors);

  // Runs what is left.
  void settle();

  // The same, and looks for what never can run.
  void finish();

  void trace_to(Trace* trace) noexcept { trace_ = trace; }
  const std::vector<Finding>& findings() const noexcept { return findings_; }
  std::vector<Finding>& findings() noexcept { return findings_; }
  std::vector<Output>& outputs() noexcept { return outputs_; }

  // By submission, and by view that the host opened or closed, the actor who made it.
  std::vector<std::uint16_t>& submitters() noexcept { return submitters_; }
  const std::vector<std::uint16_t>& submitters() const noexcept { return submitters_; }

  // The first submission that came from inside a task or a callback; the greatest number: none did.
  std::uint64_t nested_from() const noexcept { return nested_from_; }
  Faults& faults() noexcept { return options_.faults; }

  // What was refused, and tasks that failed because a fault said so.
  const std::vector<Refusal>& refusals() const noexcept { return refusals_; }
  void observe(std::uint64_t value);
  std::uint64_t observed() const noexcept { return observed_; }
  std::uint64_t steps() const noexcept { return steps_; }
  bool over_limit() const noexcept { return over_limit_; }
  bool lost() const noexcept { return loss_.happened(); }
  std::size_t queues_alive() const noexcept;
  std::size_t devices_alive() const noexcept;
  std::uint64_t bytes_alive() const noexcept;
  std::size_t allocations_alive() const noexcept { return live_; }

  // Streams and buffers, the first few by name and call site.
  std::string alive_text() const;
  void report(Finding finding);

  // Of the backend.

  const std::shared_ptr<const Clock>& clock() const noexcept { return clock_; }
  bool explored() const noexcept { return options_.explored; }
  const backend::Loss& loss() const noexcept { return loss_; }

  // Refuses the call where a fault says so, and every call once the device is lost.
  Result<void> call(FaultSite site);

  // Whether a fault says that what call() granted goes wrong.
  bool hit(FaultSite site) noexcept;

  Result<Queue*> add(const backend::StreamRequest& request);
  void remove(Queue& queue) noexcept;

  // A storage got bytes back, or something that is none of its.
  void given_back(Bytes bytes, bool known) noexcept;

  void attach(Arena& arena);
  void detach(Arena& arena) noexcept;

  Result<void> append(Queue& queue, const neutral::Task& task, Serial serial);
  Result<void> owe(Queue& queue, order::Point point);
  void append_raw(Queue& queue, std::string_view name, UniqueFunction work,
                  std::source_location site);
  bool close_idle(Queue& queue) noexcept;

  // The end of what is enqueued, and whether a fault keeps the fence from passing.
  Result<std::pair<order::Point, bool>> record_fence(Queue& queue);
  void announce() noexcept;

  Result<void> wait(order::Point point, Deadline deadline);
  Result<void> wait(neutral::Timeline& timeline, std::uint64_t value, Deadline deadline);

  // For queues: the host asked whether `serial` has passed.
  void asked(Queue& queue, std::uint64_t serial) noexcept;

  // Of whoever runs tasks.
  std::uint64_t now_ns() const noexcept;
  backend::DriverCounters counters() const noexcept;

  // Observer.
  void turn(Site site) noexcept override;
  void allocated(const Allocation& allocation, MemoryKind kind, std::uintptr_t home,
                 Site site) noexcept override;
  void staged(std::uint64_t address, std::uint64_t size_bytes) noexcept override;
  void dropped(const Allocation& allocation) noexcept override;
  void view_opened(const Access& access, std::uint64_t ticket, Site site) noexcept override;
  void view_closed(std::uint64_t ticket) noexcept override;
  void timeline_asked(const neutral::Timeline& timeline, std::uint64_t value) noexcept override;
  void timeline_raised(const neutral::Timeline& timeline, std::uint64_t from, std::uint64_t to,
                       Site site) noexcept override;
  void timeline_dropped(const neutral::Timeline& timeline) noexcept override;
  void call_later(UniqueFunction function) noexcept override;
  std::shared_ptr<backend::Observer> share() noexcept override { return shared_from_this(); }
  void unheard(const Error& error) noexcept override { nobody_heard(error, nullptr); }

  // The queue that runs native work on this thread now; null when none does.
  static Queue* running_native() noexcept;

  // The queue with that native id, of any world of the process, and its world.
  static std::pair<std::shared_ptr<World>, Queue*> find_native(std::uintptr_t id) noexcept;

 private:
  // Taken a hundred times in a run of some microseconds: hence one that does not sleep. Of the
  // actors of an explored world one runs, and the others wait elsewhere for their turn.
  using Lock = std::unique_lock<sync::SpinLock>;

  // What somebody waits for. Nothing: he can go on at once.
  struct Until {
    order::Point point;
    const neutral::Timeline* timeline = nullptr;
    std::uint64_t value = 0;
    const backend::Loss* loss = nullptr;    // Ends it too: nobody will raise the timeline.
    std::optional<std::uint64_t> limit_ns;  // By the clock.
    std::source_location site;

    bool nothing() const noexcept { return point.none() && timeline == nullptr; }
    bool holds() const noexcept;
  };
  enum class Went : std::uint8_t { on, timeout, stuck };

  struct Actor {
    Until until;
    bool live = false;
    bool timed_out = false;
    std::atomic<std::uint32_t> called{0};  // How often the turn was handed to him. Sleeps on it.
  };

  struct View {
    std::uint64_t ticket;
    Bytes bytes;
    bool writes;
    std::uint64_t owner;
    std::source_location site;
  };

  // What is known of a timeline. They are numbered by whoever names them first: submissions and
  // calls of the host, whose order is a part of each schedule.
  struct Raised {
    std::uint32_t number = 0;
    VectorClock knows;
    std::uint64_t time_ns = 0;
  };

  explicit World(WorldOptions options);

  // Choices.
  std::optional<std::uint64_t> limit_of(Deadline deadline) const noexcept;
  Went go_on(const Until& until) noexcept;
  Went go_on_here(const Until& until) noexcept;
  Went go_on_explored(const Until& until, Lock& lock);
  Went go_on_plain(const Until& until, Lock& lock);
  void collect(const Until& until);
  bool can_run(const Op& op) const noexcept;
  std::optional<std::uint16_t> expire();
  Process choose();
  bool choosing() const noexcept;
  void finish_host_step();
  void begin_host_step(std::uint16_t actor, const Until& until);
  void choose_first(Lock& lock);
  void hand_over(std::uint16_t to, Lock& lock);
  void hand_over_stuck(Lock& lock);
  void begin_actor(std::uint16_t actor, const std::function<void()>& body);
  void sleep_until_called(std::uint16_t me, Lock& lock);
  Went await_turn(std::uint16_t me, Lock& lock);
  void leave(std::uint16_t me, Lock& lock);
  void give_up(const Until& until);
  void take_turn(std::uint16_t late);
  void step(Process process, Lock& lock);
  void drain(Lock& lock);
  void drain_if_ending(Lock& lock);
  bool all_ending() const noexcept;
  bool step_elsewhere(Lock& lock);
  bool step_if_ready() noexcept;
  std::vector<std::shared_ptr<World>> others() const;
  void drain_others() noexcept;
  void note_thread() noexcept;
  bool is_over(const Until& until) const noexcept;
  void sleep(const Until& until, std::uint64_t heard,
             const std::optional<std::chrono::steady_clock::time_point>& end, Lock& lock);
  void moved() const noexcept;
  std::uint16_t me() const noexcept;

  // One task.
  void run_op(Queue& queue, Lock& lock);
  Ran run_unlocked(Queue& queue, Op& op, Lock& lock);
  void run_callback(Lock& lock);
  void begin(Queue& queue, Op& op);
  void check_accesses(Op& op);
  void finish(Queue& queue, Op& op);
  template <class F>
  auto unlocked(Op& op, Lock& lock, F&& function);
  std::optional<Error> bad_input(const Queue& queue, Op& op, Lock& lock);
  bool settle(const Queue& queue, Op& op, std::optional<Error>& error, Lock& lock);
  void pass(Queue& queue, Op& op, std::optional<Error>& error, bool carried, Lock& lock);
  void count_end(ErrorKind kind) noexcept;
  void note_effects(const Queue& queue, const Op& op);
  void note_bytes(Bytes bytes, bool written);
  void note_use(const neutral::Timeline& timeline, std::uint64_t from, std::uint64_t to,
                Effects::Use use);
  bool sees_program(const Op& op) const;
  bool host_has(std::uint64_t allocation) const;
  Raised& raised(const neutral::Timeline& timeline);
  std::uint64_t count(FaultSite site) noexcept;
  void note_output(const Op& op);
  void nobody_heard(const Error& error, const User* user);
  void release(Op* op) noexcept;
  void swap_lists(Stock& stock) noexcept;
  void take_stock();
  void leave_stock() noexcept;
  std::unique_ptr<Queue::State> take_state();
  void leave_state(std::unique_ptr<Queue::State> state) noexcept;
  Op& take_op();
  Op& enqueue(Queue& queue, neutral::TaskKind kind, std::shared_ptr<User> user);
  bool in_arena(const std::byte* bytes) const noexcept;
  void copy_task(Op& op, const neutral::Task& task);
  void add_waits(Queue& queue, Op& op);
  void learn(const VectorClock* clock);
  const VectorClock& knowledge() const noexcept;
  Queue* queue_at(std::size_t slot) const noexcept;
  Queue* queue_of(order::QueueIndex index) const noexcept;
  void move_time(std::uint64_t to_ns) noexcept;

  // Checks.
  void add(Finding finding);
  void conflict(const Op& op, AccessMode mode, const Shadow::Conflict& conflict);
  void broken_out(const Op& op, Bytes bytes);
  static void put_guard(Bytes guard) noexcept;
  void compare_guard(Op& op, Bytes guard, bool before);
  void compare_memory(Op& op, bool before);
  void compare_arena(Op& op, Arena& arena, bool before);
  void compare_bytes(Op& op, Arena& arena, Bytes bytes, bool before);
  void tell_others(const Op& op, Lock& lock);
  void written_elsewhere(const std::vector<Bytes>& written) noexcept;
  void accept_write(Arena& arena, Bytes bytes);
  void accept_writes(const Op& op);
  void undeclared(Op& op, Bytes bytes, bool before);
  void check_written(Bytes bytes, std::uint64_t owner, std::source_location site);
  void note_host_turn();
  void host_gets(const Allocation& allocation);
  void check_host(Bytes bytes, bool writes, std::uint64_t owner, std::source_location site);
  Finding hidden_wait() const;
  void check_deadlock(const Until& until);
  void check_never_ran();
  FindingSide side(const User& user, AccessMode mode, Bytes bytes) const;
  FindingSide host_side(AccessMode mode, Bytes bytes, std::source_location site) const;
  std::uint64_t owner_of(std::uint64_t address) const;
  std::string touches_text(const FindingSide& side) const;
  std::string bytes_text(const FindingSide& side) const;
  std::string timeline_text(const neutral::Timeline& timeline, std::uint64_t value);
  std::string blocked_who(const Queue& queue) const;
  std::string blocked_how(const Queue& queue);
  std::string waiter_text(std::uint16_t actor, const Until& until);
  std::vector<Finding> take_reports();
  static void to_sink(const std::vector<Finding>& reports);

  // call() for whoever holds the lock.
  Result<void> grant(FaultSite site);
  Result<void> compile(const KernelCode& code);
  void note_caller(Site site) noexcept;
  void note_refusal(FaultSite fault, const Error& error);
  void note_granted(FaultSite fault) noexcept;
  std::optional<Error> failure_of(const Op& op);

  TraceEvent& record(TraceKind kind);
  void record_wait(TraceKind kind, const Until& until);
  void record_submit(const Queue& queue, const Op& op);

  // Constant.
  WorldOptions options_;
  std::shared_ptr<VirtualClock> own_clock_;  // Null when the program has one.
  std::shared_ptr<const Clock> clock_;
  const std::thread::id only_;  // Who made the world.

  // Guards what follows it. No code of the program's runs under it.
  mutable sync::SpinLock mutex_{sync::Rank::leaf};
  std::thread::id running_;  // Who runs a task or a callback. None: nobody.
  bool several_ = false;     // Others called than the one that made the world.

  Schedule* schedule_ = nullptr;
  bool wants_effects_ = false;  // The schedule does.
  bool with_actors_ = false;
  std::vector<Actor> actors_;
  std::uint16_t current_ = 0;  // Whose turn it is.
  std::size_t live_actors_ = 0;
  bool aborting_ = false;  // A deadlock was found: nobody waits any more.
  bool over_limit_ = false;
  std::uint64_t steps_ = 0;
  std::uint64_t steps_max_ = 0;
  Process last_ = 0;
  std::vector<Process> ready_;
  Effects effects_;
  bool noting_ = false;
  bool host_step_ = false;  // The effects are a step of the host's.

  std::vector<std::unique_ptr<Queue>> queues_;  // By slot; null: nobody.
  std::size_t pending_ = 0;                     // Tasks on all of them.
  std::vector<std::uint32_t> positions_;        // By slot: where the next queue goes on.
  VectorClock done_;

  // What the host has learnt to be over, by asking or waiting. Only that comes before what it
  // enqueues, not what merely was over: a run does not depend on what nobody asked for.
  VectorClock host_knows_;
  // Of queues that are gone: the runtime forgets their points, and asks about them no more.
  VectorClock gone_;
  Op* running_op_ = nullptr;
  VectorClock callback_knows_;  // Of the callback that runs.
  bool in_callback_ = false;
  VectorClock knowledge_at_end_;  // Of the task that passes now.
  std::int32_t lanes_ = 0;
  std::vector<std::unique_ptr<Op>> ops_;
  std::vector<Op*> free_ops_;  // Of ops_.
  struct Callback {
    UniqueFunction function;
    VectorClock knows;
  };
  Fifo<Callback> callbacks_;
  std::uint32_t callbacks_added_ = 0;
  std::uint32_t callbacks_run_ = 0;
  std::vector<std::uint64_t> engines_;  // When each copy engine is free.
  std::uint64_t submissions_ = 0;
  backend::Loss loss_;
  std::vector<Refusal> refusals_;
  Caller caller_;
  std::array<std::source_location, kActorsMax> sites_;  // Of explored actors' latest calls.
  std::uint64_t callers_ = 0;                           // How many there were.

  Shadow shadow_;
  std::vector<Arena*> arenas_;
  std::uint64_t arenas_attached_ = 0;
  std::vector<View> views_;
  std::vector<Bytes> guards_;                         // Behind host memory that is alive.
  FlatMap<std::uint64_t, Live> allocations_;          // By id.
  FlatMap<std::uint64_t, std::uint64_t> by_address_;  // The id of whoever had it last.
  std::unordered_map<const void*, Raised> timelines_;
  std::uint32_t timelines_named_ = 0;
  std::set<std::string, std::less<>> compiled_;  // Names: addresses of kernels come again.
  std::size_t live_ = 0;
  bool any_mapped_ = false;  // Any of them.
  std::int32_t numbers_ = 0;
  std::vector<Shadow::Conflict> conflicts_;
  std::vector<const neutral::Timeline*> named_timelines_;
  std::vector<Finding> findings_;
  std::size_t reported_to_sink_ = 0;
  std::vector<Output> outputs_;
  std::vector<std::uint16_t> submitters_;
  std::uint64_t nested_from_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t observed_ = 0;
  Trace* trace_ = nullptr;

  std::atomic<std::uint64_t> failed_{0};
  std::atomic<std::uint64_t> cancelled_{0};
  std::atomic<std::uint64_t> skipped_{0};
};

// The actor whose thread this is; 0 for others.
extern thread_local std::uint16_t this_actor;

}  // namespace thalweg::sim
