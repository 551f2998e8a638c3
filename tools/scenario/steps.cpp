// SPDX-License-Identifier: Apache-2.0

#include "scenario/steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "text.hpp"

namespace thalweg::tool::scenario {
namespace {

using json::Kind;
using json::Node;

using What = decltype(Step::what);
using Keys = std::vector<std::string_view>;

constexpr std::uint64_t kU64Max = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kDeadlineUsMax = 1'000'000'000'000;

// Reads "4" in "x[4:8]".
bool read_number(std::string_view text, std::uint64_t& number) noexcept {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

class StepReader {
 public:
  StepReader(const Scenario& scenario, const Names& names) : scenario_(scenario), names_(names) {}

  Result<std::vector<Step>> list(const Fields& fields, std::string_view key) {
    THALWEG_TRY_ASSIGN(const auto items, fields.list_if_any(key));
    std::vector<Step> steps;
    for (const Node* item : items) {
      THALWEG_TRY_ASSIGN(steps.emplace_back(), step(*item, fields.file()));
    }
    return steps;
  }

 private:
  struct Verb {
    std::string_view name;
    Result<What> (StepReader::*read)(const Fields&);
  };
  static const std::vector<Verb>& verbs();

  Result<Step> step(const Node& node, std::string_view file) {
    THALWEG_TRY_ASSIGN(const Fields unnamed, Fields::of(node, "a step", file));
    THALWEG_TRY_ASSIGN(const Verb* const verb, verb_of(unnamed));
    THALWEG_TRY_ASSIGN(const Fields fields,
                       Fields::of(node, fmt::format("the step '{}'", verb->name), file));
    Step step;
    step.line = node.line;
    step.verb = verb->name;
    THALWEG_TRY_ASSIGN(step.what, (this->*verb->read)(fields));
    THALWEG_TRY_ASSIGN(step.outcomes, outcomes(fields));
    return step;
  }

  Result<const Verb*> verb_of(const Fields& fields) {
    std::vector<std::string_view> names;
    for (const Verb& verb : verbs()) names.push_back(verb.name);
    THALWEG_TRY_ASSIGN(const Node* const node, fields.need("do", one_of(names)));
    for (const Verb& verb : verbs())
      if (node->kind == Kind::text && node->text == verb.name) return &verb;
    return fields.refusal("do", *node, one_of(names));
  }

  static Result<void> only(const Fields& fields, Keys keys) {
    keys.insert(keys.end(), {"do", "note", "expect_error"});
    return fields.only(keys);
  }

  // Kinds of errors by name. The enumerators have no holes, and an unknown one has no name.
  static Result<std::vector<Outcome>> outcomes(const Fields& fields) {
    std::vector<std::string_view> known{"none"};
    for (int i = 0; name(static_cast<ErrorKind>(i)) != "unknown"; ++i)
      known.push_back(name(static_cast<ErrorKind>(i)));
    std::vector<Outcome> outcomes;
    THALWEG_TRY_ASSIGN(const auto items, one_at_least(fields, "expect_error"));
    for (const Node* item : items) {
      const auto word = std::find(known.begin(), known.end(), item->text);
      if (item->kind != Kind::text || word == known.end())
        return fields.refusal("expect_error", *item, one_of(known));
      const auto index = word - known.begin();
      outcomes.push_back(index == 0 ? Outcome() : Outcome(static_cast<ErrorKind>(index - 1)));
    }
    return outcomes;
  }

  // What may come of a step. A list of nothing would say that nothing may, or that anything may.
  static Result<std::vector<const Node*>> one_at_least(const Fields& fields, std::string_view key) {
    std::vector<const Node*> items = fields.one_or_more(key);
    const Node* const node = fields.find(key);
    if (node == nullptr || !items.empty()) return items;
    return fields.error(node->line, fmt::format("\"{}\" of {} is an empty list; it takes one item "
                                                "at least.",
                                                key, fields.what()));
  }

  Result<std::size_t> stream(const Fields& fields) const {
    return names_.of_kind(fields, "on", ObjectKind::stream);
  }

  Result<std::optional<std::size_t>> stream_if_any(const Fields& fields) const {
    if (fields.find("on") == nullptr) return std::optional<std::size_t>();
    THALWEG_TRY_ASSIGN(const std::size_t index, stream(fields));
    return std::optional(index);
  }

  // Ranges.

  Result<Range> range(const Fields& fields, std::string_view key) const {
    THALWEG_TRY_ASSIGN(const Node* const node, fields.need(key, kRangeWords));
    return range_of(fields, key, *node);
  }

  Result<Range> range_of(const Fields& fields, std::string_view key, const Node& node) const {
    if (node.kind == Kind::text) return range_of_text(fields, key, node);
    if (node.kind != Kind::object) return fields.refusal(key, node, kRangeWords);
    THALWEG_TRY_ASSIGN(
        const Fields inner,
        Fields::of(node, fmt::format("\"{}\" of {}", key, fields.what()), fields.file()));
    THALWEG_TRY(inner.only({"buffer", "first", "count"}));
    Range range;
    THALWEG_TRY_ASSIGN(range.buffer, names_.of_kind(inner, "buffer", ObjectKind::buffer));
    THALWEG_TRY_ASSIGN(range.first, inner.whole("first", {0, kU64Max}));
    THALWEG_TRY_ASSIGN(range.count, inner.whole("count", {0, kU64Max}));
    return inside(fields, key, node, range);
  }

  Result<Range> range_of_text(const Fields& fields, std::string_view key, const Node& node) const {
    const std::string_view text = node.text;
    const std::size_t bracket = std::min(text.find('['), text.size());
    Range range;
    THALWEG_TRY_ASSIGN(range.buffer, names_.of_kind(fields, key, node, text.substr(0, bracket),
                                                    ObjectKind::buffer));
    range.count = scenario_.buffers[range.buffer].count;
    if (bracket == text.size()) return range;
    const std::size_t colon = text.find(':', bracket);
    std::uint64_t end = 0;
    if (colon == std::string_view::npos || text.back() != ']' ||
        !read_number(text.substr(bracket + 1, colon - bracket - 1), range.first) ||
        !read_number(text.substr(colon + 1, text.size() - colon - 2), end) || end < range.first)
      return fields.refusal(key, node, kRangeWords);
    range.count = end - range.first;
    return inside(fields, key, node, range);
  }

  Result<Range> inside(const Fields& fields, std::string_view key, const Node& node,
                       const Range& range) const {
    const BufferSpec& buffer = scenario_.buffers[range.buffer];
    if (range.first <= buffer.count && range.count <= buffer.count - range.first) return range;
    return fields.error(
        node.line,
        fmt::format("\"{}\" of {} has {} elements from element {}, and the buffer "
                    "'{}' has {}.",
                    key, fields.what(), range.count, range.first, buffer.name, buffer.count));
  }

  Result<std::vector<Range>> ranges(const Fields& fields, std::string_view key) const {
    std::vector<Range> found;
    for (const Node* item : fields.one_or_more(key)) {
      THALWEG_TRY_ASSIGN(found.emplace_back(), range_of(fields, key, *item));
    }
    return found;
  }

  Result<Touches> touches(const Fields& fields, const std::string& prefix = {}) const {
    Touches touches;
    THALWEG_TRY_ASSIGN(touches.reads, ranges(fields, prefix + "reads"));
    THALWEG_TRY_ASSIGN(touches.writes, ranges(fields, prefix + "writes"));
    THALWEG_TRY_ASSIGN(touches.updates, ranges(fields, prefix + "updates"));
    if (touches.count() <= kAccessesMax) return touches;
    return fields.error(fields.node().line,
                        fmt::format("{} has {} accesses; it takes {} at most.", fields.what(),
                                    touches.count(), kAccessesMax));
  }

  // Values.

  Element element(const Range& range) const { return scenario_.buffers[range.buffer].element; }

  static Limits limits_of(Element element) { return {0, element == Element::u8 ? 0xffu : ~0u}; }

  Result<std::uint32_t> value(const Fields& fields, Element element) const {
    THALWEG_TRY_ASSIGN(const std::uint64_t value, fields.whole("value", limits_of(element)));
    return static_cast<std::uint32_t>(value);
  }

  // One for all, or one for each.
  Result<Values> values_if_any(const Fields& fields, std::string_view key,
                               const Range& range) const {
    Values values;
    for (const Node* item : fields.one_or_more(key)) {
      THALWEG_TRY_ASSIGN(const std::uint64_t value,
                         fields.whole_of(key, *item, limits_of(element(range))));
      values.push_back(static_cast<std::uint32_t>(value));
    }
    const Node* const node = fields.find(key);
    if (node == nullptr || node->kind != Kind::list || values.size() == range.count) return values;
    return fields.error(node->line, fmt::format("\"{}\" of {} has {} values for {} elements.", key,
                                                fields.what(), values.size(), range.count));
  }

  static Result<DeadlineNs> deadline(const Fields& fields) {
    THALWEG_TRY_ASSIGN(const auto within, fields.whole_if_any("deadline_us", {0, kDeadlineUsMax}));
    return within ? DeadlineNs(*within * 1000) : DeadlineNs();
  }

  // The steps.

  Result<What> fill(const Fields& fields) {
    THALWEG_TRY(only(fields, {"on", "to", "value"}));
    Fill step;
    THALWEG_TRY_ASSIGN(step.stream, stream(fields));
    THALWEG_TRY_ASSIGN(step.to, range(fields, "to"));
    THALWEG_TRY_ASSIGN(step.value, value(fields, element(step.to)));
    return What(step);
  }

  Result<What> copy(const Fields& fields) {
    THALWEG_TRY(only(fields, {"on", "to", "from"}));
    Copy step;
    THALWEG_TRY_ASSIGN(step.stream, stream(fields));
    THALWEG_TRY_ASSIGN(step.to, range(fields, "to"));
    THALWEG_TRY_ASSIGN(step.from, range(fields, "from"));
    if (element(step.to) == element(step.from)) return What(step);
    return fields.error(fields.node().line,
                        "the step 'copy' has two types of elements; \"to\" and \"from\" take one.");
  }

  Result<What> upload(const Fields& fields) {
    THALWEG_TRY(only(fields, {"on", "to", "values"}));
    Upload step;
    THALWEG_TRY_ASSIGN(step.stream, stream(fields));
    THALWEG_TRY_ASSIGN(step.to, range(fields, "to"));
    THALWEG_TRY(fields.need("values", "a whole number or a list of them"));
    THALWEG_TRY_ASSIGN(step.values, values_if_any(fields, "values", step.to));
    return What(std::move(step));
  }

  Result<void> read_compute(const Fields& fields, Work& work) const {
    THALWEG_TRY_ASSIGN(const std::size_t compute,
                       fields.choice_or_first("compute", {"mix", "set", "add"}));
    work.compute = static_cast<Compute>(compute);
    const Node* const value_node = fields.find("value");
    if (work.compute == Compute::mix && value_node != nullptr)
      return fields.error(
          value_node->line,
          fmt::format("\"value\" of {} has no meaning where \"compute\" is 'mix'.", fields.what()));
    if (work.compute != Compute::mix) {
      THALWEG_TRY_ASSIGN(work.value, value(fields, Element::u32));
    }
    const bool writes = !work.declared.writes.empty() || !work.undeclared.writes.empty();
    if (work.compute != Compute::add || !writes) return {};
    return fields.error(fields.node().line,
                        fmt::format("{} adds to what it has under \"updates\", and has \"writes\".",
                                    fields.what()));
  }

  Result<Work> work(const Fields& fields, WorkKind kind) const {
    Work work;
    work.kind = kind;
    THALWEG_TRY_ASSIGN(work.stream, stream(fields));
    if (kind != WorkKind::native) {
      THALWEG_TRY_ASSIGN(work.name, fields.text("name"));
      const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
      if (work.name.size() > kNameMax || std::any_of(work.name.begin(), work.name.end(), control))
        return fields.refusal(
            "name", *fields.find("name"),
            fmt::format("a text of at most {} bytes without control characters", kNameMax));
    }
    THALWEG_TRY_ASSIGN(Touches touched, touches(fields));
    (kind == WorkKind::raw ? work.undeclared : work.declared) = std::move(touched);
    return work;
  }

  Result<What> host(const Fields& fields) {
    THALWEG_TRY(
        only(fields, {"on", "name", "reads", "writes", "updates", "undeclared_reads",
                      "undeclared_writes", "undeclared_updates", "compute", "value", "steps"}));
    THALWEG_TRY_ASSIGN(Work step, work(fields, WorkKind::host));
    THALWEG_TRY_ASSIGN(step.undeclared, touches(fields, "undeclared_"));
    THALWEG_TRY(read_compute(fields, step));
    THALWEG_TRY_ASSIGN(step.steps, list(fields, "steps"));
    return What(std::move(step));
  }

  Result<What> native(const Fields& fields) {
    THALWEG_TRY(only(fields, {"on", "reads", "writes", "updates", "undeclared_reads",
                              "undeclared_writes", "undeclared_updates", "compute", "value"}));
    THALWEG_TRY_ASSIGN(Work step, work(fields, WorkKind::native));
    THALWEG_TRY_ASSIGN(step.undeclared, touches(fields, "undeclared_"));
    THALWEG_TRY(read_compute(fields, step));
    return What(std::move(step));
  }

  Result<What> raw(const Fields& fields) {
    THALWEG_TRY(only(fields, {"on", "name", "reads", "writes", "updates", "compute", "value"}));
    THALWEG_TRY_ASSIGN(Work step, work(fields, WorkKind::raw));
    THALWEG_TRY(read_compute(fields, step));
    return What(std::move(step));
  }

  // A kernel's parameters are fixed: at most one range of each kind, of 32-bit elements.
  Result<What> kernel(const Fields& fields) {
    THALWEG_TRY(
        only(fields, {"on", "name", "reads", "writes", "updates", "compute", "value", "leaves"}));
    THALWEG_TRY_ASSIGN(Work step, work(fields, WorkKind::kernel));
    const Touches& touched = step.declared;
    if (touched.reads.size() > 1 || touched.writes.size() > 1 || touched.updates.size() > 1 ||
        touched.count() == 0)
      return fields.error(fields.node().line,
                          fmt::format("{} takes one range at most under each of \"reads\", "
                                      "\"writes\" and \"updates\", and one in all at least.",
                                      fields.what()));
    for (const auto* list : {&touched.reads, &touched.writes, &touched.updates})
      if (!list->empty() && element(list->front()) != Element::u32)
        return fields.error(fields.node().line, fields.what() + " takes buffers of u32 alone.");
    THALWEG_TRY(read_compute(fields, step));
    const std::uint64_t written = touched.writes.empty() ? 0 : touched.writes.front().count;
    THALWEG_TRY_ASSIGN(const auto leaves, fields.whole_if_any("leaves", {0, written}));
    step.leaves = leaves.value_or(0);
    return What(std::move(step));
  }

  Result<What> touch(const Fields& fields) {
    THALWEG_TRY(only(fields, {"on", "reads", "writes", "updates"}));
    Touch step;
    THALWEG_TRY_ASSIGN(step.stream, stream(fields));
    THALWEG_TRY_ASSIGN(step.touches, touches(fields));
    return What(std::move(step));
  }

  // Record or WaitEvent.
  template <class Kind>
  Result<What> with_event(const Fields& fields) {
    THALWEG_TRY(only(fields, {"on", "event"}));
    Kind step;
    THALWEG_TRY_ASSIGN(step.stream, stream(fields));
    THALWEG_TRY_ASSIGN(step.event, names_.of_kind(fields, "event", ObjectKind::event));
    return What(step);
  }

  Result<What> wait_stream(const Fields& fields) {
    THALWEG_TRY(only(fields, {"on", "stream"}));
    WaitStream step;
    THALWEG_TRY_ASSIGN(step.stream, stream(fields));
    THALWEG_TRY_ASSIGN(step.other, names_.of_kind(fields, "stream", ObjectKind::stream));
    return What(step);
  }

  Result<What> wait_timeline(const Fields& fields) {
    THALWEG_TRY(only(fields, {"on", "timeline", "value"}));
    WaitTimeline step;
    THALWEG_TRY_ASSIGN(step.stream, stream(fields));
    THALWEG_TRY_ASSIGN(step.timeline, names_.of_kind(fields, "timeline", ObjectKind::timeline));
    THALWEG_TRY_ASSIGN(step.value, fields.whole("value", {0, kU64Max}));
    return What(step);
  }

  Result<What> signal(const Fields& fields) {
    THALWEG_TRY(only(fields, {"on", "timeline", "value"}));
    Signal step;
    THALWEG_TRY_ASSIGN(step.stream, stream_if_any(fields));
    THALWEG_TRY_ASSIGN(step.timeline, names_.of_kind(fields, "timeline", ObjectKind::timeline));
    THALWEG_TRY_ASSIGN(step.value, fields.whole("value", {0, kU64Max}));
    return What(step);
  }

  Result<What> host_wait(const Fields& fields) {
    THALWEG_TRY(only(fields, {"event", "timeline", "value", "deadline_us"}));
    HostWait step;
    if ((fields.find("event") != nullptr) == (fields.find("timeline") != nullptr))
      return fields.error(fields.node().line,
                          fields.what() + " needs either \"event\" or \"timeline\".");
    if (fields.find("event") != nullptr) {
      THALWEG_TRY_ASSIGN(step.event, names_.of_kind(fields, "event", ObjectKind::event));
      if (const Node* node = fields.find("value"))
        return fields.error(node->line, "\"value\" goes with \"timeline\" alone.");
    } else {
      THALWEG_TRY_ASSIGN(step.timeline, names_.of_kind(fields, "timeline", ObjectKind::timeline));
      THALWEG_TRY_ASSIGN(step.value, fields.whole("value", {0, kU64Max}));
    }
    THALWEG_TRY_ASSIGN(step.deadline, deadline(fields));
    return What(step);
  }

  // Create or Drop.
  template <class Kind>
  Result<What> with_object(const Fields& fields) {
    THALWEG_TRY(only(fields, {"name"}));
    THALWEG_TRY_ASSIGN(const ObjectId object, names_.any(fields, "name"));
    return What(Kind{object});
  }

  Result<What> read(const Fields& fields) {
    THALWEG_TRY(only(fields, {"on", "from", "expect", "deadline_us", "wait"}));
    Read step;
    THALWEG_TRY_ASSIGN(step.stream, stream(fields));
    THALWEG_TRY_ASSIGN(step.from, range(fields, "from"));
    THALWEG_TRY_ASSIGN(step.expect, values_if_any(fields, "expect", step.from));
    THALWEG_TRY_ASSIGN(step.deadline, deadline(fields));
    THALWEG_TRY_ASSIGN(step.wait, fields.truth_or("wait", true));
    if (step.wait || (step.expect.empty() && !step.deadline)) return What(std::move(step));
    return fields.error(fields.node().line,
                        "the step 'read' has \"expect\" or \"deadline_us\" and does not wait.");
  }

  Result<What> map(const Fields& fields) {
    THALWEG_TRY(only(fields, {"of", "for", "expect", "value", "deadline_us"}));
    Map step;
    THALWEG_TRY_ASSIGN(step.of, range(fields, "of"));
    THALWEG_TRY_ASSIGN(const std::size_t mode,
                       fields.choice_or_first("for", {"reading", "writing", "update"}));
    step.mode = static_cast<MapFor>(mode);
    THALWEG_TRY_ASSIGN(step.expect, values_if_any(fields, "expect", step.of));
    if (const Node* node = fields.find("value")) {
      if (step.mode == MapFor::reading)
        return fields.error(node->line, "\"value\" needs a map for 'writing' or 'update'.");
      THALWEG_TRY_ASSIGN(step.value, value(fields, element(step.of)));
    }
    THALWEG_TRY_ASSIGN(step.deadline, deadline(fields));
    return What(std::move(step));
  }

  Result<What> synchronize(const Fields& fields) {
    THALWEG_TRY(only(fields, {"on", "deadline_us"}));
    Synchronize step;
    THALWEG_TRY_ASSIGN(step.stream, stream_if_any(fields));
    THALWEG_TRY_ASSIGN(step.deadline, deadline(fields));
    return What(step);
  }

  Result<What> query(const Fields& fields) {
    THALWEG_TRY(only(fields, {"event", "expect"}));
    Query step;
    THALWEG_TRY_ASSIGN(step.event, names_.of_kind(fields, "event", ObjectKind::event));
    constexpr EventState kStates[] = {EventState::not_recorded, EventState::not_yet,
                                      EventState::done, EventState::lost};
    THALWEG_TRY_ASSIGN(const auto items, one_at_least(fields, "expect"));
    for (const Node* item : items) {
      const auto* const state =
          std::find_if(std::begin(kStates), std::end(kStates), [item](EventState candidate) {
            return item->kind == Kind::text && name(candidate) == item->text;
          });
      if (state == std::end(kStates))
        return fields.refusal("expect", *item, "not_recorded, not_yet, done or lost");
      step.expect.push_back(*state);
    }
    return What(std::move(step));
  }

  Result<What> poll(const Fields& fields) {
    THALWEG_TRY(only(fields, {"expect"}));
    Poll step;
    if (fields.find("expect") != nullptr) {
      THALWEG_TRY_ASSIGN(step.expect, fields.truth_or("expect", false));
    }
    return What(step);
  }

  Result<What> repeat(const Fields& fields) {
    THALWEG_TRY(only(fields, {"times", "steps"}));
    Repeat step;
    THALWEG_TRY_ASSIGN(step.times, fields.whole("times", {0, kRepeatsMax}));
    THALWEG_TRY(fields.need("steps", "a list of steps"));
    const std::uint64_t around =
        std::exchange(repeats_, repeats_ * std::max<std::uint64_t>(step.times, 1));
    if (repeats_ > kRepeatsMax)
      return fields.error(fields.node().line,
                          fmt::format("Repeats within repeats make {} in all, and the limit is {}.",
                                      repeats_, kRepeatsMax));
    THALWEG_TRY_ASSIGN(step.steps, list(fields, "steps"));
    repeats_ = around;
    return What(std::move(step));
  }

  static constexpr std::string_view kRangeWords =
      "'buffer', 'buffer[begin:end]' or {\"buffer\", \"first\", \"count\"}";

  const Scenario& scenario_;
  const Names& names_;
  std::uint64_t repeats_ = 1;  // Of the steps that are being read.
};

const std::vector<StepReader::Verb>& StepReader::verbs() {
  static const std::vector<Verb> verbs{
      {"fill", &StepReader::fill},
      {"copy", &StepReader::copy},
      {"upload", &StepReader::upload},
      {"host", &StepReader::host},
      {"native", &StepReader::native},
      {"kernel", &StepReader::kernel},
      {"raw", &StepReader::raw},
      {"touch", &StepReader::touch},
      {"record", &StepReader::with_event<Record>},
      {"wait_event", &StepReader::with_event<WaitEvent>},
      {"wait_stream", &StepReader::wait_stream},
      {"wait", &StepReader::wait_timeline},
      {"signal", &StepReader::signal},
      {"host_wait", &StepReader::host_wait},
      {"create", &StepReader::with_object<Create>},
      {"drop", &StepReader::with_object<Drop>},
      {"read", &StepReader::read},
      {"map", &StepReader::map},
      {"synchronize", &StepReader::synchronize},
      {"query", &StepReader::query},
      {"poll", &StepReader::poll},
      {"repeat", &StepReader::repeat},
  };
  return verbs;
}

}  // namespace

Result<std::vector<Step>> read_steps(const Fields& fields, std::string_view key,
                                     const Scenario& scenario, const Names& names) {
  return StepReader(scenario, names).list(fields, key);
}

}  // namespace thalweg::tool::scenario
