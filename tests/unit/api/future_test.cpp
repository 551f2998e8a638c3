// SPDX-License-Identifier: Apache-2.0
//
// What thalweg/future.hpp promises: on cpu, and what concerns orders under every schedule.

#include "thalweg/future.hpp"

#include <gtest/gtest.h>

#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "support/every_schedule.hpp"
#include "support/gate.hpp"
#include "support/refusal.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

class FutureTest : public testing::Test {
 protected:
  const Device device_ = must(Device::open("cpu?workers=2"));
  const Stream s_ = must(Stream::create(device_));
};

TEST_F(FutureTest, GivesItsValueOnce) {
  const auto v = must(s_.upload(std::vector<int>{1, 2, 3}));
  Future<std::vector<int>> future = s_.read(v);
  EXPECT_TRUE(future.valid());
  EXPECT_EQ(must(future.get(kLimit)), (std::vector<int>{1, 2, 3}));
  EXPECT_FALSE(future.valid());
  EXPECT_TRUE(future.ready());
  EXPECT_EQ(refusal(future.get(kLimit)), "invalid_handle");
}

TEST_F(FutureTest, AnEmptyOneIsReadyAndRefuses) {
  Future<int> empty;
  EXPECT_FALSE(empty.valid());
  EXPECT_TRUE(empty.ready());
  EXPECT_EQ(refusal(empty.get(kLimit)), "invalid_handle");
  Future<void> source = s_.host("f", {}, [] {});
  Future<void> taken = std::move(source);
  EXPECT_FALSE(source.valid());
  EXPECT_EQ(refusal(source.get(kLimit)), "invalid_handle");
  EXPECT_EQ(refusal(taken.get(kLimit)), "none");
}

// There is one place to look: the refusal of the submission comes out of get(), once.
TEST_F(FutureTest, CarriesTheRefusalOfItsSubmission) {
  const auto v = must(s_.upload(std::vector<int>{1, 2, 3}));
  Future<std::vector<int>> future = s_.read(v.view(0, 4));
  EXPECT_TRUE(future.valid());
  EXPECT_TRUE(future.ready());
  EXPECT_EQ(refusal(future.get(kLimit)), "invalid_argument");
  EXPECT_FALSE(future.valid());
  EXPECT_EQ(refusal(future.get(kLimit)), "invalid_handle");
}

// After a timeout it is as before.
TEST_F(FutureTest, TimesOutAndStaysAsItWas) {
  const auto v = must(s_.upload(std::vector<int>{1, 2, 3}));
  const Gate gate(device_);
  gate.hold(s_);
  Future<std::vector<int>> future = s_.read(v);
  EXPECT_EQ(refusal(future.get(std::chrono::seconds(0))), "timeout");
  EXPECT_EQ(refusal(future.get(std::chrono::milliseconds(1))), "timeout");
  EXPECT_TRUE(future.valid());
  gate.open();
  EXPECT_EQ(must(future.get(kLimit)), (std::vector<int>{1, 2, 3}));
}

TEST_F(FutureTest, IsAsBeforeWhereWaitingIsForbidden) {
  const auto v = must(s_.upload(std::vector<int>{1, 2, 3}));
  const Gate gate(device_);
  gate.hold(s_);
  Future<std::vector<int>> future = s_.read(v);
  {
    const NoWaitScope scope;
    EXPECT_EQ(refusal(future.get(kLimit)), "wait_forbidden");
    EXPECT_TRUE(future.valid());
    gate.open();
    // Met already: no wait, and so not forbidden.
    EXPECT_TRUE(comes_true([&future] { return future.ready(); }));
    EXPECT_EQ(must(future.get(kLimit)), (std::vector<int>{1, 2, 3}));
  }
}

// An exception may have no text at all.
TEST_F(FutureTest, ACallbacksExceptionWithoutTextIsReportedAllTheSame) {
  struct Speechless : std::exception {
    const char* what() const noexcept override { return nullptr; }
  };
  std::string told;
  set_error_sink([&told](const Error& error) { told = error.message(); });
  Future<void> empty;
  must(empty.on_complete([] { throw Speechless(); }));
  set_error_sink({});
  EXPECT_NE(told.find("no text"), std::string::npos);
}

// It keeps what it needs of the device.
TEST_F(FutureTest, OutlivesAllOtherHandles) {
  Future<std::vector<int>> future;
  {
    const Device device = must(Device::open("cpu?workers=1"));
    const Stream stream = must(Stream::create(device));
    const auto v = must(stream.upload(std::vector<int>(1000, 1)));
    future = stream.read(v);
  }
  EXPECT_EQ(must(future.get(kLimit)), std::vector<int>(1000, 1));
}

// Ready is what it is when its task has run, and then get() waits for nothing.
TEST(FutureOrder, IsReadyWhenItsTaskHasPassed) {
  constexpr int kNotYet = 2;
  constexpr int kReady = 3;
  const auto orders = orders_of([](ExploreRun& run, const Notes& notes) {
    const Stream s = must(Stream::create(run.device()));
    Future<void> future = notes.future(s, 1);
    const bool ready = future.ready();
    notes.add(ready ? kReady : kNotYet);
    const NoWaitScope no_wait;
    const std::string got = refusal(future.get());
    run.check(ready ? got == "none" : got == "none" || got == "wait_forbidden", got);
  });
  EXPECT_EQ(orders, (std::set<Order>{{1, kReady}, {kNotYet, 1}}));
}

// Dropping it, or assigning over it, neither waits nor cancels.
TEST(FutureOrder, DroppingOneLeavesItsTaskAlone) {
  const auto orders = orders_of([](ExploreRun& run, const Notes& notes) {
    const Stream s = must(Stream::create(run.device()));
    {
      const Future<void> dropped = notes.future(s, 1);
    }
    notes.add(0);
    Future<void> replaced = notes.future(s, 2);
    replaced = notes.future(s, 3);
    must(replaced.get());
    notes.add(4);
  });
  EXPECT_EQ(orders, (std::set<Order>{{0, 1, 2, 3, 4}, {1, 0, 2, 3, 4}}));
}

// Callbacks come once, behind their task, in the order in which they were given, and in no order
// with the host, although the future is gone by then.
TEST(FutureOrder, CallbacksComeBehindTheirTask) {
  const auto orders = orders_of([](ExploreRun& run, const Notes& notes) {
    const Stream s = must(Stream::create(run.device()));
    {
      const Future<void> dropped = notes.future(s, 1);
      must(dropped.on_complete([notes] { notes.add(2); }));
      must(dropped.on_complete([notes] { notes.add(3); }));
    }
    notes.add(0);
  });
  EXPECT_EQ(orders, (std::set<Order>{{0, 1, 2, 3}, {1, 0, 2, 3}, {1, 2, 0, 3}, {1, 2, 3, 0}}));
}

}  // namespace
}  // namespace thalweg::test
