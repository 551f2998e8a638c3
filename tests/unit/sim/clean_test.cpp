// SPDX-License-Identifier: Apache-2.0
//
// Programs that keep all rules: nothing is found in them, under any schedule. Each does what a
// check could take for a broken rule.

#include <array>
#include <stop_token>

#include "support/device_memory.hpp"
#include "unit/sim/explored.hpp"

namespace thalweg::test {
namespace {

constexpr std::uint32_t kCount = 16;
using Words = Array<std::uint32_t>;
using Values = std::vector<std::uint32_t>;

const auto kAdd = kernel("add", [](Cell i, std::span<std::uint32_t> to,
                                   std::span<const std::uint32_t> from) { to[i.x] += from[i.x]; });

// A parameter that is read and written may be the first to write.
TEST(SimClean, AKernelThatUpdatesMayInitialise) {
  expect_clean([](ExploreRun& run) {
    const Stream a = must(Stream::create(run.device()));
    const Stream b = must(Stream::create(run.device()));
    const auto words = must(Words::create(a, kCount));
    must(a.launch(kernel("init",
                         [](Cell i, std::span<std::uint32_t> to) {
                           to[i.x] = static_cast<std::uint32_t>(i.x);
                         }),
                  kCount, words));
    run.check(must(b.read(words).get())[3] == 3, "it is initialised");
  });
}

TEST(SimClean, PartsOfABufferAreWrittenByDifferentStreams) {
  expect_clean([](ExploreRun& run) {
    const Stream a = must(Stream::create(run.device()));
    const Stream b = must(Stream::create(run.device()));
    const auto words = must(Words::create(a, kCount));
    must(a.fill(words.view(0, 7), 1u));
    must(b.fill(words.view(7, 9), 2u));
    must(b.copy(words.view(0, 2), words.view(8, 2)));
    run.check(must(a.read(words).get())[1] == 2, "the copy came last");
  });
}

TEST(SimClean, TilesThatDoNotMeetNeedNoOrder) {
  expect_clean([](ExploreRun& run) {
    const Stream a = must(Stream::create(run.device()));
    const Stream b = must(Stream::create(run.device()));
    const auto words = must(a.upload(Values(64)));
    must(a.synchronize());
    must(a.fill(words.tile(0, 3, 8, 8), 1u));
    must(b.fill(words.tile(3, 5, 8, 8), 2u));
    const Values seen = must(a.read(words.tile(2, 2, 2, 8)).get());
    run.check(seen == Values{1, 2, 1, 2}, "each has its columns");
  });
}

// Marks that a kernel happens to write itself, and bytes that it changes in place.
TEST(SimClean, AnOutMayBeWrittenWithAnything) {
  expect_clean([](ExploreRun& run) {
    const Stream a = must(Stream::create(run.device()));
    const auto bytes = must(Array<std::uint8_t>::create(a, 512));
    const auto count = must(a.upload(std::vector<std::uint8_t>(512)));
    const auto all = kernel("all", [](Cell i, Out<std::uint8_t> out, std::span<std::uint8_t> seen) {
      out[i.x] = static_cast<std::uint8_t>(i.x / 2);
      ++seen[i.x];
    });
    must(a.launch(all, 512, bytes, count));
    run.check(must(a.read(count).get()) == std::vector<std::uint8_t>(512, 1), "it ran once");
    const auto tile =
        kernel("tile", [](Cell i, Out2D<std::uint8_t> out) { out.row(i.y)[i.x] = 0; });
    must(a.launch(tile, {5, 100}, bytes.tile(1, 5, 100, 5)));
  });
}

TEST(SimClean, NoBytesAreNoAccess) {
  expect_clean([](ExploreRun& run) {
    const Stream a = must(Stream::create(run.device()));
    const Stream b = must(Stream::create(run.device()));
    const auto words = must(Words::create(a, kCount));
    must(a.fill(words, 1u));
    must(b.launch(kernel("none", [](Cell, Out<std::uint32_t>, std::span<const std::uint32_t>) {}),
                  0, words.view(3, 0), words.view(5, 0)));
    must(b.copy(words.view(2, 0), words.view(4, 0)));
  });
}

TEST(SimClean, OrderMayBeDeclaredWithoutBytes) {
  expect_clean([](ExploreRun& run) {
    const Stream a = must(Stream::create(run.device()));
    const Stream b = must(Stream::create(run.device()));
    const auto words = must(Words::create(a, kCount));
    static_cast<void>(a.host("orders", {orders(words)}, [] {}));
    must(b.touch({orders(words.view(0, 4))}));
    must(a.touch({writes(words)}));
    static_cast<void>(must(b.read(words).get()));
  });
}

TEST(SimClean, AdoptedMemoryMayOverlap) {
  expect_clean([](ExploreRun& run) {
    std::array<std::uint32_t, kCount> memory{};
    {
      const Stream a = must(Stream::create(run.device()));
      const Stream b = must(Stream::create(run.device()));
      const std::span<std::uint32_t> all(memory);
      const auto whole = must(Words::adopt(run.device(), all));
      const auto half = must(Words::adopt(run.device(), all.subspan(8)));
      must(a.launch(kAdd, 4, whole.view(8, 4), whole.view(0, 4)));
      must(b.fill(half, 7u));
      must(a.copy(whole.view(0, 8), half));
      must(a.synchronize());
      must(b.synchronize());
    }
    run.check(memory[0] == 7 && memory[8] == 7, "the last write counts");
  });
}

TEST(SimClean, TheHostTakesTurnsWithTasks) {
  expect_clean([](ExploreRun& run) {
    const Stream a = must(Stream::create(run.device()));
    const Stream b = must(Stream::create(run.device()));
    const auto host = must(HostArray<std::uint32_t>::create(a, kCount));
    const auto words = must(Words::create(b, kCount));
    for (std::uint32_t round = 1; round != 3; ++round) {
      if (auto view = map(host.view(), for_writing))
        for (std::uint32_t& word : *view) word = round;
      must(b.copy(words, host));
      if (auto view = map(words.view(0, 2), for_update)) ++(*view)[1];
      must(a.launch(kAdd, 2, words.view(2, 2), words.view(0, 2)));
      const auto seen = must(map(words, for_reading));
      run.check(seen[3] == 2 * round + 1, "the host sees all");
    }
  });
}

TEST(SimClean, UploadsKeepWhatTheyNeed) {
  expect_clean([](ExploreRun& run) {
    const Stream a = must(Stream::create(run.device()));
    const Stream b = must(Stream::create(run.device()));
    const auto words = must(Words::create(a, kCount));
    const Values borrowed(kCount, 3);
    {
      Values copied(kCount, 1);
      must(a.upload(words, std::span<const std::uint32_t>(copied)));
      copied.assign(kCount, 9);
    }
    must(b.upload(words.view(0, 8), Values(8, 2)));
    Future<void> done = a.upload_borrowed(words.view(4, 8), std::span(borrowed).first(8));
    const Values seen = must(b.read(words).get());
    run.check(seen[0] == 2 && seen[4] == 3 && seen[15] == 1, "in the order of the calls");
    must(done.get());
  });
}

TEST(SimClean, TheDeviceReadsAGrid) {
  expect_clean([](ExploreRun& run) {
    const Stream a = must(Stream::create(run.device()));
    const Stream b = must(Stream::create(run.device()));
    const auto grid = must(Array<Extent>::create(a, 1));
    const auto words = must(b.upload(Values(kCount)));
    must(a.upload(grid, std::vector<Extent>{{4, 1, 1}}));
    must(b.launch_indirect(kAdd, grid, words.view(0, 8), words.view(8, 8)));
    must(a.upload(grid, std::vector<Extent>{{0, 0, 0}}));
    must(b.launch_indirect(kAdd, grid, words.view(0, 8), words.view(8, 8)));
  });
}

TEST(SimClean, MemoryIsUsedAgainOnOtherStreams) {
  expect_clean([](ExploreRun& run) {
    const Stream a = must(Stream::create(run.device()));
    const Stream b = must(Stream::create(run.device()));
    for (std::uint32_t round = 0; round != 3; ++round) {
      const Stream& on = round % 2 == 0 ? a : b;
      const auto words = must(Words::create(on, kCount));
      must(a.fill(words, round));
      static_cast<void>(b.read(words));
    }
  });
}

TEST(SimClean, StreamsComeAndGo) {
  expect_clean([](ExploreRun& run) {
    const Stream a = must(Stream::create(run.device()));
    const auto words = must(Words::create(a, kCount));
    for (std::uint32_t round = 0; round != 3; ++round) {
      const Stream other = must(Stream::create(run.device()));
      must(other.fill(words, round));
    }
    run.check(must(a.read(words).get())[0] == 2, "in the order of the calls");
  });
}

TEST(SimClean, NativeWorkIsATask) {
  expect_clean([](ExploreRun& run) {
    const Stream a = must(Stream::create(run.device()));
    const Stream b = must(Stream::create(run.device()));
    const auto words = must(a.upload(Values(kCount)));
    must(b.native({updates(words)},
                  [memory = device_span(words)](NativeHandle queue, std::span<const NativeBytes>) {
                    must(enqueue_raw(queue, "library", [memory] { ++memory[0]; }));
                  }));
    must(enqueue_raw(a.raw(), "own", [] {}));
    run.check(must(a.read(words).get())[0] == 1, "the read waits");
  });
}

TEST(SimClean, ATaskMayBeStopped) {
  expect_clean([](ExploreRun& run) {
    std::stop_source stop;
    const Stream a = must(Stream::create(run.device()));
    const Stream stoppable = a.with_stop_token(stop.get_token());
    Future<void> future = stoppable.host("work", {}, [] {});
    stop.request_stop();
    const auto ended = future.get();
    run.check(ended || ended.error().kind() == ErrorKind::cancelled, "it ran or was cancelled");
  });
}

TEST(SimClean, TimeIsMeasuredAndCallbacksRun) {
  expect_clean([](ExploreRun& run) {
    const Stream a = must(Stream::create(run.device()));
    const TimedEvent from = must(TimedEvent::create(run.device()));
    const TimedEvent to = must(TimedEvent::create(run.device()));
    const auto called = std::make_shared<int>(0);
    must(a.record(from));
    const auto words = must(a.upload(Values(kCount)));
    must(a.record(to));
    must(to.on_complete([called] { ++*called; }));
    must(to.wait());
    run.check(must(elapsed(from, to)).count() > 0, "work takes time");
    must(a.synchronize());
    run.check(*called <= 1, "once");
  });
}

TEST(SimClean, TwoDevicesShareTheirWork) {
  expect_clean([](ExploreRun& run) {
    const Device other = must(run.open("sim"));
    const Stream here = must(Stream::create(run.device()));
    const Stream there = must(Stream::create(other));
    const auto first = must(here.upload(Values(kCount, 1)));
    const auto second = must(there.upload(Values(kCount, 2)));
    must(there.copy(second.view(0, 4), first.view(0, 4)));
    must(here.copy(first.view(8, 4), second.view(2, 4)));
    const Values seen = must(here.read(first).get());
    run.check(seen[8] == 1 && seen[10] == 2, "copies come in the order of the calls");
  });
}

TEST(SimClean, ADeadlinePasses) {
  expect_clean([](ExploreRun& run) {
    const Stream a = must(Stream::create(run.device()));
    const Timeline gate = must(Timeline::create(run.device()));
    must(a.wait(gate, 1));
    const auto waited = a.synchronize(std::chrono::milliseconds(1));
    run.check(!waited && waited.error().kind() == ErrorKind::timeout, "the gate is closed");
    must(gate.signal(1));
    must(a.synchronize(std::chrono::milliseconds(1)));
  });
}

}  // namespace
}  // namespace thalweg::test
