// SPDX-License-Identifier: Apache-2.0

#include "explore/lanes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace thalweg::lanes {
namespace {

// What is put on a queue past the runtime has no serial: all of a lane has one key, and runs in its
// order.
using Key = std::pair<std::int32_t, std::uint64_t>;

Key key_of(std::int32_t lane, std::uint64_t serial, bool raw) noexcept {
  return {lane, raw ? std::numeric_limits<std::uint64_t>::max() : serial};
}

Key key_of(const TraceEvent& event) noexcept { return key_of(event.lane, event.serial, event.raw); }

// Of a call about a stream, `other_lane` is the actor. A finding stands with the calls: what it is
// about is marked where it lies, and may have run long before.
std::int32_t lane_of_mark(const TraceEvent& event) noexcept {
  if (event.lane < 0 || event.kind == TraceKind::end) return event.lane;
  return event.kind == TraceKind::finding ? kHostLane : std::min(event.other_lane, kHostLane);
}

// The rows, and what lies on them; not yet where.
class Reader {
 public:
  explicit Reader(const Trace& trace) : trace_(trace) {}

  Layout read() {
    add_rows();
    for (const TraceEvent& event : trace_) add(event);
    for (const auto& [key, waits] : waits_) add_waits(key, waits);
    return std::move(layout_);
  }

 private:
  void add_rows() {
    std::set<std::int32_t, std::greater<>> actors{kHostLane};
    std::map<std::int32_t, std::string_view> streams;
    for (const TraceEvent& event : trace_) {
      for (const std::int32_t lane : {event.lane, event.other_lane}) {
        if (lane < 0) actors.insert(lane);
        if (lane >= 0) streams.emplace(lane, std::string_view());
      }
      if (event.kind == TraceKind::stream && event.lane >= 0) streams[event.lane] = event.text;
    }
    for (const std::int32_t lane : actors) add_row(lane, {});
    for (const auto& [lane, name] : streams) add_row(lane, name);
  }

  void add_row(std::int32_t lane, std::string_view name) {
    rows_.emplace(lane, layout_.rows.size());
    layout_.rows.push_back({lane, name});
  }

  void add(const TraceEvent& event) {
    switch (event.kind) {
      case TraceKind::stream:
        return;
      case TraceKind::wait:
        waits_[key_of(event)].push_back(&event);
        return;
      case TraceKind::run:
        box_to_run(event).run = &event;
        return;
      case TraceKind::host_wait:
        return begin_host_wait(event);
      case TraceKind::host_went:
        return end_host_wait(event);
      case TraceKind::submit:
        new_box(event).submit = &event;
        break;
      case TraceKind::finding:
        flag(key_of(event));
        flag(key_of(event.other_lane, event.other_serial, false));
        break;
      default:
        break;
    }
    layout_.marks.push_back({rows_.at(lane_of_mark(event)), 0, &event});
  }

  Box& new_box(const TraceEvent& event) {
    boxes_[key_of(event)].push_back(layout_.boxes.size());
    Box& box = layout_.boxes.emplace_back();
    box.row = rows_.at(event.lane);
    return box;
  }

  // The first of its key that has not run; a new one when no submission was written down.
  Box& box_to_run(const TraceEvent& event) {
    for (const std::size_t index : boxes_[key_of(event)])
      if (layout_.boxes[index].run == nullptr) return layout_.boxes[index];
    return new_box(event);
  }

  void begin_host_wait(const TraceEvent& event) {
    open_waits_[event.lane] = layout_.host_waits.size();
    HostWait& wait = layout_.host_waits.emplace_back();
    wait.row = rows_.at(std::min(event.lane, kHostLane));
    wait.began = &event;
  }

  void end_host_wait(const TraceEvent& event) {
    const auto open = open_waits_.find(event.lane);
    if (open == open_waits_.end()) return;
    layout_.host_waits[open->second].went = &event;
    open_waits_.erase(open);
  }

  void flag(Key key) {
    const auto boxes = boxes_.find(key);
    if (boxes == boxes_.end()) return;
    for (const std::size_t index : boxes->second) layout_.boxes[index].found = true;
  }

  // A wait may be written down before its task, or after it.
  void add_waits(Key key, const std::vector<const TraceEvent*>& waits) {
    const auto boxes = boxes_.find(key);
    if (boxes != boxes_.end()) layout_.boxes[boxes->second.front()].waits = waits;
  }

  const Trace& trace_;
  Layout layout_;
  std::map<std::int32_t, std::size_t> rows_;
  std::map<Key, std::vector<std::size_t>> boxes_;
  std::map<Key, std::vector<const TraceEvent*>> waits_;
  std::map<std::int32_t, std::size_t> open_waits_;  // By actor.
};

// What needs a moment.
struct Item {
  std::uint64_t time_ns = 0;
  std::size_t turn = 0;  // In the trace.
  bool alone = false;    // Shares its moment with nothing.
  bool ends = false;
  Moment* at = nullptr;
  Moment* then = nullptr;  // Of a task that takes no time: its end.
};

// Not before its beginning, whatever the numbers are.
std::uint64_t end_of(const TraceEvent& run) noexcept {
  return std::max(run.time_ns, run.time_ns + run.duration_ns);
}

bool before(const Item& a, const Item& b) noexcept {
  if (a.time_ns != b.time_ns) return a.time_ns < b.time_ns;
  if (a.ends != b.ends) return a.ends;
  return a.turn < b.turn;
}

// Says where the parts of a layout lie.
class Placer {
 public:
  Placer(const Trace& trace, Layout& layout) : trace_(trace), layout_(layout) {}

  void place() {
    find_times_of_calls();
    std::vector<Item> items;
    add_tasks(items);
    add_calls(items);
    std::sort(items.begin(), items.end(), before);
    for (const Item& item : items) place(item);
    place_what_never_ran();
    // What comes last needs room as well.
    if (!layout_.times_ns.empty()) fresh(layout_.times_ns.back());
    for (HostWait& wait : layout_.host_waits)
      if (wait.went == nullptr) wait.end = layout_.times_ns.size() - 1;
  }

 private:
  std::size_t turn_of(const TraceEvent* event) const noexcept {
    return static_cast<std::size_t>(event - trace_.data());
  }

  // A call without a time of its own comes behind the beginning of what ran before it. The end of a
  // stream is written down when nothing more can come, and comes when its work is done.
  void find_times_of_calls() {
    std::map<std::int32_t, std::uint64_t> lane_ends_ns;
    std::uint64_t begun_ns = 0;
    std::uint64_t call_ns = 0;
    for (const TraceEvent& event : trace_) {
      if (event.kind == TraceKind::run) {
        begun_ns = std::max(begun_ns, event.time_ns);
        std::uint64_t& end_ns = lane_ends_ns[event.lane];
        end_ns = std::max(end_ns, end_of(event));
      } else if (event.kind != TraceKind::end) {
        call_ns = std::max(call_ns, event.time_ns != 0 ? event.time_ns : begun_ns);
      }
      call_times_ns_.push_back(event.kind == TraceKind::end
                                   ? std::max(event.time_ns, lane_ends_ns[event.lane])
                                   : call_ns);
    }
  }

  void add_tasks(std::vector<Item>& items) {
    for (Box& box : layout_.boxes) {
      if (box.run == nullptr) continue;
      const std::uint64_t begin_ns = box.run->time_ns;
      const std::uint64_t end_ns = end_of(*box.run);
      const std::size_t turn = turn_of(box.run);
      if (begin_ns == end_ns) {
        items.push_back({begin_ns, turn, false, false, &box.begin, &box.end});
        continue;
      }
      items.push_back({begin_ns, turn, false, false, &box.begin, nullptr});
      items.push_back({end_ns, turn, false, true, &box.end, nullptr});
    }
  }

  void add_calls(std::vector<Item>& items) {
    for (Mark& mark : layout_.marks) add_call(items, mark.event, mark.at);
    for (HostWait& wait : layout_.host_waits) {
      add_call(items, wait.began, wait.begin);
      if (wait.went != nullptr) add_call(items, wait.went, wait.end);
    }
  }

  void add_call(std::vector<Item>& items, const TraceEvent* event, Moment& at) {
    const std::size_t turn = turn_of(event);
    items.push_back({call_times_ns_[turn], turn, true, false, &at, nullptr});
  }

  void place(const Item& item) {
    const bool shares = !item.alone && open_ && layout_.times_ns.back() == item.time_ns;
    *item.at = shares ? layout_.times_ns.size() - 1 : fresh(item.time_ns);
    if (item.then != nullptr) *item.then = fresh(item.time_ns);
    open_ = !item.alone;
  }

  Moment fresh(std::uint64_t time_ns) {
    layout_.times_ns.push_back(time_ns);
    return layout_.times_ns.size() - 1;
  }

  // Behind everything else, one after the other in each row.
  void place_what_never_ran() {
    const std::uint64_t last_ns = layout_.times_ns.empty() ? 0 : layout_.times_ns.back();
    std::map<std::size_t, Moment> next;  // By row.
    Moment first = 0;
    for (Box& box : layout_.boxes) {
      if (box.run != nullptr) continue;
      if (next.empty()) first = fresh(last_ns);
      Moment& at = next.emplace(box.row, first).first->second;
      box.begin = at++;
      if (at == layout_.times_ns.size()) fresh(last_ns);
      box.end = at;
    }
  }

  const Trace& trace_;
  Layout& layout_;
  std::vector<std::uint64_t> call_times_ns_;  // By turn.
  bool open_ = false;                         // What begins or ends may share the last moment.
};

// Steps of the logarithm between two times, where `unit_ns` is the shortest time between any two.
std::uint32_t steps_between(std::uint64_t from_ns, std::uint64_t to_ns, std::uint64_t unit_ns) {
  if (to_ns == from_ns) return 0;
  return static_cast<std::uint32_t>(std::bit_width((to_ns - from_ns) / unit_ns));
}

std::uint64_t shortest_step_ns(const std::vector<std::uint64_t>& times_ns) {
  std::uint64_t shortest = std::numeric_limits<std::uint64_t>::max();
  for (std::size_t i = 1; i < times_ns.size(); ++i)
    if (times_ns[i] != times_ns[i - 1])
      shortest = std::min(shortest, times_ns[i] - times_ns[i - 1]);
  return shortest;
}

}  // namespace

Layout layout_of(const Trace& trace) {
  Layout layout = Reader(trace).read();
  Placer(trace, layout).place();
  return layout;
}

std::vector<std::uint32_t> places_of(const Layout& layout, std::uint32_t apart,
                                     const std::vector<Need>& needs) {
  const std::vector<std::uint64_t>& times_ns = layout.times_ns;
  std::vector<std::vector<Need>> ending(times_ns.size());
  for (const Need& need : needs) ending[need.end].push_back(need);
  const std::uint64_t unit_ns = shortest_step_ns(times_ns);
  std::vector<std::uint32_t> places(times_ns.size(), 0);
  for (Moment at = 0; at < times_ns.size(); ++at) {
    if (at > 0)
      places[at] =
          places[at - 1] + apart * (1 + steps_between(times_ns[at - 1], times_ns[at], unit_ns));
    for (const Need& need : ending[at])
      if (need.begin != at) places[at] = std::max(places[at], places[need.begin] + need.width);
  }
  return places;
}

std::vector<Moment> ends_of_marks(const Layout& layout) {
  std::vector<std::vector<Moment>> taken(layout.rows.size());
  for (const Box& box : layout.boxes) taken[box.row].push_back(box.begin);
  for (const HostWait& wait : layout.host_waits) taken[wait.row].push_back(wait.begin);
  for (const Mark& mark : layout.marks) taken[mark.row].push_back(mark.at);
  for (std::vector<Moment>& row : taken) std::sort(row.begin(), row.end());
  std::vector<Moment> ends;
  for (const Mark& mark : layout.marks) {
    const std::vector<Moment>& row = taken[mark.row];
    const auto next = std::upper_bound(row.begin(), row.end(), mark.at);
    ends.push_back(next == row.end() ? layout.times_ns.size() - 1 : *next);
  }
  return ends;
}

std::string lane_text(std::int32_t lane) {
  if (lane == kHostLane) return "h";
  return lane < 0 ? fmt::format("h{}", -1 - std::int64_t{lane}) : fmt::format("s{}", lane);
}

std::string point_text(std::int32_t lane, std::uint64_t serial) {
  return lane < 0 ? fmt::format("timeline {}", serial)
                  : fmt::format("{}@{}", lane_text(lane), serial);
}

std::string point_of(const TraceEvent& event) {
  return event.raw ? lane_text(event.lane) + " raw" : point_text(event.lane, event.serial);
}

std::string_view label_of(const Box& box) {
  if (box.submit == nullptr) return "task";
  return box.submit->text.empty() ? name(box.submit->task) : box.submit->text;
}

std::string label_of(const Mark& mark) {
  const TraceEvent& event = *mark.event;
  switch (event.kind) {
    case TraceKind::submit:
      return point_of(event);
    case TraceKind::allocate:
      return fmt::format("+b{}", event.buffer);
    case TraceKind::drop:
      return fmt::format("-b{}", event.buffer);
    case TraceKind::map:
      return fmt::format("map b{}", event.buffer);
    case TraceKind::unmap:
      return fmt::format("unmap b{}", event.buffer);
    case TraceKind::signal:
      return fmt::format("signal {}", event.serial);
    case TraceKind::refuse:
      return "refused";
    case TraceKind::finding:
      return "!";
    case TraceKind::end:
      return "end";
    default:
      return std::string(name(event.kind));
  }
}

std::vector<Note> notes_of(const Layout& layout) {
  const auto call_site = [](const TraceEvent& event) {
    return event.file.empty() ? "" : fmt::format(" {}:{}", event.file, event.line);
  };
  std::vector<Note> notes;
  for (const Mark& mark : layout.marks) {
    const TraceEvent& event = *mark.event;
    if (event.kind == TraceKind::finding) notes.push_back({"!", event.text, true});
    if (event.kind == TraceKind::refuse)
      notes.push_back({"refused:", event.text + call_site(event), false});
  }
  for (const Box& box : layout.boxes) {
    const std::string task = fmt::format("{} {}", point_of(box.event()), label_of(box));
    if (box.run == nullptr)
      notes.push_back({"?", fmt::format("{} has not run.{}", task, call_site(box.event())), false});
    else if (!box.run->text.empty())
      notes.push_back({"x", fmt::format("{}: {}", task, box.run->text), true});
  }
  return notes;
}

std::string time_text(std::uint64_t time_ns) {
  if (time_ns == 0) return "0";
  if (time_ns % 1'000'000 == 0) return fmt::format("{}ms", time_ns / 1'000'000);
  if (time_ns % 1'000 == 0) return fmt::format("{}us", time_ns / 1'000);
  return fmt::format("{}ns", time_ns);
}

}  // namespace thalweg::lanes
