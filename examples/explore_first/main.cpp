// SPDX-License-Identifier: Apache-2.0
//
// A check that holds on most days, and the schedule on which it does not.

#include <thalweg/explore.hpp>
#include <thalweg/thalweg.hpp>

#include <cstdio>

int main() {
  using namespace thalweg;
  const Exploration result = must(explore({}, [](ExploreRun& run) {
    const Stream stream = must(Stream::create(run.device()));
    const Event event = must(Event::create(run.device()));
    const auto values = must(stream.upload(std::vector<float>{1, 2, 3}));
    must(stream.record(event));
    run.check(event.query() == EventState::done, "the upload is over at once");
  }));
  std::puts(result.report().c_str());
  return result.findings.empty() ? 1 : 0;
}
