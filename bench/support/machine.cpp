// SPDX-License-Identifier: Apache-2.0

#include "support/machine.hpp"

#include <fmt/core.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <sstream>

namespace thalweg::bench {
namespace {

constexpr const char* kArchitecture =
#if defined(__x86_64__)
    "x86-64";
#elif defined(__aarch64__)
    "arm64";
#else
    "other";
#endif

bool virtual_machine() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("flags")) return line.find(" hypervisor") != std::string::npos;
  return false;
}

double seconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

std::string describe_machine() {
  return fmt::format("{}-core {} {}", sysconf(_SC_NPROCESSORS_ONLN), kArchitecture,
                     virtual_machine() ? "virtual machine" : "machine");
}

std::vector<int> processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> result;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return {0};
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(static_cast<std::size_t>(i), &set)) result.push_back(i);
  return result;
}

bool pin_to(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(processor), &set);
  return sched_setaffinity(0, sizeof(set), &set) == 0;
}

int run_in_child(const std::function<int()>& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) return 1;
  if (child == 0) {
    int status = 1;
    try {
      status = body();
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}\n", error.what());
    }
    std::fflush(nullptr);
    _exit(status);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 1;
  return WEXITSTATUS(status);
}

Disturbance::Disturbance() : processors_(processors()), begin_(read(processors_)) {}

Disturbance::Reading Disturbance::read(const std::vector<int>& processors) {
  Reading reading;
  reading.own_s = seconds(CLOCK_PROCESS_CPUTIME_ID);
  reading.wall_s = seconds(CLOCK_MONOTONIC);
  const auto per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  std::ifstream file("/proc/stat");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    double user = 0, nice = 0, system = 0, idle = 0, io = 0, irq = 0, soft = 0, steal = 0;
    words >> name >> user >> nice >> system >> idle >> io >> irq >> soft >> steal;
    const auto is_name = [&name](int i) { return name == fmt::format("cpu{}", i); };
    if (!words || std::none_of(processors.begin(), processors.end(), is_name)) continue;
    reading.busy_s += (user + nice + system + irq + soft + steal) / per_second;
    reading.known = true;
  }
  return reading;
}

bool Disturbance::disturbed() const {
  const Reading end = read(processors_);
  if (!begin_.known || !end.known) return false;
  const double others_s = (end.busy_s - begin_.busy_s) - (end.own_s - begin_.own_s);
  const double wall_s = end.wall_s - begin_.wall_s;
  return others_s > 0.02 && others_s > 0.05 * wall_s * static_cast<double>(processors_.size());
}

}  // namespace thalweg::bench
