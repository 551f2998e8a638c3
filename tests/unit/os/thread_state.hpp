// SPDX-License-Identifier: Apache-2.0
//
// unit/os/thread_state.hpp - what the system says about this process's threads.
//
// That a thread is blocked is proved by its state, never by waiting a while.

#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace thalweg::test {

inline int thread_id() { return static_cast<int>(::syscall(SYS_gettid)); }

// Whether the thread sleeps in the system: it neither runs nor could.
inline bool sleeps(int thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string stat;
  std::getline(file, stat);
  const std::size_t mark = stat.rfind(')');
  return mark != std::string::npos && mark + 2 < stat.size() && stat[mark + 2] == 'S';
}

// Whether the thread sleeps on a futex until somebody wakes it, or a limit comes.
inline bool sleeps_on_futex(int thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/syscall");
  std::string number;
  file >> number;
  return number == std::to_string(SYS_futex);
}

// Ids of the threads of this process named as those of the cpu backend.
inline std::vector<int> worker_threads() {
  std::vector<int> ids;
  std::error_code gone;  // A thread may end while it is looked at.
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", gone)) {
    std::ifstream file(task.path() / "comm");
    std::string name;
    std::getline(file, name);
    if (name == "thalweg-cpu") ids.push_back(std::stoi(task.path().filename().string()));
  }
  return ids;
}

}  // namespace thalweg::test
