// SPDX-License-Identifier: Apache-2.0
//
// tools/scenario/world.hpp - the objects of one run of a scenario, and its steps as calls.
//
// Threads:    the actors of a run take turns; each call comes from one of them, or from a task.
// Ownership:  made in a shared pointer: host functions with steps of their own keep a weak one. The
//             scenario and the call sites outlive it.
// Errors:     a step that ends in another way than it says is a failed check of the run.

#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <source_location>
#include <string>
#include <variant>
#include <vector>

#include "scenario/call_sites.hpp"
#include "scenario/computation.hpp"
#include "scenario/scenario.hpp"
#include "thalweg/explore.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::tool::scenario {

class World : public std::enable_shared_from_this<World> {
 public:
  // `with_faults`: calls may be refused. The first that is ends the program, and what it expects of
  // answers and values is not checked.
  World(const Scenario& scenario, const CallSites& sites, bool with_faults);

  // What is not declared to come later, in the order of the file.
  void create_all(ExploreRun& run);

  void perform(const std::vector<Step>& steps, ExploreRun& run);

  // Looks at how host functions ended whose turn has come.
  void finish(ExploreRun& run);

 private:
  using AnyView = std::variant<View<std::uint8_t>, View<std::uint32_t>>;

  // A step that is being carried out.
  struct Call {
    const Step& step;
    ExploreRun& run;
    std::source_location site;
  };

  struct Pending {
    const Step* step = nullptr;
    Future<void> future;
  };

  Result<void> perform(const Fill& step, const Call& call);
  Result<void> perform(const Copy& step, const Call& call);
  Result<void> perform(const Upload& step, const Call& call);
  Result<void> perform(const Work& step, const Call& call);
  Result<void> perform(const Touch& step, const Call& call);
  Result<void> perform(const Record& step, const Call& call);
  Result<void> perform(const WaitEvent& step, const Call& call);
  Result<void> perform(const WaitStream& step, const Call& call);
  Result<void> perform(const WaitTimeline& step, const Call& call);
  Result<void> perform(const Signal& step, const Call& call);
  Result<void> perform(const HostWait& step, const Call& call);
  Result<void> perform(const Create& step, const Call& call);
  Result<void> perform(const Drop& step, const Call& call);
  Result<void> perform(const Read& step, const Call& call);
  Result<void> perform(const Map& step, const Call& call);
  Result<void> perform(const Synchronize& step, const Call& call);
  Result<void> perform(const Query& step, const Call& call);
  Result<void> perform(const Poll& step, const Call& call);
  Result<void> perform(const Repeat& step, const Call& call);

  Result<void> create(ObjectId object, const Call& call);
  Result<void> create_stream(std::size_t index, const Call& call);
  Result<void> create_buffer(std::size_t index, const Call& call);

  Result<void> submit_host(const Work& step, Computation computation, const Call& call);
  Result<void> submit_native(const Work& step, Computation computation, const Call& call);
  Result<void> submit_kernel(const Work& step, const Call& call);

  template <class T>
  Result<void> map_as(const Map& step, const View<T>& view, const Call& call);

  template <class T>
  void check_values(const Range& range, const Values& expect, const std::vector<T>& found,
                    const Call& call);
  void check(bool holds, const std::string& claim, const Call& call);
  void settle(const Step& step, const Error* error, ExploreRun& run);

  // Handles of one's own: a step of somebody else may drop the ones here during the call.
  Stream stream(std::size_t index) const { return streams_[index]; }
  Event event(std::size_t index) const { return events_[index]; }
  Timeline timeline(std::size_t index) const { return timelines_[index]; }

  AnyView view_of(const Range& range) const;
  View<std::uint32_t> words_of(const std::vector<Range>& ranges, const Touches& among) const;
  Result<Computation> computation_of(const Work& step) const;
  Result<void> add_bytes(const std::vector<Range>& ranges, std::vector<Bytes>& bytes) const;
  std::string text_of(const Range& range) const;

  const Scenario& scenario_;
  const CallSites& sites_;
  const bool with_faults_;
  bool refused_ = false;

  // As many as are declared; one that is dropped, or not there yet, is an invalid handle.
  std::vector<Stream> streams_;
  std::vector<Buffer> buffers_;
  std::vector<Event> events_;
  std::vector<Timeline> timelines_;
  std::deque<Pending> pending_;
};

}  // namespace thalweg::tool::scenario
