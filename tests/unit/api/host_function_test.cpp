// SPDX-License-Identifier: Apache-2.0
//
// Host functions: on cpu, and as to their order, what they may call, and what becomes of what they
// throw under every schedule.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/device_memory.hpp"
#include "support/every_schedule.hpp"
#include "support/gate.hpp"
#include "support/refusal.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

using testing::HasSubstr;

class HostFunctionTest : public testing::Test {
 protected:
  const Device device_ = must(Device::open("cpu?workers=2"));
  const Stream s_ = must(Stream::create(device_));
};

// Sends what no future took to a list, for as long as it lives.
class Sink {
 public:
  Sink() {
    set_error_sink([errors = errors_](const Error& error) {
      const std::lock_guard lock(errors->mutex);
      errors->list.push_back(error);
    });
  }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  ~Sink() { set_error_sink({}); }

  std::vector<Error> errors() const {
    const std::lock_guard lock(errors_->mutex);
    return errors_->list;
  }

 private:
  struct Errors {
    std::mutex mutex;
    std::vector<Error> list;
  };
  std::shared_ptr<Errors> errors_ = std::make_shared<Errors>();
};

TEST_F(HostFunctionTest, RunsInItsTurnOnItsBytes) {
  const auto v = must(s_.upload(std::vector<int>{1, 2, 3}));
  Future<void> done = s_.host("double", {updates(v)}, [to = device_span(v)] {
    for (int& value : to) value *= 2;
  });
  must(s_.fill(v.view(0, 1), 9));
  EXPECT_EQ(must(s_.read(v).get(kLimit)), (std::vector<int>{9, 4, 6}));
  EXPECT_EQ(refusal(done.get(kLimit)), "none");
}

// What it throws becomes the error of its future, with its own words.
TEST_F(HostFunctionTest, WhatItThrowsIsInItsFuture) {
  const Sink sink;
  Future<void> failed = s_.host("save", {}, [] { throw std::runtime_error("The disk is full."); });
  Future<void> odd = s_.host("odd", {}, [] { throw 42; });
  std::atomic<bool> ran{false};
  Future<void> after = s_.host("after", {}, [&ran] { ran = true; });
  const Result<void> result = failed.get(kLimit);
  EXPECT_EQ(refusal(result), "task_failed");
  EXPECT_THAT(message(result), HasSubstr("The disk is full."));
  EXPECT_FALSE(failed.valid());
  EXPECT_EQ(refusal(odd.get(kLimit)), "task_failed");
  EXPECT_EQ(refusal(after.get(kLimit)), "none");
  EXPECT_TRUE(ran);
  EXPECT_EQ(refusal(s_.synchronize(kLimit)), "none");
  EXPECT_EQ(device_.statistics().tasks_failed, 2u);
  EXPECT_TRUE(sink.errors().empty());
}

// Nobody reads what the kernel left unwritten before the bytes are somebody else's.
TEST_F(HostFunctionTest, WhatAKernelThrowsGoesToTheSinkWhenNobodyReadsIt) {
  const Sink sink;
  const auto bad =
      kernel("bad", [](Cell, std::span<int>) { throw std::runtime_error("No cell."); });
  {
    const auto v = must(s_.upload(std::vector<int>{0}));
    must(s_.launch(bad, 1, v));
  }
  ASSERT_EQ(refusal(device_.synchronize(kLimit)), "none");
  EXPECT_TRUE(comes_true([&] {
    static_cast<void>(device_.poll());
    return !sink.errors().empty();
  }));
  EXPECT_EQ(sink.errors()[0].kind(), ErrorKind::task_failed);
  EXPECT_THAT(sink.errors()[0].to_string(), HasSubstr("No cell."));
  EXPECT_EQ(device_.statistics().tasks_failed, 1u);
}

// What is met already is no wait.
TEST_F(HostFunctionTest, MayAskForWhatIsThere) {
  const Stream idle = must(Stream::create(device_));
  const Timeline timeline = must(Timeline::create(device_, 3));
  std::vector<std::string> answers;
  Future<void> done = s_.host("asks", {}, [&] {
    answers.push_back(refusal(idle.synchronize(kLimit)));
    answers.push_back(refusal(timeline.wait(3, kLimit)));
  });
  ASSERT_EQ(refusal(done.get(kLimit)), "none");
  EXPECT_EQ(answers, std::vector<std::string>(2, "none"));
}

// A function owns what it captured until it has run, and no longer.
TEST_F(HostFunctionTest, IsDestroyedOnceItHasRun) {
  const auto captured = std::make_shared<int>(1);
  const Gate gate(device_);
  gate.hold(s_);
  Future<void> done = s_.host("f", {}, [captured] {});
  EXPECT_EQ(captured.use_count(), 2);
  gate.open();
  ASSERT_EQ(refusal(done.get(kLimit)), "none");
  EXPECT_TRUE(comes_true([&] {
    static_cast<void>(device_.poll());
    return captured.use_count() == 1;
  }));
}

TEST_F(HostFunctionTest, MayOwnWhatCannotBeCopied) {
  auto owned = std::make_unique<int>(5);
  int seen = 0;
  Future<void> done = s_.host("f", {}, [mine = std::move(owned), &seen] { seen = *mine; });
  ASSERT_EQ(refusal(done.get(kLimit)), "none");
  EXPECT_EQ(seen, 5);
}

// Never on the thread that submits or waits.
TEST_F(HostFunctionTest, RunsOnAThreadOfTheDevice) {
  std::thread::id ran_on;
  const auto remember = [&ran_on] { ran_on = std::this_thread::get_id(); };
  for (int i = 0; i < 50; ++i) {
    static_cast<void>(s_.host("f", {}, remember));
    ASSERT_EQ(refusal(s_.synchronize(kLimit)), "none");
    EXPECT_NE(ran_on, std::this_thread::get_id());
  }
}

TEST_F(HostFunctionTest, AnEmptyFunctionIsRefused) {
  EXPECT_EQ(refusal(s_.host("nothing", {}, UniqueFunction()).get(kLimit)), "invalid_argument");
}

// Under every schedule.

// A declaration of each mode.
using Declare = detail::DeclaredAccess (*)(const View<int>&);
constexpr Declare kReads = [](const View<int>& view) { return reads(view); };
constexpr Declare kWrites = [](const View<int>& view) { return writes(view); };
constexpr Declare kUpdates = [](const View<int>& view) { return updates(view); };
constexpr Declare kOrders = [](const View<int>& view) { return orders(view); };
constexpr Declare kDeclares[] = {kReads, kWrites, kUpdates, kOrders};

// Elements of one array that two functions on different streams declare.
struct Elements {
  std::uint64_t first;
  std::uint64_t count;
};

bool may_change_places(Declare first, Elements of_first, Declare second, Elements of_second) {
  const auto orders = orders_of([&](ExploreRun& run, const Notes& notes) {
    const Stream a = must(Stream::create(run.device()));
    const Stream b = must(Stream::create(run.device()));
    const auto v = must(a.upload(std::vector<int>(8, 0)));
    must(a.synchronize());
    notes.task(a, 1, {first(v.view(of_first.first, of_first.count))});
    notes.task(b, 2, {second(v.view(of_second.first, of_second.count))});
  });
  if (orders == std::set<Order>{{1, 2}}) return false;
  EXPECT_EQ(orders, (std::set<Order>{{1, 2}, {2, 1}}));
  return true;
}

// Readers of the same bytes run beside each other; everybody else comes in the order of the calls.
TEST(HostFunctionOrder, FollowsFromTheBytesThatAreDeclared) {
  for (const Declare first : kDeclares)
    for (const Declare second : kDeclares)
      EXPECT_EQ(may_change_places(first, {0, 4}, second, {3, 4}),
                first == kReads && second == kReads);
}

// Without a byte in common only tokens of one memory are ordered, and those need no bytes at all.
TEST(HostFunctionOrder, IsFreeWhereNoByteIsShared) {
  for (const Declare first : kDeclares) {
    for (const Declare second : kDeclares) {
      const bool tokens = first == kOrders && second == kOrders;
      EXPECT_EQ(may_change_places(first, {0, 4}, second, {4, 4}), !tokens);
      EXPECT_EQ(may_change_places(first, {0, 0}, second, {0, 8}), !tokens);
    }
  }
}

// It runs inside a NoWaitScope: whatever another stream has done by then, a call is answered at
// once, or refused. Nothing that its own stream has before it can be waited for.
TEST(HostFunctionOrder, ACallThatWouldWaitIsRefused) {
  enum Call { of_stream, of_event, of_own, of_device, of_read, of_timeline, kCalls };
  std::set<std::string> answers[kCalls];
  explore_all([&answers](ExploreRun& run) {
    const Stream s = must(Stream::create(run.device()));
    const Stream other = must(Stream::create(run.device()));
    const auto v = must(Array<int>::create(other, 1));
    const Event event = must(Event::create(run.device()));
    const Timeline timeline = must(Timeline::create(run.device()));
    must(other.fill(v, 1));
    must(other.record(event));
    Future<void> done = s.host("asks", {}, [&, device = run.device()] {
      run.check(NoWaitScope::active(), "waiting is forbidden");
      answers[of_stream].insert(refusal(other.synchronize(kLimit)));
      answers[of_event].insert(refusal(event.wait(kLimit)));
      answers[of_own].insert(refusal(s.synchronize(kLimit)));
      answers[of_device].insert(refusal(device.synchronize(kLimit)));
      answers[of_read].insert(refusal(other.read(v).get(kLimit)));
      answers[of_timeline].insert(refusal(timeline.wait(1, kLimit)));
    });
    must(done.get());
    run.check(!NoWaitScope::active(), "waiting is allowed again");
  });
  const std::set<std::string> either{"none", "wait_forbidden"};
  const std::set<std::string> never{"wait_forbidden"};
  for (int call = 0; call != kCalls; ++call)
    EXPECT_EQ(answers[call], call <= of_event ? either : never) << call;
}

// It may submit, to its own stream and to others, and make and drop handles.
TEST(HostFunctionOrder, MaySubmit) {
  explore_all([](ExploreRun& run) {
    const Stream s = must(Stream::create(run.device()));
    const Stream other = must(Stream::create(run.device()));
    const auto v = must(s.upload(std::vector<int>{0}));
    Future<std::vector<int>> read;
    Future<void> done = s.host("submits", {}, [&read, s, other, v, device = run.device()] {
      must(s.fill(v, 1));
      must(other.fill(v, 2));
      const Stream fresh = must(Stream::create(device));
      must(fresh.fill(v, 3));
      read = fresh.read(v);
    });
    must(done.get());
    run.check(must(read.get()) == std::vector<int>{3}, "the last call comes last");
  });
}

// What it throws is told once: to whoever asks its future, or, when nobody does, to the sink. The
// future goes before the function has run, or behind it.
TEST(HostFunctionOrder, WhatItThrowsIsToldOnce) {
  for (const bool asked : {true, false}) {
    const Sink sink;
    explore_all([&sink, asked](ExploreRun& run) {
      const std::size_t before = sink.errors().size();
      const Stream s = must(Stream::create(run.device()));
      Future<void> failed = s.host("save", {}, [] { throw std::runtime_error("Lost?"); });
      if (asked) run.check(refusal(failed.get()) == "task_failed", "the future tells");
      failed = {};
      must(s.synchronize());
      const std::vector<Error> told = sink.errors();
      run.check(told.size() == before + (asked ? 0 : 1), "the sink hears the rest");
      if (told.size() == before) return;
      run.check(told.back().kind() == ErrorKind::task_failed, "of a task that failed");
      run.check(told.back().message().find("Lost?") != std::string_view::npos, "in its own words");
    });
  }
}

}  // namespace
}  // namespace thalweg::test
