// SPDX-License-Identifier: Apache-2.0
//
// In an explored run, work that came behind a stream that had ended was found to be unordered with
// the tasks of that stream: the runtime forgets the points of a queue that is gone and asks about
// them no more, and the checks took what nobody had asked about for unknown.

#include <gtest/gtest.h>

#include "thalweg/explore.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

// A stream writes, and ends when it has; another one, which asked for nothing, reads and writes.
TEST(ExploredStreamGone, IsBeforeWhatComesAfterIt) {
  ExploreOptions options;
  options.search = Search::random;
  options.runs_max = 2000;
  const Exploration result = must(explore(options, [](ExploreRun& run) {
    const Stream stays = must(Stream::create(run.device()));
    Stream goes = must(Stream::create(run.device()));
    const auto array = must(Array<std::uint32_t>::create(stays, 4));
    must(goes.fill(array, 1u));
    goes = Stream();
    static_cast<void>(run.device().poll());
    static_cast<void>(run.device().poll());
    const auto values = stays.read(array);
    must(stays.fill(array, 2u));
  }));
  EXPECT_TRUE(result.findings.empty()) << result.report();
}

}  // namespace
}  // namespace thalweg::test
