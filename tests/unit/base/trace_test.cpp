// SPDX-License-Identifier: Apache-2.0
//
// The event record as text: one line an event, and the same bytes whatever the machine is.

#include "thalweg/base/trace.hpp"

#include <gtest/gtest.h>

#include <locale>
#include <set>
#include <string>
#include <string_view>

#include "thalweg/base/finding.hpp"

namespace thalweg::test {
namespace {

TraceEvent event_of(TraceKind kind) {
  TraceEvent event;
  event.kind = kind;
  return event;
}

TraceEvent submission() {
  TraceEvent event = event_of(TraceKind::submit);
  event.task = neutral::TaskKind::kernel;
  event.lane = 1;
  event.serial = 2;
  event.text = "blur";
  event.file = "main.cpp";
  event.line = 12;
  event.accesses = {{0, AccessMode::read, 0, 64, 1, 0}, {1, AccessMode::write, 0, 64, 1, 0}};
  return event;
}

TEST(TraceText, ASubmissionSaysTheTaskItsAccessesAndItsCall) {
  EXPECT_EQ(to_text(submission()),
            "submit    s1@2 kernel `blur` reads b0[0, 64) writes b1[0, 64) main.cpp:12");
}

TEST(TraceText, TheVerbStandsBeforeTheFirstOfItsAccesses) {
  TraceEvent event = submission();
  event.file.clear();
  event.accesses = {{0, AccessMode::read, 4, 4, 1, 0},
                    {-1, AccessMode::read, 0, 8, 1, 0},
                    {1, AccessMode::write, 0, 0, 0, 0},
                    {2, AccessMode::read_write, 16, 8, 3, 32},
                    {3, AccessMode::token, 0, 0, 1, 0}};
  EXPECT_EQ(to_text(event),
            "submit    s1@2 kernel `blur` reads b0[4, 8) memory[0, 8) "
            "updates b2[16, 24)x3 every 32 orders b3[0, 0)");
}

TEST(TraceText, WorkPastTheRuntimeHasNoSerial) {
  TraceEvent event = event_of(TraceKind::submit);
  event.task = neutral::TaskKind::native;
  event.raw = true;
  event.lane = 0;
  event.text = "gemm";
  EXPECT_EQ(to_text(event), "submit    s0 raw native `gemm`");
}

TEST(TraceText, ARunSaysWhenAndHowItFailed) {
  TraceEvent event = event_of(TraceKind::run);
  event.lane = 1;
  event.serial = 2;
  event.time_ns = 120;
  event.duration_ns = 10000;
  EXPECT_EQ(to_text(event), "run       s1@2 from 120 ns for 10000 ns");
  event.text = "division by zero";
  EXPECT_EQ(to_text(event), "run       s1@2 from 120 ns for 10000 ns failed `division by zero`");
}

TEST(TraceText, AWaitSaysForWhat) {
  TraceEvent event = event_of(TraceKind::wait);
  event.lane = 1;
  event.serial = 2;
  event.other_lane = 0;
  event.other_serial = 3;
  EXPECT_EQ(to_text(event), "wait      s1@2 for s0@3");
  event.kind = TraceKind::host_wait;
  event.lane = kHostLane;
  EXPECT_EQ(to_text(event), "host_wait h for s0@3");
  event.kind = TraceKind::host_went;
  event.lane = kHostLane - 2;
  event.time_ns = 7;
  EXPECT_EQ(to_text(event), "host_went h2 for s0@3 at 7 ns");
  event.other_lane = kHostLane;
  EXPECT_EQ(to_text(event), "host_went h2 for timeline at 3 at 7 ns");
}

TEST(TraceText, MemoryAndTheRest) {
  TraceEvent event = event_of(TraceKind::allocate);
  event.lane = 0;
  event.buffer = 3;
  event.offset = 256;
  event.size_bytes = 64;
  EXPECT_EQ(to_text(event), "allocate  s0 b3 gets 64 bytes from 256");
  event.lane = kHostLane;
  event.kind = TraceKind::map;
  EXPECT_EQ(to_text(event), "map       h b3[256, 320)");
  event.kind = TraceKind::unmap;
  EXPECT_EQ(to_text(event), "unmap     h b3[256, 320)");
  event.kind = TraceKind::drop;
  EXPECT_EQ(to_text(event), "drop      h b3");
  event = event_of(TraceKind::signal);
  event.serial = 5;
  EXPECT_EQ(to_text(event), "signal    h timeline to 5");
  event = event_of(TraceKind::stream);
  event.lane = 0;
  event.text = "left";
  EXPECT_EQ(to_text(event), "stream    s0 `left`");
  event.kind = TraceKind::end;
  event.text.clear();
  EXPECT_EQ(to_text(event), "end       s0");
  event = event_of(TraceKind::refuse);
  event.text = "fill: no.";
  EXPECT_EQ(to_text(event), "refuse    h `fill: no.`");
  event.kind = TraceKind::finding;
  event.lane = 1;
  event.serial = 2;
  EXPECT_EQ(to_text(event), "finding   s1@2 `fill: no.`");
}

// A name of the program's stays inside its quotes and on its line.
TEST(TraceText, ControlCharactersAndQuotesAreWrittenOut) {
  TraceEvent event = submission();
  event.text = "a`b\\c\nd\x7f";
  event.file = "x\ty.cpp";
  event.accesses.clear();
  EXPECT_EQ(to_text(event), R"(submit    s1@2 kernel `a\x60b\x5cc\x0ad\x7f` x\x09y.cpp:12)");
}

// Numbers are written the same in a locale that groups digits.
TEST(TraceText, TheLocaleIsNotAsked) {
  struct Grouping : std::numpunct<char> {
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  TraceEvent event = event_of(TraceKind::run);
  event.lane = 0;
  event.time_ns = 1234567;
  const std::locale before = std::locale::global(std::locale(std::locale(), new Grouping));
  const std::string text = to_text(event);
  std::locale::global(before);
  EXPECT_EQ(text, "run       s0@0 from 1234567 ns for 0 ns");
}

TEST(TraceText, ATraceIsItsLines) {
  EXPECT_EQ(to_text(Trace{}), "");
  const TraceEvent event = event_of(TraceKind::end);
  EXPECT_EQ(to_text(Trace{event, event}), to_text(event) + "\n" + to_text(event) + "\n");
}

// The first is the basis of the hash.
TEST(TraceHash, IsFnv1aOfTheText) {
  EXPECT_EQ(hash(Trace{}), 0xcbf29ce484222325u);
  const Trace trace{submission(), event_of(TraceKind::end)};
  std::uint64_t expected = 0xcbf29ce484222325u;
  for (const char c : to_text(trace))
    expected = (expected ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  EXPECT_EQ(hash(trace), expected);
}

TEST(TraceFileName, IsWithoutFolders) {
  EXPECT_EQ(file_name("a/b/c.cpp"), "c.cpp");
  EXPECT_EQ(file_name("c.cpp"), "c.cpp");
  EXPECT_EQ(file_name("a\\b.cpp"), "b.cpp");
  EXPECT_EQ(file_name("a/"), "");
  EXPECT_EQ(file_name(""), "");
}

// Each enumerator from the first to the last has a name of its own.
template <class Kind>
void expect_names(Kind last) {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(last); ++i) names.insert(name(static_cast<Kind>(i)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(last) + 1);
  EXPECT_FALSE(names.contains("unknown"));
  EXPECT_EQ(name(static_cast<Kind>(static_cast<int>(last) + 1)), "unknown");
}

TEST(Names, EveryEnumeratorHasOne) {
  expect_names(TraceKind::end);
  expect_names(neutral::TaskKind::last);
  expect_names(FindingKind::error);
}

}  // namespace
}  // namespace thalweg::test
