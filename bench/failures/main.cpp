// SPDX-License-Identifier: Apache-2.0
//
// What failures cost the tasks that do not fail. README.md has the question and the method.

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "failures/cases.hpp"
#include "support/rounds.hpp"
#include "support/values.hpp"

namespace thalweg::bench {
namespace {

constexpr int kRounds = 21;
constexpr std::string_view kWith = "with";
constexpr std::string_view kWithout = "without";

struct Sizes {
  std::size_t tasks;  // Of a pass.
  std::size_t passes;
};

Sizes sizes_of(const Options& options) { return options.quick ? Sizes{200, 1} : Sizes{20'000, 5}; }

// A process that runs passes when it is asked to, on the processors of this one.
class Worker {
 public:
  explicit Worker(std::string_view variant) {
    const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
    std::string program = self.parent_path() / fmt::format("bench_failures_{}", variant);
    std::array<int, 2> to{};
    std::array<int, 2> from{};
    if (pipe2(to.data(), O_CLOEXEC) != 0 || pipe2(from.data(), O_CLOEXEC) != 0)
      throw std::runtime_error("The system refuses a pipe.");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
    std::array<char*, 2> arguments{program.data(), nullptr};
    const int refused =
        posix_spawn(&process_, program.c_str(), &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    questions_ = fdopen(to[1], "w");
    answers_ = fdopen(from[0], "r");
    if (refused != 0) throw std::runtime_error(fmt::format("{} does not start.", program));
  }

  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // It ends when nobody asks any more.
  ~Worker() {
    std::fclose(questions_);
    std::fclose(answers_);
    waitpid(process_, nullptr, 0);
  }

  struct Answer {
    double wall_ns = 0;
    double cpu_ns = 0;
    std::uint64_t checksum = 0;
  };

  Answer ask(std::size_t number, std::size_t tasks) {
    fmt::print(questions_, "{} {}\n", number, tasks);
    std::fflush(questions_);
    Answer answer;
    unsigned long long checksum = 0;
    if (std::fscanf(answers_, "%lf %lf %llu", &answer.wall_ns, &answer.cpu_ns, &checksum) != 3)
      throw std::runtime_error("A worker gives no answer.");
    answer.checksum = checksum;
    return answer;
  }

 private:
  pid_t process_ = 0;
  std::FILE* questions_ = nullptr;
  std::FILE* answers_ = nullptr;
};

// The pass before the ones that count brings caches and clock up. Of those the median, so that one
// in which others had the processor is none.
Outcome passes(Worker& worker, std::size_t number, const Sizes& sizes) {
  Outcome outcome;
  worker.ask(number, sizes.tasks);
  std::vector<double> wall_ns;
  std::vector<double> cpu_ns;
  const auto tasks = static_cast<double>(sizes.tasks);
  for (std::size_t i = 0; i != sizes.passes; ++i) {
    const Worker::Answer answer = worker.ask(number, sizes.tasks);
    wall_ns.push_back(answer.wall_ns / tasks);
    cpu_ns.push_back(answer.cpu_ns / tasks);
    outcome.checksum += answer.checksum;
  }
  outcome.values = {{"task", "ns", spread_of(std::move(wall_ns)).median},
                    {"task cpu", "ns", spread_of(std::move(cpu_ns)).median}};
  return outcome;
}

// What one is above the other, in all and for each buffer that a task writes. Only where both run.
void compare(double written, const std::vector<Contender>& contenders,
             std::vector<Outcome>& outcomes) {
  if (contenders.size() != 2) return;
  const bool first = contenders[0].who == kWith;
  std::vector<Value>& with = outcomes[first ? 0 : 1].values;
  const std::vector<Value>& without = outcomes[first ? 1 : 0].values;
  for (std::size_t i = 0; i != without.size(); ++i) {
    const std::string suffix = with[i].metric.substr(std::string_view("task").size());
    const double more = with[i].value - without[i].value;
    const double ratio = with[i].value / without[i].value;
    with.push_back({"a written buffer" + suffix, "ns", more / written});
    with.push_back({"ratio" + suffix, "1", ratio});
  }
}

Group group_of(std::size_t number, Worker& with, Worker& without, const Sizes& sizes) {
  const Case& asked = kCases[number];
  const auto contender = [&](std::string_view who, Worker& worker) {
    return Contender{std::string(who), std::string(asked.name), sizes.passes * sizes.tasks,
                     [&worker, number, sizes] { return passes(worker, number, sizes); }};
  };
  Group group;
  group.contenders = {contender(kWith, with), contender(kWithout, without)};
  group.compare = [written = static_cast<double>(asked.written)](const auto& contenders,
                                                                 auto& outcomes) {
    compare(written, contenders, outcomes);
  };
  return group;
}

void measure(Runner& runner) {
  Worker with(kWith);
  Worker without(kWithout);
  const Sizes sizes = sizes_of(runner.options());
  for (std::size_t i = 0; i != kCases.size(); ++i)
    runner.run("failures", [&] { return group_of(i, with, without, sizes); });
}

}  // namespace
}  // namespace thalweg::bench

int main(int argc, char** argv) {
  using namespace thalweg::bench;
  const auto options = parse_options("failures", argc, argv, kRounds);
  return options ? run_on_one_core_and_on_all(*options, measure) : 2;
}
