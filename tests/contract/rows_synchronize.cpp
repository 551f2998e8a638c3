// SPDX-License-Identifier: Apache-2.0
//
// Waiting on the host for a stream.

#include <functional>
#include <stdexcept>
#include <thread>

#include "contract/support/work.hpp"

namespace thalweg::contract {
namespace {

// Host functions that enqueue their successor before they end, until it is told to stop: the stream
// never runs dry.
class EndlessProducer {
 public:
  explicit EndlessProducer(const Stream& stream) : state_(std::make_shared<State>()) {
    state_->stream = stream;
    enqueue(state_);
  }
  EndlessProducer(const EndlessProducer&) = delete;
  EndlessProducer& operator=(const EndlessProducer&) = delete;
  ~EndlessProducer() {
    state_->stopping = true;
    static_cast<void>(comes_true([this] { return state_->stopped.load(); }));
  }
  bool running() const noexcept { return state_->ran != 0 && !state_->stopped; }

 private:
  struct State {
    Stream stream;
    std::atomic<std::uint64_t> ran{0};
    std::atomic<bool> stopping{false};
    std::atomic<bool> stopped{false};
  };
  static void enqueue(const std::shared_ptr<State>& state) {
    static_cast<void>(state->stream.host("link", {}, [state] {
      ++state->ran;
      state->stopping ? state->stopped.store(true) : enqueue(state);
    }));
  }

  std::shared_ptr<State> state_;
};

// A thread waits in synchronize() when more is enqueued, behind another gate. It comes back when
// what was there before it is done. Then against a stream that is never empty.
CONTRACT_ROW(S18, SynchronizeWaitsForWhatWasEnqueuedBeforeIt) {
  const Stream s = stream();
  const Log log;
  const Gate first(device());
  const Gate second(device());
  first.hold(s);
  static_cast<void>(log.enqueue(s, 1));
  const std::uint64_t waits = control().calls(Call::host_wait);
  std::string answer;
  std::thread waiter([&] { answer = refusal(s.synchronize(kLimit)); });
  // From here on the waiter knows what it waits for.
  const bool blocked = comes_true([&] { return control().calls(Call::host_wait) != waits; });
  static_cast<void>(s.wait(second.timeline(), 1));
  Future<void> behind = log.enqueue(s, 2);
  first.open();
  waiter.join();
  EXPECT_TRUE(blocked);
  EXPECT_EQ(answer, "none");
  EXPECT_TRUE(second.closed());
  EXPECT_FALSE(behind.ready());
  EXPECT_EQ(log.entries(), std::vector<int>{1});
  second.open();
  EXPECT_EQ(refusal(behind.get(kLimit)), "none");

  if (!backend().own_threads) return;
  const EndlessProducer producer(s);
  ASSERT_TRUE(comes_true([&producer] { return producer.running(); }));
  for (int i = 0; i != 20; ++i) EXPECT_EQ(refusal(s.synchronize(kLimit)), "none");
  EXPECT_TRUE(producer.running());
}

// The device is lost while the host waits, and before it can: synchronize() says so, though the
// work has not passed.
CONTRACT_ROW(S19, SynchronizeReportsADeviceFailure) {
  const Error lost(ErrorKind::device_lost, "lost by the test");
  const Stream s = stream();
  const Stream other = stream();
  const Log log;
  const Gate gate(device());
  gate.hold(s);
  static_cast<void>(log.enqueue(s, 1));
  control().refuse(Call::host_wait, lost);
  const Result<void> waited = s.synchronize(kLimit);
  EXPECT_EQ(refusal(waited), "device_lost");
  EXPECT_NE(message(waited).find("lost by the test"), std::string::npos);
  control().refuse(Call::host_wait, lost);
  EXPECT_EQ(refusal(device().synchronize(kLimit)), "device_lost");
  EXPECT_TRUE(log.empty());
  // A wait that is owed needs a turn, which the backend refuses.
  need(other.wait(s));
  control().refuse(Call::submit, lost);
  EXPECT_EQ(refusal(other.synchronize(kLimit)), "device_lost");
  gate.open();
  EXPECT_EQ(refusal(s.synchronize(kLimit)), "none");
  EXPECT_EQ(refusal(other.synchronize(kLimit)), "none");
  EXPECT_EQ(log.size(), 1U);
}

// A task fails and leaves its bytes unwritten. That is no failure of the stream: synchronize()
// succeeds, and whoever reads the bytes gets the failure of the task as the root.
CONTRACT_ROW(S19Data, AFailureOfDataIsReportedByTheData) {
  const Stream s = stream();
  const auto data = need(s.upload(std::vector<int>{1, 2}));
  const auto good = need(s.upload(std::vector<int>{3}));
  Future<void> failed =
      s.host("bad", {writes(data)}, [] { throw std::runtime_error("broken by the test"); });
  EXPECT_EQ(refusal(s.synchronize(kLimit)), "none");
  EXPECT_EQ(refusal(failed.get(kLimit)), "task_failed");
  EXPECT_EQ(need(s.read(good).get(kLimit)), std::vector<int>{3});
  const auto seen = s.read(data).get(kLimit);
  EXPECT_EQ(refusal(seen), "unwritten");
  EXPECT_TRUE(!seen && seen.error().root().kind() == ErrorKind::task_failed);
}

// What else a failing task leaves undone is what the device says. A host function that fails leaves
// nothing else undone on any of them.
CONTRACT_ROW(S19Scope, AFailingTaskLeavesUndoneWhatTheDeviceSays) {
  const Stream s = stream();
  const Stream other = stream();
  const auto broken = need(Array<int>::create(s, 4));
  const auto same = need(Array<int>::create(s, 4));
  const auto apart = need(Array<int>::create(other, 4));
  const auto try_it = [&](int value, const std::function<void()>& fail) {
    const Gate gate(device());
    gate.hold(s);
    fail();
    need(s.fill(same, value));
    need(other.fill(apart, value));
    gate.open();
    EXPECT_EQ(refusal(s.read(broken).get(kLimit)), "unwritten");
    EXPECT_EQ(need(s.read(same).get(kLimit)), std::vector<int>(4, value));
    EXPECT_EQ(need(other.read(apart).get(kLimit)), std::vector<int>(4, value));
    EXPECT_EQ(device().failures().size(), 1U);
    need(s.fill(broken, value));
    EXPECT_EQ(need(s.read(broken).get(kLimit)), std::vector<int>(4, value));
    EXPECT_TRUE(device().failures().empty());
  };
  Future<void> failed;
  try_it(1, [&] {
    failed = s.host("bad", {writes(broken)}, [] { throw std::runtime_error("broken"); });
  });
  EXPECT_EQ(refusal(failed.get(kLimit)), "task_failed");
  if (device().failure_scope() != FailureScope::task) return;
  const auto bad = kernel("bad", [](Cell, std::span<int>) { throw std::runtime_error("broken"); });
  try_it(2, [&] { need(s.launch(bad, 1, broken)); });
}

}  // namespace
}  // namespace thalweg::contract
