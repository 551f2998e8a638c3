// SPDX-License-Identifier: Apache-2.0

#include "thalweg/explore.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>

#include "explore/minimise.hpp"
#include "explore/run.hpp"
#include "explore/search.hpp"
#include "explore/settings.hpp"
#include "os/real_clock.hpp"

namespace thalweg {
namespace explore_detail {
namespace {

constexpr std::uint64_t kRunsBetweenReports = 64;

// Depth first, a search that is long turns round what comes late again and again, and what comes
// early last. From this many runs on every fourth is one of a second search, which allows one
// switch from who could go on, then two, and so on.
constexpr std::uint64_t kRunsAlone = 5'000;
constexpr std::uint64_t kRunsBetweenSwitching = 4;

Error refused(std::string text, std::source_location site) {
  return Error(ErrorKind::invalid_argument, std::move(text), site);
}

// An option that would do nothing is refused as well: whoever sets it expects something of it.
Result<void> check_options(const ExploreOptions& options, std::source_location site) {
  if (options.search > Search::replay)
    return refused(fmt::format("{} is no kind of search.", static_cast<unsigned>(options.search)),
                   site);
  if (options.runs_max == 0 || options.steps_max == 0)
    return refused("runs_max and steps_max of an exploration are at least 1.", site);
  if (options.time_limit && options.time_limit->count() < 0)
    return refused(fmt::format("The time limit of an exploration is {} ns; it is at least 0.",
                               options.time_limit->count()),
                   site);
  if (options.search == Search::replay && options.schedule.empty())
    return refused("A replay has no schedule; `-` is the one without a choice.", site);
  const bool exhaustive = options.search == Search::exhaustive;
  if (options.search != Search::replay && !options.schedule.empty())
    return refused("A schedule is given to a search that is no replay.", site);
  if (!exhaustive && options.preemptions_max)
    return refused("preemptions_max is given to a search that is not exhaustive.", site);
  if (!exhaustive && !options.reduce)
    return refused(
        "`reduce` is off for a search that is not exhaustive; only exhaustive ones reduce.", site);
  return {};
}

std::uint64_t mixed(std::uint64_t seed, std::uint64_t index) noexcept {
  return sim::Random(seed * 0x9e3779b97f4a7c15u + index).next();
}

// A finding that was made when the run was over.
TraceEvent event_of(const Finding& finding) {
  TraceEvent event;
  event.kind = TraceKind::finding;
  event.lane = finding.first.lane;
  event.serial = finding.first.serial;
  event.text = fmt::format("{}: {}", name(finding.kind), finding.message);
  event.file = finding.first.file;
  event.line = finding.first.line;
  return event;
}

// One call of explore().
class Explorer {
 public:
  Explorer(const ExploreOptions& options, const ExploreProgram& program, sim::Settings settings,
           Choices replayed)
      : options_(options),
        program_(program),
        settings_(std::move(settings)),
        replayed_(std::move(replayed)),
        search_(options.reduce, options.preemptions_max),
        began_(os::RealClock().now()) {}

  Result<Exploration> explore() {
    THALWEG_TRY(run_sequential());
    while (!ended_) THALWEG_TRY(run_next());
    result_.outcomes.assign(outcomes_.begin(), outcomes_.end());
    if (result_.finding_run && options_.minimise) {
      THALWEG_TRY(minimise());
    }
    if (options_.trace || result_.finding_run) THALWEG_TRY(keep_trace());
    return std::move(result_);
  }

 private:
  RunSetup setup(bool trace) const {
    return {.program = &program_,
            .settings = &settings_,
            .device_name = options_.device,
            .index = result_.runs,
            .steps_max = options_.steps_max,
            .trace = trace};
  }

  // What the others are held against.
  Result<void> run_sequential() {
    THALWEG_TRY_ASSIGN(RunResult run, run_once(setup(false), {}));
    sequential_ = {run.outputs, run.nested_from};
    steps_expected_ = run.choices.size() + 1;
    // It is among those of an exhaustive search, and a replay is of the given schedule alone.
    if (options_.search == Search::exhaustive || options_.search == Search::replay) return {};
    return take(std::move(run));
  }

  std::unique_ptr<sim::Schedule> next_schedule() {
    const std::uint64_t seed = mixed(options_.seed, result_.runs);
    switch (options_.search) {
      case Search::random:
        return std::make_unique<sim::UniformSchedule>(seed);
      case Search::priorities:
        return std::make_unique<Priorities>(seed, options_.changes, steps_expected_);
      case Search::replay:
        return std::make_unique<Replay>(replayed_);
      default:
        return std::make_unique<Borrowed>(*searching_);
    }
  }

  Exhaustive& next_search() {
    const bool second = options_.search == Search::exhaustive && options_.reduce &&
                        !options_.preemptions_max && result_.runs >= kRunsAlone &&
                        result_.runs % kRunsBetweenSwitching == 0;
    if (!second) return search_;
    if (!switching_) switching_.emplace(true, ++switches_);
    return *switching_;
  }

  Result<void> run_next() {
    searching_ = &next_search();
    searching_->begin_run();
    THALWEG_TRY_ASSIGN(RunResult run, run_once(setup(false), [this](const sim::World&) {
                         return next_schedule();
                       }));
    if (options_.search == Search::replay) note_misfit(run);
    steps_expected_ = std::max<std::uint64_t>(steps_expected_, run.choices.size());
    THALWEG_TRY(compare(run));
    THALWEG_TRY(take(std::move(run)));
    if (options_.search == Search::replay) end(misfit_);
    if (options_.search == Search::exhaustive && !ended_) go_on_searching();
    return {};
  }

  // A schedule of another program, or of this one before it was changed.
  void note_misfit(const RunResult& run) {
    const std::size_t fits = fitting(replayed_, run.choices);
    if (fits == replayed_.size()) return;
    misfit_ = fmt::format(
        "the given schedule is one run, which does not follow it: choice {} of {}, `{}`, {}",
        fits + 1, replayed_.size(), to_text({replayed_[fits]}),
        fits < run.choices.size() ? "could not be made" : "comes after the run's end");
  }

  void go_on_searching() {
    if (searching_->redundant()) ++result_.redundant;
    if (searching_->diverged())
      return end("a run began like another one, and the program did other things in it");
    if (searching_->next_run()) return;
    if (searching_ != &search_ && searching_->bounded()) return switching_.reset();
    if (searching_->bounded())
      return end(
          fmt::format("the limit of {} preemptions (preemptions_max)", *options_.preemptions_max));
    end("");
  }

  // Several actors: their calls took effect in an order that is this run's own.
  Result<void> compare(RunResult& run, bool keep_bytes = false) {
    if (program_.actors.size() <= 1 && !keep_bytes) {
      compare_contents(run, sequential_);
      return {};
    }
    RunSetup again = setup(false);
    again.keep_bytes = keep_bytes;
    THALWEG_TRY_ASSIGN(const RunResult alike, run_once(again, [&run](const sim::World& world) {
                         return std::make_unique<Sequential>(world, &run.submitters);
                       }));
    if (alike.submitters == run.submitters)
      compare_contents(run, {alike.outputs, alike.nested_from});
    return {};
  }

  Result<void> take(RunResult run) {
    outcomes_.insert(outcome_of(run));
    result_.steps += run.steps;
    result_.steps_max = std::max(result_.steps_max, run.steps);
    over_limit_ = over_limit_ || run.over_limit;
    for (Finding& finding : run.findings) add(std::move(finding), run.choices);
    if (!result_.finding_run) choices_ = std::move(run.choices);
    ++result_.runs;
    if (!result_.findings.empty() && options_.stop_at_finding) {
      end("the search ends with the first finding");
    } else if (result_.runs >= options_.runs_max && options_.search != Search::replay) {
      end(fmt::format("the limit of {} runs (runs_max)", options_.runs_max));
    } else {
      report();
    }
    return {};
  }

  // All of the first run that has any; going on after it, the first of each kind.
  void add(Finding finding, const Choices& choices) {
    const bool known = !options_.stop_at_finding &&
                       std::any_of(result_.findings.begin(), result_.findings.end(),
                                   [&](const Finding& old) { return old.kind == finding.kind; });
    if (known) return;
    if (!result_.finding_run) {
      result_.finding_run = result_.runs;
      choices_ = choices;
    }
    result_.findings.push_back(std::move(finding));
  }

  void report() {
    if (result_.runs % kRunsBetweenReports != 0) return;
    const std::chrono::nanoseconds elapsed = os::RealClock().now() - began_;
    if (options_.time_limit && elapsed >= *options_.time_limit)
      return end(fmt::format("the limit of {} s (time_limit)",
                             std::chrono::duration<double>(*options_.time_limit).count()));
    if (options_.progress &&
        !go_on(options_.progress, {result_.runs, result_.findings.size(), elapsed}))
      end("an interruption");
  }

  void end(std::string why) {
    ended_ = true;
    if (why.empty() && over_limit_)
      why = fmt::format("the limit of {} steps in a run (steps_max)", options_.steps_max);
    if (why.empty() && options_.search != Search::exhaustive) why = "the given schedule is one run";
    result_.complete = why.empty();
    result_.bounded_by = std::move(why);
  }

  Result<void> minimise() {
    THALWEG_TRY_ASSIGN(
        Minimised minimised,
        explore_detail::minimise(setup(false), choices_, result_.findings.front(), sequential_));
    choices_ = std::move(minimised.choices);
    result_.minimising_runs = minimised.runs;
    return {};
  }

  Result<void> keep_trace() {
    if (result_.finding_run) result_.schedule = to_text(choices_);
    RunSetup last = setup(options_.trace);
    last.keep_bytes = result_.finding_run.has_value();
    THALWEG_TRY_ASSIGN(RunResult run, run_once(last, [this](const sim::World&) {
                         return std::make_unique<Replay>(choices_);
                       }));
    result_.trace = std::move(run.trace);
    if (!result_.finding_run || !options_.stop_at_finding) return {};
    // What is reported is what the schedule gives.
    const std::size_t seen = run.findings.size();
    THALWEG_TRY(compare(run, true));
    for (std::size_t i = seen; i < run.findings.size() && options_.trace; ++i)
      result_.trace.push_back(event_of(run.findings[i]));
    if (!run.findings.empty()) result_.findings = std::move(run.findings);
    return {};
  }

  // A schedule that is somebody else's.
  class Borrowed final : public sim::Schedule {
   public:
    explicit Borrowed(sim::Schedule& inner) noexcept : inner_(inner) {}
    std::size_t choose(std::span<const Process> ready, Process last) override {
      return inner_.choose(ready, last);
    }
    bool wants_effects() const noexcept override { return inner_.wants_effects(); }
    void happened(const sim::Effects& effects) override { inner_.happened(effects); }

   private:
    sim::Schedule& inner_;
  };

  const ExploreOptions& options_;
  const ExploreProgram& program_;
  const sim::Settings settings_;
  const Choices replayed_;
  Exhaustive search_;
  std::optional<Exhaustive> switching_;  // See kRunsAlone.
  unsigned switches_ = 0;
  Exhaustive* searching_ = &search_;  // Of the present run.
  const std::chrono::nanoseconds began_;
  Exploration result_;
  Reference sequential_;
  std::uint64_t steps_expected_ = 1;
  std::set<std::uint64_t> outcomes_;
  Choices choices_;
  std::string misfit_;
  bool ended_ = false;
  bool over_limit_ = false;
};

}  // namespace
}  // namespace explore_detail

Result<Exploration> explore(const ExploreOptions& options, const ExploreProgram& program,
                            std::source_location site) {
  using namespace explore_detail;
  THALWEG_TRY(check_program(program, site));
  THALWEG_TRY_ASSIGN(sim::Settings settings, settings_of(options.device, {}, site));
  THALWEG_TRY(check_options(options, site));
  THALWEG_TRY_ASSIGN(Choices replayed, choices_from(options.schedule, site));
  return Explorer(options, program, std::move(settings), std::move(replayed)).explore();
}

Result<Exploration> explore(const ExploreOptions& options,
                            const std::function<void(ExploreRun&)>& program,
                            std::source_location site) {
  ExploreProgram one;
  one.actors.push_back(program);
  return explore(options, one, site);
}

Result<void> enqueue_raw(NativeHandle handle, std::string_view name, std::function<void()> work,
                         std::source_location site) {
  if (!work) return explore_detail::refused("Raw work is an empty function.", site);
  sim::Queue* const inside = sim::World::running_native();
  if (inside != nullptr && inside->native_id() == handle.value) {
    work();
    return {};
  }
  const auto [world, queue] = sim::World::find_native(handle.value);
  if (queue == nullptr)
    return Error(ErrorKind::not_found,
                 fmt::format("No simulated queue has the handle {}.", handle.value), site);
  world->append_raw(*queue, name, std::move(work), site);
  return {};
}

}  // namespace thalweg
