// SPDX-License-Identifier: Apache-2.0

#include "scenario/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "scenario/fields.hpp"
#include "scenario/json_tree.hpp"
#include "scenario/names.hpp"
#include "scenario/steps.hpp"

namespace thalweg::tool::scenario {
namespace {

using json::Kind;
using json::Node;

constexpr std::uint64_t kU64Max = std::numeric_limits<std::uint64_t>::max();

class Reader {
 public:
  Reader(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  Result<Scenario> read() {
    scenario_.file = name_;
    const auto ends = static_cast<std::uint32_t>(std::count(text_.begin(), text_.end(), '\n'));
    scenario_.lines = ends + 1;  // A place may be behind the last end of a line.
    if (ends + (text_.ends_with('\n') ? 0 : 1) > kLinesMax)
      return error_at(name_, kLinesMax, fmt::format("There are more than {} lines.", kLinesMax));
    THALWEG_TRY_ASSIGN(const Node root, json::parse(text_, name_));
    THALWEG_TRY_ASSIGN(const Fields top, Fields::of(root, "the scenario", name_));
    THALWEG_TRY(top.only({"version", "about", "device", "streams", "buffers", "events", "timelines",
                          "program", "before", "actors", "after"}));
    THALWEG_TRY(top.whole("version", {1, 1}));
    THALWEG_TRY(read_device(top));
    THALWEG_TRY(read_objects(top));
    THALWEG_TRY(read_programs(top));
    return std::move(scenario_);
  }

 private:
  Result<void> read_device(const Fields& top) {
    if (top.find("about") != nullptr) THALWEG_TRY(top.text("about"));
    if (top.find("device") == nullptr) return {};
    scenario_.device_line = top.find("device")->line;
    THALWEG_TRY_ASSIGN(scenario_.device, top.text("device"));
    if (scenario_.device == "sim" || scenario_.device.starts_with("sim?")) return {};
    return top.refusal("device", *top.find("device"), "'sim' or 'sim?option=value&...'");
  }

  Result<void> read_objects(const Fields& top) {
    THALWEG_TRY(read_list(top, "streams", &Reader::read_stream));
    THALWEG_TRY(read_list(top, "buffers", &Reader::read_buffer));
    THALWEG_TRY(read_list(top, "events", &Reader::read_event));
    return read_list(top, "timelines", &Reader::read_timeline);
  }

  using ReadOne = Result<void> (Reader::*)(const Fields& fields);

  // An item may be the name alone: it then stands for an object that says no more.
  Result<void> read_list(const Fields& top, std::string_view key, ReadOne read_one) {
    THALWEG_TRY_ASSIGN(const auto items, top.list_if_any(key));
    if (items.size() > kObjectsMax)
      return top.error(items[kObjectsMax]->line,
                       fmt::format("\"{}\" has more than {} items.", key, kObjectsMax));
    for (const Node* item : items) {
      const Node expanded = item->kind == Kind::text ? named(*item) : *item;
      THALWEG_TRY_ASSIGN(const Fields fields,
                         Fields::of(expanded, fmt::format("an item of \"{}\"", key), name_));
      THALWEG_TRY((this->*read_one)(fields));
    }
    return {};
  }

  static Node named(const Node& name) {
    Node object;
    object.kind = Kind::object;
    object.line = name.line;
    object.members.push_back({"name", name.line, name});
    return object;
  }

  Result<void> read_declared(const Fields& fields, ObjectId object, Declared& declared) {
    THALWEG_TRY_ASSIGN(declared.name, names_.declare(fields, object));
    THALWEG_TRY_ASSIGN(declared.later, fields.truth_or("later", false));
    declared.line = fields.node().line;
    return {};
  }

  Result<void> read_stream(const Fields& fields) {
    THALWEG_TRY(fields.only({"name", "note", "priority", "later"}));
    StreamSpec stream;
    THALWEG_TRY(read_declared(fields, {ObjectKind::stream, scenario_.streams.size()}, stream));
    if (const Node* priority = fields.find("priority")) {
      constexpr std::uint64_t kMost = 1'000'000;
      if (priority->kind != Kind::whole || priority->whole > kMost)
        return fields.refusal("priority", *priority,
                              fmt::format("a whole number from -{} to {}", kMost, kMost));
      stream.priority = static_cast<int>(priority->whole);
      if (priority->negative) stream.priority = -stream.priority;
    }
    scenario_.streams.push_back(std::move(stream));
    return {};
  }

  Result<void> read_buffer(const Fields& fields) {
    THALWEG_TRY(fields.only({"name", "note", "home", "count", "type", "memory", "later"}));
    BufferSpec buffer;
    THALWEG_TRY(read_declared(fields, {ObjectKind::buffer, scenario_.buffers.size()}, buffer));
    THALWEG_TRY_ASSIGN(buffer.home, names_.of_kind(fields, "home", ObjectKind::stream));
    THALWEG_TRY_ASSIGN(const std::size_t type, fields.choice_or_first("type", {"u32", "u8"}));
    buffer.element = type == 0 ? Element::u32 : Element::u8;
    THALWEG_TRY_ASSIGN(buffer.count,
                       fields.whole("count", {0, kBufferBytesMax / size_of(buffer.element)}));
    THALWEG_TRY_ASSIGN(const std::size_t memory,
                       fields.choice_or_first("memory", {"device", "host"}));
    buffer.host = memory == 1;
    scenario_.buffers.push_back(std::move(buffer));
    return {};
  }

  Result<void> read_event(const Fields& fields) {
    THALWEG_TRY(fields.only({"name", "note", "later"}));
    EventSpec event;
    THALWEG_TRY(read_declared(fields, {ObjectKind::event, scenario_.events.size()}, event));
    scenario_.events.push_back(std::move(event));
    return {};
  }

  Result<void> read_timeline(const Fields& fields) {
    THALWEG_TRY(fields.only({"name", "note", "value", "later"}));
    TimelineSpec timeline;
    THALWEG_TRY(
        read_declared(fields, {ObjectKind::timeline, scenario_.timelines.size()}, timeline));
    THALWEG_TRY_ASSIGN(const auto value, fields.whole_if_any("value", {0, kU64Max}));
    timeline.value = value.value_or(0);
    scenario_.timelines.push_back(std::move(timeline));
    return {};
  }

  Result<void> read_programs(const Fields& top) {
    const Node* const program = top.find("program");
    const Node* const actors = top.find("actors");
    if (program == nullptr && actors == nullptr)
      return top.error(top.node().line, "the scenario needs \"program\" or \"actors\", a list.");
    if (program != nullptr && actors != nullptr)
      return top.error(std::max(program->line, actors->line),
                       "the scenario has \"program\" and \"actors\"; it takes one of them.");
    THALWEG_TRY_ASSIGN(scenario_.before, read_steps(top, "before", scenario_, names_));
    THALWEG_TRY_ASSIGN(scenario_.after, read_steps(top, "after", scenario_, names_));
    return actors != nullptr ? read_actors(top) : read_actor(top, "program");
  }

  Result<void> read_actor(const Fields& fields, std::string_view key) {
    THALWEG_TRY_ASSIGN(scenario_.actors.emplace_back(), read_steps(fields, key, scenario_, names_));
    return {};
  }

  // Each actor is a list; it is read like the value of a key.
  Result<void> read_actors(const Fields& top) {
    constexpr std::size_t kActorsMax = 16;
    THALWEG_TRY_ASSIGN(const auto items, top.list_if_any("actors"));
    if (items.empty() || items.size() > kActorsMax)
      return top.error(
          top.find("actors")->line,
          fmt::format("\"actors\" of the scenario has {} lists of steps; it takes 1 to "
                      "{}.",
                      items.size(), kActorsMax));
    for (const Node* item : items) {
      Node holder;
      holder.kind = Kind::object;
      holder.line = item->line;
      holder.members.push_back({"steps", item->line, *item});
      THALWEG_TRY_ASSIGN(const Fields fields, Fields::of(holder, "an actor", name_));
      THALWEG_TRY(read_actor(fields, "steps"));
    }
    return {};
  }

  const std::string_view text_;
  const std::string_view name_;
  Scenario scenario_;
  Names names_;
};

}  // namespace

Result<Scenario> parse(std::string_view text, std::string_view name) {
  return Reader(text, name).read();
}

std::string_view name(EventState state) noexcept {
  switch (state) {
    case EventState::not_recorded:
      return "not_recorded";
    case EventState::not_yet:
      return "not_yet";
    case EventState::done:
      return "done";
    case EventState::lost:
      return "lost";
  }
  return "unknown";
}

}  // namespace thalweg::tool::scenario
