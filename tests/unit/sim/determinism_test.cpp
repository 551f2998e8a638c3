// SPDX-License-Identifier: Apache-2.0
//
// The same program and the same choices give the same trace, byte for byte, on every machine and
// whatever the process did before (G8).

#include <set>
#include <string>

#include "thalweg/base/trace.hpp"
#include "unit/sim/explored.hpp"

namespace thalweg::test {
namespace {

using Values = std::vector<std::uint32_t>;

// Something of everything that a trace shows.
void program(ExploreRun& run) {
  const Stream a = must(Stream::create(run.device(), {.name = "a"}));
  const Stream b = must(Stream::with_priority(run.device(), -1));
  const TimedEvent mark = must(TimedEvent::create(run.device()));
  const Timeline gate = must(Timeline::create(run.device()));
  const auto words = must(a.upload(Values(64, 1)));
  const auto host = must(HostArray<std::uint32_t>::create(b, 16));
  if (auto view = map(host.view(), for_writing)) view->span()[0] = 5;
  must(b.wait(gate, 1));
  must(b.copy(words.view(0, 16), host));
  must(a.launch(kernel("scale", [](Cell i, std::span<std::uint32_t> v) { v[i.x] *= 3; }), 64,
                words));
  must(a.record(mark));
  must(mark.on_complete([] {}));
  must(enqueue_raw(b.raw(), "library", [] {}));
  must(gate.signal(1));
  {
    const auto gone = must(Array<std::uint32_t>::create(b, 1000));
    must(b.fill(gone.tile(0, 10, 10, 100), 2u));
  }
  static_cast<void>(b.host("function", {reads(words)}, [] {}));
  run.check(must(a.read(words).get())[0] == 15, "in the order of the calls");
}

std::string trace_of(Search search, std::uint64_t seed) {
  ExploreOptions options;
  options.search = search;
  if (search == Search::replay) options.schedule = "-";
  options.seed = seed;
  options.runs_max = 2;
  options.device = "sim?copy_engines=1&memory=64MiB";
  const Exploration found = must(explore(options, program));
  EXPECT_TRUE(found.findings.empty()) << found.report();
  return to_text(found.trace);
}

// What could leak into a run: ids, slots of queues, addresses, streams that are alive.
void disturb(std::vector<Stream>& kept) {
  for (const char* const name : {"sim?seed=9", "cpu?workers=1"}) {
    const Device device = must(Device::open(name));
    kept.push_back(must(Stream::create(device)));
    const Stream gone = must(Stream::create(device));
    const auto words = must(gone.upload(Values(5000, 1)));
    must(kept.back().fill(words, 2u));
    must(kept.back().synchronize());
  }
}

TEST(SimDeterminism, ARunIsTheSameWhateverTheProcessDidBefore) {
  std::vector<Stream> kept;
  for (const Search search : {Search::replay, Search::random, Search::priorities}) {
    const std::string first = trace_of(search, 7);
    EXPECT_EQ(trace_of(search, 7), first);
    for (int round = 0; round != 3; ++round) {
      disturb(kept);
      EXPECT_EQ(trace_of(search, 7), first);
    }
  }
}

TEST(SimDeterminism, AnotherSeedIsAnotherSchedule) {
  std::set<std::string> traces;
  for (std::uint64_t seed = 1; seed != 20; ++seed) traces.insert(trace_of(Search::random, seed));
  EXPECT_GT(traces.size(), 5U);
}

// Another number is another schedule or another format: on purpose, or a leak of the machine's.
TEST(SimDeterminism, EveryMachineGivesThisTrace) {
  ExploreOptions options = host_first();
  options.device = "sim?copy_engines=1&memory=64MiB";
  options.schedule = "hx5 s0 h s1x2 hx2 s0 cb s1 h";
  const Exploration found = must(explore(options, program));
  EXPECT_TRUE(found.findings.empty()) << found.report();
  EXPECT_EQ(hash(found.trace), 635283638528008966u) << to_text(found.trace);
}

// A plain device: the seed alone says what comes when.
TEST(SimDeterminism, APlainDeviceFollowsItsSeed) {
  const auto run = [](const std::string& name) {
    const Device device = must(Device::open(name));
    std::string order;
    {
      const Stream a = must(Stream::create(device));
      const Stream b = must(Stream::create(device));
      const Stream c = must(Stream::create(device));
      for (int i = 0; i != 8; ++i)
        for (const auto* const stream : {&a, &b, &c})
          static_cast<void>(stream->host("note", {},
                                         [&order, id = stream == &a   ? 'a'
                                                       : stream == &b ? 'b'
                                                                      : 'c'] { order += id; }));
      must(device.synchronize());
    }
    return order;
  };
  std::set<std::string> orders;
  for (int seed = 0; seed != 10; ++seed) {
    const std::string name = "sim?seed=" + std::to_string(seed);
    const std::string order = run(name);
    EXPECT_EQ(order.size(), 24U);
    EXPECT_EQ(run(name), order);
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 5U);
}

}  // namespace
}  // namespace thalweg::test
