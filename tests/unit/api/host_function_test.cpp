// SPDX-License-Identifier: Apache-2.0
//
// Host functions on cpu: their order, what they may call, and what becomes of what they throw.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/device_memory.hpp"
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

// Its declared accesses order it with other streams.
TEST_F(HostFunctionTest, ItsAccessesOrderIt) {
  const Stream other = must(Stream::create(device_));
  const auto v = must(s_.upload(std::vector<int>{0}));
  const Gate gate(device_);
  gate.hold(s_);
  static_cast<void>(s_.host("writes", {writes(v)}, [to = device_span(v)] { to[0] = 5; }));
  int seen = 0;
  Future<void> reader =
      other.host("reads", {reads(v)}, [&seen, from = device_span(v)] { seen = from[0]; });
  EXPECT_EQ(refusal(other.synchronize(std::chrono::seconds(0))), "timeout");
  gate.open();
  ASSERT_EQ(refusal(reader.get(kLimit)), "none");
  EXPECT_EQ(seen, 5);
}

// A token orders without bytes, readers included.
TEST_F(HostFunctionTest, ATokenOrdersWithEverythingElse) {
  const Stream other = must(Stream::create(device_));
  const auto v = must(s_.upload(std::vector<int>{0}));
  const auto empty = must(Array<int>::create(s_, 0));
  for (const View<int>& token : {v.view(), empty.view()}) {
    must(device_.synchronize(kLimit));
    const Gate gate(device_);
    gate.hold(s_);
    std::vector<int> log;
    static_cast<void>(s_.host("first", {orders(token)}, [&log] { log.push_back(1); }));
    Future<void> second = other.host("second", {orders(token)}, [&log] { log.push_back(2); });
    EXPECT_EQ(refusal(other.synchronize(std::chrono::seconds(0))), "timeout");
    gate.open();
    ASSERT_EQ(refusal(second.get(kLimit)), "none");
    EXPECT_EQ(log, (std::vector<int>{1, 2}));
  }
}

TEST_F(HostFunctionTest, ReadersRunBesideEachOther) {
  const Stream other = must(Stream::create(device_));
  const auto v = must(s_.upload(std::vector<int>{0}));
  must(device_.synchronize(kLimit));
  const Gate gate(device_);
  gate.hold(s_);
  static_cast<void>(s_.host("held", {reads(v)}, [] {}));
  EXPECT_EQ(refusal(other.host("free", {reads(v)}, [] {}).get(kLimit)), "none");
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

// An error that nobody asks for is not lost: it goes to the sink, once.
TEST_F(HostFunctionTest, WhatItThrowsGoesToTheSinkWhenItsFutureIsGone) {
  const Sink sink;
  const Gate gate(device_);
  gate.hold(s_);
  {
    const Future<void> dropped = s_.host("save", {}, [] { throw std::runtime_error("Lost?"); });
  }
  gate.open();
  ASSERT_EQ(refusal(device_.synchronize(kLimit)), "none");
  EXPECT_TRUE(comes_true([&] {
    static_cast<void>(device_.poll());
    return !sink.errors().empty();
  }));
  ASSERT_EQ(sink.errors().size(), 1u);
  EXPECT_EQ(sink.errors()[0].kind(), ErrorKind::task_failed);
  EXPECT_THAT(std::string(sink.errors()[0].message()), HasSubstr("Lost?"));
}

TEST_F(HostFunctionTest, WhatAKernelThrowsGoesToTheSink) {
  const Sink sink;
  const auto v = must(s_.upload(std::vector<int>{0}));
  const auto bad =
      kernel("bad", [](Cell, std::span<int>) { throw std::runtime_error("No cell."); });
  must(s_.launch(bad, 1, v));
  ASSERT_EQ(refusal(device_.synchronize(kLimit)), "none");
  EXPECT_TRUE(comes_true([&] {
    static_cast<void>(device_.poll());
    return !sink.errors().empty();
  }));
  EXPECT_EQ(sink.errors()[0].kind(), ErrorKind::task_failed);
  EXPECT_THAT(sink.errors()[0].to_string(), HasSubstr("No cell."));
  EXPECT_EQ(device_.statistics().tasks_failed, 1u);
}

// It runs inside a NoWaitScope: every call that would wait is refused.
TEST_F(HostFunctionTest, MustNotWait) {
  const Stream other = must(Stream::create(device_));
  const auto v = must(other.upload(std::vector<int>{0}));
  const Event event = must(Event::create(device_));
  const Timeline timeline = must(Timeline::create(device_));
  const Gate gate(device_);
  must(other.synchronize(kLimit));
  gate.hold(other);
  must(other.fill(v, 1));
  must(other.record(event));
  std::vector<std::string> refusals;
  bool active = false;
  Future<void> done = s_.host("waits", {}, [&] {
    active = NoWaitScope::active();
    refusals.push_back(refusal(other.synchronize(kLimit)));
    refusals.push_back(refusal(s_.synchronize(kLimit)));
    refusals.push_back(refusal(device_.synchronize(kLimit)));
    refusals.push_back(refusal(other.read(v).get(kLimit)));
    refusals.push_back(refusal(event.wait(kLimit)));
    refusals.push_back(refusal(timeline.wait(1, kLimit)));
  });
  ASSERT_EQ(refusal(done.get(kLimit)), "none");
  EXPECT_TRUE(active);
  EXPECT_EQ(refusals, std::vector<std::string>(6, "wait_forbidden"));
  EXPECT_FALSE(NoWaitScope::active());
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

// It may submit, to its own stream and to others, and drop and make handles.
TEST_F(HostFunctionTest, MaySubmit) {
  const Stream other = must(Stream::create(device_));
  const auto v = must(s_.upload(std::vector<int>{0}));
  Future<std::vector<int>> read;
  Future<void> done = s_.host("submits", {}, [&] {
    must(s_.fill(v, 1));
    must(other.fill(v, 2));
    const Stream fresh = must(Stream::create(device_));
    must(fresh.fill(v, 3));
    read = fresh.read(v);
  });
  ASSERT_EQ(refusal(done.get(kLimit)), "none");
  EXPECT_EQ(must(read.get(kLimit)), std::vector<int>{3});
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

}  // namespace
}  // namespace thalweg::test
