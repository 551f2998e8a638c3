// SPDX-License-Identifier: Apache-2.0

#include "runtime/failures.hpp"

#include <algorithm>
#include <utility>

#include "base/plant.hpp"
#include "runtime/registry.hpp"
#include "sync/timeline.hpp"
#include "thalweg/base/log.hpp"

namespace thalweg::runtime {

Failures& Failures::instance() noexcept {
  static Failures& failures = *new Failures;
  return failures;
}

template <class F>
decltype(auto) Failures::change(F&& function) noexcept {
  Unheard unheard;
  bool collects = false;
  auto result = graph_.with([&](Graph& graph) {
    auto given = function(graph.errors);
    unheard = put_down(graph);
    collects = graph.errors.carriers() > graph.collect_at;
    if (plant::planted(plant::Bug::sink_under_lock))
      for (const auto& each : std::exchange(unheard, {})) thalweg::detail::to_error_sink(each.root);
    // He alone does, and not once more on the way: perhaps nothing is gone.
    if (collects) graph.collect_at = graph.errors.carriers() * 2;
    return given;
  });
  tell(unheard);
  if (collects) [[unlikely]]
    collect();
  return result;
}

// Under the lock: who clears the flag and who sets it come one after the other.
Failures::Unheard Failures::put_down(Graph& graph) noexcept {
  if (graph.late) std::exchange(graph.late, nullptr)(graph.errors);
  any_.store(!graph.errors.empty(), std::memory_order_release);
  return graph.errors.take_unheard();
}

Failures::Unheard Failures::forget(const failure::Use& use) noexcept {
  if (!any_.load(std::memory_order_acquire)) return {};
  return graph_.with([&](Graph& graph) {
    graph.errors.prove({&use, 1});
    return put_down(graph);
  });
}

void Failures::tell(const Unheard& unheard) noexcept {
  for (const auto& [device, root] : unheard)
    if (root.kind() != ErrorKind::cancelled) tell(device, root);
}

void Failures::tell(DeviceId device, const Error& root) noexcept {
  // Kept meanwhile: the device may end on another thread, or by what the program's sink does.
  const auto observer = observers_.with([device](const Observers& observers) {
    const auto found = observers.find(device);
    return found == observers.end() ? nullptr : found->second;
  });
  observer != nullptr ? observer->unheard(root) : thalweg::detail::to_error_sink(root);
}

void Failures::observe(DeviceId device, std::shared_ptr<backend::Observer> observer) {
  // What was there before goes without the lock.
  observers_.with([&](Observers& observers) {
    if (observer != nullptr) {
      observers[device].swap(observer);
    } else if (const auto found = observers.find(device); found != observers.end()) {
      found->second.swap(observer);
      observers.erase(found);
    }
  });
}

std::optional<Error> Failures::skip(std::span<const failure::Use> uses,
                                    const failure::TaskWords& words) noexcept {
  return change([&](failure::ErrorGraph& errors) -> std::optional<Error> {
    const auto bad = errors.first_bad(uses);
    if (!bad) return std::nullopt;
    std::vector<FailureReport> reports = errors.reports(uses);
    errors.skip(*bad, words, uses);
    return unwritten(std::move(reports), words.site);
  });
}

void Failures::prove(std::span<const failure::Use> uses) noexcept {
  change([&](failure::ErrorGraph& errors) {
    errors.prove(uses);
    return true;
  });
}

bool Failures::fail(const Error& error, DeviceId device, bool told,
                    std::span<const failure::Use> uses) noexcept {
  if (plant::planted(plant::Bug::late_failure)) {
    any_.store(true, std::memory_order_release);
    graph_.with([&](Graph& graph) {
      graph.late = [=, all = std::vector(uses.begin(), uses.end())](failure::ErrorGraph& errors) {
        static_cast<void>(errors.fail(error, device, told, all));
      };
    });
    return true;
  }
  return change([&](failure::ErrorGraph& errors) {
    return static_cast<bool>(errors.fail(error, device, told, uses));
  });
}

std::optional<Error> Failures::read(const failure::Use& use, std::source_location site) {
  if (!any_.load(std::memory_order_acquire)) return std::nullopt;
  return change([&](failure::ErrorGraph& errors) -> std::optional<Error> {
    std::vector<FailureReport> reports = errors.reports({&use, 1});
    if (reports.empty()) return std::nullopt;
    for (const FailureReport& report : reports) errors.heard(report.failure);
    return unwritten(std::move(reports), site);
  });
}

void Failures::told(const Error& error) noexcept {
  graph_.with([&error](Graph& graph) {
    for (const FailureReport& report : error.failures()) graph.errors.heard(report.failure);
  });
}

void Failures::drop(AllocationId allocation, const order::PointSet& uses) noexcept {
  if (plant::planted(plant::Bug::taint_not_shed)) return;
  change([&](failure::ErrorGraph& errors) {
    errors.drop(allocation, uses);
    // And two more: however many are bad, a drop takes no longer, and in the end none is left.
    errors.collect([](order::Point point) { return passed(point); }, 3);
    return true;
  });
}

// What failed when its allocation was gone already is found here, and whose uses it still meets.
void Failures::collect() noexcept {
  if (!any_.load(std::memory_order_acquire)) return;
  const auto gone = graph_.with([](const Graph& graph) { return graph.errors.gone(); });
  std::vector<order::PointSet> uses;
  lives_.with([&](const Lives&) {
    for (const auto& [allocation, life] : gone) {
      const auto& known = static_cast<const Life&>(*life);
      // A life that is another's by now: then all uses have passed.
      uses.push_back(known.former == allocation ? known.uses : order::PointSet());
    }
  });
  change([&](failure::ErrorGraph& errors) {
    if (plant::planted(plant::Bug::taint_not_shed)) return true;
    for (std::size_t i = 0; i != gone.size(); ++i) errors.drop(gone[i].first, uses[i]);
    errors.collect([](order::Point point) { return passed(point); });
    return true;
  });
  graph_.with(
      [](Graph& graph) { graph.collect_at = std::max(kCarriersMin, graph.errors.carriers() * 2); });
}

std::vector<LivingFailure> Failures::living(DeviceId device) const {
  auto all = graph_.with([](const Graph& graph) { return graph.errors.living(); });
  std::erase_if(all, [device](const LivingFailure& living) { return living.device != device; });
  return all;
}

namespace {

// Nobody is told that it was asked: no answer depends on it.
bool over(const order::PointSet& points) noexcept {
  return std::all_of(points.begin(), points.end(), [](order::Point point) {
    return sync::queue_timeline(point.queue()).reached(point.serial().value);
  });
}

}  // namespace

const AllocationLife& Failures::begin_life(AllocationId id) {
  Life* const life = lives_.with([](Lives& lives) -> Life* {
    if (lives.free != nullptr) return std::exchange(lives.free, lives.free->next);
    // One that is used for long is not in the way of those behind it. With two looks at most every
    // other one is waited for in vain: there are twice as many as are in use, and no more.
    for (int look = 0; look != 2 && lives.ending != nullptr; ++look) {
      Life* const first = std::exchange(lives.ending, lives.ending->next);
      if (over(first->uses)) return first;
      lives.end(*first);
    }
    return new Life;
  });
  life->next = nullptr;
  life->id.store(id.value, std::memory_order_release);
  return *life;
}

void Failures::end_life(const AllocationLife& life, const order::PointSet& uses) noexcept {
  auto& mine = static_cast<Life&>(const_cast<AllocationLife&>(life));
  lives_.with([&](Lives& lives) {
    mine.former = AllocationId{mine.id.load(std::memory_order_relaxed)};
    mine.uses = uses;
    mine.id.store(0, std::memory_order_release);
    if (over(uses))
      mine.next = std::exchange(lives.free, &mine);
    else
      lives.end(mine);
  });
}

}  // namespace thalweg::runtime
