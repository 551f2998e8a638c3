// SPDX-License-Identifier: Apache-2.0
//
// A trace as lanes of letters:
//
//   time  0        10us
//   h     s0@1 s1@1 (s1@1...)       Calls; what the host waits for, as long as it waits.
//   s0    -----[1 fill]------       A task: its serial and its name,
//   s1    ------------[1 copy <s0@1]-                               and what it waits for.
//   marks: (...) the host waits                                     Of those that occur.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "explore/lanes.hpp"
#include "thalweg/explore.hpp"

namespace thalweg {
namespace {

using lanes::Box;
using lanes::HostWait;
using lanes::Layout;
using lanes::Mark;
using lanes::Moment;
using lanes::Need;
using lanes::Row;
using lanes::Span;

constexpr std::size_t kLabelMax = 16;
constexpr std::size_t kColumnsMin = 20;

// One column a letter: what is not ASCII has no width that we know.
std::string letters(std::string_view text, std::size_t length_max) {
  std::string plain;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool continues = (byte & 0xc0) == 0x80;
    if (!continues) plain += byte < 0x20 || byte >= 0x7f ? '?' : c;
  }
  if (plain.size() <= length_max) return plain;
  return plain.substr(0, length_max - 2) + "..";
}

std::string row_label(const Row& row) {
  std::string label = lanes::lane_text(row.lane);
  if (!row.name.empty()) label += " " + letters(row.name, kLabelMax);
  return label;
}

std::string box_label(const Box& box) {
  const TraceEvent& event = box.event();
  std::string label;
  if (box.found) label += '!';
  if (box.run == nullptr) label += '?';
  if (box.run != nullptr && !box.run->text.empty()) label += 'x';
  label += event.raw ? "raw" : std::to_string(event.serial);
  label += ' ';
  label += letters(lanes::label_of(box), kLabelMax);
  for (const TraceEvent* wait : box.waits)
    label += " <" + lanes::point_text(wait->other_lane, wait->other_serial);
  return label;
}

std::string wait_label(const HostWait& wait) {
  return lanes::point_text(wait.began->other_lane, wait.began->other_serial);
}

std::string mark_label(const Mark& mark) { return letters(lanes::label_of(mark), kLabelMax); }

class Canvas {
 public:
  explicit Canvas(const Layout& layout) : layout_(layout), places_(place()) {
    const std::size_t width = places_.empty() ? 0 : places_.back() + 1;
    for (const Row& row : layout_.rows) lines_.emplace_back(width, row.lane < 0 ? ' ' : '-');
  }

  void draw() {
    for (const Box& box : layout_.boxes) draw(box, "[" + box_label(box), ' ', ']');
    for (const HostWait& wait : layout_.host_waits)
      draw(wait, "(" + wait_label(wait), '.', wait.went != nullptr ? ')' : '.');
    for (const Mark& mark : layout_.marks) draw(mark);
  }

  // The lanes, cut where a line would be longer than `columns_max`.
  std::string text(std::size_t columns_max) const;

 private:
  static Need need_of(const Span& span, const std::string& label) {
    return {span.begin, span.end, static_cast<std::uint32_t>(label.size() + 2)};
  }

  std::vector<std::uint32_t> place() const {
    std::vector<Need> needs;
    for (const Box& box : layout_.boxes) needs.push_back(need_of(box, box_label(box)));
    for (const HostWait& wait : layout_.host_waits) {
      needs.push_back(need_of(wait, wait_label(wait)));
      add_needs_inside(wait, needs);
    }
    const std::vector<Moment> ends = lanes::ends_of_marks(layout_);
    for (std::size_t i = 0; i < ends.size(); ++i) {
      const std::size_t width = mark_label(layout_.marks[i]).size() + 1;
      needs.push_back({layout_.marks[i].at, ends[i], static_cast<std::uint32_t>(width)});
    }
    return lanes::places_of(layout_, 1, needs);
  }

  // What is called while the host waits stands behind the label, and before the end of the wait.
  void add_needs_inside(const HostWait& wait, std::vector<Need>& needs) const {
    for (const Mark& mark : layout_.marks) {
      if (mark.row != wait.row || mark.at <= wait.begin || mark.at >= wait.end) continue;
      needs.push_back(
          {wait.begin, mark.at, static_cast<std::uint32_t>(wait_label(wait).size() + 2)});
      needs.push_back({mark.at, wait.end, static_cast<std::uint32_t>(mark_label(mark).size() + 1)});
    }
  }

  void draw(const Span& span, const std::string& text, char filling, char end) {
    const std::size_t from = places_[span.begin];
    const std::size_t to = places_[span.end];
    if (to < from + text.size() + 1) return;
    std::string& line = lines_[span.row];
    std::fill_n(line.begin() + static_cast<std::ptrdiff_t>(from), to - 1 - from, filling);
    line.replace(from, text.size(), text);
    line[to - 1] = end;
  }

  void draw(const Mark& mark) {
    std::string& line = lines_[mark.row];
    const std::size_t from = places_[mark.at];
    if (mark.event->kind == TraceKind::end)
      line.replace(from, line.size(), line.size() - from, ' ');
    const std::string label = mark_label(mark);
    if (from + label.size() <= line.size()) line.replace(from, label.size(), label);
  }

  // The times of the columns [from, from + columns), as far as there is room.
  std::string times(std::size_t from, std::size_t columns) const {
    std::string line(columns, ' ');
    std::size_t free = from;
    for (Moment at = 0; at < places_.size(); ++at) {
      const std::uint64_t time_ns = layout_.times_ns[at];
      if (at > 0 && time_ns == layout_.times_ns[at - 1]) continue;
      const std::string text = lanes::time_text(time_ns);
      if (places_[at] < free || places_[at] + text.size() > from + columns) continue;
      line.replace(places_[at] - from, text.size(), text);
      free = places_[at] + text.size() + 1;
    }
    return line;
  }

  // Columns up to the last one that says something.
  std::size_t width() const noexcept {
    std::size_t width = 0;
    for (const std::string& line : lines_)
      width = std::max(width, line.find_last_not_of("- ") + 1);  // npos + 1 is 0.
    return width;
  }

  bool timed() const noexcept { return !layout_.times_ns.empty() && layout_.times_ns.back() != 0; }

  const Layout& layout_;
  std::vector<std::uint32_t> places_;
  std::vector<std::string> lines_;
};

void add_line(std::string& text, std::string_view label, std::size_t width, std::string_view line) {
  text += fmt::format("{:<{}}{}", label, width, line);
  text.erase(text.find_last_not_of(' ') + 1);
  text += '\n';
}

std::string Canvas::text(std::size_t columns_max) const {
  std::size_t label_width = timed() ? 4 : 0;  // "time"
  for (const Row& row : layout_.rows) label_width = std::max(label_width, row_label(row).size());
  label_width += 2;
  const std::size_t columns = std::max(columns_max, label_width + kColumnsMin) - label_width;
  std::string text;
  for (std::size_t from = 0; from == 0 || from < width(); from += columns) {
    const std::size_t shown = std::min(columns, width() - from);
    if (from > 0) text += '\n';
    if (timed()) add_line(text, "time", label_width, times(from, columns));
    for (std::size_t i = 0; i < lines_.size(); ++i)
      add_line(text, row_label(layout_.rows[i]), label_width,
               std::string_view(lines_[i]).substr(from, shown));
  }
  return text;
}

// What the marks mean that occur.
std::string legend_text(const Layout& layout) {
  const auto any_box = [&layout](const auto& has) {
    return std::any_of(layout.boxes.begin(), layout.boxes.end(), has);
  };
  const auto any_mark = [&layout](TraceKind kind) {
    return std::any_of(layout.marks.begin(), layout.marks.end(),
                       [kind](const Mark& mark) { return mark.event->kind == kind; });
  };
  std::string text;
  const auto add = [&text](bool occurs, std::string_view words) {
    if (occurs) text += fmt::format("{}{}", text.empty() ? "marks: " : ", ", words);
  };
  add(!layout.host_waits.empty(), "(...) the host waits");
  add(any_mark(TraceKind::allocate), "+b0 a buffer is made");
  add(any_mark(TraceKind::drop), "-b0 is dropped");
  add(any_mark(TraceKind::finding) || any_box([](const Box& box) { return box.found; }),
      "! a finding");
  add(any_box([](const Box& box) { return box.run == nullptr; }), "? has not run");
  add(any_box([](const Box& box) { return box.run != nullptr && !box.run->text.empty(); }),
      "x failed");
  return text.empty() ? text : text + "\n";
}

std::string notes_text(const Layout& layout) {
  std::string text;
  for (const lanes::Note& note : lanes::notes_of(layout))
    text += fmt::format("{} {}\n", note.sign, letters(note.text, note.text.size()));
  return text.empty() ? text : "\n" + text;
}

}  // namespace

std::string lanes_text(const Trace& trace, std::size_t columns_max) {
  if (trace.empty()) return "The trace is empty.\n";
  const Layout layout = lanes::layout_of(trace);
  Canvas canvas(layout);
  canvas.draw();
  return canvas.text(columns_max) + legend_text(layout) + notes_text(layout);
}

}  // namespace thalweg
