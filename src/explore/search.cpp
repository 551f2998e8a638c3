// SPDX-License-Identifier: Apache-2.0

#include "explore/search.hpp"

#include <algorithm>

namespace thalweg::explore_detail {
namespace {

bool contains(std::span<const Process> list, Process process) noexcept {
  return std::find(list.begin(), list.end(), process) != list.end();
}

bool independent(const Effects& a, const Effects& b) noexcept {
  return !sim::dependent(a, b) && !sim::dependent(b, a);
}

void join(std::vector<std::uint32_t>& clock, const std::vector<std::uint32_t>& other) {
  if (other.size() > clock.size()) clock.resize(other.size());
  for (std::size_t i = 0; i != other.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

}  // namespace

void Exhaustive::begin_run() noexcept {
  depth_ = 0;
  redundant_ = false;
}

bool Exhaustive::has(const std::vector<Known>& list, Process process) noexcept {
  return std::any_of(list.begin(), list.end(),
                     [process](const Known& known) { return known.process == process; });
}

std::size_t Exhaustive::choose(std::span<const Process> ready, Process last) {
  // Given up: to the end on the shortest way.
  if (redundant_ || diverged_) return 0;
  if (depth_ == nodes_.size()) {
    add_node(ready, last);
    if (redundant_) return 0;
  } else if (!std::equal(ready.begin(), ready.end(), nodes_[depth_].ready.begin(),
                         nodes_[depth_].ready.end())) {
    diverged_ = true;
    return 0;
  }
  const Process taken = nodes_[depth_++].taken;
  return static_cast<std::size_t>(std::find(ready.begin(), ready.end(), taken) - ready.begin());
}

// Those who were tried before, here and further up, and whose step would still be the same.
std::vector<Exhaustive::Known> Exhaustive::sleepers() const {
  std::vector<Known> sleep;
  if (!reduce_ || nodes_.empty()) return sleep;
  const Node& parent = nodes_.back();
  for (const auto* list : {&parent.sleep, &parent.tried})
    for (const Known& known : *list)
      if (known.process != parent.taken && known.effects && parent.effects &&
          independent(*known.effects, *parent.effects))
        sleep.push_back(known);
  return sleep;
}

bool Exhaustive::take(Node& node, Process process) {
  const unsigned before = &node == nodes_.data() ? 0 : (&node - 1)->preemptions;
  const bool preempts = process != node.last && contains(node.ready, node.last);
  if (preemptions_max_ && before + (preempts ? 1 : 0) > *preemptions_max_) {
    bounded_ = true;
    return false;
  }
  node.preemptions = before + (preempts ? 1 : 0);
  node.taken = process;
  return true;
}

// Whether `process` took all of the latest steps, and they are many.
bool Exhaustive::stubborn(Process process) const noexcept {
  constexpr std::size_t kMany = 64;
  return nodes_.size() > kMany &&
         std::all_of(nodes_.end() - kMany - 1, nodes_.end() - 1,
                     [process](const Node& node) { return node.taken == process; });
}

void Exhaustive::add_node(std::span<const Process> ready, Process last) {
  std::vector<Known> sleep = sleepers();
  Node& node = nodes_.emplace_back();
  node.ready.assign(ready.begin(), ready.end());
  node.last = last;
  node.sleep = std::move(sleep);
  // Who went last first: the first run has the fewest switches. Not for ever: he may poll for what
  // another does.
  std::vector<Process> order(ready.begin(), ready.end());
  if (const auto again = std::find(order.begin(), order.end(), last); again != order.end())
    stubborn(last) ? std::rotate(order.begin(), again + 1, order.end())
                   : std::rotate(order.begin(), again, again + 1);
  for (const Process process : order) {
    if (has(node.sleep, process) || !take(node, process)) continue;
    node.to_try = reduce_ ? std::vector<Process>{process} : node.ready;
    return;
  }
  redundant_ = true;
  nodes_.pop_back();
}

void Exhaustive::happened(const Effects& effects) {
  // The host's first step is nobody's choice.
  if (redundant_ || diverged_ || depth_ == 0 || depth_ - 1 < fresh_) return;
  Node& node = nodes_[depth_ - 1];
  if (node.effects || node.taken != effects.process) return;
  node.effects = std::make_shared<const Effects>(effects);
  if (reduce_) find_races(depth_ - 1);
}

bool Exhaustive::before(std::size_t earlier,
                        const std::vector<std::uint32_t>& clock) const noexcept {
  const Process process = nodes_[earlier].taken;
  return process < clock.size() && clock[process] >= earlier + 1;
}

// Gives the step at node `at` its clock, and turns its races round.
void Exhaustive::find_races(std::size_t at) {
  Node& node = nodes_[at];
  node.clock.clear();
  races_.clear();
  for (std::size_t i = at; i-- != 0;) {
    if (nodes_[i].taken != node.taken) continue;
    node.clock = nodes_[i].clock;
    break;
  }
  for (std::size_t i = at; i-- != 0;) {
    if (nodes_[i].taken == node.taken || before(i, node.clock) || !nodes_[i].effects) continue;
    if (!sim::dependent(*nodes_[i].effects, *node.effects)) continue;
    if (!sim::enables(*nodes_[i].effects, *node.effects)) races_.push_back(i);
    join(node.clock, nodes_[i].clock);
  }
  if (node.clock.size() <= node.taken) node.clock.resize(node.taken + std::size_t{1});
  node.clock[node.taken] = static_cast<std::uint32_t>(at + 1);
  for (const std::size_t first : races_) reverse(first, at);
}

// Sees to it that somebody is tried at node `first` who can begin what does not depend on its step
// and then leads to the step at `second`.
void Exhaustive::reverse(std::size_t first, std::size_t second) {
  Node& node = nodes_[first];
  std::vector<std::size_t> row;
  for (std::size_t i = first + 1; i != second; ++i)
    if (!before(first, nodes_[i].clock)) row.push_back(i);
  row.push_back(second);
  std::vector<Process> initials;
  for (auto at = row.begin(); at != row.end(); ++at) {
    const Process process = nodes_[*at].taken;
    const bool later = std::any_of(row.begin(), at, [&](std::size_t earlier) {
      return nodes_[earlier].taken == process || before(earlier, nodes_[*at].clock);
    });
    if (!later) initials.push_back(process);
  }
  std::optional<Process> wanted;
  for (const Process process : initials) {
    if (contains(node.to_try, process)) return;
    if (contains(node.ready, process)) wanted = process;
  }
  if (wanted) {
    node.to_try.push_back(*wanted);
    return;
  }
  // Nobody of them could: everybody, to be sure.
  node.to_try = node.ready;
}

bool Exhaustive::next_run() {
  while (!nodes_.empty()) {
    Node& node = nodes_.back();
    node.tried.push_back({node.taken, std::move(node.effects)});
    node.effects.reset();
    for (const Process process : node.to_try) {
      if (has(node.tried, process) || has(node.sleep, process) || !take(node, process)) continue;
      fresh_ = nodes_.size() - 1;
      return true;
    }
    nodes_.pop_back();
  }
  return false;
}

}  // namespace thalweg::explore_detail
