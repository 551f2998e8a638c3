// SPDX-License-Identifier: Apache-2.0

#include "runtime/failures.hpp"

#include <algorithm>
#include <utility>

#include "base/news.hpp"
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
  std::vector<Error> forgotten;
  bool collects = false;
  auto result = graph_.with([&](Graph& graph) {
    auto given = function(graph.errors);
    forgotten = put_down(graph);
    if (plant::planted(plant::Bug::sink_under_lock)) forgotten.clear();
    collects = graph.errors.carriers() > graph.collect_at;
    // He alone does, and not once more on the way: perhaps nothing is gone.
    if (collects) graph.collect_at = graph.errors.carriers() * 2;
    return given;
  });
  if (collects) [[unlikely]]
    collect();
  return result;
}

// Under the lock: who clears the flag and who sets it come one after the other.
std::vector<Error> Failures::put_down(Graph& graph) noexcept {
  if (graph.late) std::exchange(graph.late, nullptr)(graph.errors);
  any_.store(!graph.errors.empty(), std::memory_order_release);
  return graph.errors.take_forgotten();
}

std::vector<Error> Failures::forget(const failure::Use& use) noexcept {
  if (!any_.load(std::memory_order_acquire)) return {};
  return graph_.with([&](Graph& graph) {
    graph.errors.prove({&use, 1});
    return put_down(graph);
  });
}

// Whoever stops a task knows: that is no news.
class Failures::FailureNews final : public thalweg::detail::News {
 public:
  FailureNews(DeviceId device, const Error& error) : device_(device), error_(error) {}
  ~FailureNews() override {
    if (!was_heard()) Failures::instance().tell(device_, error_);
  }

  static Error of(DeviceId device, const Error& error) {
    if (error.kind() == ErrorKind::cancelled) return error;
    return thalweg::detail::with_news(error, std::make_shared<FailureNews>(device, error));
  }

 private:
  const DeviceId device_;
  const Error error_;
};

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
                                    const failure::TaskWords& words, bool told) noexcept {
  return change([&](failure::ErrorGraph& errors) -> std::optional<Error> {
    const auto bad = errors.first_bad(uses);
    if (!bad) return std::nullopt;
    std::vector<FailureReport> reports;
    if (told) reports = errors.reports(uses);
    errors.skip(*bad, words, uses);
    if (told) return unwritten(std::move(reports), words.site);
    return Error(ErrorKind::unwritten, "It reads bytes that were left unwritten.", words.site);
  });
}

void Failures::prove(std::span<const failure::Use> uses) noexcept {
  change([&](failure::ErrorGraph& errors) {
    errors.prove(uses);
    return true;
  });
}

bool Failures::fail(Error& error, DeviceId device, std::span<const failure::Use> uses) noexcept {
  if (plant::planted(plant::Bug::late_failure)) {
    any_.store(true, std::memory_order_release);
    graph_.with([&](Graph& graph) {
      graph.late = [=, all = std::vector(uses.begin(), uses.end())](failure::ErrorGraph& errors) {
        static_cast<void>(errors.fail(error, device, all));
      };
    });
    return true;
  }
  if (error.kind() == ErrorKind::device_lost) {
    lose(error, device, uses);
    return true;
  }
  if (!failure::ErrorGraph::taints(uses)) return false;
  error = FailureNews::of(device, error);
  return change([&](failure::ErrorGraph& errors) {
    return static_cast<bool>(errors.fail(error, device, uses));
  });
}

void Failures::lose(Error& error, DeviceId device, std::span<const failure::Use> uses) noexcept {
  const Error fresh = FailureNews::of(device, error);
  bool first = false;
  // It stays until the device is gone.
  Lost& lost = graph_.with([device](Graph& graph) -> Lost& { return graph.lost[device]; });
  change([&](failure::ErrorGraph& errors) {
    first = !lost.cause;
    if (first) lost.cause = fresh;
    if (lost.told) thalweg::detail::heard(*lost.cause);
    const FailureId failure = errors.fail(*lost.cause, device, uses, lost.failure);
    if (failure) lost.failure = failure;
    error = lost.cause->at(error.site());
    return true;
  });
  // Otherwise those of the task that was first are the news.
  if (!first) thalweg::detail::heard(fresh);
}

void Failures::told_of_loss(DeviceId device) noexcept {
  graph_.with([device](Graph& graph) {
    Lost& lost = graph.lost[device];
    lost.told = true;
    if (lost.cause) thalweg::detail::heard(*lost.cause);
  });
}

void Failures::end_loss(DeviceId device) noexcept {
  Lost ended;
  graph_.with([&](Graph& graph) {
    const auto lost = graph.lost.find(device);
    if (lost == graph.lost.end()) return;
    ended = std::move(lost->second);
    graph.lost.erase(lost);
  });
}

std::optional<Error> Failures::read(const failure::Use& use, std::source_location site) {
  if (!any_.load(std::memory_order_acquire)) return std::nullopt;
  std::vector<FailureReport> reports =
      change([&use](failure::ErrorGraph& errors) { return errors.reports({&use, 1}); });
  if (reports.empty()) return std::nullopt;
  Error error = unwritten(std::move(reports), site);
  thalweg::detail::heard(error);
  return error;
}

void Failures::drop(AllocationId allocation, const order::PointSet& uses) noexcept {
  if (plant::planted(plant::Bug::taint_not_shed)) return;
  change([&](failure::ErrorGraph& errors) {
    errors.drop(allocation, uses);
    // And two more: however many are bad, a drop takes no longer, and in the end none is left.
    errors.collect(is_over, 3);
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
    errors.collect(is_over);
    return true;
  });
  graph_.with(
      [](Graph& graph) { graph.collect_at = std::max(kCarriersMin, graph.errors.carriers() * 2); });
}

std::vector<LivingFailure> Failures::living(DeviceId device) const {
  auto all = graph_.with([](const Graph& graph) { return graph.errors.living(); });
  std::erase_if(all, [device](const LivingFailure& living) { return living.device != device; });
  // Whoever is given a list need not tell of it.
  for (LivingFailure& living : all) living.root = thalweg::detail::with_news(living.root, nullptr);
  return all;
}

}  // namespace thalweg::runtime
