// SPDX-License-Identifier: Apache-2.0
//
// Deadlines are by the device's clock. Every blocking call is made behind a closed gate on a device
// whose clock the test moves: nothing here waits for time.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <tuple>

#include "support/gate.hpp"
#include "support/refusal.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// What a blocking call is made on. All of it is behind the gate.
struct World {
  explicit World(const std::string& name)
      : device(must(Device::open(name, {.clock = clock}))),
        stream(must(Stream::create(device))),
        gate(device),
        timeline(must(Timeline::create(device))),
        event(must(Event::create(device))),
        pages(must(HostArray<int>::create(stream, 4))) {
    gate.hold(stream);
    future = stream.host("behind", {}, [timeline = timeline] { must(timeline.signal(1)); });
    must(stream.record(event));
    must(stream.fill(pages, 1));
  }

  World(const World&) = delete;
  World& operator=(const World&) = delete;

  const std::shared_ptr<VirtualClock> clock = std::make_shared<VirtualClock>();
  Device device;
  Stream stream;
  Gate gate;
  Timeline timeline;
  Event event;
  HostArray<int> pages;
  Future<void> future;
};

struct Call {
  const char* name;
  WaitReason reason;
  std::function<Result<void>(World&, Deadline)> wait;
};

// With threads of its own, and without: there the thread that waits runs the tasks.
class DeadlineTest : public testing::TestWithParam<std::tuple<const char*, Call>> {
 protected:
  static const char* device() { return std::get<0>(GetParam()); }
  static const Call& call() { return std::get<1>(GetParam()); }

  // Makes the call on a thread of its own, and comes back when it is blocked.
  void start(World& world, Deadline deadline) {
    waiter_ = std::thread([this, &world, deadline] {
      answer_ = refusal(call().wait(world, deadline));
      back_ = true;
    });
    ASSERT_TRUE(comes_true([&world] { return world.clock->alarms() == 1; }));
  }

  std::thread waiter_;
  std::string answer_;
  std::atomic<bool> back_{false};
};

// Blocked until the very nanosecond; then `timeout`, and the same call can be made again when the
// gate is open.
TEST_P(DeadlineTest, EndsWhenTheClockIsThere) {
  World world(device());
  start(world, milliseconds(5));
  world.clock->advance(milliseconds(5) - nanoseconds(1));
  EXPECT_EQ(world.clock->alarms(), 1U);
  EXPECT_FALSE(back_);
  world.clock->advance(nanoseconds(1));
  waiter_.join();
  EXPECT_EQ(answer_, "timeout");
  EXPECT_EQ(world.clock->alarms(), 0U);
  EXPECT_FALSE(world.future.ready());
  EXPECT_EQ(world.event.query(), EventState::not_yet);
  const WaitLedger ledger = world.device.wait_ledger();
  ASSERT_EQ(ledger.size(), 1U);
  EXPECT_EQ(ledger[0].reason, call().reason);
  EXPECT_EQ(ledger[0].total, milliseconds(5));
  world.gate.open();
  EXPECT_EQ(refusal(call().wait(world, {})), "none");
}

// The work first: the time that never came leaves no alarm behind.
TEST_P(DeadlineTest, EndsWithTheWork) {
  World world(device());
  start(world, milliseconds(5));
  world.clock->advance(milliseconds(1));
  world.gate.open();
  waiter_.join();
  EXPECT_EQ(answer_, "none");
  EXPECT_EQ(world.clock->alarms(), 0U);
  world.clock->advance(milliseconds(50));
  EXPECT_EQ(world.device.wait_ledger().front().total, milliseconds(1));
}

// The clock arrives while the gate opens: either answer, and the call can be made again.
TEST_P(DeadlineTest, MayRaceTheWork) {
  for (int round = 0; round != 50; ++round) {
    World world(device());
    start(world, milliseconds(5));
    std::thread opener([&world] { world.gate.open(); });
    world.clock->advance(milliseconds(5));
    waiter_.join();
    opener.join();
    EXPECT_EQ(world.clock->alarms(), 0U);
    if (answer_ == "timeout") {
      EXPECT_EQ(refusal(call().wait(world, {})), "none");
    } else {
      EXPECT_EQ(answer_, "none");
    }
  }
}

// A deadline of zero or less is a test by any clock, and sets no alarm.
TEST_P(DeadlineTest, ZeroIsATest) {
  World world(device());
  EXPECT_EQ(refusal(call().wait(world, nanoseconds(0))), "timeout");
  EXPECT_EQ(refusal(call().wait(world, nanoseconds(-1))), "timeout");
  EXPECT_EQ(world.clock->alarms(), 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Calls, DeadlineTest,
    testing::Combine(
        testing::Values("cpu?workers=2", "sim?seed=1"),
        testing::Values(
            Call{
                "stream_synchronize", WaitReason::synchronize,
                [](World& world, Deadline deadline) { return world.stream.synchronize(deadline); }},
            Call{
                "device_synchronize", WaitReason::synchronize,
                [](World& world, Deadline deadline) { return world.device.synchronize(deadline); }},
            Call{"event_wait", WaitReason::event,
                 [](World& world, Deadline deadline) { return world.event.wait(deadline); }},
            Call{"timeline_wait", WaitReason::timeline,
                 [](World& world, Deadline deadline) { return world.timeline.wait(1, deadline); }},
            Call{"future_get", WaitReason::future,
                 [](World& world, Deadline deadline) { return world.future.get(deadline); }},
            Call{"map", WaitReason::map,
                 [](World& world, Deadline deadline) -> Result<void> {
                   THALWEG_TRY(world.pages.map(for_update, deadline));
                   return {};
                 }})),
    [](const testing::TestParamInfo<DeadlineTest::ParamType>& each) {
      const std::string device = std::get<0>(each.param);
      return device.substr(0, 3) + "_" + std::get<1>(each.param).name;
    });

// Several streams share one deadline: what the first takes the second has not.
TEST(DeadlineOfADevice, IsSharedByItsStreams) {
  const auto clock = std::make_shared<VirtualClock>();
  const Device device = must(Device::open("cpu?workers=2", {.clock = clock}));
  const Stream first = must(Stream::create(device));
  const Stream second = must(Stream::create(device));
  const Gate one(device);
  const Gate two(device);
  one.hold(first);
  two.hold(second);
  std::string answer;
  std::thread waiter([&] { answer = refusal(device.synchronize(nanoseconds(10))); });
  ASSERT_TRUE(comes_true([&clock] { return clock->alarms() == 1; }));
  clock->advance(nanoseconds(6));
  one.open();
  must(first.synchronize());
  clock->advance(nanoseconds(4));
  waiter.join();
  EXPECT_EQ(answer, "timeout");
}

// Busy time is by the same clock: a task in which the clock moves by 7 ns took 7 ns.
TEST(DeviceClock, MeasuresBusyTime) {
  const auto clock = std::make_shared<VirtualClock>();
  const Device device = must(Device::open("cpu?workers=1&measure_busy=on", {.clock = clock}));
  const Stream stream = must(Stream::create(device));
  must(stream.host("takes 7", {}, [&clock] { clock->advance(nanoseconds(7)); }).get());
  must(stream.synchronize());
  EXPECT_EQ(device.statistics().busy_sum_ns, 7U);
  EXPECT_EQ(device.statistics().busy_any_ns, 7U);
}

}  // namespace
}  // namespace thalweg::test
