// SPDX-License-Identifier: Apache-2.0
//
// Handles of every kind go in every order, and on several threads at once, while work is on its way
// that fails and makes other work be skipped. Nothing is left of it: no closure, no byte, no bad
// byte, no device; and each failure was told, once.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/plant.hpp"
#include "runtime/failures.hpp"
#include "support/device_memory.hpp"
#include "support/device_watch.hpp"
#include "support/program_runner.hpp"
#include "support/refusal.hpp"
#include "thalweg/base/log.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

// Counts what the error sink is told.
class CountingSink {
 public:
  CountingSink() {
    set_error_sink([told = told_](const Error&) { ++*told; });
  }
  CountingSink(const CountingSink&) = delete;
  CountingSink& operator=(const CountingSink&) = delete;
  ~CountingSink() { set_error_sink({}); }
  int take() const { return told_->exchange(0); }

 private:
  std::shared_ptr<std::atomic<int>> told_ = std::make_shared<std::atomic<int>>(0);
};

// What ran. Every callable holds it: it says as well when they are all gone.
using Tally = std::shared_ptr<std::atomic<int>>;

auto adds_one(const Tally& held, bool fails) {
  return kernel("adds_one", [held, fails](Cell at, std::span<int> v) {
    if (fails) throw std::runtime_error("broken");
    v[at.x] += 1;
  });
}
auto adds(const Tally& held) {
  return kernel("adds", [held](Cell at, std::span<int> to, std::span<const int> by) {
    to[at.x] += by[at.x];
  });
}

struct Way {
  bool fails = false;
  bool gated = false;  // Nothing runs before all handles are gone.
};

constexpr std::size_t kKinds = 7;
constexpr int kRun = 2;   // Host functions that run when nothing fails,
constexpr int kTold = 2;  // and failures that are told otherwise.

// Handles of each kind, and work that needs them all.
class World {
 public:
  World(const Device& device, const Tally& ran, Way way)
      : gate_(must(Timeline::create(device))), device_(device) {
    for (auto& stream : streams_) stream = must(Stream::create(device));
    for (auto& event : events_) event = must(Event::create(device));
    for (auto& timeline : timelines_) timeline = must(Timeline::create(device));
    breaks_.emplace(adds_one(ran, way.fails));
    adds_.emplace(adds(ran));
    if (way.gated) hold();
    submit(ran, way);
  }

  // Each handle of one kind.
  void drop(std::size_t kind) {
    switch (kind) {
      case 0:
        device_ = {};
        break;
      case 1:
        streams_ = {};
        break;
      case 2:
        buffers_ = {};
        break;
      case 3:
        events_ = {};
        break;
      case 4:
        futures_ = {};
        break;
      case 5:
        breaks_.reset();
        adds_.reset();
        break;
      default:
        timelines_ = {};
        break;
    }
  }

  Timeline take_gate() { return std::exchange(gate_, {}); }

 private:
  void hold() const {
    for (const Stream& stream : streams_) must(stream.wait(gate_, 1));
  }

  // x is left unwritten, so y is; z is left unwritten by a host function with a future.
  void submit(const Tally& ran, Way way) {
    const auto& [a, b] = streams_;
    auto& [x, y, z] = buffers_;
    for (Array<int>* const buffer : {&x, &y, &z}) *buffer = must(Array<int>::create(a, 8));
    must(a.fill(x, 4));
    must(a.fill(y, 1));
    must(a.fill(z, 0));
    must(a.launch(*breaks_, 8, x));
    must(a.record(events_[0]));
    must(b.wait_event(events_[0]));
    must(b.launch(*adds_, 8, y, x));
    must(b.signal(timelines_[0], 1));
    must(a.wait(timelines_[0], 1));
    must(a.signal(timelines_[1], 1));
    futures_[0] = a.host("check", {reads(y)}, [ran, bytes = device_span(y)] {
      if (std::count(bytes.begin(), bytes.end(), 6) == 8) ++*ran;
    });
    futures_[1] = b.host("last", {updates(z)}, [ran, fails = way.fails] {
      if (fails) throw std::runtime_error("broken as well");
      ++*ran;
    });
    must(b.record(events_[1]));
  }

  Timeline gate_;
  Device device_;
  std::array<Stream, 2> streams_;
  std::array<Array<int>, 3> buffers_;
  std::array<Event, 2> events_;
  std::array<Future<void>, 2> futures_;
  std::optional<decltype(adds_one({}, false))> breaks_;
  std::optional<decltype(adds({}))> adds_;
  std::array<Timeline, 2> timelines_;
};

using Order = std::array<std::size_t, kKinds>;
constexpr std::array<Way, 4> kWays{{{false, false}, {true, false}, {false, true}, {true, true}}};

// What is left when all handles are gone.
struct Leftover {
  Way way;
  Tally ran = std::make_shared<std::atomic<int>>(0);
  DeviceWatch watch;
};

class DropFailures : public testing::TestWithParam<const char*> {
 protected:
  // `drop_all(world)` drops the handles.
  template <class DropAll>
  void begin(Way way, DropAll drop_all) {
    const Leftover& run = runs_.emplace_back(Leftover{way});
    World world(run.watch.open(GetParam()), run.ran, way);
    const Timeline gate = world.take_gate();
    drop_all(world);
    if (!way.gated) return;
    EXPECT_EQ(*run.ran, 0);
    must(gate.signal(1));
  }

  void begin(Way way, const Order& order) {
    begin(way, [&order](World& world) {
      for (const std::size_t kind : order) world.drop(kind);
    });
  }

  // Waits for the ends of all that have begun. Empty, or what is wrong.
  std::string finish() {
    int told = sink_.take();
    for (const Leftover& run : std::exchange(runs_, {})) {
      if (!run.watch.ends()) return "Something of the device stays.";
      if (run.ran.use_count() != 1) return "A closure stays.";
      if (*run.ran != (run.way.fails ? 0 : kRun)) return "Work that was enqueued has not run.";
      told += sink_.take() - (run.way.fails ? kTold : 0);
    }
    if (runtime::Failures::instance().any()) return "A byte of nobody's is bad.";
    return told == 0 ? "" : std::to_string(told) + " failures too many were told.";
  }

  const CountingSink sink_;

 private:
  std::vector<Leftover> runs_;
};

// Every order: with one worker in every way, with more of them in one way each. With a sanitizer
// every n-th of these runs.
TEST_P(DropFailures, InEveryOrder) {
  const bool all_ways = std::string(GetParam()) == "cpu?workers=1";
  const std::uint64_t runs = 5040 * (all_ways ? kWays.size() : 1);
  constexpr std::uint64_t kAtATime = 8;
  // Odd: no way is left out.
  const std::uint64_t step = runs / std::min(runs, scaled(runs)) | 1;
  Order order{0, 1, 2, 3, 4, 5, 6};
  std::uint64_t turn = 0;
  std::uint64_t begun = 0;
  std::uint64_t number = 0;
  do {
    for (std::size_t way = 0; way != kWays.size(); ++way) {
      if (!all_ways && way != number % kWays.size()) continue;
      if (turn++ % step != 0) continue;
      begin(kWays[way], order);
      if (++begun % kAtATime != 0) continue;
      ASSERT_EQ(finish(), "") << "among those up to " << testing::PrintToString(order);
    }
    ++number;
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(finish(), "");
}

// Each kind goes on a thread of its own, all of them at once.
TEST_P(DropFailures, OnSeveralThreadsAtOnce) {
  std::array<World*, 2> shared{};  // In turns; null: the end.
  std::barrier<> turn(kKinds + 1);
  std::vector<std::thread> threads;
  for (std::size_t kind = 0; kind != kKinds; ++kind)
    threads.emplace_back([&, kind] {
      for (std::size_t round = 0;; ++round) {
        turn.arrive_and_wait();
        World* const world = shared[round % 2];
        if (world == nullptr) return;
        world->drop(kind);
        turn.arrive_and_wait();
      }
    });
  const std::uint64_t rounds = scaled(400) * kWays.size();
  std::uint64_t round = 0;
  for (; round != rounds && !HasFailure(); ++round) {
    begin(kWays[round % kWays.size()], [&](World& world) {
      shared[round % 2] = &world;
      turn.arrive_and_wait();
      turn.arrive_and_wait();
    });
    EXPECT_EQ(finish(), "") << "round " << round;
  }
  shared[round % 2] = nullptr;
  turn.arrive_and_wait();
  for (std::thread& thread : threads) thread.join();
}

// What the runs look at is there to be seen: bytes that stay bad when nobody has them are found.
TEST_P(DropFailures, BadBytesThatStayAreFound) {
  {
    const plant::Scope planted(plant::Bug::taint_not_shed);
    begin({true, true}, {0, 1, 2, 3, 4, 5, 6});
    EXPECT_EQ(finish(), "A byte of nobody's is bad.");
  }
  must(Device::open(GetParam())).poll();
  static_cast<void>(sink_.take());
  begin({true, true}, {0, 1, 2, 3, 4, 5, 6});
  EXPECT_EQ(finish(), "");
}

INSTANTIATE_TEST_SUITE_P(Cpu, DropFailures, testing::Values("cpu?workers=1", "cpu?workers=4"));

}  // namespace
}  // namespace thalweg::test
