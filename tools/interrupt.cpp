// SPDX-License-Identifier: Apache-2.0

#include "interrupt.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstring>

namespace thalweg::tool {
namespace {

std::atomic<int> signal_that_came{0};

// What the handler removes. `set` is false while the path changes: a release that pairs with the
// handler's acquire.
char path_to_remove[PATH_MAX];
std::atomic<bool> set{false};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

extern "C" void thalweg_tool_on_signal(int number) {
  int none = 0;
  if (signal_that_came.compare_exchange_strong(none, number)) return;
  if (set.load(std::memory_order_acquire)) unlink(path_to_remove);
  static constexpr char kText[] = "\nthalweg: Interrupted; nothing is written.\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kText, sizeof(kText) - 1);
  _exit(128 + number);
}

}  // namespace

void catch_signals() {
  struct sigaction action = {};
  action.sa_handler = thalweg_tool_on_signal;
  sigemptyset(&action.sa_mask);
  // No SA_RESTART: opening a pipe that nobody reads ends with an error.
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before = {};
    // What is ignored stays so: the program may run under nohup.
    if (sigaction(number, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    sigaction(number, &action, nullptr);
  }
  signal(SIGPIPE, SIG_IGN);
}

bool interrupted() noexcept { return signal_that_came.load() != 0; }

int interrupted_exit_code() noexcept { return 128 + signal_that_came.load(); }

void remove_when_killed(const std::string& path) noexcept {
  set.store(false, std::memory_order_release);
  if (path.empty() || path.size() >= sizeof(path_to_remove)) return;
  std::memcpy(path_to_remove, path.c_str(), path.size() + 1);
  set.store(true, std::memory_order_release);
}

}  // namespace thalweg::tool
