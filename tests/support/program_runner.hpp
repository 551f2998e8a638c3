// SPDX-License-Identifier: Apache-2.0
//
// tests/support/program_runner.hpp - runs a program through the public API, and holds it to the
// models.
//
//   ProgramRunner runner(program);
//   runner.run();        opens the device, runs the prologue and the parts, writes the log
//   runner.finish();     synchronizes, reads all buffers, compares with the sequential model
//   runner.failure()     empty, or what was wrong first
//
// On a given device, whose calls may be refused, a runner goes on: what is refused is left out, and
// so is what needs it, and what was accepted is held to the model. The program has one part.
//
// Somebody else may run the parts, as the explorer does: begin(device), run_part() for each of
// them, end(), finish().
//
// Threads:    one thread drives a runner; run() makes one for each part when there are several.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "support/model/results.hpp"
#include "support/program.hpp"
#include "support/stamps.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {

using model::Expected;
using model::Values;

class ProgramRunner {
 public:
  explicit ProgramRunner(const Program& program);

  // `told` gets each error that a call gives.
  using Told = std::function<void(const Error&)>;
  ProgramRunner(const Program& program, const Device& device, Told told);
  ProgramRunner(const ProgramRunner&) = delete;
  ProgramRunner& operator=(const ProgramRunner&) = delete;
  ~ProgramRunner();

  void run();
  void begin(Device device);
  void run_part(int part);
  void end();
  void finish();

  const std::string& failure() const { return failure_; }
  const Log& log() const { return log_; }

  // As of the last submission of the program, before finish() reads what there is.
  const Statistics& statistics() const { return statistics_; }
  std::uint64_t tasks() const { return statistics_.submissions; }

  const Device& device() const { return device_; }
  const Event& event(int id) const { return events_[static_cast<std::size_t>(id)]; }
  const Timeline& gate(int id) const { return gates_[static_cast<std::size_t>(id)]; }

 private:
  struct Kernels;
  using Words = View<std::uint32_t>;

  // What one thread keeps.
  struct Local {
    int part = -1;
    Log log;                                        // Without a common lock.
    std::vector<std::unique_ptr<Values>> borrowed;  // Until the device is done.
    std::vector<Future<void>> futures;
    std::vector<std::pair<int, std::string>> failures;
    std::uint64_t accepted = 0;
  };

  void run_ops(int part, const std::vector<Op>& ops, Local& local);
  void step(const Op& op, std::size_t mark, Local& local);
  void submit(const Op& op, std::size_t mark, Local& local);
  void launch(const Op& op, std::size_t mark, Local& local);
  void host_function(const Op& op, std::size_t mark, Local& local);
  void set_grid(const Op& op, std::size_t mark, Local& local);
  void upload(const Op& op, Local& local);
  void create_buffer(const Op& op, Local& local);
  void order(const Op& op);
  void host(const Op& op);
  void refuse(const Op& op);
  bool possible(const Op& op) const;
  template <class T>
  bool was_refused(Future<T>& future, const Op& op);
  void synchronize_at_end();
  void take(const Op& op);
  void collect(Local& local);

  void compare_reads(const Expected& expected);
  void compare_buffers(const Expected& expected);
  void compare_accepted();
  bool read_buffers(const Expected& expected, std::map<int, Values>& found);
  void check_commuting(const Expected& expected);
  void check_stamps();
  void check_counts();
  void check_memory();

  Stream& stream(int id) { return streams_[static_cast<std::size_t>(id)]; }
  Words view(const Range& range) const;
  View2D<std::uint32_t> tile(const Range& range) const;

  // Calls `use` with the view or the tile that `range` is.
  template <class Use>
  auto with(const Range& range, Use use) const {
    return range.tile() ? use(tile(range)) : use(view(range));
  }
  std::size_t mark_of(int part, std::size_t index) const;

  template <class T>
  void accept(const Result<T>& result, const Op& op, Local& local);
  template <class T>
  void expect(const Result<T>& result, const Op& op);
  void failed(const Error& error, const Op& op);
  void fail(const std::string& message);

  const Program& program_;
  const Told told_;                // Empty: every error is a failure.
  bool refused_ = false;           // A call of the present operation was.
  bool lost_ = false;              // A call said device_lost.
  std::uint64_t submissions_ = 0;  // Before the present operation.
  Stamps stamps_;
  std::unique_ptr<Kernels> kernels_;
  Device device_;
  std::vector<Stream> streams_;
  std::vector<Array<std::uint32_t>> buffers_;
  std::vector<Event> events_;
  std::vector<Timeline> gates_;
  std::vector<Future<Values>> reads_;
  std::vector<std::optional<Values>> results_;
  std::vector<std::unique_ptr<Local>> locals_;  // [0]: the prologue.
  std::uint64_t streams_created_ = 0;
  std::uint64_t accepted_ = 0;
  Statistics statistics_;

  std::mutex submission_;  // Program::locked: guards the log and gives submissions one order.
  Log log_;

  std::mutex failing_;
  std::string failure_;  // Guarded by failing_ while parts run.
};

// The line that runs one program again.
std::string reproduce(std::uint64_t seed);

// Runs a program and compares; empty, or what was wrong, with the line that reproduces it.
struct Outcome {
  std::string failure;
  std::uint64_t tasks = 0;
};
Outcome run_and_compare(const Program& program);

// Calls `run(seed)` for `count` seeds, scaled, that follow from `first`; or, when THALWEG_SEED is
// set, for that one THALWEG_REPEAT times (100). Stops when `run` returns false. Returns how many
// ran.
std::uint64_t for_each_seed(std::uint64_t first, std::uint64_t count,
                            const std::function<bool(std::uint64_t)>& run);

// `count` scaled by THALWEG_TEST_SCALE, and at least one.
std::uint64_t scaled(std::uint64_t count);

}  // namespace thalweg::test
