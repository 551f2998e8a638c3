// SPDX-License-Identifier: Apache-2.0
//
// What an execution of a small program costs when it is explored. README.md has the question and
// the method.

#include "support/machine.hpp"
#include "support/work.hpp"
#include "thalweg/explore.hpp"

namespace thalweg::bench {
namespace {

using Block = Array<std::uint32_t>;

// Six tasks over two blocks and three streams: fills, copies, a kernel that is no help to anybody.
void six_tasks(const Device& device) {
  const Stream a = must(Stream::create(device));
  const Stream b = must(Stream::create(device));
  const Stream c = must(Stream::create(device));
  const Block x = must(Block::create(a, 4));
  const Block y = must(Block::create(b, 4));
  check(a.fill(x, 1u));
  check(b.fill(y, 2u));
  check(c.copy(x, y));
  check(b.fill(y, 3u));
  check(a.copy(y, x));
  check(c.fill(x, 4u));
  check(device.synchronize());
}

Contender explored(std::string variant, ExploreOptions options, std::uint64_t checksum) {
  options.trace = false;
  const auto run = [options] {
    const Stopwatch watch;
    const Exploration result =
        must(explore(options, [](ExploreRun& one) { six_tasks(one.device()); }));
    const double wall_ns = watch.wall_ns();
    const double cpu_ns = watch.cpu_ns();
    Outcome outcome;
    add_times(outcome.values, "execution", result.runs, wall_ns, cpu_ns);
    outcome.values.push_back(
        {"executions", "1/s", static_cast<double>(result.runs) / (wall_ns * 1e-9)});
    outcome.checksum = result.findings.empty() && result.outcomes.size() == 1 ? result.runs : 0;
    return outcome;
  };
  return {"thalweg", std::move(variant), checksum, run};
}

// The program as it is, again and again on one device.
Contender once(std::string variant, const char* name, std::uint64_t times) {
  const auto run = [device = must(Device::open(name)), times] {
    const Stopwatch watch;
    for (std::uint64_t i = 0; i != times; ++i) six_tasks(device);
    const double wall_ns = watch.wall_ns();
    Outcome outcome;
    add_times(outcome.values, "execution", times, wall_ns, watch.cpu_ns());
    outcome.checksum = times;
    return outcome;
  };
  return {"floor", std::move(variant), times, run};
}

// How many executions the exhaustive search makes of it.
std::uint64_t all_of(ExploreOptions options) {
  return must(explore(options, [](ExploreRun& one) { six_tasks(one.device()); })).runs;
}

void measure(Runner& runner) {
  const std::uint64_t runs = runner.options().quick ? 1'000 : 100'000;
  runner.run("6 tasks", [&] {
    ExploreOptions random;
    random.search = Search::random;
    random.runs_max = runs;
    ExploreOptions priorities = random;
    priorities.search = Search::priorities;
    ExploreOptions exhaustive;
    exhaustive.runs_max = 10'000'000;
    exhaustive.trace = false;
    Group group;
    group.contenders = {explored("random", random, runs), explored("priorities", priorities, runs),
                        explored("exhaustive", exhaustive, all_of(exhaustive)),
                        once("run once on cpu", "cpu?workers=1", runs / 10),
                        once("run once on sim", "sim?seed=1", runs / 10)};
    return group;
  });
}

}  // namespace
}  // namespace thalweg::bench

int main(int argc, char** argv) {
  using namespace thalweg::bench;
  const auto options = parse_options("explore", argc, argv);
  return options ? run_on_one_core_and_on_all(*options, measure) : 2;
}
