// SPDX-License-Identifier: Apache-2.0

#include "explore/schedules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace thalweg::explore_detail {
namespace {

std::string word(Process process) {
  if (process == sim::kNobody) return "-";
  if (process == sim::kCallbacks) return "cb";
  if (process == 0) return "h";
  if (process < sim::kActorsMax) return fmt::format("h{}", process);
  return fmt::format("s{}", process - sim::kFirstQueue);
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Process> process_of(std::string_view text) {
  if (text.empty()) return std::nullopt;
  if (text == "-") return sim::kNobody;
  if (text == "cb") return sim::kCallbacks;
  if (text == "h") return Process{0};
  const auto value = number(text.substr(1));
  if (!value) return std::nullopt;
  if (text.front() == 'h' && *value < sim::kActorsMax) return static_cast<Process>(*value);
  if (text.front() == 's' && *value < sim::kNobody - sim::kFirstQueue)
    return static_cast<Process>(*value + sim::kFirstQueue);
  return std::nullopt;
}

}  // namespace

std::string to_text(const Choices& choices) {
  if (choices.empty()) return word(sim::kNobody);
  std::string text;
  for (std::size_t i = 0; i != choices.size();) {
    std::size_t end = i + 1;
    while (end != choices.size() && choices[end] == choices[i]) ++end;
    if (!text.empty()) text += ' ';
    text += word(choices[i]);
    if (end - i > 1) text += fmt::format("x{}", end - i);
    i = end;
  }
  return text;
}

Result<Choices> choices_from(std::string_view text, std::source_location site) {
  constexpr std::uint64_t kTimesMax = 1'000'000;
  Choices choices;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    if (item.empty()) continue;
    const std::size_t cross = item.find('x');
    const auto process = process_of(item.substr(0, cross));
    const auto times = cross == std::string_view::npos ? std::optional<std::uint64_t>(1)
                                                       : number(item.substr(cross + 1));
    if (!process || !times || *times == 0 || *times > kTimesMax - choices.size())
      return Error(ErrorKind::invalid_argument,
                   fmt::format("`{}` is no choice of a schedule: h, h1 .. h15, cb, s0 ... and -, "
                               "with x and a number from 1 on behind it for a repetition, are; "
                               "at most {} in all.",
                               item, kTimesMax),
                   site);
    choices.insert(choices.end(), *times, *process);
  }
  return choices;
}

std::size_t Replay::choose(std::span<const Process> ready, Process) {
  if (ready.size() == 1 || next_ >= choices_.size()) return 0;
  const Process wanted = choices_[next_++];
  if (wanted == sim::kNobody) return 0;
  const auto found = std::find(ready.begin(), ready.end(), wanted);
  if (found != ready.end()) return static_cast<std::size_t>(found - ready.begin());
  return 0;
}

std::size_t fitting(const Choices& replayed, const Choices& made) noexcept {
  std::size_t fits = 0;
  while (fits != replayed.size() &&
         (replayed[fits] == sim::kNobody || (fits < made.size() && replayed[fits] == made[fits])))
    ++fits;
  return fits;
}

std::size_t Sequential::choose(std::span<const Process> ready, Process last) {
  const auto position = [ready](auto found) {
    return static_cast<std::size_t>(found - ready.begin());
  };
  const auto device = std::find_if(ready.begin(), ready.end(),
                                   [](Process process) { return process >= sim::kCallbacks; });
  if (device != ready.end()) return position(device);
  if (submitters_ != nullptr && world_.submitters().size() < submitters_->size()) {
    const Process next = (*submitters_)[world_.submitters().size()];
    const auto found = std::find(ready.begin(), ready.end(), next);
    if (found != ready.end()) return position(found);
  }
  const auto again = std::find(ready.begin(), ready.end(), last);
  return again == ready.end() ? 0 : position(again);
}

Priorities::Priorities(std::uint64_t seed, unsigned changes, std::uint64_t steps_expected)
    : random_(seed), lowest_(changes) {
  changes_.reserve(changes);
  for (unsigned i = 0; i != changes; ++i)
    changes_.push_back(random_.below(std::max<std::uint64_t>(steps_expected, 1)));
  std::sort(changes_.begin(), changes_.end());
}

// Those of the start are above those of the changes.
std::uint64_t Priorities::priority_of(Process process) {
  const auto known = priorities_.find(process);
  if (known != priorities_.end()) return known->second;
  const std::uint64_t drawn = changes_.size() + 1 + random_.next() % (std::uint64_t{1} << 32);
  priorities_.emplace(process, drawn);
  return drawn;
}

std::size_t Priorities::choose(std::span<const Process> ready, Process) {
  const auto best = [&] {
    return std::max_element(ready.begin(), ready.end(), [this](Process a, Process b) {
      const std::uint64_t first = priority_of(a);  // Drawn first, whatever the compiler.
      return first < priority_of(b);
    });
  };
  auto chosen = best();
  while (!changes_.empty() && changes_.front() <= step_) {
    changes_.erase(changes_.begin());
    priorities_.insert_or_assign(*chosen, lowest_ == 0 ? 0 : --lowest_);
    chosen = best();
  }
  if (ready.size() > 1) ++step_;
  return static_cast<std::size_t>(chosen - ready.begin());
}

}  // namespace thalweg::explore_detail
