// SPDX-License-Identifier: Apache-2.0
//
// A device that is lost says so to every call, ends what is enqueued without running it, and can be
// dropped with all that belongs to it. The loss is a fault of the simulated device: before its n-th
// task runs.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "contract/support/sink.hpp"
#include "support/refusal.hpp"
#include "thalweg/explore.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

using Block = Array<std::uint32_t>;

// Runs `program` under the sequential schedule and 200 random ones.
void explore_lost(const std::string& device, const std::function<void(ExploreRun&)>& program) {
  ExploreOptions options;
  options.device = device;
  options.search = Search::random;
  options.runs_max = 200;
  const Exploration result = must(explore(options, program));
  EXPECT_TRUE(result.findings.empty()) << result.report();
}

bool is_lost(const Result<void>& result) {
  return !result && result.error().kind() == ErrorKind::device_lost;
}

template <class T>
bool is_lost(const Result<T>& result) {
  return !result && result.error().kind() == ErrorKind::device_lost;
}

// One of each call that can answer.
void expect_lost_everywhere(ExploreRun& run, const Stream& stream, const Block& block,
                            const Event& event, const Timeline& timeline) {
  const Device& device = run.device();
  run.check(is_lost(Stream::create(device)), "Stream::create says that the device is lost");
  run.check(is_lost(Event::create(device)), "Event::create says that the device is lost");
  run.check(is_lost(Timeline::create(device)), "Timeline::create says that the device is lost");
  run.check(is_lost(Block::create(stream, 4)), "Array::create says that the device is lost");
  run.check(is_lost(stream.fill(block, 1u)), "a fill says that the device is lost");
  run.check(is_lost(stream.upload(block, std::vector<std::uint32_t>(4))), "an upload says so");
  run.check(is_lost(stream.read(block).get()), "a read says that the device is lost");
  run.check(is_lost(stream.host("host", {}, [] {}).get()), "a host function says so");
  run.check(is_lost(stream.touch({reads(block)})), "a touch says that the device is lost");
  run.check(is_lost(stream.record(event)), "a record says that the device is lost");
  run.check(is_lost(stream.wait_event(event)), "a wait for an event says so");
  run.check(is_lost(stream.wait(timeline, 7)), "a wait for a timeline says so");
  run.check(is_lost(stream.signal(timeline, 7)), "a signal says that the device is lost");
  run.check(is_lost(stream.synchronize()), "Stream::synchronize says that the device is lost");
  run.check(is_lost(device.synchronize()), "Device::synchronize says that the device is lost");
  run.check(is_lost(event.wait()), "Event::wait says that the device is lost");
  run.check(is_lost(event.on_complete([] {})), "Event::on_complete says so");
  run.check(is_lost(timeline.wait(7)), "Timeline::wait says that the device is lost");
  run.check(event.query() == EventState::lost, "the event is lost with its device");
}

// Each future that is open ends with device_lost at the call of its task; one whose task had passed
// gives its value. Every call afterwards says that the device is lost, with the cause.
TEST(LostDevice, SaysSoToEveryCall) {
  explore_lost("sim?faults=lost:3", [](ExploreRun& run) {
    const Stream stream = must(Stream::create(run.device()));
    const Block block = must(Block::create(stream, 4));
    const Event event = must(Event::create(run.device()));
    const Timeline timeline = must(Timeline::create(run.device()));
    must(stream.fill(block, 5u));
    auto before = stream.read(block);
    must(stream.record(event));
    auto open = stream.read(block);
    const auto failed = open.get();
    run.check(is_lost(failed), "the open future ends with device_lost");
    run.check(failed.error().message().find("(fault lost:3)") != std::string_view::npos,
              "the error names the cause");
    const auto value = before.get();
    run.check(value && value->front() == 5, "what had passed is there");
    expect_lost_everywhere(run, stream, block, event, timeline);
  });
}

// Tasks behind a wait that nobody will end, and a host that waits for a timeline: all come to their
// end with the loss. Nothing that the program captured is left.
TEST(LostDevice, EndsWhatWaits) {
  explore_lost("sim?faults=lost:2", [](ExploreRun& run) {
    const auto captured = std::make_shared<int>(0);
    {
      const Stream a = must(Stream::create(run.device()));
      const Stream b = must(Stream::create(run.device()));
      const Stream c = must(Stream::create(run.device()));
      const Timeline never = must(Timeline::create(run.device()));
      const Block block = must(Block::create(a, 4));
      const auto tell = [&run](const Result<void>& result) {
        run.check(result || is_lost(result), "a call is done, or says that the device is lost");
      };
      tell(a.wait(never, 1));
      auto future = a.host("host", {updates(block)}, [captured] { ++*captured; });
      {
        const auto code = kernel("kept", [captured](Cell, std::span<std::uint32_t>) {});
        static_cast<void>(b.launch(code, 1, block));
      }
      static_cast<void>(c.launch(kernel("first to run", [captured](Cell) {}), 1));
      static_cast<void>(c.launch(kernel("never runs", [captured](Cell) {}), 1));
      run.check(is_lost(never.wait(1)), "the wait of the host ends with device_lost");
      run.check(is_lost(future.get()), "the future ends with device_lost");
      run.check(*captured == 0, "what had not run does not run");
    }
    for (int i = 0; i != 100 && captured.use_count() != 1; ++i)
      static_cast<void>(run.device().poll());
    run.check(captured.use_count() == 1, "closures are destroyed");
  });
}

// Callbacks come exactly once.
TEST(LostDevice, CallbacksComeOnce) {
  explore_lost("sim?faults=lost:1", [](ExploreRun& run) {
    int called = 0;
    {
      const Stream stream = must(Stream::create(run.device()));
      auto future = stream.host("host", {}, [] {});
      // The loss may have come already.
      static_cast<void>(future.on_complete([&called] { ++called; }));
      run.check(is_lost(future.get()), "the future ends with device_lost");
    }
    while (called == 0) static_cast<void>(run.device().poll());
    run.check(called == 1, "the callback comes once");
  });
}

// What it leaves unwritten is one failure, and gone with its bytes.
TEST(LostDevice, LeavesOneFailure) {
  explore_lost("sim?faults=lost:2", [](ExploreRun& run) {
    const Device& device = run.device();
    {
      const Stream a = must(Stream::create(device));
      const Stream b = must(Stream::create(device));
      std::vector<Block> blocks;
      for (int i = 0; i != 3; ++i) blocks.push_back(must(Block::create(a, 4)));
      // One task of these is run, whichever it is.
      bool all = true;
      for (const Block& block : blocks) all = a.fill(block, 1u) && all;
      all = b.fill(blocks[0], 2u) && all;
      all = b.fill(blocks[1], 2u) && all;
      run.check(is_lost(device.synchronize()), "the device is lost");
      while (!device.poll()) {
      }
      const auto failures = device.failures();
      run.check(failures.size() == 1, "it is one failure");
      if (failures.empty()) return;
      run.check(failures[0].root.kind() == ErrorKind::device_lost, "its root is the loss");
      // What was not accepted is not missing.
      run.check(!all || failures[0].carriers == 2 || failures[0].carriers == 3,
                "what had not passed carries it");
      run.check(failures[0].skips == 0, "nothing was skipped");
    }
    run.check(device.failures().empty(), "it is gone with its bytes");
  });
}

// Work of another device meets what the lost one leaves: before its write the bytes are good,
// behind it they are bad, until they are written again.
TEST(LostDevice, IsMetByAnotherDevice) {
  const contract::Sink sink;
  const Device healthy = must(Device::open("sim"));
  const Stream other = must(Stream::create(healthy));
  const Block y = must(Block::create(other, 4));
  must(other.fill(y, 7u));
  {
    const Device lost = must(Device::open("sim?faults=lost:1"));
    const Stream stream = must(Stream::create(lost));
    const Block x = must(Block::create(stream, 4));
    const Timeline gate = must(Timeline::create(lost));
    auto before = other.read(y);
    must(stream.wait(gate, 1));
    must(stream.fill(x, 5u));
    must(stream.copy(y, x));
    auto behind = other.read(y);
    must(gate.signal(1));
    ASSERT_TRUE(is_lost(lost.synchronize()));
    const auto good = must(before.get());
    EXPECT_EQ(good.front(), 7u);
    const auto bad = behind.get();
    ASSERT_FALSE(bad);
    EXPECT_EQ(refusal(bad), "unwritten");
    ASSERT_EQ(bad.error().failures().size(), 1u);
    EXPECT_EQ(bad.error().failures()[0].root.kind(), ErrorKind::device_lost);
    EXPECT_EQ(bad.error().failures()[0].carriers, 2u);
  }
  EXPECT_TRUE(healthy.failures().empty()) << "It is a failure of the other device's.";
  EXPECT_EQ(refusal(other.read(y).get()), "unwritten");
  must(other.fill(y, 8u));
  EXPECT_EQ(must(other.read(y).get()).front(), 8u);
  EXPECT_TRUE(sink.errors().empty()) << "The program was told.";
}

// Nor is a future that nobody takes any news then.
TEST(LostDevice, IsToldByNoFutureOnceACallHasSaidSo) {
  const contract::Sink sink;
  {
    const Device device = must(Device::open("sim?faults=lost:1"));
    const Stream stream = must(Stream::create(device));
    const Timeline gate = must(Timeline::create(device));
    must(stream.wait(gate, 1));
    std::vector<Future<void>> open;
    for (int i = 0; i != 3; ++i) open.push_back(stream.host("never runs", {}, [] {}));
    must(gate.signal(1));
    EXPECT_TRUE(is_lost(device.synchronize()));
    while (!device.poll()) {
    }
  }
  EXPECT_TRUE(sink.errors().empty());
}

// Whichever call says so.
TEST(LostDevice, IsToldByASignal) {
  const contract::Sink sink;
  {
    const Device device = must(Device::open("sim?faults=lost:1"));
    const Stream stream = must(Stream::create(device));
    const Timeline gate = must(Timeline::create(device));
    const Timeline other = must(Timeline::create(device));
    const Block block = must(Block::create(stream, 4));
    must(stream.wait(gate, 1));
    must(stream.fill(block, 1u));
    must(gate.signal(1));
    Result<void> signalled = stream.signal(other, 1);
    for (std::uint64_t value = 2; signalled; ++value) signalled = stream.signal(other, value);
    EXPECT_TRUE(is_lost(signalled));
    EXPECT_NE(signalled.error().message().find("device `sim?faults=lost:1`"),
              std::string_view::npos);
  }
  EXPECT_TRUE(sink.errors().empty());
}

// A program that asks nothing is told by the error sink, once.
TEST(LostDevice, IsToldOnceWhenNobodyAsks) {
  const contract::Sink sink;
  {
    const Device device = must(Device::open("sim?faults=lost:2"));
    const Stream stream = must(Stream::create(device));
    const Timeline gate = must(Timeline::create(device));
    std::vector<Block> blocks;
    for (int i = 0; i != 3; ++i) blocks.push_back(must(Block::create(stream, 4)));
    must(stream.wait(gate, 1));
    must(stream.launch(kernel("writes nothing", [](Cell) {}), 1));
    for (const Block& block : blocks) must(stream.fill(block, 1u));
    must(stream.launch(kernel("writes nothing", [](Cell) {}), 1));
    must(gate.signal(1));
  }
  ASSERT_EQ(sink.errors().size(), 1u);
  EXPECT_EQ(sink.errors()[0].kind(), ErrorKind::device_lost);
}

// Without the explorer: the same device, opened by its name. Another one can be opened.
TEST(LostDevice, OfAPlainWorldEndsAsWell) {
  const contract::Sink sink;
  std::vector<Error> errors;
  {
    const Device device = must(Device::open("sim?faults=lost:1"));
    const Stream stream = must(Stream::create(device));
    const Timeline never = must(Timeline::create(device));
    const auto array = stream.upload(std::vector<std::uint32_t>{1, 2, 3});
    const Result<void> over = device.synchronize();
    ASSERT_TRUE(is_lost(over));
    EXPECT_EQ(refusal(never.wait(1)), "device_lost");
    EXPECT_EQ(refusal(stream.synchronize()), "device_lost");
  }
  // The upload, whose failure nobody could take.
  for (const Error& error : sink.errors()) EXPECT_EQ(error.kind(), ErrorKind::device_lost);
  const Device another = must(Device::open("sim"));
  const Stream stream = must(Stream::create(another));
  EXPECT_TRUE(stream.synchronize());
}

}  // namespace
}  // namespace thalweg::test
