// SPDX-License-Identifier: Apache-2.0
//
// Deadlines of map(), by a clock that the test moves, and views under every schedule. What else
// thalweg/map.hpp promises is in the contract.

#include "thalweg/map.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "support/every_schedule.hpp"
#include "support/gate.hpp"
#include "support/refusal.hpp"
#include "thalweg/base/virtual_clock.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

using std::chrono::milliseconds;

// With threads of its own, and without: there the thread that waits runs the tasks.
class MapTest : public testing::TestWithParam<const char*> {
 protected:
  // Waits in map() on a thread of its own; comes back when it is blocked.
  void start(const View<int>& view, Deadline deadline) {
    waiter_ = std::thread([this, view, deadline] {
      auto mapped = map(view, for_update, deadline);
      answer_ = refusal(mapped);
      if (mapped) values_.assign(mapped->begin(), mapped->end());
    });
    ASSERT_TRUE(comes_true([this] { return clock_->alarms() == 1; }));
  }

  const std::shared_ptr<VirtualClock> clock_ = std::make_shared<VirtualClock>();
  const Device device_ = must(Device::open(GetParam(), {.clock = clock_}));
  const Stream a_ = must(Stream::create(device_));
  const Stream b_ = must(Stream::create(device_));
  const HostArray<int> pages_ = must(HostArray<int>::create(a_, 8));
  std::thread waiter_;
  std::string answer_;
  std::vector<int> values_;
};

// While the host waits, tasks on the bytes are refused and others are not. When its time is over,
// all is as before: what is enqueued then runs behind what was.
TEST_P(MapTest, ATimeoutGivesTheBytesBackToTasks) {
  const Gate gate(device_);
  gate.hold(a_);
  must(a_.fill(pages_, 1));
  start(pages_.view(0, 4), milliseconds(5));
  EXPECT_EQ(refusal(a_.fill(pages_, 2)), "invalid_argument");
  EXPECT_EQ(refusal(b_.fill(pages_.view(3, 2), 2)), "invalid_argument");
  EXPECT_EQ(refusal(pages_.try_map(for_reading)), "invalid_argument");
  EXPECT_EQ(refusal(b_.fill(pages_.view(4, 4), 3)), "none");
  clock_->advance(milliseconds(4));
  // A simulated device looks around now and then, and sets its alarm again.
  EXPECT_TRUE(comes_true([this] { return clock_->alarms() == 1; }));
  clock_->advance(milliseconds(1));
  waiter_.join();
  EXPECT_EQ(answer_, "timeout");
  EXPECT_EQ(refusal(pages_.try_map(for_reading)), "not_ready");
  EXPECT_EQ(refusal(b_.fill(pages_.view(0, 1), 7)), "none");
  gate.open();
  const auto view = must(pages_.map(for_reading, kLimit));
  EXPECT_EQ(std::vector<int>(view.begin(), view.end()), (std::vector<int>{7, 1, 1, 1, 3, 3, 3, 3}));
}

// The tasks of several streams share one deadline.
TEST_P(MapTest, TheDeadlineIsForAllTasksTogether) {
  const Gate one(device_);
  const Gate two(device_);
  one.hold(a_);
  two.hold(b_);
  must(a_.fill(pages_.view(0, 4), 1));
  must(b_.fill(pages_.view(4, 4), 2));
  start(pages_.view(), milliseconds(10));
  clock_->advance(milliseconds(6));
  one.open();
  must(a_.synchronize());
  // It has waited for the one, and waits for the other: what is left of its time is fixed.
  EXPECT_TRUE(comes_true([this] { return !device_.wait_ledger().empty(); }));
  EXPECT_TRUE(comes_true([this] { return clock_->alarms() == 1; }));
  clock_->advance(milliseconds(4));
  waiter_.join();
  EXPECT_EQ(answer_, "timeout");
}

// The tasks come first.
TEST_P(MapTest, AViewInTimeIsGiven) {
  const Gate gate(device_);
  gate.hold(a_);
  must(a_.fill(pages_, 1));
  start(pages_.view(), milliseconds(5));
  clock_->advance(milliseconds(4));
  gate.open();
  waiter_.join();
  EXPECT_EQ(answer_, "none");
  EXPECT_EQ(values_, std::vector<int>(8, 1));
  EXPECT_EQ(clock_->alarms(), 0U);
  EXPECT_EQ(device_.wait_ledger().front().reason, WaitReason::map);
  EXPECT_EQ(device_.wait_ledger().front().total, milliseconds(4));
}

INSTANTIATE_TEST_SUITE_P(Devices, MapTest, testing::Values("cpu?workers=2", "sim?seed=1"),
                         [](const testing::TestParamInfo<const char*>& device) {
                           return std::string(device.param).substr(0, 3);
                         });

// One actor changes the bytes in a view while another submits a task on them: it is refused, or
// comes before the view, or behind it. While the host has the bytes nobody else changes them.
TEST(MapOrder, ATaskComesBeforeTheViewOrBehindItOrIsRefused) {
  Stream s;
  HostArray<int> pages;
  std::set<std::string> answers;
  std::set<int> left;
  ExploreProgram program;
  program.before = [&](ExploreRun& run) {
    s = must(Stream::create(run.device()));
    pages = must(HostArray<int>::create(s, 1));
    must(s.fill(pages, 1));
  };
  program.actors.emplace_back([&pages](ExploreRun& run) {
    const auto view = must(map(pages.view(), for_update));
    const int found = view[0];
    static_cast<void>(run.device().poll());
    run.check(view[0] == found, "nobody writes what the host has");
    view[0] = found + 1;
    static_cast<void>(run.device().poll());
    run.check(view[0] == found + 1, "nobody writes what the host has written");
  });
  program.actors.emplace_back([&](ExploreRun&) { answers.insert(refusal(s.fill(pages, 7))); });
  program.after = [&](ExploreRun&) {
    left.insert(must(map(pages.view(), for_reading))[0]);
    pages = {};
    s = Stream();
  };
  explore_all(program);
  EXPECT_EQ(answers, (std::set<std::string>{"invalid_argument", "none"}));
  EXPECT_EQ(left, (std::set<int>{2, 7, 8}));
}

}  // namespace
}  // namespace thalweg::test
