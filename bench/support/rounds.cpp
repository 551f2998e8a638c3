// SPDX-License-Identifier: Apache-2.0

#include "support/rounds.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "support/machine.hpp"
#include "support/values.hpp"
#include "thalweg/backends.hpp"

namespace thalweg::bench {
namespace {

constexpr int kSkipped = 77;

// Between two contenders, so that the threads of the last one have gone to sleep.
constexpr std::chrono::milliseconds kSettle{5};

bool has_cpu_backend() {
  const std::vector<BackendInfo> found = backends();
  return std::any_of(found.begin(), found.end(),
                     [](const BackendInfo& info) { return info.name == "cpu" && info.available; });
}

double task_time(const Outcome& outcome) {
  for (const Value& value : outcome.values)
    if (value.metric == "task") return value.value;
  return 0;
}

void add_speed_up(const Group& group, std::vector<Outcome>& outcomes) {
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (group.contenders[i].who != "floor") continue;
    const double floor = task_time(outcomes[i]);
    for (Outcome& outcome : outcomes)
      if (const double task = task_time(outcome); task > 0)
        outcome.values.push_back({"speed-up", "1", floor / task});
  }
}

}  // namespace

Runner::Runner(const Options& options, std::string cores)
    : options_(options), cores_(std::move(cores)) {}

std::string Runner::case_name(const std::string& group, const Contender& contender) const {
  return fmt::format("{}/{}/{}", group, contender.variant, cores_);
}

bool Runner::wanted(const std::string& group, const Contender& contender) const {
  const std::string name = contender.who + "/" + case_name(group, contender);
  return name.find(options_.only) != std::string::npos;
}

bool Runner::run_round(const Group& group, std::size_t round, std::vector<Outcome>& outcomes) {
  const std::size_t count = group.contenders.size();
  outcomes.resize(count);
  for (std::size_t turn = 0; turn < count; ++turn) {
    const std::size_t i = (round + turn) % count;
    const Contender& contender = group.contenders[i];
    std::this_thread::sleep_for(kSettle);
    outcomes[i] = contender.run();
    if (outcomes[i].checksum == contender.checksum) continue;
    fmt::print(stderr, "{}, {}: the checksum is {} and should be {}\n", contender.who,
               case_name(group.name, contender), outcomes[i].checksum, contender.checksum);
    return false;
  }
  if (group.speed_up) add_speed_up(group, outcomes);
  if (group.compare) group.compare(group.contenders, outcomes);
  return true;
}

void Runner::run(std::string_view name, const std::function<Group()>& make) {
  Group group = make();
  group.name = name;
  std::erase_if(group.contenders,
                [&](const Contender& contender) { return !wanted(group.name, contender); });
  if (group.contenders.empty()) return;

  std::vector<std::vector<Outcome>> quiet;
  std::vector<std::vector<Outcome>> disturbed;
  std::vector<Outcome> outcomes;
  if (!options_.quick && !run_round(group, 0, outcomes)) failed_ = true;  // Warms up.
  const auto wanted_rounds = static_cast<std::size_t>(options_.rounds);
  for (std::size_t round = 0; !failed_ && round < 3 * wanted_rounds && quiet.size() < wanted_rounds;
       ++round) {
    const Disturbance disturbance;
    if (!run_round(group, round, outcomes)) {
      failed_ = true;
      break;
    }
    (disturbance.disturbed() && !options_.quick ? disturbed : quiet).push_back(outcomes);
  }
  if (failed_) return;
  if (quiet.size() < (wanted_rounds + 1) / 2) {
    fmt::print(stderr, "{}, {}: {} of {} rounds were disturbed; all of them count\n", group.name,
               cores_, disturbed.size(), disturbed.size() + quiet.size());
    quiet.insert(quiet.end(), disturbed.begin(), disturbed.end());
    print(group, quiet, static_cast<int>(disturbed.size()));
  } else {
    print(group, quiet, 0);
  }
}

void Runner::print(const Group& group, const std::vector<std::vector<Outcome>>& rounds,
                   int disturbed) const {
  for (std::size_t i = 0; i < group.contenders.size(); ++i) {
    const Contender& contender = group.contenders[i];
    const std::vector<Value>& first = rounds.front()[i].values;
    for (std::size_t m = 0; m < first.size(); ++m) {
      std::vector<double> values;
      for (const auto& round : rounds) values.push_back(round[i].values[m].value);
      const Spread spread = spread_of(std::move(values));
      fmt::print(
          R"({{"bench":"{}","case":"{}","who":"{}","metric":"{}","unit":"{}","median":{:.5g},)"
          R"("low":{:.5g},"high":{:.5g},"runs":{},"disturbed":{},"checksum":{},)"
          R"("commit":"{}","machine":"{}"}})"
          "\n",
          options_.bench, case_name(group.name, contender), contender.who, first[m].metric,
          first[m].unit, spread.median, spread.low, spread.high, rounds.size(), disturbed,
          contender.checksum, options_.commit, options_.machine);
    }
  }
  std::fflush(stdout);
}

int run_on_one_core_and_on_all(const Options& options, const std::function<void(Runner&)>& body) {
  const auto run = [&](const std::string& cores) {
    Runner runner(options, cores);
    body(runner);
    return runner.failed() ? 1 : 0;
  };
  if (!has_cpu_backend()) {
    fmt::print(stderr, "The cpu backend is not there.\n");
    return kSkipped;
  }
  int status = 0;
  if (options.cores != "all cores")
    status |= run_in_child([&] {
      // The last processor: the first one often serves interrupts.
      if (!pin_to(processors().back())) {
        fmt::print(stderr, "The system refuses to pin a thread to one processor.\n");
        return 1;
      }
      return run("one core");
    });
  if (options.cores != "one core") status |= run_in_child([&] { return run("all cores"); });
  return status;
}

}  // namespace thalweg::bench
