// SPDX-License-Identifier: Apache-2.0
//
// A trace as lanes in a picture of its own: no script, no font, nothing to load. What the pointer
// rests on says its events in full.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "explore/lanes.hpp"
#include "explore/xml.hpp"
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

// Pixels.
constexpr std::uint32_t kLetter = 7;
constexpr std::uint32_t kMargin = 16;
constexpr std::uint32_t kTop = 40;
constexpr std::uint32_t kRowHeight = 46;
constexpr std::uint32_t kBoxHeight = 28;
constexpr std::uint32_t kLineHeight = 18;
constexpr std::uint32_t kApart = 7;
constexpr std::size_t kLabelMax = 24;
constexpr std::size_t kNoteMax = 110;

constexpr std::string_view kStyle = R"(<style>
.page{fill:#ffffff}.stripe{fill:#f5f7f9}.lane{stroke:#c9d1d9}.tick{stroke:#e3e7eb}
text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#1f2328}
.small{font-size:11px;fill:#656d76}.name{font-weight:600}
.box{stroke-width:1.2}.raw{stroke-dasharray:5 3}.waiting{fill-opacity:.25;stroke-dasharray:2 3}
.kernel{fill:#d4e4fd;stroke:#2f6bc9}.move{fill:#cdeee0;stroke:#1f8a5f}
.fill{fill:#e8def9;stroke:#7a52c4}.host{fill:#fdebc8;stroke:#b0791c}
.native{fill:#d2edf5;stroke:#1b7f9e}.order{fill:#eaedf0;stroke:#848d97}
.edge{fill:none;stroke:#57606a;stroke-width:1.3}.head{fill:#57606a}
.call{fill:#57606a}.hold{fill:#b0791c;fill-opacity:.2;stroke:#b0791c}
.found{stroke:#d1242f;stroke-width:2.6}.fault{stroke:#d1242f;stroke-dasharray:4 3}
.badge{fill:#d1242f}.bang{fill:#ffffff;font-weight:700}.bad{fill:#d1242f}
@media(prefers-color-scheme:dark){
.page{fill:#0f1318}.stripe{fill:#161b22}.lane{stroke:#3b434d}.tick{stroke:#21272f}
text{fill:#dde3ea}.small{fill:#8d96a0}
.kernel{fill:#1d3a68;stroke:#78a9f5}.move{fill:#14463a;stroke:#4fca9c}
.fill{fill:#39295f;stroke:#b195f2}.host{fill:#4d3a12;stroke:#e3b450}
.native{fill:#103f4e;stroke:#56bfdf}.order{fill:#2a313a;stroke:#8d96a0}
.edge{stroke:#9aa4af}.head{fill:#9aa4af}.call{fill:#9aa4af}
.hold{fill:#e3b450;stroke:#e3b450}
.found{stroke:#ff6b6b}.fault{stroke:#ff6b6b}.badge{fill:#ff6b6b}.bang{fill:#0f1318}
.bad{fill:#ff8080}}
</style>
<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="head" d="M0 0L8 4L0 8z"/></marker></defs>
)";

std::string_view class_of(neutral::TaskKind kind) noexcept {
  switch (kind) {
    case neutral::TaskKind::kernel:
    case neutral::TaskKind::indirect:
      return "kernel";
    case neutral::TaskKind::copy:
    case neutral::TaskKind::upload:
    case neutral::TaskKind::read_back:
      return "move";
    case neutral::TaskKind::fill:
      return "fill";
    case neutral::TaskKind::host:
      return "host";
    case neutral::TaskKind::native:
      return "native";
    default:
      return "order";
  }
}

std::string_view legend_of(std::string_view a_class) noexcept {
  if (a_class == "kernel") return "kernel";
  if (a_class == "move") return "copy, upload, read";
  if (a_class == "fill") return "fill";
  if (a_class == "host") return "host function";
  if (a_class == "native") return "native";
  return "order only";
}

std::uint32_t width_of(std::string_view text) noexcept {
  return static_cast<std::uint32_t>(xml::count(text)) * kLetter;
}

// As many words as fit; a part of one that is longer than a line.
std::string_view first_line(std::string_view text) {
  const std::string_view most = xml::first(text, kNoteMax);
  const std::size_t space = most.find_last_of(' ');
  const bool whole = most.size() == text.size() || space == std::string_view::npos;
  return whole ? most : most.substr(0, space + 1);
}

std::string row_label(const Row& row) {
  std::string label = lanes::lane_text(row.lane);
  if (row.lane == kHostLane) label = "host";
  if (!row.name.empty()) label += " " + xml::shortened(row.name, kLabelMax);
  return label;
}

std::string box_label(const Box& box) {
  const std::string serial = box.event().raw ? "raw" : std::to_string(box.event().serial);
  return serial + " " + xml::shortened(lanes::label_of(box), kLabelMax);
}

std::string box_class(const Box& box) {
  std::string classes = fmt::format("box {}", class_of(box.event().task));
  if (box.event().raw) classes += " raw";
  if (box.run == nullptr) classes += " waiting";
  if (box.found || (box.run != nullptr && !box.run->text.empty())) classes += " found";
  return classes;
}

std::string title_of(const Box& box) {
  std::string text;
  if (box.submit != nullptr) text += to_text(*box.submit) + "\n";
  for (const TraceEvent* wait : box.waits) text += to_text(*wait) + "\n";
  return text + (box.run != nullptr ? to_text(*box.run) : "It has not run.");
}

class Picture {
 public:
  explicit Picture(const Layout& layout) : layout_(layout) {
    for (const Row& row : layout_.rows) left_ = std::max(left_, width_of(row_label(row)));
    left_ += 2 * kMargin;
    place();
  }

  std::string text() {
    // What stands below says how wide the picture is.
    add_notes();
    add_legend();
    add_lanes();
    add_times();
    for (const Box& box : layout_.boxes) add(box);
    add_edges();
    for (const HostWait& wait : layout_.host_waits) add(wait);
    for (const Mark& mark : layout_.marks) add(mark);
    return head() + std::move(body_) + "</svg>\n";
  }

 private:
  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(body_), format, std::forward<Args>(args)...);
  }

  void place() {
    std::vector<Need> needs;
    for (const Box& box : layout_.boxes)
      needs.push_back({box.begin, box.end, width_of(box_label(box)) + 3 * kLetter});
    for (const HostWait& wait : layout_.host_waits)
      needs.push_back({wait.begin, wait.end, 4 * kLetter});
    const std::vector<Moment> ends = lanes::ends_of_marks(layout_);
    for (std::size_t i = 0; i < ends.size(); ++i) {
      const Mark& mark = layout_.marks[i];
      needs.push_back({mark.at, ends[i], width_of(lanes::label_of(mark)) + 3 * kLetter});
      if (mark.event->kind == TraceKind::finding && mark.at > 0)
        needs.push_back({mark.at - 1, mark.at, 2 * kLetter});
    }
    places_ = lanes::places_of(layout_, kApart, needs);
    width_ = left_ + (places_.empty() ? 0 : places_.back()) + kMargin;
    width_ = std::max(width_, left_ + 40 * kLetter);
  }

  std::uint32_t x(Moment at) const noexcept { return left_ + places_[at]; }
  static std::uint32_t y(std::size_t row) noexcept {
    return kTop + static_cast<std::uint32_t>(row) * kRowHeight;
  }
  static std::uint32_t middle(std::size_t row) noexcept { return y(row) + kRowHeight / 2; }
  std::uint32_t bottom() const noexcept { return y(layout_.rows.size()); }

  std::string head() const;
  void add_lanes();
  void add_times();
  void add_edges();
  void add_edge(const Box& from, const Box& to);
  void add(const Box& box);
  void add(const HostWait& wait);
  void add(const Mark& mark);
  void add_finding(const Mark& mark);
  void add_notes();
  void add_note(std::string_view a_class, std::string_view text);
  void add_legend();

  const Layout& layout_;
  std::vector<std::uint32_t> places_;
  std::uint32_t left_ = 0;
  std::uint32_t width_ = 0;
  std::uint32_t below_ = 0;  // Pixels used below the lanes.
  std::string body_;
};

std::string Picture::head() const {
  const std::uint32_t height = bottom() + below_ + kMargin;
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" role=\"img\">\n<title>{2} tasks</title>\n{3}"
      "<rect class=\"page\" width=\"{0}\" height=\"{1}\"/>\n",
      width_, height, layout_.boxes.size(), kStyle);
}

void Picture::add_lanes() {
  for (std::size_t i = 0; i < layout_.rows.size(); ++i) {
    if (i % 2 == 0)
      put("<rect class=\"stripe\" x=\"0\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n", y(i), width_,
          kRowHeight);
    put("<text class=\"name\" x=\"{}\" y=\"{}\">{}</text>\n", kMargin, middle(i) + 4,
        xml::escaped(row_label(layout_.rows[i])));
    put("<line class=\"lane\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>\n", left_, middle(i),
        width_ - kMargin, middle(i));
  }
}

void Picture::add_times() {
  if (places_.empty() || layout_.times_ns.back() == 0) return;
  std::uint32_t free = 0;
  for (Moment at = 0; at < places_.size(); ++at) {
    const std::uint64_t time_ns = layout_.times_ns[at];
    if (at > 0 && time_ns == layout_.times_ns[at - 1]) continue;
    put("<line class=\"tick\" x1=\"{0}\" y1=\"{1}\" x2=\"{0}\" y2=\"{2}\"/>\n", x(at), kTop - 6,
        bottom());
    const std::string text = lanes::time_text(time_ns);
    if (x(at) < free) continue;
    put("<text class=\"small\" x=\"{}\" y=\"{}\">{}</text>\n", x(at), kTop - 12, text);
    free = x(at) + width_of(text) + kLetter;
  }
}

void Picture::add_edges() {
  std::map<std::pair<std::int32_t, std::uint64_t>, const Box*> boxes;
  for (const Box& box : layout_.boxes)
    if (!box.event().raw) boxes.emplace(std::pair(box.event().lane, box.event().serial), &box);
  for (const Box& box : layout_.boxes) {
    for (const TraceEvent* wait : box.waits) {
      const auto source = boxes.find({wait->other_lane, wait->other_serial});
      if (source != boxes.end()) add_edge(*source->second, box);
    }
  }
}

// From the end of one box to the beginning of the other, in the room between their rows.
void Picture::add_edge(const Box& from, const Box& to) {
  constexpr std::uint32_t kInside = 6;
  constexpr std::uint32_t kHalf = kBoxHeight / 2;
  constexpr std::uint32_t kBend = kRowHeight - kBoxHeight;
  const bool down = to.row >= from.row;
  const std::uint32_t x1 = x(from.end) - kInside;
  const std::uint32_t x2 = x(to.begin) + kInside;
  const std::uint32_t y1 = down ? middle(from.row) + kHalf : middle(from.row) - kHalf;
  const std::uint32_t y2 = down ? middle(to.row) - kHalf : middle(to.row) + kHalf;
  put("<path class=\"edge\" marker-end=\"url(#head)\" d=\"M{} {}C{} {} {} {} {} {}\">"
      "<title>{} waits for {}</title></path>\n",
      x1, y1, x1, down ? y1 + kBend : y1 - kBend, x2, down ? y2 - kBend : y2 + kBend, x2, y2,
      lanes::point_of(to.event()), lanes::point_of(from.event()));
}

void Picture::add(const Box& box) {
  const std::uint32_t width = x(box.end) > x(box.begin) ? x(box.end) - x(box.begin) : kLetter;
  put("<g><title>{}</title><rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" "
      "rx=\"4\"/><text x=\"{}\" y=\"{}\">{}</text></g>\n",
      xml::escaped(title_of(box)), box_class(box), x(box.begin), middle(box.row) - kBoxHeight / 2,
      width, kBoxHeight, x(box.begin) + kLetter, middle(box.row) + 4, xml::escaped(box_label(box)));
}

void Picture::add(const HostWait& wait) {
  const std::uint32_t begin = x(wait.begin);
  const std::uint32_t width = x(wait.end) > begin ? x(wait.end) - begin : kLetter;
  std::string title = to_text(*wait.began);
  title += "\n" + (wait.went != nullptr ? to_text(*wait.went) : "It still waits.");
  put("<g><title>{}</title><rect class=\"hold\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"12\" "
      "rx=\"6\"/></g>\n",
      xml::escaped(title), begin, middle(wait.row) - 6, width);
}

void Picture::add(const Mark& mark) {
  if (mark.event->kind == TraceKind::finding) return add_finding(mark);
  const bool refused = mark.event->kind == TraceKind::refuse;
  put("<g><title>{}</title><circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"3.5\"/>"
      "<text class=\"small\" x=\"{}\" y=\"{}\">{}</text></g>\n",
      xml::escaped(to_text(*mark.event)), refused ? "bad" : "call", x(mark.at), middle(mark.row),
      x(mark.at) + kLetter, middle(mark.row) - 7, xml::escaped(lanes::label_of(mark)));
}

void Picture::add_finding(const Mark& mark) {
  put("<g><title>{0}</title><line class=\"fault\" x1=\"{1}\" y1=\"{2}\" x2=\"{1}\" y2=\"{3}\"/>"
      "<circle class=\"badge\" cx=\"{1}\" cy=\"{4}\" r=\"9\"/>"
      "<text class=\"bang\" x=\"{1}\" y=\"{5}\" text-anchor=\"middle\">!</text></g>\n",
      xml::escaped(mark.event->text), x(mark.at), kTop - 6, bottom(), middle(mark.row),
      middle(mark.row) + 4);
}

void Picture::add_note(std::string_view a_class, std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = first_line(text);
    text.remove_prefix(line.size());
    below_ += kLineHeight;
    // Letters are a little wider in some fonts.
    width_ = std::max(width_, width_of(line) * 21 / 20 + 2 * kMargin);
    put("<text class=\"{}\" x=\"{}\" y=\"{}\">{}</text>\n", a_class, kMargin, bottom() + below_,
        xml::escaped(line));
  }
}

void Picture::add_notes() {
  for (const lanes::Note& note : lanes::notes_of(layout_))
    add_note(note.bad ? "bad" : "small", fmt::format("{} {}", note.sign, note.text));
}

void Picture::add_legend() {
  std::set<std::string_view> classes;
  for (const Box& box : layout_.boxes) classes.insert(class_of(box.event().task));
  std::uint32_t at = kMargin;
  below_ += kLineHeight + 6;
  for (const std::string_view a_class : classes) {
    put("<rect class=\"box {}\" x=\"{}\" y=\"{}\" width=\"14\" height=\"10\" rx=\"2\"/>"
        "<text class=\"small\" x=\"{}\" y=\"{}\">{}</text>\n",
        a_class, at, bottom() + below_ - 9, at + 20, bottom() + below_, legend_of(a_class));
    at += 20 + width_of(legend_of(a_class)) + 3 * kLetter;
  }
  width_ = std::max(width_, at);
}

constexpr std::string_view kEmpty =
    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"240\" height=\"40\" viewBox=\"0 0 240 40\" "
    "role=\"img\"><title>The trace is empty.</title><rect width=\"240\" height=\"40\" "
    "fill=\"#ffffff\"/><text x=\"16\" y=\"25\" font-family=\"monospace\" font-size=\"12\">"
    "The trace is empty.</text></svg>\n";

}  // namespace

std::string lanes_svg(const Trace& trace) {
  if (trace.empty()) return std::string(kEmpty);
  const Layout layout = lanes::layout_of(trace);
  return Picture(layout).text();
}

}  // namespace thalweg
