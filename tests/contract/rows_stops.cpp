// SPDX-License-Identifier: Apache-2.0
//
// Stop tokens: what they stop, and what they leave alone.

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "contract/support/sink.hpp"
#include "contract/support/work.hpp"

namespace thalweg::contract {
namespace {

using Values = std::vector<int>;

// A callable that counts how often it is called and how many of it there are.
struct Counts {
  std::atomic<int> alive{0};
  std::atomic<int> made{0};
  std::atomic<int> called{0};
};

class Callable {
 public:
  explicit Callable(std::shared_ptr<Counts> counts) : counts_(std::move(counts)) { born(); }
  Callable(const Callable& other) : counts_(other.counts_) { born(); }
  Callable(Callable&& other) noexcept : counts_(other.counts_) { born(); }
  Callable& operator=(const Callable&) = delete;
  Callable& operator=(Callable&&) = delete;
  ~Callable() { --counts_->alive; }

  void operator()() const { ++counts_->called; }
  void operator()(NativeHandle, std::span<const NativeBytes>) const { ++counts_->called; }

 private:
  void born() noexcept {
    ++counts_->alive;
    ++counts_->made;
  }
  std::shared_ptr<Counts> counts_;
};

// One task of each kind that can be stopped, each with bytes of its own.
class EachKind {
 public:
  explicit EachKind(const Stream& home) : zeros_(need(home.upload(Values(4, 0)))) {
    for (int i = 0; i != 6; ++i) targets_.push_back(need(home.upload(Values(4, 1))));
  }

  void submit(const Stream& s) {
    const auto ran = ran_;
    const auto set = kernel("set", [ran](Cell at, Out<int> out) {
      ran->kernel = true;
      out[at.x] = 2;
    });
    need(s.launch(set, 4, targets_[0]));
    need(s.fill(targets_[1], 2));
    need(s.copy(targets_[2], zeros_));
    need(s.upload(targets_[3], std::span<const int>(*twos_)));
    need(s.upload(targets_[4], Values(*twos_)));
    borrowed_ = s.upload_borrowed(targets_[5], std::span<const int>(*twos_));
    read_ = s.read(zeros_);
    function_ = s.host("function", {}, [ran] { ran->host = true; });
    need(s.native({}, [ran](NativeHandle, std::span<const NativeBytes>) { ran->native = true; }));
  }

  // Nothing was done, and whoever asks is told, or reads what was not written.
  void expect_stopped(const Stream& reader) {
    EXPECT_EQ(refusal(borrowed_.get(kLimit)), "cancelled");
    EXPECT_EQ(refusal(read_.get(kLimit)), "cancelled");
    EXPECT_EQ(refusal(function_.get(kLimit)), "cancelled");
    need(reader.synchronize(kLimit));
    EXPECT_FALSE(ran_->kernel);
    EXPECT_FALSE(ran_->host);
    EXPECT_FALSE(ran_->native);
    for (const Array<int>& target : targets_) {
      const auto seen = reader.read(target).get(kLimit);
      EXPECT_EQ(refusal(seen), "unwritten");
      EXPECT_TRUE(!seen && seen.error().root().kind() == ErrorKind::cancelled);
    }
  }

  void expect_done(const Stream& reader) {
    EXPECT_EQ(refusal(borrowed_.get(kLimit)), "none");
    EXPECT_EQ(need(read_.get(kLimit)), Values(4, 0));
    EXPECT_EQ(refusal(function_.get(kLimit)), "none");
    need(reader.synchronize(kLimit));
    EXPECT_TRUE(ran_->kernel);
    EXPECT_TRUE(ran_->host);
    EXPECT_TRUE(ran_->native);
    for (const Array<int>& target : targets_)
      EXPECT_EQ(need(reader.read(target).get(kLimit)), Values(4, &target == &targets_[2] ? 0 : 2));
  }

 private:
  struct Ran {
    std::atomic<bool> kernel{false};
    std::atomic<bool> host{false};
    std::atomic<bool> native{false};
  };

  const std::shared_ptr<Ran> ran_ = std::make_shared<Ran>();
  const std::shared_ptr<const Values> twos_ = std::make_shared<const Values>(4, 2);
  const Array<int> zeros_;
  std::vector<Array<int>> targets_;
  Future<void> borrowed_;
  Future<Values> read_;
  Future<void> function_;
};

constexpr std::uint64_t kEachKind = 9;

// Behind a gate, each kind of task that can be stopped: none is done, the bytes are as they were,
// and each one is counted. The error sink hears nothing.
CONTRACT_ROW(X1, AStopEndsWaitingTasksWithCancelled) {
  const Sink sink;
  const Stream s = stream();
  std::stop_source stop;
  EachKind tasks(s);
  need(s.synchronize(kLimit));
  {
    const Gate gate(device());
    gate.hold(s);
    tasks.submit(s.with_stop_token(stop.get_token()));
    stop.request_stop();
    EXPECT_EQ(device().statistics().tasks_cancelled, 0U);
  }
  tasks.expect_stopped(s);
  EXPECT_EQ(device().statistics().tasks_cancelled, kEachKind);
  EXPECT_EQ(device().statistics().tasks_failed, 0U);
  EXPECT_EQ(sink.size(), 0U);
}

// A stop that was requested before the submission is one too.
CONTRACT_ROW(X1Before, AStopRequestedBeforeStopsWhatComesLater) {
  const Stream s = stream();
  std::stop_source stop;
  stop.request_stop();
  EachKind tasks(s);
  tasks.submit(s.with_stop_token(stop.get_token()));
  tasks.expect_stopped(s);
  EXPECT_EQ(device().statistics().tasks_cancelled, kEachKind);
}

// No stop is requested, or nobody can, or too late.
CONTRACT_ROW(X2, WithoutAStopEverythingIsDone) {
  const Stream s = stream();
  std::stop_source stop;
  EachKind never(s);
  never.submit(s.with_stop_token(stop.get_token()));
  never.expect_done(s);
  EachKind nobody(s);
  nobody.submit(s.with_stop_token({}));
  nobody.expect_done(s);
  EachKind late(s);
  late.submit(s.with_stop_token(stop.get_token()));
  need(s.synchronize(kLimit));
  stop.request_stop();
  late.expect_done(s);
  EXPECT_EQ(device().statistics().tasks_cancelled, 0U);
}

// A task that has begun requests the stop, and runs to its end; the one behind it does not begin.
CONTRACT_ROW(X3, ATaskThatHasBegunRunsToItsEnd) {
  const Stream s = stream();
  const auto stop = std::make_shared<std::stop_source>();
  const Stream stoppable = s.with_stop_token(stop->get_token());
  const auto ended = std::make_shared<std::atomic<bool>>(false);
  const Gate gate(device());
  gate.hold(s);
  Future<void> begun = stoppable.host("begun", {}, [stop, ended] {
    stop->request_stop();
    *ended = true;
  });
  Future<void> behind = stoppable.host("behind", {}, [] { ADD_FAILURE() << "It ran."; });
  gate.open();
  EXPECT_EQ(refusal(begun.get(kLimit)), "none");
  EXPECT_TRUE(*ended);
  EXPECT_EQ(refusal(behind.get(kLimit)), "cancelled");
}

// The token is the handle's: the queue, its other handles and other tokens go on.
CONTRACT_ROW(X4, OtherHandlesOfTheQueueAreNotStopped) {
  const Stream s = stream();
  std::stop_source one;
  std::stop_source two;
  const Stream first = s.with_stop_token(one.get_token());
  const Stream copy = first;  // NOLINT(performance-unnecessary-copy-initialization)
  const Stream second = first.with_stop_token(two.get_token());
  const Stream free = first.with_stop_token({});
  EXPECT_TRUE(first.is_same_queue(s));
  EXPECT_EQ(first.raw(), s.raw());
  EXPECT_EQ(first.id(), s.id());
  const Log log;
  const Gate gate(device());
  gate.hold(s);
  std::vector<Future<void>> futures;
  for (const Stream& handle : {s, first, copy, second, free})
    futures.push_back(log.enqueue(handle, static_cast<int>(futures.size())));
  one.request_stop();
  gate.open();
  const std::vector<std::string> expected{"none", "cancelled", "cancelled", "none", "none"};
  for (std::size_t i = 0; i != futures.size(); ++i)
    EXPECT_EQ(refusal(futures[i].get(kLimit)), expected[i]) << i;
  EXPECT_EQ(log.entries(), (std::vector<int>{0, 3, 4}));
}

// What carries order is never stopped, or somebody would wait for ever.
CONTRACT_ROW(X5, RecordsSignalsAndWaitsAreNeverStopped) {
  const Stream s = stream();
  const Stream other = stream();
  const Stream source = stream();
  std::stop_source stop;
  stop.request_stop();
  const Stream stopped = s.with_stop_token(stop.get_token());
  const Event mark = event();
  const TimedEvent timed = need(TimedEvent::create(device()));
  const Event theirs = event();
  const Timeline raised = need(Timeline::create(device()));
  const Gate gate(device());
  const Gate second(device());
  const Log log;
  gate.hold(source);
  need(source.record(theirs));
  need(stopped.wait_event(theirs));
  need(stopped.wait(second.timeline(), 1));
  Future<void> behind = log.enqueue(s, 1);
  need(stopped.record(mark));
  need(stopped.record(timed));
  need(stopped.signal(raised, 4));
  need(other.wait_event(mark));
  Future<void> after = log.enqueue(other, 2);
  EXPECT_EQ(mark.query(), EventState::not_yet);
  EXPECT_EQ(timed.query(), EventState::not_yet);
  second.open();
  EXPECT_FALSE(behind.ready());
  EXPECT_EQ(raised.value(), 0U);
  gate.open();
  EXPECT_EQ(refusal(behind.get(kLimit)), "none");
  EXPECT_EQ(refusal(after.get(kLimit)), "none");
  EXPECT_EQ(refusal(raised.wait(4, kLimit)), "none");
  EXPECT_EQ(refusal(elapsed(timed, timed)), "none");
  EXPECT_EQ(log.entries(), (std::vector<int>{1, 2}));
  EXPECT_EQ(refusal(stopped.synchronize(kLimit)), "none");
  EXPECT_EQ(device().statistics().tasks_cancelled, 0U);
}

// The callables of stopped tasks are not called, and each one is destroyed once, by the time its
// task has passed and the handles are gone.
CONTRACT_ROW(X6, CallablesOfStoppedTasksAreDestroyedOnce) {
  const auto counts = std::make_shared<Counts>();
  const Stream s = stream();
  std::stop_source stop;
  {
    const Stream stoppable = s.with_stop_token(stop.get_token());
    const Gate gate(device());
    gate.hold(s);
    static_cast<void>(stoppable.host("f", {}, Callable(counts)));
    need(stoppable.native({}, Callable(counts)));
    {
      const auto code = kernel("k", [callable = Callable(counts)](Cell) { callable(); });
      need(stoppable.launch(code, 8));
    }
    EXPECT_EQ(counts->alive, 3);
    stop.request_stop();
  }
  need(s.synchronize(kLimit));
  EXPECT_TRUE(comes_true([&] { return counts->alive <= 0; }));
  EXPECT_EQ(counts->alive, 0);
  EXPECT_GE(counts->made, 3);
  EXPECT_EQ(counts->called, 0);
}

// Whoever comes after a stopped task is not stopped: he is skipped where he reads what it did not
// write, and goes on where he writes it.
CONTRACT_ROW(X7, WhatComesAfterAStoppedTaskGoesOn) {
  const Stream a = stream();
  const Stream b = stream();
  std::stop_source stop;
  const auto data = need(a.upload(Values(4, 1)));
  const auto seen = need(Array<int>::create(b, 4));
  const Gate gate(device());
  gate.hold(a);
  need(a.with_stop_token(stop.get_token()).fill(data, 2));
  need(b.copy(seen, data));
  Future<Values> on_b = b.read(seen);
  Future<Values> on_a = a.read(data);
  stop.request_stop();
  EXPECT_FALSE(on_b.ready());
  gate.open();
  EXPECT_EQ(refusal(on_b.get(kLimit)), "unwritten");
  EXPECT_EQ(refusal(on_a.get(kLimit)), "unwritten");
  need(a.fill(data, 3));
  need(b.copy(seen, data));
  EXPECT_EQ(need(b.read(seen).get(kLimit)), Values(4, 3));
}

}  // namespace
}  // namespace thalweg::contract
