// SPDX-License-Identifier: Apache-2.0

#include "explore/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <mutex>
#include <set>
#include <span>

#include "base/explored.hpp"
#include "explore/settings.hpp"
#include "thalweg/base/no_wait.hpp"
#include "thalweg/runtime/open.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::explore_detail {
namespace {

Result<Device> open_in(const std::shared_ptr<sim::World>& world, std::string_view name,
                       const sim::Settings& settings, std::source_location site) {
  auto backend = sim::Backend::create(world, settings.device);
  if (!backend) return std::move(backend).error().at(site);
  runtime::OpenOptions options;
  options.backend = "sim";
  options.name = name;
  options.skip_passed = settings.skip_passed;
  options.strict_events = settings.strict_events;
  options.clock = world->clock();
  return runtime::open(*std::move(backend), options, site);
}

// What can never run keeps its stream, its memory and its device.
bool stuck(const sim::World& world) {
  return std::any_of(world.findings().begin(), world.findings().end(), [](const Finding& finding) {
    return finding.kind == FindingKind::never_ran || finding.kind == FindingKind::deadlock;
  });
}

// Makes findings of what the code of the program throws, wherever it runs.
class Program final : public ExploredProgram {
 public:
  explicit Program(sim::World& world) noexcept : world_(world) {}

  // Of a deadlock, each wait gives an error: it is reported already.
  void must_fails(const Error& error) noexcept override {
    if (error.kind() == ErrorKind::wait_forbidden && stuck(world_)) return;
    Finding finding;
    finding.kind = FindingKind::error;
    finding.first.what = "must()";
    finding.first.file = file_name(error.site().file_name());
    finding.first.line = error.site().line();
    finding.message =
        fmt::format("The program's must() ends {}: the call at {}:{} gives {}: {}",
                    NoWaitScope::active() ? "a task or a callback" : "the run", finding.first.file,
                    finding.first.line, name(error.kind()), error.message());
    world_.report(std::move(finding));
  }

  bool fails_on_purpose() const noexcept override { return world_.faults().refused() != 0; }

  void callback_threw(std::string_view what) noexcept override {
    Finding finding;
    finding.kind = FindingKind::error;
    finding.message = fmt::format("A callback throws: {}.", without_stop(what));
    world_.report(std::move(finding));
  }

  // An actor's thread runs tasks behind its function, too.
  void call(const ExploreProgram::Function& function, ExploreRun& run) {
    enter(*this);
    try {
      function(run);
    } catch (const MustFailed&) {
      // Told before it was thrown.
    } catch (const std::exception& thrown) {
      const char* const text = thrown.what();
      ended_by(text != nullptr ? text : "no text");
    } catch (...) {
      ended_by("something that is no std::exception");
    }
  }

 private:
  static std::string_view without_stop(std::string_view text) noexcept {
    return text.substr(0, text.size() - (text.ends_with('.') ? 1 : 0));
  }

  void ended_by(std::string_view what) {
    Finding finding;
    finding.kind = FindingKind::error;
    finding.message = fmt::format("The program ends with an exception: {}.", without_stop(what));
    world_.report(std::move(finding));
  }

  sim::World& world_;
};

class Run final : public ExploreRun {
 public:
  Run(const RunSetup& setup, std::shared_ptr<sim::World> world, Device device,
      Program& program) noexcept
      : setup_(setup), world_(std::move(world)), device_(std::move(device)), program_(program) {}

  const Device& device() const noexcept override { return device_; }
  std::uint64_t index() const noexcept override { return setup_.index; }

  Result<Device> open(std::string_view name, std::source_location site) override {
    THALWEG_TRY_ASSIGN(const sim::Settings settings,
                       settings_of(name, {"faults", "copy_engines"}, site));
    return open_in(world_, name, settings, site);
  }

  void check(bool holds, std::string_view claim, std::source_location site) override {
    if (holds) return;
    Finding finding;
    finding.kind = FindingKind::check;
    finding.first.what = claim;
    finding.first.file = file_name(site.file_name());
    finding.first.line = site.line();
    finding.message = fmt::format("The program's check does not hold: {} ({}:{}).", claim,
                                  finding.first.file, finding.first.line);
    world_->report(std::move(finding));
  }

  void observe(std::uint64_t value) override { world_->observe(value); }

  void failed(const Error& error) override {
    const std::lock_guard lock(telling_);
    told_.push_back(error);
  }

  // REQUIRES: the program is over.
  std::vector<Error> take_told() { return std::move(told_); }

  // Calls a function of the program's. What it throws is a finding.
  void call(const ExploreProgram::Function& function) {
    if (function) program_.call(function, *this);
  }

 private:
  const RunSetup& setup_;
  const std::shared_ptr<sim::World> world_;
  Device device_;
  Program& program_;
  std::mutex telling_;
  std::vector<Error> told_;  // Guarded by telling_ while the program runs.
};

// Everything was dropped, and all that could run has run.
void check_leaks(sim::World& world) {
  if (stuck(world) || world.devices_alive() == 0) return;
  Finding finding;
  finding.kind = FindingKind::leak;
  const std::string alive = world.alive_text();
  finding.message =
      alive.empty() ? "The program's end leaves a device alive: somebody holds a Device, Event, "
                      "Timeline or Future of it."
                    : fmt::format("The program's end leaves {} alive.", alive);
  world.report(std::move(finding));
}

// The program is over, its handles are gone: what it had is free, and can go back to the system.
void check_memory(const Device& device, sim::World& world) {
  world.finish();
  static_cast<void>(device.poll());
  if (stuck(world)) return;
  const auto check = [&world](const MemoryUsage& usage, std::string_view kind, bool trimmed) {
    if (usage.allocations == 0 && usage.live_bytes == 0 && usage.pending_bytes == 0 &&
        (!trimmed || usage.reserved_bytes == 0))
      return;
    Finding finding;
    finding.kind = FindingKind::leak;
    finding.message = fmt::format(
        "At the program's end {} buffers have {} bytes of {} memory, {} bytes are not free after "
        "the drop of their buffer, and {} are taken from the system{}.",
        usage.allocations, usage.live_bytes, kind, usage.pending_bytes, usage.reserved_bytes,
        trimmed ? " after a trim" : "");
    world.report(std::move(finding));
  };
  for (const bool trimmed : {false, true}) {
    if (trimmed) static_cast<void>(device.trim());
    check(device.memory_usage(), "device", trimmed);
    check(device.host_memory_usage(), "host", trimmed);
  }
}

// A device that has refused something does the next thing; one that is lost says so.
void check_usable(Run& run, sim::World& world) {
  if (world.faults().refused() == 0) return;
  world.faults().end();
  const auto use = [&]() -> Result<bool> {
    THALWEG_TRY_ASSIGN(const Stream stream, Stream::create(run.device()));
    THALWEG_TRY_ASSIGN(const auto array, stream.upload(std::vector<std::uint32_t>{1, 2, 3}));
    THALWEG_TRY(stream.fill(array.view(1, 1), 7u));
    THALWEG_TRY_ASSIGN(const auto read, stream.read(array).get());
    return read == std::vector<std::uint32_t>{1, 7, 3};
  };
  const Result<bool> used = use();
  const bool lost = world.lost();
  if (lost ? !used && used.error().kind() == ErrorKind::device_lost : used && *used) return;
  run.check(false,
            lost ? "a lost device says so to every call"
                 : fmt::format("the device works after a refusal{}",
                               used ? "" : fmt::format(" ({})", used.error().message())),
            std::source_location::current());
}

void run_actors(Run& run, sim::World& world, const ExploreProgram& program) {
  std::vector<std::function<void()>> actors;
  for (const ExploreProgram::Function& function : program.actors)
    actors.emplace_back([&run, &function] { run.call(function); });
  if (!actors.empty()) world.run(actors);
}

}  // namespace

Result<RunResult> run_once(const RunSetup& setup, const MakeSchedule& make_schedule) {
  RunResult result;
  sim::WorldOptions options;
  options.copy_engines = setup.settings->copy_engines;
  options.faults = setup.settings->faults;
  options.explored = true;
  options.keep_bytes = setup.keep_bytes;
  const auto world = sim::World::create(std::move(options));
  Program program(*world);
  const ExploredProgram::Scope scope(program);
  if (setup.trace) world->trace_to(&result.trace);
  THALWEG_TRY_ASSIGN(Device device, open_in(world, setup.device_name, *setup.settings,
                                            std::source_location::current()));
  const auto schedule =
      make_schedule ? make_schedule(*world) : std::make_unique<Sequential>(*world, nullptr);
  Recorder recorder(*schedule);
  {
    Run run(setup, world, std::move(device), program);
    run.call(setup.program->before);
    world->use(&recorder);
    world->limit_steps(setup.steps_max);
    run_actors(run, *world, *setup.program);
    world->use(nullptr);
    run.call(setup.program->after);
    result.told = run.take_told();
    if (setup.with_faults) {
      check_memory(run.device(), *world);
      check_usable(run, *world);
      check_memory(run.device(), *world);
    }
  }
  world->finish();
  check_leaks(*world);
  world->trace_to(nullptr);
  result.findings = std::move(world->findings());
  result.outputs = std::move(world->outputs());
  std::sort(result.outputs.begin(), result.outputs.end(),
            [](const sim::Output& a, const sim::Output& b) { return a.order < b.order; });
  result.submitters = std::move(world->submitters());
  result.nested_from = world->nested_from();
  result.observed = world->observed();
  result.choices = recorder.take_choices();
  result.first = recorder.take_first();
  result.steps = world->steps();
  result.over_limit = world->over_limit();
  result.faults = world->faults();
  result.refusals = world->refusals();
  return result;
}

std::uint64_t outcome_of(const RunResult& run) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&hash](std::uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  };
  for (const sim::Output& output : run.outputs) {
    add(output.shape);
    add(output.bytes);
  }
  add(run.observed);
  std::set<FindingKind> kinds;
  for (const Finding& finding : run.findings) kinds.insert(finding.kind);
  for (const FindingKind kind : kinds) add(static_cast<std::uint64_t>(kind));
  return hash;
}

namespace {

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes)
    fmt::format_to(std::back_inserter(text), "{}{:02x}", text.empty() ? "" : " ",
                   std::to_integer<unsigned>(byte));
  return text;
}

// Where the bytes differ first, and some of them.
void say_which(Finding& finding, const sim::Output& here, const sim::Output& there) {
  constexpr std::size_t kShown = 8;
  for (std::size_t i = 0; i != std::min(here.kept.size(), there.kept.size()); ++i) {
    const sim::OutputBytes& mine = here.kept[i];
    const sim::OutputBytes& other = there.kept[i];
    const std::size_t size = std::min(mine.bytes.size(), other.bytes.size());
    const auto [first, second] =
        std::mismatch(mine.bytes.begin(), mine.bytes.begin() + static_cast<std::ptrdiff_t>(size),
                      other.bytes.begin());
    const auto at = static_cast<std::size_t>(first - mine.bytes.begin());
    if (at == size) continue;
    const std::size_t shown = std::min(kShown, size - at);
    finding.first.buffer = mine.buffer;
    finding.first.begin = mine.offset + at;
    finding.first.end = finding.first.begin + shown;
    finding.message +=
        fmt::format(" From byte {} of {} on: {} in place of {}.", finding.first.begin,
                    mine.buffer < 0 ? std::string("it") : fmt::format("b{}", mine.buffer),
                    hex({&mine.bytes[at], shown}), hex({&other.bytes[at], shown}));
    return;
  }
}

}  // namespace

// As far as both runs submitted the same: a program whose calls depend on what has passed is not
// compared beyond that, nor one whose tasks submit.
void compare_contents(RunResult& run, const Reference& reference) {
  const std::vector<sim::Output>& sequential = reference.outputs;
  const std::uint64_t nested_from = std::min(run.nested_from, reference.nested_from);
  const std::size_t count = std::min(run.outputs.size(), sequential.size());
  for (std::size_t i = 0; i != count; ++i) {
    const sim::Output& here = run.outputs[i];
    const sim::Output& there = sequential[i];
    if (here.order != there.order || here.shape != there.shape || here.order >= nested_from) return;
    if (here.bytes == there.bytes) continue;
    Finding finding;
    finding.kind = FindingKind::contents;
    finding.first.what = here.user->what;
    finding.first.stream = here.user->stream;
    finding.first.lane = here.user->lane;
    finding.first.serial = here.user->serial;
    finding.first.file = file_name(here.user->site.file_name());
    finding.first.line = here.user->site.line();
    finding.message = fmt::format(
        "{} (s{}@{}, {}:{}) leaves other bytes than when each task runs to its end before the next "
        "call.",
        here.user->what, here.user->lane, here.user->serial, finding.first.file,
        finding.first.line);
    say_which(finding, here, there);
    if (here.user->what == name(neutral::TaskKind::upload))
      finding.message +=
          " What the program uploads differs from run to run (padding, or something that depends "
          "on time, on addresses or on what has passed).";
    run.findings.push_back(std::move(finding));
    return;
  }
}

}  // namespace thalweg::explore_detail
