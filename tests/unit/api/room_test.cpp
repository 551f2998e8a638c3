// SPDX-License-Identifier: Apache-2.0
//
// StreamOptions::room_bytes and Stream::wait_for_room: on cpu, where a closed gate keeps the tasks
// from passing (it is itself a task), and under every schedule.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/every_schedule.hpp"
#include "support/gate.hpp"
#include "support/refusal.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::uint64_t kTask = StreamOptions::kRoomTaskBytes;

class RoomTest : public testing::Test {
 protected:
  Stream limited(std::uint64_t bytes) const {
    return must(Stream::create(device_, {.room_bytes = bytes}));
  }
  Array<int> array(std::uint64_t count) const { return must(Array<int>::create(plain_, count)); }

  const std::shared_ptr<VirtualClock> clock_ = std::make_shared<VirtualClock>();
  const Device device_ = must(Device::open("cpu?workers=2", {.clock = clock_}));
  const Stream plain_ = must(Stream::create(device_));
};

// As many tasks as the constant says; the next one names the bytes and changes nothing.
TEST_F(RoomTest, IsFullWhenTheConstantSaysSo) {
  const Stream s = limited(10 * kTask);
  const Array<int> a = must(Array<int>::create(s, 1));
  const Gate gate(device_);
  gate.hold(s);
  for (int i = 0; i != 9; ++i) must(s.fill(a, i));
  const Statistics before = device_.statistics();
  const Result<Task> refused = s.fill(a, 99);
  EXPECT_EQ(refusal(refused), "queue_full");
  EXPECT_THAT(message(refused),
              AllOf(HasSubstr(std::to_string(kTask)), HasSubstr(std::to_string(10 * kTask))));
  EXPECT_EQ(refusal(s.host("f", {}, [] {}).get()), "queue_full");
  EXPECT_EQ(refusal(s.wait(must(Timeline::create(device_)), 0)), "queue_full");
  EXPECT_EQ(refusal(s.read(a).get()), "queue_full");
  EXPECT_EQ(device_.statistics().submissions, before.submissions);
  EXPECT_EQ(refusal(s.wait_for_room(std::chrono::nanoseconds(0))), "timeout");
  gate.open();
  must(s.wait_for_room());
  EXPECT_EQ(must(s.read(a).get())[0], 8);
}

// A task in another stream's memory takes the other path: it is refused before waits are placed.
TEST_F(RoomTest, IsCheckedBeforeWaitsArePlaced) {
  const Stream s = limited(2 * kTask);
  const Array<int> a = array(4);
  const Gate gate(device_);
  const Gate other(device_);
  gate.hold(s);
  other.hold(plain_);
  must(plain_.fill(a, 1));
  must(s.touch({}));
  const Statistics before = device_.statistics();
  EXPECT_EQ(refusal(s.fill(a, 2)), "queue_full");
  EXPECT_EQ(device_.statistics().waits_placed, before.waits_placed);
  gate.open();
  must(s.wait_for_room());
  must(s.fill(a, 2));
  other.open();
  must(s.synchronize());
}

// Arguments count by their bytes.
TEST_F(RoomTest, CountsArguments) {
  struct Large {
    std::uint64_t words[32];
  };
  const auto takes = kernel("takes", [](Cell, Large) {});
  const Stream s = limited(4 * kTask + 256);
  const Gate gate(device_);
  gate.hold(s);
  must(s.launch(takes, 1, Large{}));
  EXPECT_EQ(refusal(s.launch(takes, 1, Large{})), "queue_full");
  must(s.touch({}));
  must(s.touch({}));
  EXPECT_EQ(refusal(s.touch({})), "queue_full");
}

// An upload counts the bytes that it copies or takes; a vector that is refused is given back. One
// above the limit goes when nothing is outstanding.
TEST_F(RoomTest, CountsUploads) {
  const Stream s = limited(8192);
  const Array<int> a = must(Array<int>::create(s, 1024));
  std::vector<int> values(1024, 3);
  const Array<int> big = must(Array<int>::create(s, 4096));
  must(s.upload(big, std::vector<int>(4096)));
  must(s.synchronize());
  const std::uint64_t staged = device_.host_memory_usage().live_bytes;
  {
    const Gate gate(device_);
    gate.hold(s);
    must(s.upload(a, std::span<const int>(values)));
    EXPECT_EQ(refusal(s.upload(a, std::span<const int>(values))), "queue_full");
    EXPECT_EQ(refusal(s.upload(a, std::move(values))), "queue_full");
    EXPECT_EQ(values.size(), 1024U);
    EXPECT_EQ(device_.host_memory_usage().live_bytes, staged + 4096);
    EXPECT_EQ(refusal(s.wait_for_room(std::chrono::nanoseconds(0), 4096)), "timeout");
    EXPECT_EQ(refusal(s.wait_for_room(std::chrono::nanoseconds(0), 2048)), "none");
  }
  must(s.wait_for_room({}, 1 << 20));
  must(s.upload(a, std::move(values)));
  EXPECT_EQ(must(s.read(a).get()), std::vector<int>(1024, 3));
}

TEST_F(RoomTest, IsUnlimitedWithoutTheOption) {
  const Gate gate(device_);
  gate.hold(plain_);
  for (int i = 0; i != 5000; ++i) must(plain_.touch({}));
  must(plain_.wait_for_room(std::chrono::nanoseconds(0), ~std::uint64_t{0}));
}

// Turns that the runtime takes for waits are counted and never refused.
TEST_F(RoomTest, CountsItsOwnTurnsAndRefusesNone) {
  const Stream s = limited(kTask);
  const Stream other = must(Stream::create(device_));
  const Event event = must(Event::create(device_));
  const Gate gate(device_);
  gate.hold(other);
  must(other.touch({}));
  must(s.wait(other));
  must(s.record(event));
  must(s.wait(plain_));
  EXPECT_EQ(refusal(s.touch({})), "queue_full");
  must(s.record(event));
  gate.open();
  must(event.wait());
  must(s.wait_for_room());
  must(s.touch({}));
}

// A host function of the stream that fills it must not wait for it.
TEST_F(RoomTest, AHostFunctionMayFillButNotWait) {
  const Stream s = limited(4 * kTask);
  std::string full;
  std::string wait;
  must(s.host("fills", {}, [&] {
          Result<Task> sent = s.touch({});
          while (sent) sent = s.touch({});
          full = refusal(sent);
          wait = refusal(s.wait_for_room());
        }).get(kLimit));
  EXPECT_EQ(full, "queue_full");
  EXPECT_EQ(wait, "wait_forbidden");
}

// By the device's clock, in the ledger, and without a trace of it in the stream.
TEST_F(RoomTest, AWaitForItHasADeadline) {
  const Stream s = limited(kTask);
  const Gate gate(device_);
  gate.hold(s);
  std::string answer;
  std::thread waiter([&] { answer = refusal(s.wait_for_room(std::chrono::milliseconds(3))); });
  ASSERT_TRUE(comes_true([this] { return clock_->alarms() == 1; }));
  clock_->advance(std::chrono::milliseconds(3) - std::chrono::nanoseconds(1));
  EXPECT_EQ(clock_->alarms(), 1U);
  clock_->advance(std::chrono::nanoseconds(1));
  waiter.join();
  EXPECT_EQ(answer, "timeout");
  ASSERT_EQ(device_.wait_ledger().size(), 1U);
  EXPECT_EQ(device_.wait_ledger()[0].reason, WaitReason::room);
  EXPECT_EQ(refusal(s.touch({})), "queue_full");
  gate.open();
  must(s.wait_for_room());
  must(s.touch({}));
}

// Two threads share the room: each task is accepted once, and nobody waits for good.
TEST_F(RoomTest, TwoThreadsShareIt) {
  constexpr int kTasks = 500;
  const Stream s = limited(5 * kTask);
  const auto count = kernel("count", [](Cell, std::span<int> to) { ++to[0]; });
  const Array<int> sum = must(Array<int>::create(s, 1));
  must(s.fill(sum, 0));
  std::vector<std::thread> threads;
  for (int t = 0; t != 2; ++t)
    threads.emplace_back([&] {
      for (int done = 0; done != kTasks;) {
        if (s.launch(count, 1, sum)) {
          ++done;
        } else {
          must(s.wait_for_room({}, sizeof(BufferArgument)));
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  must(s.wait_for_room());
  EXPECT_EQ(must(s.read(sum).get())[0], 2 * kTasks);
}

// Under every schedule.

// What uploads staged that have passed is not held: never more than the limit at a time, although
// nothing synchronizes.
TEST(RoomOrder, HoldsNoMoreThanTheLimit) {
  explore_all([](ExploreRun& run) {
    constexpr std::uint64_t kBytes = 4096;
    constexpr std::uint64_t kLimitBytes = 2 * (kBytes + kTask);
    const std::vector<int> values(kBytes / sizeof(int), 1);
    const Stream s = must(Stream::create(run.device(), {.room_bytes = kLimitBytes}));
    const Array<int> a = must(Array<int>::create(s, values.size()));
    for (int accepted = 0; accepted != 5;) {
      const Result<Task> sent = s.upload(a, std::span<const int>(values));
      if (sent) {
        ++accepted;
      } else {
        run.check(refusal(sent) == "queue_full", "nothing else is refused");
        must(s.wait_for_room({}, kBytes));
      }
      run.check(run.device().host_memory_usage().live_bytes <= kLimitBytes, "the limit holds");
    }
  });
}

// Two actors share the room of one task: each task is accepted once, and nobody waits for good.
TEST(RoomOrder, TwoActorsShareIt) {
  Stream s;
  Array<int> sum;
  std::set<std::string> answers;
  ExploreProgram program;
  program.before = [&](ExploreRun& run) {
    s = must(Stream::create(run.device(), {.room_bytes = kTask + sizeof(BufferArgument)}));
    sum = must(Array<int>::create(s, 1));
    must(s.fill(sum, 0));
  };
  program.actors.assign(2, [&](ExploreRun&) {
    const auto count = kernel("count", [](Cell, std::span<int> to) { ++to[0]; });
    for (bool done = false; !done;) {
      const Result<Task> sent = s.launch(count, 1, sum);
      answers.insert(refusal(sent));
      done = sent.has_value();
      if (!done) must(s.wait_for_room({}, sizeof(BufferArgument)));
    }
  });
  program.after = [&](ExploreRun& run) {
    run.check(must(s.read(sum).get())[0] == 2, "each task ran once");
    sum = {};
    s = Stream();
  };
  explore_all(program);
  EXPECT_EQ(answers, (std::set<std::string>{"none", "queue_full"}));
}

}  // namespace
}  // namespace thalweg::test
