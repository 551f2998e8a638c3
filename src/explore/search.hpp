// SPDX-License-Identifier: Apache-2.0
//
// explore/search.hpp - every schedule of a program, or one of each kind.
//
//   step    0    1    2    3         A node for each step of the present run: who could have taken
//   taken   h    s0   h    s1        it, who took it, what it did. After a run the last node where
//   to try       h         -         somebody else is left to try is changed, and what is behind it
//                ^ next run: h, h, ...   is forgotten; the program runs again from its start.
//
// Two steps race when they depend on each other, nothing between them orders them, and the first
// did not make the second possible. For each race in a run somebody is added, at the node of the
// first of the two, who leads to the other order (a source set); who was tried at a node sleeps in
// its later branches until something happens that depends on his step.
//
// Invariants
//   * A node's step is one of its `ready`; everybody in `tried` and `sleep` is known by his step.
//   * clock[p] of a node is the latest node of process p, counted from 1, that comes before its
//     step by cause or is it.
//   * latest_[p] is the latest node that process p takes, from 1, and Node::previous the one before
//     it: 0 where there is none.
//
// Threads:    one at a time.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "backends/sim/schedule.hpp"

namespace thalweg::explore_detail {

using sim::Effects;
using sim::Process;

class Exhaustive final : public sim::Schedule {
 public:
  Exhaustive(bool reduce, std::optional<unsigned> preemptions_max)
      : reduce_(reduce), preemptions_max_(preemptions_max) {}

  // Before each run.
  void begin_run() noexcept;

  // After it: sets up the next one. False when none is left.
  bool next_run();

  std::size_t choose(std::span<const Process> ready, Process last) override;
  bool wants_effects() const noexcept override { return true; }
  void happened(const Effects& effects) override;

  // The last run was given up: another one covers it.
  bool redundant() const noexcept { return redundant_; }

  // A run did not repeat what the one before it did.
  bool diverged() const noexcept { return diverged_; }

  // Something was left out because of preemptions_max.
  bool bounded() const noexcept { return bounded_; }

 private:
  struct Known {
    Process process;
    std::shared_ptr<const Effects> effects;
  };

  struct Node {
    std::vector<Process> ready;
    Process last = 0;
    Process taken = 0;
    unsigned preemptions = 0;  // Up to and with this step.
    std::vector<Process> to_try;
    std::vector<Known> tried;
    std::vector<Known> sleep;
    std::shared_ptr<const Effects> effects;
    std::vector<std::uint32_t> clock;
    std::uint32_t previous = 0;  // The node before it of the process that takes it, from 1.

    void clear() noexcept;
  };

  // The nodes of the present run. One that is taken off keeps its room for the next: an exploration
  // makes some for each of its runs.
  class Nodes {
   public:
    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    Node& operator[](std::size_t i) noexcept { return made_[i]; }
    const Node& operator[](std::size_t i) const noexcept { return made_[i]; }
    Node& back() noexcept { return made_[size_ - 1]; }

    // As new.
    Node& push();
    void pop() noexcept { made_[--size_].clear(); }

   private:
    std::vector<Node> made_;
    std::size_t size_ = 0;
  };

  bool stubborn(Process process) const noexcept;
  void add_node(std::span<const Process> ready, Process last);
  void fall_asleep(std::size_t at);
  bool take(std::size_t at, Process process);
  void leave(const Node& node) noexcept;
  std::shared_ptr<const Effects> kept(const Effects& effects);
  void forget(std::vector<Known>& list);
  static bool has(const std::vector<Known>& list, Process process) noexcept;
  bool before(std::size_t earlier, const std::vector<std::uint32_t>& clock) const noexcept;
  void find_races(std::size_t at);
  void reverse(std::size_t first, std::size_t second);
  void reverse_earlier(std::size_t first);

  const bool reduce_;
  const std::optional<unsigned> preemptions_max_;
  Nodes nodes_;
  std::vector<std::uint32_t> latest_;            // By process.
  std::vector<std::shared_ptr<Effects>> spare_;  // Nobody's.
  std::size_t depth_ = 0;                        // Nodes of the present run so far.
  std::size_t fresh_ = 0;                        // The first node whose step is new.
  bool redundant_ = false;
  bool diverged_ = false;
  bool bounded_ = false;

  // Scratch space.
  std::vector<Process> order_;
  std::vector<std::uint32_t> candidates_;
  std::vector<std::size_t> races_;
  std::vector<std::size_t> row_;
  std::vector<Process> initials_;
};

}  // namespace thalweg::explore_detail
