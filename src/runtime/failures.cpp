// SPDX-License-Identifier: Apache-2.0

#include "runtime/failures.hpp"

#include <algorithm>
#include <utility>

#include "base/plant.hpp"
#include "runtime/lives.hpp"
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
  std::vector<failure::ErrorGraph::Unheard> unheard;
  bool collects = false;
  auto result = graph_.with([&](Graph& graph) {
    auto given = function(graph.errors);
    if (graph.late) std::exchange(graph.late, nullptr)(graph.errors);
    unheard = graph.errors.take_unheard();
    collects = graph.errors.carriers() > graph.collect_at;
    // Under the lock: who clears it and who sets it come one after the other.
    any_.store(!graph.errors.empty(), std::memory_order_release);
    return given;
  });
  for (const auto& [device, root] : unheard)
    if (root.kind() != ErrorKind::cancelled) tell(device, root);
  if (collects) [[unlikely]]
    collect();
  return result;
}

void Failures::tell(DeviceId device, const Error& root) noexcept {
  backend::Observer* const observer = observers_.with([device](const Observers& observers) {
    const auto found = observers.find(device);
    return found == observers.end() ? nullptr : found->second;
  });
  observer != nullptr ? observer->unheard(root) : thalweg::detail::to_error_sink(root);
}

void Failures::observe(DeviceId device, backend::Observer* observer) {
  observers_.with([&](Observers& observers) {
    if (observer != nullptr)
      observers[device] = observer;
    else
      observers.erase(device);
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
    errors.collect([](order::Point point) { return passed(point); });
    return true;
  });
}

// What failed when its allocation was gone already is found here, and whose uses it still meets.
void Failures::collect() noexcept {
  if (!any_.load(std::memory_order_acquire)) return;
  const auto gone = graph_.with([](const Graph& graph) { return graph.errors.gone(); });
  std::vector<order::PointSet> uses;
  for (const auto& [allocation, life] : gone) {
    const auto& known = static_cast<const Life&>(*life);
    const sync::Locked queue(known.lock);
    // A life that is another's by now: then all uses have passed.
    uses.push_back(known.owner() == allocation ? known.uses : order::PointSet());
  }
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

}  // namespace thalweg::runtime
