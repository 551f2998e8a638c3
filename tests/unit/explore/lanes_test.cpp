// SPDX-License-Identifier: Apache-2.0
//
// Traces as lanes: traces made by hand, and the exact letters expected of them.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "sample_trace.hpp"
#include "thalweg/explore.hpp"

namespace thalweg::test {
namespace {

using neutral::TaskKind;

SampleTrace two_streams() {
  SampleTrace trace;
  trace.stream(0).stream(1, "side");
  trace.submit(0, 1, TaskKind::fill).run(0, 1, 0, 10'000);
  trace.submit(1, 1, TaskKind::kernel, "blur").wait(1, 1, 0, 1);
  trace.host_wait(1, 1).run(1, 1, 10'000, 10'000).host_went(1, 1);
  return trace;
}

SampleTrace what_went_wrong() {
  SampleTrace trace;
  trace.submit(0, 1, TaskKind::fill).run(0, 1, 0, 0);
  trace.submit(0, 2, TaskKind::host, "log").run(0, 2, 0, 0, "no disk");
  trace.submit(0, 3, TaskKind::copy);
  trace.says(TraceKind::refuse, kHostLane, 0, "fill: too large.");
  trace.says(TraceKind::finding, 0, 1, "unordered: two tasks.");
  return trace;
}

TEST(LanesText, AnEmptyTraceSaysSo) { EXPECT_EQ(lanes_text({}), "The trace is empty.\n"); }

TEST(LanesText, TasksStandOnTheirStreamsAndSayWhatTheyWaitFor) {
  EXPECT_EQ(lanes_text(two_streams().trace()),
            "time     0           10us          20us\n"
            "h        s0@1 s1@1 (s1@1)\n"
            "s0       -[1 fill   ]--------------\n"
            "s1 side  ------------[1 blur <s0@1]\n"
            "marks: (...) the host waits\n");
}

// A task of a nanosecond beside one of a second.
TEST(LanesText, ShortTasksAreSeenBesideLongOnes) {
  SampleTrace trace;
  trace.submit(0, 1, TaskKind::copy).submit(1, 1, TaskKind::fill);
  trace.run(0, 1, 0, 1'000'000'000).run(1, 1, 5, 1);
  EXPECT_EQ(lanes_text(trace.trace()),
            "time  0         5ns     6ns                            1000ms\n"
            "h     s0@1 s1@1\n"
            "s0    ------[1 copy                                   ]\n"
            "s1    ----------[1 fill]-------------------------------\n");
}

// Without any time the order of the trace is what is left.
TEST(LanesText, TasksThatTakeNoTimeStandInTheirOrder) {
  SampleTrace trace;
  trace.submit(0, 1, TaskKind::fill).submit(1, 1, TaskKind::fill);
  trace.run(1, 1, 0, 0).run(0, 1, 0, 0);
  EXPECT_EQ(lanes_text(trace.trace()),
            "h   s0@1 s1@1\n"
            "s0  --------------[1 fill]\n"
            "s1  ------[1 fill]--------\n");
}

TEST(LanesText, FindingsFailuresAndWhatNeverRanAreMarked) {
  EXPECT_EQ(lanes_text(what_went_wrong().trace()),
            "h   s0@1       s0@2      s0@3 refused !\n"
            "s0  -[!1 fill]--[x2 log]---------------[?3 copy]\n"
            "marks: ! a finding, ? has not run, x failed\n"
            "\n"
            "refused: fill: too large.\n"
            "! unordered: two tasks.\n"
            "x s0@2 log: no disk\n"
            "? s0@3 copy has not run. main.cpp:5\n");
}

TEST(LanesText, WorkPastTheRuntimeMemoryActorsAndTheEndOfAStream) {
  SampleTrace trace;
  trace.buffer(TraceKind::allocate, 0).submit(0, 1, TaskKind::fill);
  trace.last().other_lane = kHostLane - 1;
  trace.raw(0, "gemm").run(0, 1, 0, 0).run(0, 0, 0, 0);
  trace.last().raw = true;
  trace.buffer(TraceKind::drop, 0).end(0);
  EXPECT_EQ(lanes_text(trace.trace()),
            "h   +b0 s0 raw              -b0\n"
            "h1   s0@1\n"
            "s0  -----[1 fill][raw gemm]--end\n"
            "marks: +b0 a buffer is made, -b0 is dropped\n");
}

// A callback drops a buffer while the host waits.
TEST(LanesText, ACallInsideOfAWaitLeavesItsLabel) {
  SampleTrace trace;
  trace.submit(0, 1, TaskKind::fill).host_wait(0, 1).buffer(TraceKind::drop, 0).host_went(0, 1);
  const std::string text = lanes_text(trace.trace());
  EXPECT_EQ(text.substr(0, text.find('\n')), "h   s0@1 (s0@1.-b0)");
}

// Whatever is longer goes on below.
TEST(LanesText, LongLanesAreCut) {
  SampleTrace trace;
  for (std::uint64_t serial = 1; serial <= 40; ++serial)
    trace.submit(0, serial, TaskKind::fill).run(0, serial, serial * 100, 100);
  const std::string text = lanes_text(trace.trace(), 50);
  std::size_t begin = 0;
  std::size_t panels = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    EXPECT_LE(end - begin, 50u);
    panels += text.compare(begin, 4, "time") == 0 ? 1u : 0u;
    begin = end + 1;
  }
  EXPECT_GT(panels, 3u);
  EXPECT_NE(text.find("40 fill"), std::string::npos);
}

// The last handle goes while the stream still works.
TEST(LanesText, AStreamEndsBehindItsWork) {
  SampleTrace trace;
  trace.submit(0, 1, TaskKind::fill);
  trace.last().time_ns = 100;
  trace.run(0, 1, 100, 2000).end(0);
  trace.last().time_ns = 200;
  EXPECT_EQ(lanes_text(trace.trace()),
            "time  100ns    2100ns\n"
            "h     s0@1\n"
            "s0    -[1 fill]-end\n");
}

// Nothing that a caller may put into a trace breaks the drawing.
TEST(Lanes, OddTracesAreDrawn) {
  SampleTrace trace;
  trace.run(7, 3, std::numeric_limits<std::uint64_t>::max() - 1, 100);
  trace.submit(std::numeric_limits<std::int32_t>::min(), 1, TaskKind::copy);
  trace.host_went(0, 1).host_wait(3, 4).end(2).wait(1, 9, 5, 5);
  trace.submit(0, 1, TaskKind::kernel, "na\x01me <&>\xff \xc3\xa9 that is very long indeed");
  trace.says(TraceKind::finding, 99, 5, "");
  EXPECT_FALSE(lanes_text(trace.trace(), 0).empty());
  EXPECT_FALSE(lanes_svg(trace.trace()).empty());
  SampleTrace streams;
  streams.stream(0);
  EXPECT_EQ(lanes_text(streams.trace()), "h\ns0\n");
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

// Reads the tags of a document: each is closed in its turn, and outside of them stands no `<` and
// no `&` but of an entity.
void expect_well_formed(const std::string& xml) {
  std::vector<std::string> open;
  std::size_t at = 0;
  for (std::size_t tag = xml.find('<'); tag != std::string::npos; tag = xml.find('<', at)) {
    const std::size_t end = xml.find('>', tag);
    ASSERT_NE(end, std::string::npos);
    const std::string inside = xml.substr(tag + 1, end - tag - 1);
    ASSERT_EQ(inside.find('<'), std::string::npos) << inside;
    ASSERT_EQ(count(inside, "\"") % 2, 0u) << inside;
    const std::string name = inside.substr(0, inside.find(' '));
    if (name.front() == '/') {
      ASSERT_FALSE(open.empty());
      ASSERT_EQ(open.back(), name.substr(1));
      open.pop_back();
    } else if (inside.back() != '/') {
      open.push_back(name);
    }
    at = end + 1;
  }
  EXPECT_TRUE(open.empty());
  EXPECT_EQ(count(xml, "&"),
            count(xml, "&lt;") + count(xml, "&gt;") + count(xml, "&amp;") + count(xml, "&quot;"));
  EXPECT_TRUE(std::all_of(xml.begin(), xml.end(), [](char c) {
    return c == '\n' || static_cast<unsigned char>(c) >= 0x20;
  }));
}

TEST(LanesSvg, AnEmptyTraceSaysSo) {
  const std::string svg = lanes_svg({});
  expect_well_formed(svg);
  EXPECT_NE(svg.find("The trace is empty."), std::string::npos);
}

TEST(LanesSvg, EachTaskHasABoxEachWaitAnEdgeAndBothSayMoreToThePointer) {
  const std::string svg = lanes_svg(two_streams().trace());
  expect_well_formed(svg);
  EXPECT_EQ(count(svg, "<path class=\"edge\""), 1u);
  EXPECT_EQ(count(svg, "<rect class=\"box fill\" x"), 2u);  // One of them in the legend.
  EXPECT_EQ(count(svg, "<rect class=\"box kernel\" x"), 2u);
  EXPECT_NE(svg.find("s1@1 waits for s0@1"), std::string::npos);
  EXPECT_NE(svg.find("<title>submit    s1@1 kernel `blur` main.cpp:5\n"
                     "wait      s1@1 for s0@1\n"
                     "run       s1@1 from 10000 ns for 10000 ns</title>"),
            std::string::npos);
  EXPECT_NE(svg.find("prefers-color-scheme:dark"), std::string::npos);
  EXPECT_EQ(svg.find("class=\"badge\" cx"), std::string::npos);
}

TEST(LanesSvg, FindingsAreRed) {
  SampleTrace trace = two_streams();
  trace.says(TraceKind::finding, 0, 1, "unordered: a & b");
  const std::string svg = lanes_svg(trace.trace());
  expect_well_formed(svg);
  EXPECT_EQ(count(svg, "class=\"badge\" cx"), 1u);
  EXPECT_NE(svg.find("<rect class=\"box fill found\""), std::string::npos);
  EXPECT_NE(svg.find("! unordered: a &amp; b"), std::string::npos);
}

// The same notes as the lanes of letters have.
TEST(LanesSvg, WhatWentWrongIsSaidBelow) {
  const std::string svg = lanes_svg(what_went_wrong().trace());
  expect_well_formed(svg);
  for (const char* const note :
       {">refused: fill: too large.</text>", ">! unordered: two tasks.</text>",
        ">x s0@2 log: no disk</text>", ">? s0@3 copy has not run. main.cpp:5</text>"})
    EXPECT_EQ(count(svg, note), 1u) << note;
}

// Names and messages of the program's may hold anything.
TEST(LanesSvg, TextIsEscaped) {
  SampleTrace trace;
  trace.stream(0, "<script>")
      .submit(0, 1, TaskKind::kernel, "a<b>&\"c\"\x01\xff]]>\n\xf0\x9f\x8c\x8a");
  trace.run(0, 1, 0, 0, "\x1b[31m<fail>");
  const std::string svg = lanes_svg(trace.trace());
  expect_well_formed(svg);
  EXPECT_NE(svg.find("\xf0\x9f\x8c\x8a"), std::string::npos);
  EXPECT_EQ(svg.find('\xff'), std::string::npos);
}

}  // namespace
}  // namespace thalweg::test
