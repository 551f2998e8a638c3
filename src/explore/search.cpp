// SPDX-License-Identifier: Apache-2.0

#include "explore/search.hpp"

#include <algorithm>
#include <utility>

#include "thalweg/base/check.hpp"

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

void Exhaustive::Node::clear() noexcept {
  ready.clear();
  last = 0;
  taken = 0;
  preemptions = 0;
  to_try.clear();
  tried.clear();
  sleep.clear();
  effects.reset();
  clock.clear();
  previous = 0;
}

Exhaustive::Node& Exhaustive::Nodes::push() {
  if (size_ == made_.size()) made_.emplace_back();
  return made_[size_++];
}

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

// At node `at` those sleep who were tried before, in it and further up, and whose step would still
// be the same.
void Exhaustive::fall_asleep(std::size_t at) {
  if (!reduce_ || at == 0) return;
  const Node& parent = nodes_[at - 1];
  for (const auto* list : {&parent.sleep, &parent.tried})
    for (const Known& known : *list)
      if (known.process != parent.taken && known.effects && parent.effects &&
          independent(*known.effects, *parent.effects))
        nodes_[at].sleep.push_back(known);
}

bool Exhaustive::take(std::size_t at, Process process) {
  Node& node = nodes_[at];
  const unsigned before = at == 0 ? 0 : nodes_[at - 1].preemptions;
  const bool preempts = process != node.last && contains(node.ready, node.last);
  if (preemptions_max_ && before + (preempts ? 1 : 0) > *preemptions_max_) {
    bounded_ = true;
    return false;
  }
  node.preemptions = before + (preempts ? 1 : 0);
  node.taken = process;
  if (latest_.size() <= process) latest_.resize(process + std::size_t{1});
  node.previous = std::exchange(latest_[process], static_cast<std::uint32_t>(at + 1));
  return true;
}

// Nobody takes the last node any more.
void Exhaustive::leave(const Node& node) noexcept { latest_[node.taken] = node.previous; }

// Whether `process` took all of the latest steps, and they are many.
bool Exhaustive::stubborn(Process process) const noexcept {
  constexpr std::size_t kMany = 64;
  if (nodes_.size() <= kMany) return false;
  for (std::size_t i = nodes_.size() - kMany - 1; i != nodes_.size() - 1; ++i)
    if (nodes_[i].taken != process) return false;
  return true;
}

void Exhaustive::add_node(std::span<const Process> ready, Process last) {
  Node& node = nodes_.push();
  const std::size_t at = nodes_.size() - 1;
  node.ready.assign(ready.begin(), ready.end());
  node.last = last;
  fall_asleep(at);
  // Who went last first: the first run has the fewest switches. Not for ever: he may poll for what
  // another does.
  order_.assign(ready.begin(), ready.end());
  if (const auto again = std::find(order_.begin(), order_.end(), last); again != order_.end())
    stubborn(last) ? std::rotate(order_.begin(), again + 1, order_.end())
                   : std::rotate(order_.begin(), again, again + 1);
  for (const Process process : order_) {
    if (has(node.sleep, process) || !take(at, process)) continue;
    reduce_ ? node.to_try.assign(1, process)
            : node.to_try.assign(node.ready.begin(), node.ready.end());
    return;
  }
  redundant_ = true;
  nodes_.pop();
}

std::shared_ptr<const Effects> Exhaustive::kept(const Effects& effects) {
  if (spare_.empty()) return std::make_shared<Effects>(effects);
  std::shared_ptr<Effects> room = std::move(spare_.back());
  spare_.pop_back();
  *room = effects;
  return room;
}

// What only `list` knows becomes room for others.
void Exhaustive::forget(std::vector<Known>& list) {
  for (Known& known : list)
    if (known.effects.use_count() == 1)
      spare_.push_back(std::const_pointer_cast<Effects>(std::move(known.effects)));
}

void Exhaustive::happened(const Effects& effects) {
  // The host's first step is nobody's choice.
  if (redundant_ || diverged_ || depth_ == 0 || depth_ - 1 < fresh_) return;
  Node& node = nodes_[depth_ - 1];
  if (node.effects || node.taken != effects.process) return;
  node.effects = kept(effects);
  if (reduce_) find_races(depth_ - 1);
}

bool Exhaustive::before(std::size_t earlier,
                        const std::vector<std::uint32_t>& clock) const noexcept {
  const Process process = nodes_[earlier].taken;
  return process < clock.size() && clock[process] >= earlier + 1;
}

// Gives the step at the last node its clock, and turns its races round.
void Exhaustive::find_races(std::size_t at) {
  THALWEG_ASSERT(at + 1 == nodes_.size(), "A step is over that is not the last.");
  Node& node = nodes_[at];
  node.clock.clear();
  if (node.previous != 0) node.clock = nodes_[node.previous - 1].clock;
  races_.clear();
  candidates_.clear();
  for (const std::uint32_t latest : latest_)
    if (latest != 0 && latest != at + 1) candidates_.push_back(latest);
  for (;;) {
    // With whoever comes before this step, all come before it that his process took earlier.
    std::erase_if(candidates_,
                  [&](std::uint32_t candidate) { return before(candidate - 1, node.clock); });
    const auto latest = std::max_element(candidates_.begin(), candidates_.end());
    if (latest == candidates_.end()) break;
    const std::size_t i = *latest - std::size_t{1};
    const Node& other = nodes_[i];
    if (other.previous != 0) {
      *latest = other.previous;
    } else {
      candidates_.erase(latest);
    }
    if (!other.effects || !sim::dependent(*other.effects, *node.effects)) continue;
    if (!sim::enables(*other.effects, *node.effects)) races_.push_back(i);
    join(node.clock, other.clock);
  }
  if (node.clock.size() <= node.taken) node.clock.resize(node.taken + std::size_t{1});
  node.clock[node.taken] = static_cast<std::uint32_t>(at + 1);
  for (const std::size_t first : races_) reverse(first, at);
}

// Sees to it that somebody is tried at node `first` who can begin what does not depend on its step
// and then leads to the step at `second`.
void Exhaustive::reverse(std::size_t first, std::size_t second) {
  Node& node = nodes_[first];
  row_.clear();
  for (std::size_t i = first + 1; i != second; ++i)
    if (!before(first, nodes_[i].clock)) row_.push_back(i);
  row_.push_back(second);
  initials_.clear();
  for (auto at = row_.begin(); at != row_.end(); ++at) {
    const Process process = nodes_[*at].taken;
    const bool later = std::any_of(row_.begin(), at, [&](std::size_t earlier) {
      return nodes_[earlier].taken == process || before(earlier, nodes_[*at].clock);
    });
    if (!later) initials_.push_back(process);
  }
  std::optional<Process> wanted;
  for (const Process process : initials_) {
    if (contains(node.to_try, process)) return;
    if (contains(node.ready, process)) wanted = process;
  }
  if (wanted) {
    node.to_try.push_back(*wanted);
    return;
  }
  // Nobody of them could: everybody, to be sure.
  node.to_try = node.ready;
  if (node.effects->all) reverse_earlier(first);
}

// A wait that is too long ends a time in which some could not go on, which somebody's step began:
// they could at that node, in place of him.
void Exhaustive::reverse_earlier(std::size_t first) {
  for (std::size_t i = first; i-- != 0;) {
    Node& node = nodes_[i];
    const bool could = std::any_of(initials_.begin(), initials_.end(), [&node](Process process) {
      return process != node.taken && contains(node.ready, process);
    });
    if (!could) continue;
    node.to_try = node.ready;
    return;
  }
}

bool Exhaustive::next_run() {
  while (!nodes_.empty()) {
    Node& node = nodes_.back();
    node.tried.push_back({node.taken, std::move(node.effects)});
    node.effects.reset();
    leave(node);
    for (const Process process : node.to_try) {
      if (has(node.tried, process) || has(node.sleep, process) || !take(nodes_.size() - 1, process))
        continue;
      fresh_ = nodes_.size() - 1;
      return true;
    }
    forget(node.tried);
    forget(node.sleep);
    nodes_.pop();
  }
  return false;
}

}  // namespace thalweg::explore_detail
