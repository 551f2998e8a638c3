// SPDX-License-Identifier: Apache-2.0

#include "contract/support/misuse.hpp"

#include <algorithm>
#include <string_view>

namespace thalweg::contract {
namespace {

constexpr const char* kInvalid = "invalid_handle";
constexpr const char* kArgument = "invalid_argument";
constexpr const char* kContext = "context_mismatch";
constexpr const char* kBackend = "backend_mismatch";

bool is_one_of(std::string_view answer, std::string_view answers) {
  while (!answers.empty()) {
    const std::string_view one = answers.substr(0, answers.find('|'));
    if (one == answer) return true;
    answers.remove_prefix(std::min(one.size() + 1, answers.size()));
  }
  return answer.empty();
}

std::vector<int> numbers(std::uint64_t first) {
  std::vector<int> list(kElements);
  for (std::size_t i = 0; i != list.size(); ++i) list[i] = static_cast<int>(first + i);
  return list;
}

// What a call that is refused leaves as it was, in words that tell two states apart.
std::string state(const Handles& handles) {
  const Statistics counted = handles.device.statistics();
  const MemoryUsage device = handles.device.memory_usage();
  const MemoryUsage host = handles.device.host_memory_usage();
  std::string words;
  const auto add = [&words](std::string_view name, std::uint64_t value) {
    words += std::string(name) + "=" + std::to_string(value) + " ";
  };
  add("submissions", counted.submissions);
  add("empty_turns", counted.empty_turns);
  add("timeline_waits", counted.timeline_waits);
  add("waits_placed", counted.waits_placed);
  add("queues_created", counted.queues_created);
  add("allocations", device.allocations);
  add("live_bytes", device.live_bytes);
  add("host_allocations", host.allocations);
  add("host_live_bytes", host.live_bytes);
  add("timeline", handles.timeline.value());
  add("event", static_cast<std::uint64_t>(handles.event.query()));
  // Nothing is in flight: where memory can be mapped at all, it can be now, with the old values.
  const auto values = try_map(handles.array, for_writing);
  if (values) {
    for (const int value : *values) words += std::to_string(value) + ",";
  } else if (values.error().kind() != ErrorKind::unsupported) {
    words += values.error().to_string();
  }
  return words;
}

}  // namespace

Handles::Handles(Device opened)
    : device(std::move(opened)),
      stream(need(Stream::create(device))),
      other(need(Stream::create(device))),
      event(need(Event::create(device))),
      timed(need(TimedEvent::create(device))),
      timeline(need(Timeline::create(device, 1))),
      pool(need(StreamPool::create(device, 2))),
      array(need(Array<int>::create(stream, kElements))),
      view(array.view()),
      second(need(Array<int>::create(stream, kElements)).view()),
      host(need(HostArray<int>::create(stream, kElements))),
      extent(need(Array<Extent>::create(stream, 1)).view()) {
  need(stream.upload(array, numbers(1)));
  need(stream.fill(second, 5));
  need(stream.fill(host, 6));
  need(stream.upload(extent, std::vector<Extent>{{0, 0, 0}}));
  need(stream.record(event));
  need(stream.record(timed));
  task = need(stream.fill(second, 5));
  need(device.synchronize(kLimit));
}

Hands::Hands(const Handles& handles, const Handles* the_sibling, const Handles* the_foreign)
    : Handles(handles), sibling(the_sibling), foreign(the_foreign) {
  function = [count = ran] { ++*count; };
  add = kernel("add", +[](Cell at, std::span<int> to) { to[at.x] += 0; });
  // Nothing else is on that stream: in a task of the other one these pass all the same.
  future = other.host("nothing", {}, [] {});
  values = other.read(need(other.upload(std::vector<int>(kElements))));
  own = need(HostArray<int>::create(stream, kElements));
  if (auto open = map(own, for_writing)) mapped = *std::move(open);
  while (!future.ready() || !values.ready()) std::this_thread::yield();
}

void Hands::hold() {
  gate = std::make_shared<Gate>(device);
  held = need(Stream::create(device));
  held_event = need(Event::create(device));
  held_view = need(Array<int>::create(held, kElements)).view();
  gate->hold(held);
  need(held.fill(held_view, 1));
  held_future = held.host("held", {}, [] {});
  need(held.record(held_event));
  held_small = need(Stream::create(device, {.room_bytes = 1}));
  gate->hold(held_small);
}

Hands::~Hands() {
  gate.reset();
  for (const Stream& stream_held : {held, held_small})
    if (stream_held.valid()) static_cast<void>(stream_held.synchronize(kLimit));
}

// Entries.

Entry Entry::with(std::vector<Misuse> misuses) && {
  for (Misuse& misuse : misuses) misuses_.push_back(std::move(misuse));
  return std::move(*this);
}

Entry Entry::but(const std::string& what, std::string answer) && {
  const auto at = std::find_if(misuses_.begin(), misuses_.end(),
                               [&what](const Misuse& misuse) { return misuse.what == what; });
  if (at == misuses_.end()) {
    reason_ += "No misuse `" + what + "`. ";
  } else {
    at->answer = std::move(answer);
  }
  return std::move(*this);
}

Entry Entry::inside(std::string answer) && {
  inside_ = std::move(answer);
  return std::move(*this);
}

Entry Entry::in_child(std::string answer) && {
  in_child_ = std::move(answer);
  return std::move(*this);
}

Entry Entry::blocked(Use use, std::string answer) && {
  blocked_ = std::move(use);
  blocked_answer_ = std::move(answer);
  return std::move(*this);
}

Entry Entry::forbidden(std::string answer) && {
  forbidden_ = std::move(answer);
  return std::move(*this);
}

Entry Entry::one_thread() && {
  threads_ = false;
  return std::move(*this);
}

Entry Entry::unseen(std::string reason) && {
  reason_ = std::move(reason);
  return std::move(*this);
}

std::string Entry::faults() const {
  if (reason_.starts_with("No misuse")) return reason_;
  if (misuses_.empty() == reason_.empty())
    return misuses_.empty() ? "It lists no misuse and says not why." : "";
  return "";
}

void Entry::check_misuse(const Misuse& misuse, Hands& hands) const {
  std::string answer;
  if (misuse.call) {
    answer = misuse.call(hands);
  } else {
    misuse.change(hands);
    answer = use_(hands);
  }
  EXPECT_TRUE(is_one_of(answer, misuse.answer))
      << name_ << " with " << misuse.what << ": " << answer << ", and not " << misuse.answer;
}

void Entry::check_misuses(const Handles& handles, const Handles* sibling,
                          const Handles* foreign) const {
  const auto settle = [&] {
    for (const Handles* one : {&handles, sibling, foreign})
      if (one != nullptr) need(one->device.synchronize(kLimit));
  };
  const auto use_rightly = [&](const char* when) {
    Hands hands(handles, sibling, foreign);
    const std::string answer = use_(hands);
    EXPECT_TRUE(is_one_of(answer, right_)) << name_ << " used rightly " << when << ": " << answer;
    settle();
  };
  EXPECT_EQ(faults(), "") << name_;
  use_rightly("before");
  need(handles.stream.upload(handles.array, numbers(1)));
  for (const Misuse& misuse : misuses_) {
    Hands hands(handles, sibling, foreign);
    settle();
    const auto all = [&] { return state(handles) + state(*sibling) + state(*foreign); };
    const std::string before = all();
    check_misuse(misuse, hands);
    // A call that is taken runs, and may have made what it made.
    const bool taken = is_one_of("none", misuse.answer) || is_one_of("made", misuse.answer);
    hands.mapped_too.unmap();
    if (!taken) {
      EXPECT_EQ(all(), before) << name_ << " with " << misuse.what;
      EXPECT_EQ(*hands.ran, 0) << name_ << " with " << misuse.what << ": the function ran.";
    }
    settle();
  }
  use_rightly("after");
}

void Entry::check_blocked(const Handles& handles) const {
  if (!blocked_) return;
  Hands hands(handles, nullptr, nullptr);
  hands.hold();
  hands.deadline = Deadline(std::chrono::nanoseconds(0));
  const std::string before = state(handles);
  std::string answer = blocked_(hands);
  EXPECT_TRUE(is_one_of(answer, blocked_answer_)) << name_ << ", blocked: " << answer;
  {
    const NoWaitScope no_wait;
    hands.deadline = {};
    answer = blocked_(hands);
    EXPECT_TRUE(is_one_of(answer, forbidden_))
        << name_ << ", where waits are forbidden: " << answer;
  }
  EXPECT_EQ(state(handles), before) << name_;
}

// Tables.

std::vector<Table (*)()>& known_tables() {
  static auto& tables = *new std::vector<Table (*)()>;
  return tables;
}

bool add_table(Table (*table)()) {
  known_tables().push_back(table);
  return true;
}

Table whole_table() {
  Table whole;
  for (Table (*const table)() : known_tables())
    for (Entry& entry : table()) whole.push_back(std::move(entry));
  return whole;
}

std::vector<Misuse> bad_streams() {
  return {spoil("a default stream", kInvalid, [](Hands& h) { h.stream = {}; }),
          spoil("a moved-from stream", kInvalid, [](Hands& h) { leave(h.stream); })};
}

std::vector<Misuse> streams_of_others() {
  return {
      spoil("another device's stream", kContext, [](Hands& h) { h.stream = h.sibling->stream; }),
      spoil("another backend's stream", kBackend, [](Hands& h) { h.stream = h.foreign->stream; })};
}

std::vector<Misuse> bad_devices() {
  return {spoil("a default device", kInvalid, [](Hands& h) { h.device = {}; }),
          spoil("a moved-from device", kInvalid, [](Hands& h) { leave(h.device); })};
}

std::vector<Misuse> bad_views() {
  using V = View<int>;
  return {
      spoil("a default view", kInvalid, [](Hands& h) { h.view = {}; }),
      spoil("a moved-from view", kInvalid, [](Hands& h) { leave(h.view); }),
      spoil("a moved-from array's view", kInvalid,
            [](Hands& h) { h.view = leave(h.array).view(); }),
      spoil("an element too many", kArgument,
            [](Hands& h) { h.view = V(h.array.buffer(), 4, kElements); }),
      spoil("a subview outside", kArgument,
            [](Hands& h) { h.view = h.view.subview(1, kElements); }),
      spoil(
          "a subview of one outside", kArgument,
          [](Hands& h) { h.view = h.view.subview(kMost, 1).subview(0, 1).subview(0, kElements); }),
      spoil("a view that begins behind its memory", kArgument,
            [](Hands& h) { h.view = V(h.array.buffer(), std::uint64_t{1} << 60, kElements); }),
      spoil("a view at the last address", kArgument,
            [](Hands& h) { h.view = V(h.array.buffer(), kMost - 3, kElements); }),
      spoil("a misaligned view", kArgument,
            [](Hands& h) { h.view = V(h.array.buffer(), 2, kElements); }),
      spoil("a view of 2^61 elements", kArgument,
            [](Hands& h) { h.view = V(h.array.buffer(), 0, std::uint64_t{1} << 61); }),
      spoil("a view of 2^62 elements", kArgument,
            [](Hands& h) { h.view = V(h.array.buffer(), 0, std::uint64_t{1} << 62); }),
      spoil("a view of 2^64 - 1 elements", kArgument,
            [](Hands& h) { h.view = V(h.array.buffer(), 4, kMost); }),
      spoil("a view that ends at 2^64", kArgument,
            [](Hands& h) { h.view = V(h.array.buffer(), 4, kMost / 4); }),
  };
}

std::vector<Misuse> views_of_others() {
  return {spoil("another device's view", kContext, [](Hands& h) { h.view = h.sibling->view; }),
          spoil("another backend's view", kBackend, [](Hands& h) { h.view = h.foreign->view; })};
}

std::vector<Misuse> mapped_views() {
  const auto to_read = [](Hands& h) {
    // Mapped<const int> has another type: kept by what a write would also be refused by.
    auto mapped = map(h.view.subview(3, 1), for_update);
    if (mapped) h.mapped_too = *std::move(mapped);
  };
  return {spoil("a view the host has mapped", kArgument, to_read)};
}

std::vector<Misuse> bad_events() {
  return {spoil("a default event", kInvalid, [](Hands& h) { h.event = {}; }),
          spoil("a moved-from event", kInvalid, [](Hands& h) { leave(h.event); })};
}

std::vector<Misuse> bad_timelines() {
  return {spoil("a default timeline", kInvalid, [](Hands& h) { h.timeline = {}; }),
          spoil("a moved-from timeline", kInvalid, [](Hands& h) { leave(h.timeline); })};
}

std::vector<Misuse> no_functions() {
  return {spoil("an empty function", kArgument, [](Hands& h) { h.function = {}; }),
          spoil("a moved-from function", kArgument, [](Hands& h) { leave(h.function); }),
          spoil("a null pointer to a function", kArgument,
                [](Hands& h) { h.function = static_cast<void (*)()>(nullptr); }),
          spoil("an empty std::function", kArgument,
                [](Hands& h) { h.function = std::function<void()>(); })};
}

}  // namespace thalweg::contract
