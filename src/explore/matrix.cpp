// SPDX-License-Identifier: Apache-2.0
//
// The fault matrix: a program, once with each of its calls refused.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "explore/errors.hpp"
#include "explore/run.hpp"
#include "explore/settings.hpp"
#include "os/real_clock.hpp"

namespace thalweg {
namespace explore_detail {
namespace {

constexpr std::uint64_t kStepsMax = 1'000'000;

class Matrix {
 public:
  Matrix(const FaultMatrixOptions& options, const ExploreProgram& program, sim::Settings settings)
      : options_(options), program_(program), settings_(std::move(settings)) {}

  Result<FaultMatrix> run() {
    for (std::size_t site = 0; site != sim::kFaultSites; ++site)
      result_.sites.push_back({std::string(sim::name(static_cast<sim::FaultSite>(site)))});
    for (unsigned schedule = 0; schedule <= options_.schedules && !ended_; ++schedule)
      THALWEG_TRY(run_schedule(schedule));
    result_.complete = result_.bounded_by.empty();
    return std::move(result_);
  }

 private:
  Result<void> run_schedule(unsigned schedule) {
    THALWEG_TRY_ASSIGN(RunResult clean, run_with(schedule, {}));
    take(clean, {});
    for (std::size_t i = 0; i != sim::kFaultSites && !ended_; ++i) {
      const auto site = static_cast<sim::FaultSite>(i);
      const std::uint64_t calls = clean.faults.calls(site);
      result_.sites[i].calls += calls;
      for (std::uint64_t nth = 1; nth <= calls && !ended_; ++nth) {
        const std::string fault = fmt::format("{}:{}", sim::name(site), nth);
        THALWEG_TRY(run_fault(schedule, clean, fault, result_.sites[i]));
        // One refusal is not the last word.
        if (site == sim::FaultSite::alloc && !ended_)
          THALWEG_TRY(run_fault(schedule, clean, fault + "+", result_.sites[i]));
      }
    }
    return {};
  }

  Result<void> run_fault(unsigned schedule, const RunResult& clean, const std::string& fault,
                         FaultSiteCount& count) {
    THALWEG_TRY_ASSIGN(RunResult run, run_with(schedule, fault));
    ++count.runs;
    if (check_errors(run, clean.told, options_.errors_told) != 0) ++count.errors;
    drop_consequences(run);
    // Of several actors the calls may come in another order.
    if (same_work(run) && program_.actors.size() <= 1)
      compare_contents(run, {clean.outputs, clean.nested_from});
    take(run, fault);
    return {};
  }

  Result<RunResult> run_with(unsigned schedule, const std::string& fault) {
    sim::Settings settings = settings_;
    THALWEG_TRY_ASSIGN(settings.faults, sim::Faults::parse(fault, std::source_location::current()));
    const RunSetup setup{.program = &program_,
                         .settings = &settings,
                         .device_name = options_.device,
                         .index = result_.runs,
                         .steps_max = kStepsMax,
                         .with_faults = true};
    const MakeSchedule random = [&](const sim::World&) {
      return std::make_unique<sim::UniformSchedule>(sim::Random(options_.seed + schedule).next());
    };
    return run_once(setup, schedule == 0 ? MakeSchedule() : random);
  }

  void take(RunResult& run, const std::string& fault) {
    ++result_.runs;
    if (!run.findings.empty()) {
      result_.findings = std::move(run.findings);
      result_.fault = fault;
      result_.schedule = to_text(run.choices);
      end("the matrix ends with the first finding");
    } else if (result_.runs >= options_.runs_max) {
      end(fmt::format("the limit of {} runs (runs_max)", options_.runs_max));
    } else if (options_.progress &&
               !go_on(options_.progress, {result_.runs, 0, os::RealClock().now() - began_})) {
      end("an interruption");
    }
  }

  void end(std::string why) {
    ended_ = true;
    result_.bounded_by = std::move(why);
  }

  const FaultMatrixOptions& options_;
  const ExploreProgram& program_;
  const sim::Settings settings_;
  const std::chrono::nanoseconds began_ = os::RealClock().now();
  FaultMatrix result_;
  bool ended_ = false;
};

}  // namespace
}  // namespace explore_detail

Result<FaultMatrix> explore_faults(const FaultMatrixOptions& options, const ExploreProgram& program,
                                   std::source_location site) {
  using namespace explore_detail;
  THALWEG_TRY(check_program(program, site));
  THALWEG_TRY_ASSIGN(sim::Settings settings, settings_of(options.device, {"faults"}, site));
  if (options.runs_max == 0)
    return Error(ErrorKind::invalid_argument, "runs_max of a fault matrix is at least 1.", site);
  return Matrix(options, program, std::move(settings)).run();
}

}  // namespace thalweg
