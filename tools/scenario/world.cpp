// SPDX-License-Identifier: Apache-2.0

#include "scenario/world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <utility>

namespace thalweg::tool::scenario {
namespace {

using Declaration = decltype(reads(std::declval<const View<std::uint8_t>&>()));

// The API takes accesses as a list that is written down in the call.
template <class F, std::size_t... I>
auto call_with(const std::vector<Declaration>& accesses, const F& f, std::index_sequence<I...>) {
  return f(Accesses{accesses[I]...});
}

template <std::size_t Count = 0, class F>
auto with_accesses(const std::vector<Declaration>& accesses, const F& f) {
  if constexpr (Count < kAccessesMax) {
    if (accesses.size() != Count) return with_accesses<Count + 1>(accesses, f);
  }
  return call_with(accesses, f, std::make_index_sequence<Count>());
}

// Gives `submit` the accesses that are declared; the views live as long as the call.
template <class Views, class ViewOf, class Submit>
auto declare(const Touches& touches, Views& views, const ViewOf& view_of, const Submit& submit) {
  std::vector<Declaration> accesses;
  views.reserve(touches.count());
  const auto add = [&](const std::vector<Range>& ranges, const auto& declaration) {
    for (const Range& range : ranges)
      accesses.push_back(std::visit(declaration, views.emplace_back(view_of(range))));
  };
  add(touches.reads, [](const auto& view) { return reads(view); });
  add(touches.writes, [](const auto& view) { return writes(view); });
  add(touches.updates, [](const auto& view) { return updates(view); });
  return with_accesses(accesses, submit);
}

Deadline deadline_of(const DeadlineNs& within) {
  return within ? Deadline(std::chrono::nanoseconds(*within)) : Deadline();
}

template <class T>
Result<void> without_value(const Result<T>& result) {
  if (!result) return result.error();
  return {};
}

std::string outcome_text(const Outcome& outcome) {
  return outcome ? std::string(name(*outcome)) : "none";
}

constexpr std::size_t kShownMax = 8;

// The first few of many.
template <class T>
std::string values_text(std::span<const T> values) {
  const auto shown = values.first(std::min(values.size(), kShownMax));
  return fmt::format("{}{}", fmt::join(shown, ", "), values.size() > kShownMax ? ", ..." : "");
}

}  // namespace

World::World(const Scenario& scenario, const CallSites& sites, bool with_faults)
    : scenario_(scenario),
      sites_(sites),
      with_faults_(with_faults),
      streams_(scenario.streams.size()),
      buffers_(scenario.buffers.size()),
      events_(scenario.events.size()),
      timelines_(scenario.timelines.size()) {}

void World::create_all(ExploreRun& run) {
  const auto create_each = [&](const auto& specs, ObjectKind kind) {
    for (std::size_t i = 0; i < specs.size(); ++i) {
      if (specs[i].later) continue;
      Step step;
      step.line = specs[i].line;
      step.verb = "create";
      const Result<void> result = create({kind, i}, {step, run, sites_.at(step.line)});
      settle(step, result ? nullptr : &result.error(), run);
    }
  };
  create_each(scenario_.streams, ObjectKind::stream);
  create_each(scenario_.buffers, ObjectKind::buffer);
  create_each(scenario_.events, ObjectKind::event);
  create_each(scenario_.timelines, ObjectKind::timeline);
}

void World::perform(const std::vector<Step>& steps, ExploreRun& run) {
  for (const Step& step : steps) {
    // Gates are opened all the same: what waits there is not to hang.
    const auto* const signal = std::get_if<Signal>(&step.what);
    if (refused_ && (signal == nullptr || signal->stream)) continue;
    const Call call{step, run, sites_.at(step.line)};
    const Result<void> result =
        std::visit([&](const auto& what) { return perform(what, call); }, step.what);
    // How a host function ends is known later; that it is refused, by now.
    const auto* const work = std::get_if<Work>(&step.what);
    if (result && work != nullptr && work->kind == WorkKind::host) {
      if (with_faults_) finish(run);
      continue;
    }
    settle(step, result ? nullptr : &result.error(), run);
  }
}

void World::finish(ExploreRun& run) {
  // Looking at one may run host functions whose steps add others.
  while (!pending_.empty()) {
    Pending pending = std::move(pending_.front());
    pending_.pop_front();
    if (!pending.future.ready()) continue;
    const Result<void> result = pending.future.get();
    settle(*pending.step, result ? nullptr : &result.error(), run);
  }
}

void World::settle(const Step& step, const Error* error, ExploreRun& run) {
  const auto came = [error](const Outcome& outcome) {
    return outcome ? error != nullptr && error->kind() == *outcome : error == nullptr;
  };
  if (with_faults_) {
    // What comes behind a refusal would be refused for want of it.
    if (error != nullptr && !std::exchange(refused_, true)) run.failed(*error);
    return;
  }
  const std::vector<Outcome>& allowed = step.outcomes;
  if (allowed.empty() ? came({}) : std::any_of(allowed.begin(), allowed.end(), came)) return;
  std::string claim = fmt::format("the step '{}' ", step.verb);
  claim += error != nullptr ? fmt::format("ends with {}: {}", name(error->kind()), error->message())
                            : "succeeds";
  for (std::size_t i = 0; i < allowed.size(); ++i)
    claim += fmt::format("{}{}", i == 0 ? " Expected: " : " or ", outcome_text(allowed[i]));
  run.check(false, claim, sites_.at(step.line));
}

void World::check(bool holds, const std::string& claim, const Call& call) {
  if (with_faults_) return;
  call.run.check(holds, claim, call.site);
}

std::string World::text_of(const Range& range) const {
  return fmt::format("{}[{}:{}]", scenario_.buffers[range.buffer].name, range.first,
                     range.first + range.count);
}

World::AnyView World::view_of(const Range& range) const {
  const Buffer buffer = buffers_[range.buffer];
  const bool bytes = scenario_.buffers[range.buffer].element == Element::u8;
  if (!buffer.valid()) return bytes ? AnyView(View<std::uint8_t>()) : View<std::uint32_t>();
  if (bytes) return View<std::uint8_t>(buffer, range.first, range.count);
  return View<std::uint32_t>(buffer, range.first * sizeof(std::uint32_t), range.count);
}

Result<void> World::perform(const Fill& step, const Call& call) {
  return std::visit(
      [&]<class T>(const View<T>& to) {
        return without_value(stream(step.stream).fill(to, static_cast<T>(step.value), call.site));
      },
      view_of(step.to));
}

Result<void> World::perform(const Copy& step, const Call& call) {
  const AnyView from = view_of(step.from);
  return std::visit(
      [&]<class T>(const View<T>& to) {
        return without_value(stream(step.stream).copy(to, std::get<View<T>>(from), call.site));
      },
      view_of(step.to));
}

Result<void> World::perform(const Upload& step, const Call& call) {
  return std::visit(
      [&]<class T>(const View<T>& to) {
        std::vector<T> values(step.to.count);
        for (std::size_t i = 0; i < values.size(); ++i)
          values[i] = static_cast<T>(step.values[step.values.size() == 1 ? 0 : i]);
        return without_value(stream(step.stream).upload(to, std::move(values), call.site));
      },
      view_of(step.to));
}

Result<void> World::perform(const Work& step, const Call& call) {
  if (step.kind == WorkKind::kernel) return submit_kernel(step, call);
  THALWEG_TRY_ASSIGN(Computation computation, computation_of(step));
  if (step.kind == WorkKind::host) return submit_host(step, std::move(computation), call);
  if (step.kind == WorkKind::native) return submit_native(step, std::move(computation), call);
  return enqueue_raw(
      stream(step.stream).raw(), step.name,
      [computation = std::move(computation)] { computation.run(); }, call.site);
}

Result<void> World::add_bytes(const std::vector<Range>& ranges, std::vector<Bytes>& bytes) const {
  for (const Range& range : ranges) {
    const BufferSpec& spec = scenario_.buffers[range.buffer];
    const Buffer buffer = buffers_[range.buffer];
    if (!buffer.valid())
      return Error(ErrorKind::invalid_handle, fmt::format("There is no '{}' now.", spec.name));
    const std::uint64_t address = buffer.core()->address + range.first * size_of(spec.element);
    bytes.push_back({static_cast<std::uintptr_t>(address), range.count, spec.element});
  }
  return {};
}

Result<Computation> World::computation_of(const Work& step) const {
  Computation computation{step.compute, step.value, step.name, {}, {}, {}};
  for (const Touches* touches : {&step.declared, &step.undeclared}) {
    THALWEG_TRY(add_bytes(touches->reads, computation.reads));
    THALWEG_TRY(add_bytes(touches->writes, computation.writes));
    THALWEG_TRY(add_bytes(touches->updates, computation.updates));
  }
  return computation;
}

Result<void> World::submit_host(const Work& step, Computation computation, const Call& call) {
  std::vector<AnyView> views;
  const auto view = [this](const Range& range) { return view_of(range); };
  Future<void> future = declare(step.declared, views, view, [&](Accesses accesses) {
    return stream(step.stream)
        .host(
            step.name, accesses,
            [computation = std::move(computation), world = weak_from_this(), steps = &step.steps,
             run = &call.run] {
              computation.run();
              if (const auto alive = world.lock()) alive->perform(*steps, *run);
            },
            call.site);
  });
  pending_.push_back({&call.step, std::move(future)});
  return {};
}

Result<void> World::submit_native(const Work& step, Computation computation, const Call& call) {
  std::vector<AnyView> views;
  const auto view = [this](const Range& range) { return view_of(range); };
  return declare(step.declared, views, view, [&](Accesses accesses) {
    return without_value(
        stream(step.stream)
            .native(
                accesses,
                [computation = std::move(computation)](NativeHandle, std::span<const NativeBytes>) {
                  computation.run();
                },
                call.site));
  });
}

Result<void> World::perform(const Touch& step, const Call& call) {
  std::vector<AnyView> views;
  const auto view = [this](const Range& range) { return view_of(range); };
  return declare(step.touches, views, view, [&](Accesses accesses) {
    return without_value(stream(step.stream).touch(accesses, call.site));
  });
}

// The only range of a kernel's parameter. One that has none gets no elements of another one's
// memory.
View<std::uint32_t> World::words_of(const std::vector<Range>& ranges, const Touches& among) const {
  const auto view = [this](const Range& range) {
    return std::get<View<std::uint32_t>>(view_of(range));
  };
  if (!ranges.empty()) return view(ranges.front());
  for (const auto* list : {&among.reads, &among.writes, &among.updates})
    if (!list->empty()) return view({list->front().buffer, 0, 0});
  return {};
}

Result<void> World::submit_kernel(const Work& step, const Call& call) {
  using Words = std::span<std::uint32_t>;
  const auto bytes_of = [](auto words) {
    return std::vector<Bytes>{
        {reinterpret_cast<std::uintptr_t>(words.data()), words.size(), Element::u32}};
  };
  const Work* const work = &step;
  const auto code = kernel(step.name, [work, bytes_of](Cell, std::span<const std::uint32_t> in,
                                                       Words both, Out<std::uint32_t> out) {
    const Words whole(out.data(), out.size());
    const Words written = whole.first(whole.size() - static_cast<std::size_t>(work->leaves));
    Computation{work->compute, work->value,       work->name,
                bytes_of(in),  bytes_of(written), bytes_of(both)}
        .run();
  });
  const Touches& touches = step.declared;
  return without_value(stream(step.stream)
                           .launch(code, Grid(1, call.site), words_of(touches.reads, touches),
                                   words_of(touches.updates, touches),
                                   words_of(touches.writes, touches)));
}

Result<void> World::perform(const Record& step, const Call& call) {
  return stream(step.stream).record(event(step.event), call.site);
}

Result<void> World::perform(const WaitEvent& step, const Call& call) {
  return stream(step.stream).wait_event(event(step.event), call.site);
}

Result<void> World::perform(const WaitStream& step, const Call& call) {
  return stream(step.stream).wait(stream(step.other), call.site);
}

Result<void> World::perform(const WaitTimeline& step, const Call& call) {
  return stream(step.stream).wait(timeline(step.timeline), step.value, call.site);
}

Result<void> World::perform(const Signal& step, const Call& call) {
  const Timeline timeline = timelines_[step.timeline];
  if (step.stream) return stream(*step.stream).signal(timeline, step.value, call.site);
  return timeline.signal(step.value, call.site);
}

Result<void> World::perform(const HostWait& step, const Call& call) {
  const Deadline deadline = deadline_of(step.deadline);
  if (step.event) return event(*step.event).wait(deadline, call.site);
  return timeline(*step.timeline).wait(step.value, deadline, call.site);
}

Result<void> World::perform(const Create& step, const Call& call) {
  return create(step.object, call);
}

Result<void> World::create(ObjectId object, const Call& call) {
  const Device& device = call.run.device();
  switch (object.kind) {
    case ObjectKind::stream:
      return create_stream(object.index, call);
    case ObjectKind::buffer:
      return create_buffer(object.index, call);
    case ObjectKind::event: {
      THALWEG_TRY_ASSIGN(events_[object.index], Event::create(device, call.site));
      return {};
    }
    case ObjectKind::timeline: {
      const std::uint64_t value = scenario_.timelines[object.index].value;
      THALWEG_TRY_ASSIGN(timelines_[object.index], Timeline::create(device, value, call.site));
      return {};
    }
  }
  return {};
}

Result<void> World::create_stream(std::size_t index, const Call& call) {
  const StreamSpec& spec = scenario_.streams[index];
  const StreamOptions options{.priority = spec.priority, .name = spec.name};
  THALWEG_TRY_ASSIGN(streams_[index], Stream::create(call.run.device(), options, call.site));
  return {};
}

Result<void> World::create_buffer(std::size_t index, const Call& call) {
  const BufferSpec& spec = scenario_.buffers[index];
  const Stream home = streams_[spec.home];
  const std::uint64_t bytes = spec.count * size_of(spec.element);
  const AllocationOptions options{.tag = spec.name};
  if (!spec.host) {
    THALWEG_TRY_ASSIGN(buffers_[index], Buffer::create(home, bytes, options, call.site));
    return {};
  }
  THALWEG_TRY_ASSIGN(const auto array,
                     HostArray<std::uint8_t>::create(home, bytes, options, call.site));
  buffers_[index] = array.buffer();
  return {};
}

Result<void> World::perform(const Drop& step, const Call&) {
  switch (step.object.kind) {
    case ObjectKind::stream:
      streams_[step.object.index] = Stream();
      break;
    case ObjectKind::buffer:
      buffers_[step.object.index] = Buffer();
      break;
    case ObjectKind::event:
      events_[step.object.index] = Event();
      break;
    case ObjectKind::timeline:
      timelines_[step.object.index] = Timeline();
      break;
  }
  return {};
}

template <class T>
void World::check_values(const Range& range, const Values& expect, const std::vector<T>& found,
                         const Call& call) {
  if (expect.empty()) return;
  const bool one_for_all = expect.size() == 1;
  std::size_t wrong = 0;
  while (wrong != found.size() && found[wrong] == expect[one_for_all ? 0 : wrong]) ++wrong;
  // Many are shown from the first on that is not what it should be.
  const std::size_t from = wrong < kShownMax || wrong == found.size() ? 0 : wrong;
  const Range shown{range.buffer, range.first + from, range.count - from};
  check(wrong == found.size(),
        fmt::format("{} is {}; expected {}.", text_of(shown),
                    values_text(std::span(found).subspan(from)),
                    values_text(std::span(expect).subspan(one_for_all ? 0 : from))),
        call);
}

Result<void> World::perform(const Read& step, const Call& call) {
  return std::visit(
      [&]<class T>(const View<T>& from) -> Result<void> {
        auto future = stream(step.stream).read(from, call.site);
        // What is refused is known at once, and so are values that are there by now.
        if (!step.wait && !future.ready()) return {};
        THALWEG_TRY_ASSIGN(const std::vector<T> found,
                           future.get(deadline_of(step.deadline), call.site));
        check_values(step.from, step.expect, found, call);
        return {};
      },
      view_of(step.from));
}

template <class T>
Result<void> World::map_as(const Map& step, const View<T>& view, const Call& call) {
  const auto open = [&](auto mode) -> Result<void> {
    THALWEG_TRY_ASSIGN(const auto mapped, map(view, mode, deadline_of(step.deadline), call.site));
    const std::vector<T> found(mapped.begin(), mapped.end());
    check_values(step.of, step.expect, found, call);
    if constexpr (!std::is_same_v<decltype(mode), ForReading>) {
      if (step.value) std::fill(mapped.begin(), mapped.end(), static_cast<T>(*step.value));
    }
    return {};
  };
  if (step.mode == MapFor::reading) return open(for_reading);
  return step.mode == MapFor::writing ? open(for_writing) : open(for_update);
}

Result<void> World::perform(const Map& step, const Call& call) {
  return std::visit([&](const auto& view) { return map_as(step, view, call); }, view_of(step.of));
}

Result<void> World::perform(const Synchronize& step, const Call& call) {
  const Deadline deadline = deadline_of(step.deadline);
  if (step.stream) return stream(*step.stream).synchronize(deadline, call.site);
  return call.run.device().synchronize(deadline, call.site);
}

Result<void> World::perform(const Query& step, const Call& call) {
  const EventState state = event(step.event).query();
  if (step.expect.empty()) return {};
  std::string expected;
  for (const EventState allowed : step.expect)
    expected += fmt::format("{}{}", expected.empty() ? "" : " or ", scenario::name(allowed));
  const bool holds = std::find(step.expect.begin(), step.expect.end(), state) != step.expect.end();
  check(holds,
        fmt::format("the event '{}' is {}; expected {}.", scenario_.events[step.event].name,
                    scenario::name(state), expected),
        call);
  return {};
}

Result<void> World::perform(const Poll& step, const Call& call) {
  const bool idle = call.run.device().poll();
  if (step.expect)
    check(idle == *step.expect, fmt::format("poll() gives {}; expected {}.", idle, *step.expect),
          call);
  return {};
}

Result<void> World::perform(const Repeat& step, const Call& call) {
  for (std::uint64_t i = 0; i < step.times; ++i) perform(step.steps, call.run);
  return {};
}

}  // namespace thalweg::tool::scenario
