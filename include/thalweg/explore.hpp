// SPDX-License-Identifier: Apache-2.0
//
// thalweg/explore.hpp - runs a program on the simulated device under many schedules, or under all.
//
//   Exploration result = must(explore({}, [](ExploreRun& run) {
//     Stream a = must(Stream::create(run.device()));
//     ...
//   }));
//   if (!result.findings.empty()) std::puts(result.report().c_str());
//
// A device makes progress between any two calls of the host, and inside them: which streams go how
// far is a choice. The explorer runs the program again and again from its start, each time with
// other choices, checks each run (base/finding.hpp), and holds what each task wrote against the
// sequential run: the one where each task runs to its end before the next call.
//
//   host     submit a.  submit b.        submit c.    end.       one run is one row of choices:
//   s0              . a .       . a'.               a            host, s0, host, s1, ...
//   s1                                . b
//
// Search::exhaustive leaves out schedules that differ from one it ran only in the order of steps
// that have nothing to do with each other (dynamic partial-order reduction: Abdulla, Aronis,
// Jonsson and Sagonas, "Source sets", JACM 64(4), 2017), and says `complete` when none is left.
// Search::random draws each choice; Search::priorities draws an order of the streams and changes it
// a few times in each run, which finds what needs many choices of one kind (Burckhardt, Kothari,
// Musuvathi and Nagarakatti, ASPLOS 2010).
//
// The program is called many times: it makes what it uses, drops it, and does not depend on time,
// on addresses, or on the run before. It may be several functions, called actors, which take turns
// as a further choice; the explorer runs each on a thread of its own, one at a time.
//
// must() in the program, and in its tasks and callbacks, does not end the process here: it throws,
// so what is on the way is destroyed, and the run ends with a finding `error` that names the error
// and the call. In a task the exception becomes task_failed, as any other one. On threads
// that the program starts itself must() ends the process.
//
// Limits: a task is one step. Host functions, kernels and native work run from start to end without
// a choice inside. Kernels are taken to touch nothing but their arguments, and addresses that
// native work was given to be used in it alone: with others the exhaustive search leaves out too
// much. An actor that waits for another one by something else than this library (a mutex, say)
// stops the exploration for good, and so does a loop that never ends: the time limit is looked at
// between runs. What the program's own variables do between two calls is seen by no check but
// `ExploreRun::check`. Threads that the program starts itself take no turns, and nothing is chosen
// between their calls. Padding is compared like other bytes: an upload of a type that has some may
// differ from run to run. A kernel that reads bytes nobody wrote by a std::span<T>, which may also
// only write them, is not found.
//
// Threads:    one exploration uses the thread that calls it; several may run side by side.
// Ownership:  the result is a plain value.
// Errors:     of explore(): invalid_argument, naming the option and its value; wait_forbidden in a
//             NoWaitScope; unavailable in a forked child. What the program does wrong is no error
//             but a finding.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/export.hpp"
#include "thalweg/base/finding.hpp"
#include "thalweg/base/native.hpp"
#include "thalweg/base/result.hpp"
#include "thalweg/base/trace.hpp"
#include "thalweg/device.hpp"

namespace thalweg {

// One run of the program. Threads: each actor from its own thread.
class ExploreRun {
 public:
  // The device of this run. It ends with the run: the program keeps no handle to it.
  virtual const Device& device() const noexcept = 0;

  // One more simulated device of this run; `name` as in Device::open, without faults and copy
  // engines, which are the run's. Devices of other backends do not take part.
  virtual Result<Device> open(std::string_view name,
                              std::source_location site = std::source_location::current()) = 0;

  // A claim of the program's. When it does not hold, that is a finding.
  virtual void check(bool holds, std::string_view claim,
                     std::source_location site = std::source_location::current()) = 0;

  // A call gave the program `error`. The fault matrix holds it against the call that was refused.
  virtual void failed(const Error& error) = 0;

  // Something that the program saw, as the answer of a query: a part of the run's outcome.
  virtual void observe(std::uint64_t value) = 0;

  // The number of this run. 0 is also that of the sequential run, which an exhaustive search and a
  // replay make first, to hold the others against, and do not count.
  virtual std::uint64_t index() const noexcept = 0;

 protected:
  ~ExploreRun() = default;
};

// What is explored: `before`, then the actors by turns, and, when all that can run has run,
// `after`. Nothing is chosen in `before` and `after`: each task runs before the next call. Both may
// be empty.
struct ExploreProgram {
  using Function = std::function<void(ExploreRun&)>;

  Function before;
  std::vector<Function> actors;
  Function after;
};

enum class Search : std::uint8_t { exhaustive, random, priorities, replay };

struct ExploreProgress {
  std::uint64_t runs = 0;
  std::uint64_t findings = 0;
  std::chrono::nanoseconds elapsed{};
};

struct ExploreOptions {
  // A simulated device, as in Device::open: "sim?memory=64MiB&copy_engines=2". Its faults happen in
  // every run; its seed is not used: `search` makes the choices.
  std::string device = "sim";
  Search search = Search::exhaustive;

  // exhaustive: leaves out what is equivalent. Off, every order of steps is run: for comparing.
  bool reduce = true;

  // random, priorities: where the choices come from. Two explorations with one seed are the same.
  std::uint64_t seed = 1;

  // priorities: changes of priority in a run.
  unsigned changes = 3;

  // Bounds. An option that the search takes no notice of is refused: preemptions_max, reduce and
  // schedule where they are not marked for it. What is left out because of one is said in
  // `Exploration::bounded_by`.
  std::uint64_t runs_max = 100'000;  // At least 1.
  std::uint64_t steps_max = 10'000;  // Of one run, from which on nothing is chosen.
  // exhaustive: switches from who could go on. Few of them come soon to what an early switch shows,
  // which a search of many runs comes to late: it gives a fourth of its runs to such searches.
  std::optional<unsigned> preemptions_max;
  std::optional<std::chrono::nanoseconds> time_limit;  // By the machine's clock.

  // replay: what Exploration::schedule gave. When the run cannot follow it, `bounded_by` says
  // where.
  std::string schedule;

  // Ends with the first run that has a finding. Off: goes on, and keeps the first of each kind.
  bool stop_at_finding = true;

  // Makes the schedule of a finding shorter while the finding stays.
  bool minimise = true;

  // Keeps the trace of the last run (with a finding: of the minimised one).
  bool trace = true;

  // Called every now and then; false ends the exploration. May be empty.
  std::function<bool(const ExploreProgress&)> progress;
};

struct Exploration {
  std::uint64_t runs = 0;  // Of the program, as far as the search; without those of minimising.

  // exhaustive: runs that were given up because another one covers them. Contained in `runs`.
  std::uint64_t redundant = 0;
  std::uint64_t steps = 0;      // Sum over the runs.
  std::uint64_t steps_max = 0;  // Of the longest.

  bool complete = false;   // Every schedule was run, or one that is equivalent.
  std::string bounded_by;  // Empty when complete; otherwise what ended the search.

  // What the runs computed: a hash of all that tasks wrote and the host read, each once, sorted.
  std::vector<std::uint64_t> outcomes;

  // Of the first run that has any; or with stop_at_finding off the first of each kind.
  std::vector<Finding> findings;
  std::optional<std::uint64_t> finding_run;  // The number of that run.

  // Choices of that run, minimised: "h s0x3 s1 -". `h` is the host, `h1` the second actor, `s0` the
  // stream that was made first, `cb` a callback, `-` the first who can; x3 makes a choice three
  // times. Empty without a finding. Replayed by ExploreOptions::schedule.
  std::string schedule;
  std::uint64_t minimising_runs = 0;

  Trace trace;

  // For people: counts, findings with both sides, the line that repeats it, and the lanes.
  // `repeat`: how to repeat it, in place of the options that do.
  THALWEG_EXPORT std::string report(std::string_view repeat = {}) const;
};

THALWEG_EXPORT Result<Exploration> explore(
    const ExploreOptions& options, const ExploreProgram& program,
    std::source_location site = std::source_location::current());

THALWEG_EXPORT Result<Exploration> explore(
    const ExploreOptions& options, const std::function<void(ExploreRun&)>& program,
    std::source_location site = std::source_location::current());

// The trace as lanes: a line for the host and each stream, time from left to right.
THALWEG_EXPORT std::string lanes_text(const Trace& trace, std::size_t columns_max = 100);
THALWEG_EXPORT std::string lanes_svg(const Trace& trace);

// Runs the program once for each call that the backend gets from it, with exactly that call
// refused, under the sequential schedule and `schedules` random ones.
//
//   create_stream, alloc, wait,    the call of the API that needed it gives the error, which names
//   fill, copy, launch, host,      the fault, at its own call site; no other call gives one. What
//   other, compile                 the runtime gets by trying again gives no error: a refused alloc
//                                  does when all that follow are refused too (alloc:n+).
//   fence, never, slow             no call gives an error, and every task leaves the same bytes.
//   run                            the future of that task gives the error, and who reads what it
//                                  should have written is told `unwritten`, with it as the root.
//   lost                           every error is device_lost, and nothing waits.
//
// After each run: the device works, or says to every call that it is lost; nothing is leaked; all
// memory can be given back; and what base/finding.hpp lists did not happen. After a refusal the
// findings unwritten_read, never_ran and deadlock do not count, but for site lost: a program may
// read what the refused task was to write, and wait for what it was to signal.
//
// The program goes on after an error, or ends without one of its own: it does not call exit(), and
// must() with an error is a finding. What it opens by ExploreRun::open has no part in the check of
// memory.
struct FaultMatrixOptions {
  std::string device = "sim";  // Without faults. A seed is not used.
  std::uint64_t seed = 1;
  unsigned schedules = 1;

  // The program passes every error it is given to ExploreRun::failed. A refused call that gives
  // none is then a finding.
  bool errors_told = false;

  std::uint64_t runs_max = 100'000;
  std::function<bool(const ExploreProgress&)> progress;
};

struct FaultSiteCount {
  std::string site;          // "alloc", "fence", "copy", ...
  std::uint64_t calls = 0;   // In the runs without a fault.
  std::uint64_t runs = 0;    // With a fault there.
  std::uint64_t errors = 0;  // Of these, with an error that the program told of because of it.
};

struct FaultMatrix {
  std::uint64_t runs = 0;
  bool complete = false;
  std::string bounded_by;
  std::vector<FaultSiteCount> sites;
  std::vector<Finding> findings;  // Of the first run that has any.
  std::string fault;              // That run's: "alloc:3".
  std::string schedule;

  THALWEG_EXPORT std::string report() const;
};

THALWEG_EXPORT Result<FaultMatrix> explore_faults(
    const FaultMatrixOptions& options, const ExploreProgram& program,
    std::source_location site = std::source_location::current());

// What a vendor's library does: puts `work` on a simulated queue by its native handle, past the
// runtime, which learns nothing of it. It runs in the queue's turn. Inside native work of that
// queue it runs at once.
// Errors: not_found, when no simulated queue of this process has that handle.
THALWEG_EXPORT Result<void> enqueue_raw(
    NativeHandle queue, std::string_view name, std::function<void()> work,
    std::source_location site = std::source_location::current());

}  // namespace thalweg
