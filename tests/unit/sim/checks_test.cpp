// SPDX-License-Identifier: Apache-2.0
//
// What the simulated device finds: each check by the smallest program that breaks its rule, with
// both sides of the conflict, their call sites, and the order that is missing.

#include <fmt/format.h>

#include <array>
#include <optional>
#include <stdexcept>

#include "backends/sim/world.hpp"
#include "base/plant.hpp"
#include "support/device_memory.hpp"
#include "unit/sim/explored.hpp"

namespace thalweg::test {
namespace {

constexpr std::uint32_t kCount = 16;
using Words = Array<std::uint32_t>;

// That a side is the call at `line` of this file.
void expect_side(const FindingSide& side, std::string_view what, std::uint32_t line,
                 AccessMode mode) {
  EXPECT_EQ(side.what, what);
  EXPECT_EQ(side.file, "checks_test.cpp");
  EXPECT_EQ(side.line, line);
  EXPECT_EQ(side.mode, mode);
}

void expect_bytes(const FindingSide& side, int buffer, std::uint64_t begin, std::uint64_t end) {
  EXPECT_EQ(side.buffer, buffer);
  EXPECT_EQ(side.begin, begin);
  EXPECT_EQ(side.end, end);
}

void expect_says(const Finding& finding, const std::string& text) {
  EXPECT_NE(finding.message.find(text), std::string::npos) << finding.message;
}

std::string at(std::uint32_t line) { return fmt::format("checks_test.cpp:{}", line); }

constexpr std::uint32_t kChangeLine = __LINE__ + 4;

// Raw work that adds one to each word, on the native queue of `stream`.
void enqueue_change(const Stream& stream, const Words& words) {
  must(enqueue_raw(stream.raw(), "change", [words = device_span(words)] {
    for (std::uint32_t& word : words) ++word;
  }));
}

// Order.

TEST(SimChecks, RawWorkBeforeATaskIsUnordered) {
  std::uint32_t raw = 0;
  std::uint32_t read = 0;
  const Finding finding = only_finding(host_first(), [&](ExploreRun& run) {
    const Stream a = must(Stream::create(run.device(), {.name = "a"}));
    const Stream b = must(Stream::create(run.device(), {.name = "b"}));
    const auto words = must(b.upload(std::vector<std::uint32_t>(kCount)));
    must(b.synchronize());
    raw = __LINE__ + 1;
    must(enqueue_raw(a.raw(), "change", [memory = device_span(words)] { ++memory[3]; }));
    read = __LINE__ + 1;
    static_cast<void>(b.read(words));
  });
  EXPECT_EQ(finding.kind, FindingKind::unordered);
  ASSERT_TRUE(finding.two_sides);
  EXPECT_EQ(finding.first.what, "raw work `change`");
  EXPECT_EQ(finding.first.stream, "a");
  expect_side(finding.second, "read_back", read, AccessMode::read);
  EXPECT_EQ(finding.second.stream, "b");
  expect_bytes(finding.second, 0, 12, 13);
  EXPECT_EQ(finding.missing_edge, "s1@2 must come after raw work `change` put on s0 at " + at(raw));
  EXPECT_TRUE(finding.first.raw);
  EXPECT_FALSE(finding.second.raw);
  expect_says(finding, at(read));
  expect_says(finding, "Missing: s1@2 must come after raw work `change` put on s0 at ");
  expect_says(finding, "Stream::touch or Stream::native");
}

TEST(SimChecks, RawWorkBehindATaskIsUnordered) {
  std::uint32_t fill = 0;
  const Finding finding = only_finding(host_first(), [&](ExploreRun& run) {
    const Stream a = must(Stream::create(run.device()));
    const Stream b = must(Stream::create(run.device()));
    const auto words = must(a.upload(std::vector<std::uint32_t>(kCount)));
    must(a.synchronize());
    fill = __LINE__ + 1;
    must(a.fill(words, 7u));
    enqueue_change(b, words);
  });
  EXPECT_EQ(finding.kind, FindingKind::unordered);
  ASSERT_TRUE(finding.two_sides);
  expect_side(finding.first, "fill", fill, AccessMode::write);
  EXPECT_EQ(finding.second.what, "raw work `change`");
  EXPECT_EQ(finding.missing_edge,
            "raw work `change` put on s1 at " + at(kChangeLine) + " must come after s0@2");
}

// A missing wait, where nobody put anything anywhere.
TEST(SimChecks, ConflictingTasksWithoutAWaitAreUnordered) {
  const plant::Scope planted(plant::Bug::missing_write_after_read);
  std::uint32_t read = 0;
  std::uint32_t fill = 0;
  const Finding finding = only_finding(host_first(), [&](ExploreRun& run) {
    const Stream a = must(Stream::create(run.device()));
    const Stream b = must(Stream::create(run.device()));
    const auto words = must(a.upload(std::vector<std::uint32_t>(kCount)));
    must(a.synchronize());
    read = __LINE__ + 1;
    static_cast<void>(a.read(words.view(4, 8)));
    fill = __LINE__ + 1;
    must(b.fill(words.view(0, 6), 1u));
  });
  EXPECT_EQ(finding.kind, FindingKind::unordered);
  expect_side(finding.first, "read_back", read, AccessMode::read);
  expect_side(finding.second, "fill", fill, AccessMode::write);
  expect_bytes(finding.first, 0, 16, 24);
  expect_bytes(finding.second, 0, 16, 24);
  EXPECT_EQ(finding.missing_edge, "s1@1 must come after s0@2");
}

TEST(SimChecks, BytesOfADroppedBufferAreReusedInFlight) {
  const plant::Scope planted(plant::Bug::free_without_home_point);
  std::uint32_t early = 0;
  std::uint32_t late = 0;
  const Finding finding = only_finding(host_first(), [&](ExploreRun& run) {
    const Stream a = must(Stream::create(run.device()));
    const Stream b = must(Stream::create(run.device()));
    {
      const auto words = must(Words::create(a, kCount));
      early = __LINE__ + 1;
      must(a.fill(words, 1u));
    }
    const auto again = must(Words::create(b, kCount));
    late = __LINE__ + 1;
    must(b.fill(again, 2u));
  });
  EXPECT_EQ(finding.kind, FindingKind::reuse_in_flight);
  expect_side(finding.first, "fill", early, AccessMode::write);
  expect_side(finding.second, "fill", late, AccessMode::write);
  EXPECT_EQ(finding.missing_edge, "s1@1 must come after s0@1");
  expect_says(finding, "the bytes of a buffer that was dropped; it may still run");
}

// The host.

TEST(SimChecks, AViewOfBytesThatATaskStillUsesIsAHostRace) {
  const plant::Scope planted(plant::Bug::map_ordered_only);
  std::uint32_t fill = 0;
  std::uint32_t opened = 0;
  const Finding finding = only_finding(host_first(), [&](ExploreRun& run) {
    const Stream a = must(Stream::create(run.device()));
    const auto words = must(Words::create(a, kCount));
    fill = __LINE__ + 1;
    must(a.fill(words, 1u));
    opened = __LINE__ + 1;
    const auto view = map(words, for_reading);
  });
  EXPECT_EQ(finding.kind, FindingKind::host_race);
  expect_side(finding.first, "fill", fill, AccessMode::write);
  expect_side(finding.second, "the host", opened, AccessMode::read);
  EXPECT_EQ(finding.missing_edge, "the host must wait until s0@1 has passed");
}

TEST(SimChecks, ATaskOnBytesThatTheHostHasOpenIsAHostRace) {
  const plant::Scope planted(plant::Bug::views_unguarded);
  std::uint32_t fill = 0;
  std::uint32_t opened = 0;
  const Finding finding = only_finding({}, [&](ExploreRun& run) {
    const Stream a = must(Stream::create(run.device()));
    const auto words = must(Words::create(a, kCount));
    opened = __LINE__ + 1;
    const auto view = map(words.view(2, 2), for_writing);
    fill = __LINE__ + 1;
    must(a.fill(words, 1u));
    must(a.synchronize());
  });
  EXPECT_EQ(finding.kind, FindingKind::host_race);
  expect_side(finding.first, "the host", opened, AccessMode::read_write);
  expect_side(finding.second, "fill", fill, AccessMode::write);
}

// Contents.

// The element behind the last one: of a buffer with a neighbour and of the last one, whatever its
// block is rounded to, on the device and on the host.
TEST(SimChecks, AWriteBehindTheEndIsFound) {
  const auto too_far = kernel("too far", [](Cell i, Out<std::uint32_t> out) {
    out[i.x] = 1;
    if (i.x == 0) out.data()[out.size()] = 7;
  });
  for (const std::uint64_t count : {4u, 64u, 1024u}) {
    for (const bool neighbour : {false, true}) {
      for (const bool host : {false, true}) {
        const Finding finding = only_finding({}, [&](ExploreRun& run) {
          const Stream a = must(Stream::create(run.device()));
          const auto run_on = [&](const auto& words, const auto& next) {
            must(a.launch(too_far, count, words));
            if (neighbour) must(a.fill(next, 2u));
          };
          if (host)
            run_on(must(HostArray<std::uint32_t>::create(a, count)),
                   must(HostArray<std::uint32_t>::create(a, neighbour ? count : 0)));
          else
            run_on(must(Words::create(a, count)), must(Words::create(a, neighbour ? count : 0)));
        });
        EXPECT_EQ(finding.kind, FindingKind::undeclared_write)
            << count << ' ' << neighbour << ' ' << host;
        expect_says(finding, "kernel `too far`");
      }
    }
  }
}

// A view for reading is a read of all its bytes; one for update may be meant to write them.
TEST(SimChecks, AViewOfBytesThatNothingWroteIsFound) {
  std::uint32_t mapped = 0;
  const Finding finding = only_finding({}, [&](ExploreRun& run) {
    const Stream a = must(Stream::create(run.device()));
    const auto words = must(Words::create(a, kCount));
    must(a.fill(words.view(0, 4), 1u));
    {
      const auto update = must(map(words, for_update));
    }
    const auto fresh = must(Words::create(a, kCount));
    must(a.fill(fresh.view(0, 4), 1u));
    mapped = __LINE__ + 1;
    const auto view = must(map(fresh, for_reading));
  });
  EXPECT_EQ(finding.kind, FindingKind::unwritten_read);
  expect_bytes(finding.first, 1, 16, 4 * kCount);
  EXPECT_EQ(finding.message,
            fmt::format("the host ({}) reads b1[16, {}) in a view, which nothing has written.",
                        at(mapped), 4 * kCount));
}

TEST(SimChecks, AReadOfBytesThatNothingWroteIsFound) {
  std::uint32_t read = 0;
  const Finding finding = only_finding({}, [&](ExploreRun& run) {
    const Stream a = must(Stream::create(run.device(), {.name = "a"}));
    const auto words = must(Words::create(a, kCount));
    must(a.fill(words.view(0, 4), 1u));
    read = __LINE__ + 1;
    static_cast<void>(a.read(words.view(2, 8)));
  });
  EXPECT_EQ(finding.kind, FindingKind::unwritten_read);
  EXPECT_FALSE(finding.two_sides);
  expect_side(finding.first, "read_back", read, AccessMode::read);
  expect_bytes(finding.first, 0, 16, 40);
  EXPECT_EQ(finding.message,
            fmt::format("read_back (stream `a`, s0@2, {}) reads b0[16, 40), which nothing has "
                        "written.",
                        at(read)));
}

TEST(SimChecks, AWriteThatWasNotDeclaredIsFound) {
  std::uint32_t launch = 0;
  const Finding finding = only_finding({}, [&](ExploreRun& run) {
    const Stream a = must(Stream::create(run.device()));
    const auto declared = must(a.upload(std::vector<std::uint32_t>(kCount)));
    const auto hidden = must(a.upload(std::vector<std::uint32_t>(kCount)));
    const auto stray =
        kernel("stray", [memory = device_span(hidden)](Cell i, std::span<std::uint32_t> words) {
          words[i.x] = 1;
          memory[5] = 0x01010101;
        });
    launch = __LINE__ + 1;
    must(a.launch(stray, kCount, declared));
  });
  EXPECT_EQ(finding.kind, FindingKind::undeclared_write);
  expect_side(finding.first, "kernel `stray`", launch, AccessMode::write);
  expect_bytes(finding.first, 1, 20, 24);
  expect_says(finding, "which it did not declare");
}

// A host function that writes what it said it only reads, and one byte beside what it may write.
TEST(SimChecks, AHostFunctionMayWriteWhatItDeclaredOnly) {
  const Finding finding = only_finding({}, [&](ExploreRun& run) {
    const Stream a = must(Stream::create(run.device()));
    const auto bytes = must(a.upload(std::vector<std::uint8_t>(64)));
    static_cast<void>(a.host("off", {reads(bytes), updates(bytes.view(8, 4))},
                             [memory = device_span(bytes)] { memory[12] = memory[9] = 1; }));
  });
  EXPECT_EQ(finding.kind, FindingKind::undeclared_write);
  EXPECT_EQ(finding.first.what, "host function `off`");
  expect_bytes(finding.first, 0, 12, 13);
}

// One element too many: the bytes are nobody's, and lie behind somebody.
TEST(SimChecks, AWriteBehindTheEndOfABufferIsSaidToBeOne) {
  const Finding finding = only_finding({}, [&](ExploreRun& run) {
    const Stream a = must(Stream::create(run.device()));
    const auto words = must(a.upload(std::vector<std::uint32_t>(kCount)));
    static_cast<void>(a.host("off", {updates(words)}, [memory = device_span(words)] {
      memory.data()[kCount] = 0x01010101;
    }));
  });
  EXPECT_EQ(finding.kind, FindingKind::undeclared_write);
  expect_says(finding, "writes 4 bytes behind the end of b0, which it did not declare");
}

TEST(SimChecks, BytesThatTheHostWroteOutsideOfAViewAreFound) {
  const Finding finding = only_finding({}, [&](ExploreRun& run) {
    const Stream a = must(Stream::create(run.device()));
    const auto words = must(a.upload(std::vector<std::uint32_t>(kCount)));
    must(a.synchronize());
    device_span(words)[2] = 0xffffffff;
    must(a.launch(kernel("next", [](Cell) {}), 1));
  });
  EXPECT_EQ(finding.kind, FindingKind::undeclared_write);
  EXPECT_EQ(finding.first.what, "the host");
  expect_bytes(finding.first, 0, 8, 12);
  expect_says(finding, "outside of any task and any view, before kernel `next` ran");
}

// The promise of an Out.

template <class T>
Finding leaves_one_out(std::uint64_t skipped) {
  return only_finding({}, [&](ExploreRun& run) {
    const Stream a = must(Stream::create(run.device(), {.name = "a"}));
    const auto to = must(Array<T>::create(a, kCount));
    const auto most = kernel("most", [skipped](Cell i, Out<T> out) {
      if (i.x != skipped) out[i.x] = static_cast<T>(i.x);
    });
    must(a.launch(most, kCount, to));
  });
}

TEST(SimChecks, AnElementThatAnOutLeavesIsFound) {
  for (const std::uint64_t skipped : {0, 7, 15}) {
    const Finding words = leaves_one_out<std::uint32_t>(skipped);
    EXPECT_EQ(words.kind, FindingKind::broken_out);
    EXPECT_EQ(words.first.what, "kernel `most`");
    expect_bytes(words.first, 0, 4 * skipped, 4 * skipped + 4);
    expect_says(words, fmt::format("leaves b0[{}, {}) as they were", 4 * skipped, 4 * skipped + 4));
    expect_says(words, "kernel `most` (stream `a`, s0@1, checks_test.cpp:");
    const Finding bytes = leaves_one_out<std::uint8_t>(skipped);
    EXPECT_EQ(bytes.kind, FindingKind::broken_out);
    expect_bytes(bytes.first, 0, skipped, skipped + 1);
  }
}

TEST(SimChecks, AnElementThatAnOut2DLeavesIsFound) {
  const Finding finding = only_finding({}, [&](ExploreRun& run) {
    const Stream a = must(Stream::create(run.device()));
    const auto words = must(a.upload(std::vector<std::uint32_t>(64)));
    const auto most = kernel("most", [](Cell i, Out2D<std::uint32_t> out) {
      if (i.x != 2 || i.y != 1) out.row(i.y)[i.x] = 7;
    });
    must(a.launch(most, {3, 4}, words.tile(9, 3, 4, 10)));
  });
  EXPECT_EQ(finding.kind, FindingKind::broken_out);
  // Element 9 + 10 + 2.
  expect_bytes(finding.first, 0, 84, 88);
}

// What tasks compute depends on which of two streams is faster.
TEST(SimChecks, ContentsThatDependOnTheScheduleAreFound) {
  const Finding finding = only_finding({}, [](ExploreRun& run) {
    const auto next = std::make_shared<std::uint32_t>(0);
    const auto take = [next](const Stream& stream) {
      const auto word = must(Words::create(stream, 1));
      static_cast<void>(stream.host("take", {writes(word)},
                                    [next, memory = device_span(word)] { memory[0] = ++*next; }));
      return word;
    };
    const Stream a = must(Stream::create(run.device()));
    const Stream b = must(Stream::create(run.device()));
    const Words first = take(a);
    const Words second = take(b);
  });
  EXPECT_EQ(finding.kind, FindingKind::contents);
  EXPECT_EQ(finding.first.what, "host function `take`");
  expect_says(finding, "checks_test.cpp:");
}

// Waiting.

TEST(SimChecks, ATaskThatWaitsIsAHiddenWait) {
  const Finding finding = only_finding({}, [](ExploreRun& run) {
    const Stream a = must(Stream::create(run.device(), {.name = "a"}));
    const Timeline timeline = must(Timeline::create(run.device()));
    static_cast<void>(a.host("waits", {}, [a, timeline] {
      // The runtime refuses it; its own code could do it.
      const auto [world, queue] = sim::World::find_native(a.raw().value);
      static_cast<void>(world->wait(*timeline.core(), 1, {}));
    }));
  });
  EXPECT_EQ(finding.kind, FindingKind::hidden_wait);
  expect_says(finding, "host function `waits`");
}

TEST(SimChecks, AWaitThatNothingEndsIsADeadlock) {
  std::uint32_t wait = 0;
  const Finding finding = only_finding({}, [&wait](ExploreRun& run) {
    const Stream a = must(Stream::create(run.device()));
    const Timeline never = must(Timeline::create(run.device()));
    wait = __LINE__ + 1;
    must(a.wait(never, 3));
    static_cast<void>(a.synchronize());
    must(never.signal(3));
  });
  EXPECT_EQ(finding.kind, FindingKind::deadlock);
  EXPECT_EQ(finding.message,
            fmt::format("Nothing can go on. The host waits ({}) for s0@1. s0@1 waits ({}) until "
                        "timeline t0 reaches 3; it is at 0.",
                        at(wait + 1), at(wait)));
}

TEST(SimChecks, ActorsThatWaitForEachOtherAreADeadlock) {
  struct Both {
    Timeline first;
    Timeline second;
  };
  const auto both = std::make_shared<Both>();
  ExploreProgram program;
  program.before = [both](ExploreRun& run) {
    both->first = must(Timeline::create(run.device()));
    both->second = must(Timeline::create(run.device()));
  };
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  program.actors.emplace_back([both, &first](ExploreRun&) {
    first = __LINE__ + 1;
    if (both->second.wait(1)) must(both->first.signal(1));
  });
  program.actors.emplace_back([both, &second](ExploreRun&) {
    second = __LINE__ + 1;
    if (both->first.wait(1)) must(both->second.signal(1));
  });
  program.after = [both](ExploreRun&) { *both = {}; };
  const Exploration found = must(explore({}, program));
  ASSERT_EQ(found.findings.size(), 1U) << found.report();
  EXPECT_EQ(found.findings[0].kind, FindingKind::deadlock);
  EXPECT_EQ(found.findings[0].message,
            fmt::format("Nothing can go on. Actor h waits ({}) until timeline t0 reaches 1; it is "
                        "at 0. Actor h1 waits ({}) until timeline t1 reaches 1; it is at 0.",
                        at(first), at(second)));
}

TEST(SimChecks, ATaskThatCanNeverRunIsFound) {
  std::uint32_t wait = 0;
  const Finding finding = only_finding({}, [&](ExploreRun& run) {
    const Stream a = must(Stream::create(run.device()));
    const Timeline never = must(Timeline::create(run.device()));
    wait = __LINE__ + 1;
    must(a.wait(never, 1));
    static_cast<void>(a.host("behind", {}, [] {}));
  });
  EXPECT_EQ(finding.kind, FindingKind::never_ran);
  EXPECT_EQ(finding.message,
            fmt::format("The program is over, and s0@1 can never run: it waits ({}) until timeline "
                        "t0 reaches 1; it is at 0.",
                        at(wait)));
  EXPECT_EQ(finding.first.line, wait);
}

// The end.

TEST(SimChecks, HandlesThatAreKeptAreALeak) {
  std::optional<Stream> stream;
  std::optional<Words> words;
  std::optional<Device> device;
  const auto check = [](const Body& program, const std::string& text) {
    const Finding finding = only_finding({}, program);
    EXPECT_EQ(finding.kind, FindingKind::leak);
    expect_says(finding, text);
  };
  std::uint32_t line = __LINE__ + 1;
  check([&](ExploreRun& run) { stream = must(Stream::create(run.device(), {.name = "out"})); },
        fmt::format("leaves stream `out` (s0, {}) alive", at(line)));
  stream.reset();
  line = __LINE__ + 3;
  check(
      [&](ExploreRun& run) {
        words = must(Words::create(must(Stream::create(run.device())), kCount));
      },
      fmt::format("leaves b0 ({}) alive", at(line)));
  words.reset();
  std::vector<Words> many;
  check(
      [&](ExploreRun& run) {
        const Stream home = must(Stream::create(run.device()));
        many.clear();
        while (many.size() != 7) many.push_back(must(Words::create(home, kCount)));
      },
      " and 3 more alive");
  many.clear();
  check([&](ExploreRun& run) { device = run.device(); },
        "leaves a device alive: somebody holds a Device, Event, Timeline or Future of it");
}

TEST(SimChecks, WhatIsGivenBackTwiceIsFound) {
  sim::WorldOptions options;
  options.explored = true;
  const auto world = sim::World::create(std::move(options));
  world->given_back({0x1000, 0x1100}, true);
  EXPECT_TRUE(world->findings().empty());
  world->given_back({0x1000, 0x1100}, false);
  ASSERT_EQ(world->findings().size(), 1U);
  EXPECT_EQ(world->findings()[0].kind, FindingKind::double_release);
  EXPECT_EQ(world->findings()[0].message, "256 bytes are given back that nobody has.");
}

// The program itself.

TEST(SimChecks, AClaimThatDoesNotHoldIsFound) {
  std::uint32_t line = 0;
  const Finding finding = only_finding({}, [&](ExploreRun& run) {
    run.check(true, "this holds");
    line = __LINE__ + 1;
    run.check(false, "one is two");
  });
  EXPECT_EQ(finding.kind, FindingKind::check);
  EXPECT_EQ(finding.message,
            fmt::format("The program's check does not hold: one is two ({}).", at(line)));
}

TEST(SimChecks, AnExceptionIsFound) {
  const Finding finding =
      only_finding({}, [](ExploreRun&) { throw std::runtime_error("on purpose"); });
  EXPECT_EQ(finding.kind, FindingKind::error);
  EXPECT_EQ(finding.message, "The program ends with an exception: on purpose.");
  EXPECT_EQ(only_finding({}, [](ExploreRun&) { throw 7; }).message,
            "The program ends with an exception: something that is no std::exception.");
}

TEST(SimChecks, ATaskThatFailsUnheardIsFound) {
  const Finding finding = only_finding({}, [](ExploreRun& run) {
    const Stream a = must(Stream::create(run.device()));
    must(a.launch(kernel("throws", [](Cell) { throw std::runtime_error("on purpose"); }), 1));
  });
  EXPECT_EQ(finding.kind, FindingKind::error);
  EXPECT_EQ(finding.first.what, "kernel `throws`");
  expect_says(finding, "on purpose");
}

}  // namespace
}  // namespace thalweg::test
