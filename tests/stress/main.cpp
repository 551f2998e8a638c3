// SPDX-License-Identifier: Apache-2.0
//
// Threads that make random calls of the whole API, on handles that they share and on others.
//
//   stress_tests [--seed=N] [--seconds=N] [--threads=N] [--device=NAME]
//
// Prints SEED= first, and `ok` at the end. A seed gives each thread the same calls; how the threads
// meet is the machine's choice. ThreadSanitizer looks for races meanwhile.

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "stress/actor.hpp"

namespace {

using thalweg::stress::Actor;
using thalweg::stress::World;
using Clock = std::chrono::steady_clock;

// No call takes that long, not with a sanitizer and on a machine that others use.
constexpr std::chrono::seconds kStuckAfter{120};

struct Arguments {
  std::uint64_t seed = std::random_device()();
  std::uint64_t seconds = 2;
  std::uint64_t threads = 8;
  std::string device;  // Empty: cpu devices of several kinds.
};

bool parse(int argc, char** argv, Arguments& arguments) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const auto take = [argument](std::string_view key, std::uint64_t& value) {
      if (!argument.starts_with(key)) return false;
      const char* const end = argument.data() + argument.size();
      const auto parsed = std::from_chars(argument.data() + key.size(), end, value);
      return parsed.ec == std::errc() && parsed.ptr == end;
    };
    if (argument.starts_with("--device=")) {
      arguments.device = argument.substr(std::strlen("--device="));
      continue;
    }
    if (!take("--seed=", arguments.seed) && !take("--seconds=", arguments.seconds) &&
        !take("--threads=", arguments.threads))
      return false;
  }
  return arguments.threads != 0;
}

// Fails when a thread makes no step for a long time.
void watch(const std::stop_token& stop, const World& world,
           const std::vector<std::unique_ptr<Actor>>& actors) {
  struct Seen {
    std::uint64_t steps = 0;
    Clock::time_point since = Clock::now();
  };
  std::vector<Seen> seen(actors.size());
  while (!stop.stop_requested()) {
    // How often it looks; nothing is judged by it.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    for (std::size_t i = 0; i != actors.size(); ++i) {
      if (const std::uint64_t steps = actors[i]->steps(); steps != seen[i].steps)
        seen[i] = {steps, Clock::now()};
      if (Clock::now() - seen[i].since < kStuckAfter) continue;
      std::string what = "No step for a long time.";
      for (std::size_t other = 0; other != actors.size(); ++other)
        what += fmt::format("\nthread {}, step {}: {}", other, actors[other]->steps(),
                            actors[other]->doing());
      world.fail(fmt::format("thread {}", i), what);
    }
  }
}

// The actors stay: callbacks and host functions that have not run yet refer to them.
std::uint64_t run(World& world, const Arguments& arguments,
                  std::vector<std::unique_ptr<Actor>>& actors) {
  for (unsigned i = 0; i != arguments.threads; ++i)
    actors.push_back(
        std::make_unique<Actor>(world, i, arguments.seed + 0x9e3779b97f4a7c15 * (i + 1)));
  const Clock::time_point end = Clock::now() + std::chrono::seconds(arguments.seconds);
  std::jthread watchdog([&](const std::stop_token& stop) { watch(stop, world, actors); });
  {
    std::vector<std::jthread> threads;
    for (const auto& actor : actors)
      threads.emplace_back([&actor, end] {
        while (Clock::now() < end) actor->step();
        actor->finish();
      });
  }
  watchdog.request_stop();
  watchdog.join();
  std::uint64_t steps = 0;
  for (const auto& actor : actors) steps += actor->steps();
  return steps;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!parse(argc, argv, arguments)) {
    fmt::print(stderr,
               "usage: stress_tests [--seed=N] [--seconds=N] [--threads=N] [--device=NAME]\n");
    return 2;
  }
  fmt::print("SEED={}\n", arguments.seed);
  std::fflush(stdout);
  // Not destroyed before the error sink, which is the process's.
  static World world(arguments.seed, arguments.device);
  std::vector<std::unique_ptr<Actor>> actors;
  const std::uint64_t steps = run(world, arguments, actors);
  world.check_end();
  fmt::print(
      "ok: {} steps of {} threads, {} host functions, {} callbacks, {} adoptions, {} errors "
      "of tasks\n",
      steps, arguments.threads, world.host_functions.load(), world.callbacks_called.load(),
      world.adoptions.load(), world.sunk_errors.load());
  return 0;
}
