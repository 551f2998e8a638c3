// SPDX-License-Identifier: Apache-2.0
//
// support/rounds.hpp - contenders that take turns, and what comes out of it.
//
//   round 0   thalweg  oneTBB   floor
//   round 1   oneTBB   floor    thalweg      Each round starts with another one.
//   round 2   floor    thalweg  oneTBB
//
// A machine that is slow for a while is then slow for all of them, and the ratios stay. A round in
// which other programs took the processors is dropped (machine.hpp has the rule) and repeated, up
// to three times the rounds asked for; when too few are left, the disturbed ones count as well and
// the record says so.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "support/options.hpp"

namespace thalweg::bench {

struct Value {
  std::string metric;
  std::string unit;
  double value = 0;
};

// What one run of a contender gives.
struct Outcome {
  std::vector<Value> values;
  std::uint64_t checksum = 0;  // Of the work: how many task bodies ran, or better.
};

struct Contender {
  std::string who;         // "thalweg", "oneTBB", "floor".
  std::string variant;     // "3 accesses".
  std::uint64_t checksum;  // What each run must give.
  std::function<Outcome()> run;
};

// Contenders that do the same work.
struct Group {
  std::string name;
  std::vector<Contender> contenders;

  // Adds the metric `speed-up`: `task` of the floor over `task` of the contender in the same round.
  bool speed_up = false;

  // Adds what compares the outcomes of one round, which are in the order of the contenders.
  std::function<void(const std::vector<Contender>&, std::vector<Outcome>&)> compare;
};

// Runs groups and prints a JSON object for each case and metric.
class Runner {
 public:
  // `cores` is the last part of the names of cases: "one core".
  Runner(const Options& options, std::string cores);

  // Makes a group and runs it, unless `--only` leaves out all of its cases. A wrong checksum is
  // printed on stderr and makes failed() true.
  void run(std::string_view name, const std::function<Group()>& make);

  bool failed() const noexcept { return failed_; }
  const Options& options() const noexcept { return options_; }

 private:
  bool wanted(const std::string& group, const Contender& contender) const;
  bool run_round(const Group& group, std::size_t round, std::vector<Outcome>& outcomes);
  void print(const Group& group, const std::vector<std::vector<Outcome>>& rounds,
             int disturbed) const;
  std::string case_name(const std::string& group, const Contender& contender) const;

  Options options_;
  std::string cores_;
  bool failed_ = false;
};

// Runs `body` once in a process of its own on one processor and once on all, and gives the exit
// status of the benchmark: 77 (skipped) without the cpu backend, 1 when anything failed.
int run_on_one_core_and_on_all(const Options& options, const std::function<void(Runner&)>& body);

}  // namespace thalweg::bench
