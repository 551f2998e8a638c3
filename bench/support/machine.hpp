// SPDX-License-Identifier: Apache-2.0
//
// support/machine.hpp - the machine a benchmark runs on: its cores, and who else uses them.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace thalweg::bench {

// For people, without names: "2-core x86-64 virtual machine".
std::string describe_machine();

// The processors this thread may use, in ascending order.
std::vector<int> processors();

// Keeps this thread, and those it makes, on one processor. False when the system refuses.
bool pin_to(int processor);

// Runs `body` in a child process, which starts without any thread but its own: libraries that count
// the processors once see those of this run. Gives the child's exit status, 1 when it died
// otherwise.
// REQUIRES: the calling process has one thread.
int run_in_child(const std::function<int()>& body);

// Tells whether other programs or the hypervisor took the processors while something ran.
//
// Rule: disturbed, when they had more than 5 % of the time of the processors this thread may use,
// and more than 20 ms (the system counts in steps of 10 ms).
class Disturbance {
 public:
  Disturbance();

  // Whether it was disturbed since the construction. False where the system does not say.
  bool disturbed() const;

 private:
  struct Reading {
    double busy_s = 0;  // Of the processors, whoever used them; the hypervisor's share too.
    double own_s = 0;   // Of this process.
    double wall_s = 0;
    bool known = false;
  };
  static Reading read(const std::vector<int>& processors);

  std::vector<int> processors_;
  Reading begin_;
};

}  // namespace thalweg::bench
