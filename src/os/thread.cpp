// SPDX-License-Identifier: Apache-2.0

#include "os/thread.hpp"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

namespace thalweg::os {
namespace {

struct Start {
  const char* name;
  std::function<void()> body;
};

void* run(void* argument) {
  const std::unique_ptr<Start> start(static_cast<Start*>(argument));
  pthread_setname_np(pthread_self(), start->name);
  start->body();
  return nullptr;
}

}  // namespace

bool start_thread(const char* name, std::function<void()> body) {
  // The program's signals stay with the program's threads, but for those that a thread raises
  // itself and for a profiler's.
  sigset_t others;
  sigset_t before;
  sigfillset(&others);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGPROF})
    sigdelset(&others, own);
  pthread_sigmask(SIG_SETMASK, &others, &before);
  auto start = std::make_unique<Start>(Start{name, std::move(body)});
  pthread_t thread;
  const bool started = pthread_create(&thread, nullptr, &run, start.get()) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (started) {
    static_cast<void>(start.release());
    pthread_detach(thread);
  }
  return started;
}

unsigned processors() noexcept {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    return static_cast<unsigned>(std::max(CPU_COUNT(&set), 1));
  return std::max(std::thread::hardware_concurrency(), 1U);
}

void sharpen_timers() noexcept { prctl(PR_SET_TIMERSLACK, 1UL); }

void sleep_for(std::chrono::nanoseconds time) noexcept {
  const std::int64_t ns = std::max<std::int64_t>(time.count(), 0);
  timespec left{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) != 0) {
  }
}

void yield() noexcept { sched_yield(); }

}  // namespace thalweg::os
