// SPDX-License-Identifier: Apache-2.0
//
// Callbacks: what is run when something has passed.

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "contract/support/sink.hpp"
#include "contract/support/work.hpp"

namespace thalweg::contract {
namespace {

// How often each of some callbacks ran. Shared with them.
class Calls {
 public:
  std::function<void()> of(std::size_t i) const {
    return [state = state_, i] { ++state->at(i); };
  }
  int count(std::size_t i) const { return state_->at(i); }

  explicit Calls(std::size_t size) : state_(std::make_shared<State>(size)) {}

 private:
  struct State {
    explicit State(std::size_t size) : counts(size) {}
    std::atomic<int>& at(std::size_t i) { return counts.at(i); }
    std::vector<std::atomic<int>> counts;
  };
  std::shared_ptr<State> state_;
};

// A callback that calls the device waits for this: a backend may be for one thread at a time, and
// the row's own is in a call of it while the callback begins. Where the call itself runs the
// callback it has the turn.
class Turn {
 public:
  void give() const { *given_ = true; }
  bool wait() const {
    if (std::this_thread::get_id() == row_) return true;
    return comes_true([this] { return given_->load(); });
  }

 private:
  std::thread::id row_ = std::this_thread::get_id();
  std::shared_ptr<std::atomic<bool>> given_ = std::make_shared<std::atomic<bool>>(false);
};

// All callbacks that could run by now have run: they run one after the other.
bool callbacks_done(const Stream& idle) {
  const Calls flag(1);
  Future<void> now = idle.host("now", {}, [] {});
  need(now.on_complete(flag.of(0)));
  return comes_true([&] {
    static_cast<void>(idle.device().poll());
    return flag.count(0) == 1;
  });
}

// Something that ends when the gate opens, and how callbacks are registered for it.
struct Ends {
  explicit Ends(const Stream& stream, const Array<int>& data)
      : queue(stream), mark(need(Event::create(stream.device()))) {
    done = stream.host("done", {}, [] {});
    need(stream.fill(data, 0));
    values = stream.read(data);
    task = need(stream.fill(data, 1));
    need(stream.record(mark));
  }

  void register_all(const Calls& calls, std::size_t first) const {
    need(done.on_complete(calls.of(first)));
    need(values.on_complete(calls.of(first + 1)));
    need(queue.on_complete(task, calls.of(first + 2)));
    need(mark.on_complete(calls.of(first + 3)));
  }

  Stream queue;
  Event mark;
  Future<void> done;
  Future<std::vector<int>> values;
  Task task;
};

// Each kind of callback, registered before what it is for has passed and after: it runs once, and
// not before.
CONTRACT_ROW(C1, ACallbackRunsExactlyOnce) {
  const Stream s = stream();
  const Stream idle = stream();
  const auto data = need(Array<int>::create(s, 4));
  const Calls calls(12);
  const Gate gate(device());
  gate.hold(s);
  const Ends ends(s, data);
  ends.register_all(calls, 0);
  ends.register_all(calls, 4);  // A second one for the same thing is one more.
  EXPECT_TRUE(callbacks_done(idle));
  for (std::size_t i = 0; i != 8; ++i) EXPECT_EQ(calls.count(i), 0) << i;
  EXPECT_TRUE(gate.closed());
  gate.open();
  need(s.synchronize(kLimit));
  EXPECT_TRUE(callbacks_done(s));
  for (std::size_t i = 0; i != 8; ++i) EXPECT_EQ(calls.count(i), 1) << i;
  ends.register_all(calls, 8);
  EXPECT_TRUE(callbacks_done(s));
  for (std::size_t i = 0; i != 12; ++i) EXPECT_EQ(calls.count(i), 1) << i;
}

// A thread of the runtime runs it, also when it is registered late.
CONTRACT_ROW(C2Thread, ACallbackRunsOnAThreadOfTheRuntime) {
  const Stream s = stream();
  Future<void> future = s.host("f", {}, [] {});
  for (int late = 0; late != 2; ++late) {
    const auto thread = std::make_shared<std::atomic<std::thread::id>>();
    need(future.on_complete([thread] { *thread = std::this_thread::get_id(); }));
    EXPECT_TRUE(comes_true([&] { return thread->load() != std::thread::id(); }));
    EXPECT_NE(thread->load(), std::this_thread::get_id());
    need(s.synchronize(kLimit));
  }
}

// What waits is refused there, also when it is registered late.
CONTRACT_ROW(C2, ACallbackRunsInsideANoWaitScope) {
  struct Seen {
    bool no_wait = false;
    std::string wait;
    std::atomic<bool> done{false};
  };
  const Stream s = stream();
  const Stream held = stream();
  const Gate gate(device());
  const Gate second(device());
  gate.hold(s);
  second.hold(held);
  Future<void> behind = held.host("behind", {}, [] {});
  Future<void> future = s.host("f", {}, [] {});
  const Turn turn;
  const auto observe = [&held, &turn](const std::shared_ptr<Seen>& seen) {
    return [seen, held, turn] {
      EXPECT_TRUE(turn.wait());
      seen->no_wait = NoWaitScope::active();
      seen->wait = refusal(held.synchronize(kLimit));
      seen->done = true;
    };
  };
  const auto early = std::make_shared<Seen>();
  const auto late = std::make_shared<Seen>();
  need(future.on_complete(observe(early)));
  gate.open();
  turn.give();
  EXPECT_TRUE(comes_true([&] { return early->done.load(); }));
  need(future.on_complete(observe(late)));
  EXPECT_TRUE(comes_true([&] { return late->done.load(); }));
  for (const auto& seen : {early, late}) {
    EXPECT_TRUE(seen->no_wait);
    EXPECT_EQ(seen->wait, "wait_forbidden");
  }
  EXPECT_FALSE(NoWaitScope::active());
  EXPECT_FALSE(behind.ready());
}

// When the callback runs, get() gives the result at once, there too.
CONTRACT_ROW(C3, TheResultIsThereWhenTheCallbackRuns) {
  struct State {
    Future<std::vector<int>> future;
    std::string outcome;
    std::vector<int> values;
    std::atomic<bool> done{false};
  };
  const Stream s = stream();
  const auto data = need(Array<int>::create(s, 4));
  const auto state = std::make_shared<State>();
  const Gate gate(device());
  gate.hold(s);
  need(s.fill(data, 7));
  state->future = s.read(data);
  need(state->future.on_complete([state] {
    Result<std::vector<int>> result = state->future.get();
    state->outcome = refusal(result);
    if (result) state->values = *std::move(result);
    state->done = true;
  }));
  gate.open();
  ASSERT_TRUE(comes_true([&] { return state->done.load(); }));
  EXPECT_EQ(state->outcome, "none");
  EXPECT_EQ(state->values, std::vector<int>(4, 7));
  state->future = {};
}

// No lock is held: the callback submits, polls, makes and drops, and registers another one.
CONTRACT_ROW(C4, ACallbackMayCallTheRuntime) {
  struct State {
    Stream stream;
    Array<int> data;
    Future<std::vector<int>> values;
    std::vector<std::string> refusals;
    std::atomic<int> stage{0};
  };
  const auto state = std::make_shared<State>();
  state->stream = stream();
  state->data = need(Array<int>::create(state->stream, 4));
  const Gate gate(device());
  gate.hold(state->stream);
  Future<void> first = state->stream.host("first", {}, [] {});
  const Turn turn;
  need(first.on_complete([state, turn] {
    EXPECT_TRUE(turn.wait());
    const Device device = state->stream.device();
    auto& refusals = state->refusals;
    refusals.push_back(refusal(state->stream.fill(state->data, 5)));
    device.poll();
    device.trim();
    static_cast<void>(device.statistics());
    static_cast<void>(device.memory_usage());
    const auto other = Stream::create(device);
    refusals.push_back(refusal(other));
    const auto event = Event::create(device);
    refusals.push_back(refusal(event));
    if (other && event) {
      refusals.push_back(refusal(state->stream.record(*event)));
      refusals.push_back(refusal(other->wait_event(*event)));
      refusals.push_back(refusal(Array<int>::create(*other, 16)));
    }
    state->values = state->stream.read(state->data);
    refusals.push_back(refusal(state->values.on_complete([state] { state->stage = 2; })));
    state->stage = 1;
  }));
  gate.open();
  turn.give();
  ASSERT_TRUE(comes_true([&] { return state->stage == 2; }));
  for (const std::string& refused : state->refusals) EXPECT_EQ(refused, "none");
  EXPECT_EQ(state->refusals.size(), 7U);
  EXPECT_EQ(need(state->values.get(kLimit)), std::vector<int>(4, 5));
  need(state->stream.synchronize(kLimit));
  state->data = {};
  state->stream = {};
}

// The last handles of everything go in a callback, the future's among them: it waits until this
// thread has none, or makes the calls. The row's end finds the device gone.
CONTRACT_ROW(C5, ACallbackMayDropTheLastHandles) {
  struct State {
    Device device;
    Stream stream;
    Array<int> data;
    Event event;
    Timeline timeline;
    Future<void> future;
  };
  const Turn turn;
  const auto dropped = std::make_shared<std::atomic<bool>>(false);
  auto state = std::make_shared<State>();
  state->stream = stream();
  state->device = take_device();
  // Where callbacks run inside calls, somebody has to call.
  const Device caller = backend().any_thread && !backend().own_threads ? state->device : Device();
  state->data = need(Array<int>::create(state->stream, 4));
  state->event = need(Event::create(state->device));
  state->timeline = need(Timeline::create(state->device));
  std::optional<Gate> gate(state->device);
  gate->hold(state->stream);
  need(state->stream.fill(state->data, 1));
  need(state->stream.record(state->event));
  state->future = state->stream.host("last", {}, [] {});
  need(state->future.on_complete([state, turn, dropped]() mutable {
    EXPECT_TRUE(turn.wait());
    state.reset();
    *dropped = true;
  }));
  state.reset();
  gate->open();
  gate.reset();
  EXPECT_TRUE(caller.valid() || !control().driver_destroyed());
  turn.give();
  EXPECT_TRUE(comes_true([&] {
    if (caller.valid()) static_cast<void>(caller.poll());
    return dropped->load();
  }));
}

// What a callback throws goes to the error sink, and the next callback runs.
CONTRACT_ROW(C6, WhatACallbackThrowsGoesToTheErrorSink) {
  const Sink sink;
  const Stream s = stream();
  const Calls calls(1);
  Future<void> future = s.host("f", {}, [] {});
  need(future.on_complete([] { throw std::runtime_error("thrown by a callback"); }));
  need(future.on_complete([] { throw 7; }));
  need(future.on_complete(calls.of(0)));
  EXPECT_TRUE(comes_true([&] { return calls.count(0) == 1; }));
  // One that is asked for when the task passes may come before one that waits for it.
  EXPECT_TRUE(comes_true([&] { return sink.size() == 2; }));
  int with_text = 0;
  for (const Error& error : sink.errors()) {
    EXPECT_EQ(error.kind(), ErrorKind::task_failed);
    with_text += error.message().find("thrown by a callback") != std::string_view::npos ? 1 : 0;
  }
  EXPECT_EQ(with_text, 1);
  EXPECT_EQ(refusal(future.get(kLimit)), "none");
}

// The future, the event and the stream are dropped before the gate opens.
CONTRACT_ROW(C7, ACallbackOutlivesTheHandles) {
  const Calls calls(4);
  const Gate gate(device());
  {
    const Stream s = stream();
    const auto data = need(Array<int>::create(s, 4));
    gate.hold(s);
    Ends(s, data).register_all(calls, 0);
  }
  for (std::size_t i = 0; i != 4; ++i) EXPECT_EQ(calls.count(i), 0);
  gate.open();
  for (std::size_t i = 0; i != 4; ++i)
    EXPECT_TRUE(comes_true([&] { return calls.count(i) == 1; })) << i;
}

// A future that holds a refusal or nothing is ready: its callback runs in the call.
CONTRACT_ROW(C8, ARefusalsCallbackRunsInTheCall) {
  const Stream s = stream();
  Future<void> refused = Stream().host("f", {}, [] {});
  Future<void> taken = s.host("f", {}, [] {});
  EXPECT_EQ(refusal(taken.get(kLimit)), "none");
  const Future<void> empty;
  for (const Future<void>* future : {&std::as_const(refused), &std::as_const(taken), &empty}) {
    std::thread::id where;
    EXPECT_EQ(refusal(future->on_complete([&where] { where = std::this_thread::get_id(); })),
              "none");
    EXPECT_EQ(where, std::this_thread::get_id());
  }
  EXPECT_EQ(refusal(refused.get()), "invalid_handle");
}

// There too nobody takes an exception from it.
CONTRACT_ROW(C8Throws, WhatARefusalsCallbackThrowsGoesToTheErrorSink) {
  const Sink sink;
  Future<void> refused = Stream().host("f", {}, [] {});
  EXPECT_EQ(refusal(refused.on_complete([] { throw std::runtime_error("thrown here"); })), "none");
  const std::vector<Error> errors = sink.errors();
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].kind(), ErrorKind::task_failed);
  EXPECT_NE(errors[0].message().find("thrown here"), std::string_view::npos);
  EXPECT_EQ(refusal(refused.get()), "invalid_handle");
}

CONTRACT_ROW(C9, ACallbackThatCannotBeIsRefused) {
  const Stream s = stream();
  const Stream other = stream();
  const auto data = need(Array<int>::create(s, 4));
  const Task task = need(s.fill(data, 1));
  const Future<void> future = s.host("f", {}, [] {});
  const Event never = event();
  Event recorded = event();
  need(s.record(recorded));
  const auto fail = [] { ADD_FAILURE() << "It ran."; };
  EXPECT_EQ(refusal(s.on_complete(task, {})), "invalid_argument");
  EXPECT_EQ(refusal(future.on_complete({})), "invalid_argument");
  EXPECT_EQ(refusal(Future<void>().on_complete({})), "invalid_argument");
  EXPECT_EQ(refusal(recorded.on_complete({})), "invalid_argument");
  EXPECT_EQ(refusal(other.on_complete(task, fail)), "invalid_argument");
  EXPECT_EQ(refusal(s.on_complete(Task(), fail)), "invalid_argument");
  const Task later(s.id(), Serial{task.serial().value + 1000});
  EXPECT_EQ(refusal(s.on_complete(later, fail)), "invalid_argument");
  EXPECT_EQ(refusal(never.on_complete(fail)), "event_not_recorded");
  EXPECT_EQ(refusal(Event().on_complete(fail)), "invalid_handle");
  EXPECT_EQ(refusal(Stream().on_complete(task, fail)), "invalid_handle");
  need(s.synchronize(kLimit));
  EXPECT_TRUE(callbacks_done(s));
}

// How the task ended makes no difference.
CONTRACT_ROW(C10, ACallbackRunsAfterFailedAndStoppedTasksToo) {
  const Stream s = stream();
  std::stop_source stop;
  const Stream stoppable = s.with_stop_token(stop.get_token());
  const Calls calls(2);
  const Gate gate(device());
  gate.hold(s);
  Future<void> failed = s.host("throws", {}, [] { throw std::runtime_error("on purpose"); });
  Future<void> stopped = stoppable.host("stopped", {}, [] { ADD_FAILURE() << "It ran."; });
  need(failed.on_complete(calls.of(0)));
  need(stopped.on_complete(calls.of(1)));
  stop.request_stop();
  gate.open();
  EXPECT_TRUE(comes_true([&] { return calls.count(0) == 1 && calls.count(1) == 1; }));
  EXPECT_EQ(refusal(failed.get(kLimit)), "task_failed");
  EXPECT_EQ(refusal(stopped.get(kLimit)), "cancelled");
}

// The latest record at the time of the call is the one that counts.
CONTRACT_ROW(C11, AnEventsCallbackIsForTheLatestRecord) {
  const Stream s = stream();
  const Stream idle = stream();
  const Event mark = event();
  const Calls calls(2);
  const Gate gate(device());
  gate.hold(s);
  need(idle.record(mark));
  need(idle.synchronize(kLimit));
  need(mark.on_complete(calls.of(0)));
  need(s.record(mark));
  need(mark.on_complete(calls.of(1)));
  need(idle.record(mark));
  EXPECT_TRUE(callbacks_done(idle));
  EXPECT_EQ(calls.count(0), 1);
  EXPECT_EQ(calls.count(1), 0);
  gate.open();
  EXPECT_TRUE(comes_true([&] { return calls.count(1) == 1; }));
}

}  // namespace
}  // namespace thalweg::contract
