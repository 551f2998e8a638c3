// SPDX-License-Identifier: Apache-2.0

#include "stress/actor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "thalweg/backends.hpp"
#include "thalweg/base/log.hpp"

namespace thalweg::stress {
namespace {

using std::chrono::microseconds;

constexpr std::size_t kStreamsMax = 5;
constexpr std::size_t kOwnsMax = 12;
constexpr std::size_t kFuturesMax = 24;
constexpr std::size_t kWindowsMax = 4;
constexpr std::size_t kMarksMax = 4;

constexpr std::array<std::size_t, 6> kCounts{1, 3, 64, 500, 1000, 5000};

// Parts of the block. Most overlap, some adjoin, and the last one joins them all.
struct Span {
  std::size_t first;
  std::size_t count;
};
constexpr std::array<Span, 8> kWindows{{{0, 512},
                                        {256, 512},
                                        {512, 256},
                                        {768, 640},
                                        {1024, 64},
                                        {1408, 640},
                                        {1500, 500},
                                        {0, World::kBlock}}};

// What comes of a part of an array.
void fill_with_ramp(Cell at, Out<Word> to, Word seed) { to[at.x] = seed + static_cast<Word>(at.x); }
void add_array(Cell at, std::span<Word> to, std::span<const Word> from) { to[at.x] += from[at.x]; }

std::vector<Word> ramp(std::size_t count, Word seed) {
  std::vector<Word> values(count);
  std::iota(values.begin(), values.end(), seed);
  return values;
}

template <class List>
void take_out(List& list, std::size_t at) {
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
}

}  // namespace

Actor::Actor(World& world, unsigned number, std::uint64_t seed)
    : world_(world), number_(number), random_(seed) {
  exchange();
}

void Actor::step() {
  struct Call {
    const char* name;
    std::uint32_t weight;
    void (Actor::*call)();
  };
  static constexpr Call kCalls[] = {
      {"make a stream", 6, &Actor::make_stream},
      {"drop a stream", 5, &Actor::drop_stream},
      {"make an array", 12, &Actor::make_own},
      {"drop an array", 8, &Actor::drop_own},
      {"exchange handles", 3, &Actor::exchange},
      {"fill", 16, &Actor::fill},
      {"launch", 24, &Actor::launch},
      {"launch many cells", 3, &Actor::launch_many},
      {"launch over a grid in memory", 5, &Actor::launch_indirect},
      {"use a tile", 8, &Actor::use_tile},
      {"copy", 16, &Actor::copy},
      {"upload", 14, &Actor::upload},
      {"upload a new array", 3, &Actor::upload_new},
      {"borrowed upload", 6, &Actor::upload_borrowed},
      {"read", 14, &Actor::read},
      {"native", 8, &Actor::native},
      {"touch", 4, &Actor::touch},
      {"map an array", 8, &Actor::map_own},
      {"add to a common array", 24, &Actor::add_to_common},
      {"map a common array", 3, &Actor::map_common},
      {"read a common array", 5, &Actor::read_common},
      {"use a shared view", 8, &Actor::use_shared_view},
      {"adopt a window", 5, &Actor::adopt_window},
      {"use a window", 14, &Actor::use_window},
      {"drop a window", 4, &Actor::drop_window},
      {"host function", 10, &Actor::host_function},
      {"close a gate", 4, &Actor::close_gate},
      {"signal", 4, &Actor::signal},
      {"wait for a timeline", 4, &Actor::wait_for_timeline},
      {"record", 12, &Actor::record},
      {"wait for an event", 12, &Actor::wait_event},
      {"ask an event", 8, &Actor::ask_event},
      {"time events", 8, &Actor::time_events},
      {"wait for a stream", 8, &Actor::wait_stream},
      {"synchronize", 6, &Actor::synchronize},
      {"synchronize a device", 1, &Actor::synchronize_device},
      {"adopt a queue", 6, &Actor::adopt_queue},
      {"callback", 8, &Actor::callback},
      {"request a stop", 4, &Actor::request_stop},
      {"ask a device", 6, &Actor::ask_device},
      {"stream pool", 2, &Actor::pool},
      {"short device", 1, &Actor::short_device},
      {"small room", 2, &Actor::small_room},
      {"misuse", 6, &Actor::misuse},
      {"take what was read", 14, &Actor::take_read},
      {"take a future", 14, &Actor::take_sent},
  };
  static constexpr std::uint32_t kWeights =
      std::accumulate(std::begin(kCalls), std::end(kCalls), std::uint32_t{0},
                      [](std::uint32_t sum, const Call& call) { return sum + call.weight; });
  open_gates(false);
  std::uint32_t at = random_.below(kWeights);
  const Call* call = kCalls;
  while (at >= call->weight) at -= (call++)->weight;
  doing_.store(call->name, std::memory_order_relaxed);
  (this->*call->call)();
  steps_.fetch_add(1, std::memory_order_relaxed);
}

void Actor::finish() {
  doing_ = "finish";
  open_gates(true);
  // Each in some order, and sometimes after its stream is gone.
  std::vector<int> order{0, 1, 2, 3, 4, 5, 6};
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[random_.below(static_cast<std::uint32_t>(i))]);
  for (const int what : order) {
    switch (what) {
      case 0:
        shared_ = {};
        break;
      case 1:
        streams_ = {};
        break;
      case 2:
        while (!owns_.empty()) drop_own();
        break;
      case 3:
        while (!reads_.empty()) {
          take(std::move(reads_.back()), {});
          reads_.pop_back();
        }
        break;
      case 4:
        while (!sent_.empty()) {
          take(sent_.back(), {});
          sent_.pop_back();
        }
        break;
      case 5:
        while (!windows_.empty()) drop_window();
        break;
      default:
        marks_.clear();
        stops_.clear();
        break;
    }
  }
}

// What a thread knows.

// Bytes that a stopped task, or one that throws, left unwritten.
bool Actor::is_unwritten(const Error& error) {
  const ErrorKind root = error.root().kind();
  return error.kind() == ErrorKind::unwritten &&
         (root == ErrorKind::cancelled || root == ErrorKind::task_failed);
}

template <class T>
bool Actor::took(const Result<T>& result, Kinds allowed) const {
  if (result) return true;
  const ErrorKind kind = result.error().kind();
  if (is_unwritten(result.error())) return false;
  if (std::find(allowed.begin(), allowed.end(), kind) == allowed.end())
    fail(result.error().to_string());
  return false;
}

void Actor::require(bool condition, std::string_view what) const {
  if (!condition) fail(what);
}

void Actor::fail(std::string_view what) const {
  world_.fail(fmt::format("thread {}, step {}, {}", number_, steps(), doing()), what);
}

const Stream& Actor::any_stream(std::size_t device) {
  const auto& own = streams_[device];
  if (!own.empty() && random_.chance(60)) return random_.pick(own);
  const auto& shared = shared_.streams[device];
  return shared[random_.below(static_cast<std::uint32_t>(shared.size()))];
}

Actor::Chosen Actor::choose(std::size_t device) {
  const Stream& stream = any_stream(device);
  const std::uint32_t dice = random_.below(100);
  if (dice >= 6) return {stream, Stop::never};
  std::stop_source source;
  const Stop stop = dice < 2 ? Stop::before : Stop::perhaps;
  if (stop == Stop::before) source.request_stop();
  Chosen chosen{stream.with_stop_token(source.get_token()), stop};
  if (stop == Stop::perhaps) stops_.push_back(std::move(source));
  return chosen;
}

Actor::Own* Actor::any_own() {
  if (owns_.empty()) make_own();
  return owns_.empty() ? nullptr : random_.pick(owns_).get();
}

Actor::Part Actor::any_part(Own& own) {
  const std::size_t size = own.model.size();
  if (random_.chance(60)) return {&own, 0, size};
  const std::size_t first = random_.below(static_cast<std::uint32_t>(size));
  return {&own, first, random_.below(static_cast<std::uint32_t>(size - first + 1))};
}

Deadline Actor::some_deadline() {
  if (may_block() && random_.chance(50)) return {};
  return microseconds(random_.below(1500));
}

template <class Change>
void Actor::change(const Chosen& chosen, const Part& part, bool defines, const Change& change) {
  Own& own = *part.own;
  // What a stopped task does not write is bad, and so is what is made of it.
  if (chosen.stop != Stop::never) {
    own.known = own.known && part.count == 0;
    return;
  }
  // Elements that are not known stay so; the model of them is not looked at.
  change(part.model());
  own.known = own.known || (defines && part.whole());
}

void Actor::open_gates(bool all) {
  for (std::size_t i = gates_.size(); i-- != 0;) {
    if (!all && gates_[i].due > steps()) continue;
    // Somebody else may have raised it further.
    took(gates_[i].timeline.signal(gates_[i].value), {ErrorKind::invalid_argument});
    require(gates_[i].timeline.value() >= gates_[i].value, "A timeline went down.");
    take_out(gates_, i);
  }
}

// Streams and arrays.

void Actor::make_stream() {
  const std::size_t d = any_device();
  if (streams_[d].size() >= kStreamsMax) return drop_stream();
  StreamOptions options;
  options.priority = static_cast<int>(random_.below(3)) - 1;
  options.name = "stress";
  const Result<Stream> stream = Stream::create(world_.devices[d], options);
  took(stream);
  require(stream->priority() == options.priority && stream->name() == "stress", "A stream's name.");
  streams_[d].push_back(*stream);
}

void Actor::drop_stream() {
  auto& streams = streams_[any_device()];
  if (streams.empty()) return;
  const std::size_t at = random_.below(static_cast<std::uint32_t>(streams.size()));
  if (former_.size() > 8) former_.erase(former_.begin());
  former_.push_back(streams[at].raw());
  take_out(streams, at);
}

void Actor::make_own() {
  if (owns_.size() >= kOwnsMax) return drop_own();
  auto own = std::make_unique<Own>();
  own->device = any_device();
  const std::size_t count = kCounts[random_.below(kCounts.size())];
  const Stream& home = any_stream(own->device);
  const Kinds allowed{ErrorKind::out_of_memory};
  switch (random_.below(4)) {
    case 0: {
      const auto array = HostArray<Word>::create(home, count);
      if (!took(array, allowed)) return;
      own->view = array->view();
      break;
    }
    case 1: {
      auto memory = std::make_unique<std::vector<Word>>(count);
      const std::span<Word> elements(*memory);
      const auto array =
          Array<Word>::adopt(world_.devices[own->device], elements,
                             [memory = std::move(memory), &world = world_] { ++world.deletions; });
      if (!took(array)) return;
      ++world_.adoptions;
      own->view = array->view();
      break;
    }
    default: {
      AllocationOptions options;
      options.tag = "stress";
      options.alignment_bytes = random_.chance(20) ? 4096 : 0;
      const auto array = Array<Word>::create(home, count, options);
      if (!took(array, allowed)) return;
      own->view = array->view();
    }
  }
  require(own->view.count() == count, "The count of a view.");
  own->model.resize(count);
  owns_.push_back(std::move(own));
}

void Actor::drop_own() {
  if (owns_.empty()) return;
  take_out(owns_, random_.below(static_cast<std::uint32_t>(owns_.size())));
}

void Actor::exchange() {
  for (std::size_t d = 0; d != kDevices; ++d) {
    if (!streams_[d].empty() && random_.chance(50))
      shared_.streams[d][random_.below(6)] = random_.pick(streams_[d]);
    const Result<Event> event = Event::create(world_.devices[d]);
    took(event);
    shared_.events[d][random_.below(4)] = *event;
    if (!shared_.streams[d][0].valid()) continue;
    const auto array = Array<Word>::create(any_stream(d), 200);
    if (took(array, {ErrorKind::out_of_memory})) shared_.views[d][random_.below(4)] = array->view();
  }
  world_.exchange(shared_, random_.next());
}

// Tasks on arrays of one's own.

void Actor::fill() {
  Own* const own = any_own();
  if (own == nullptr) return;
  const Part part = any_part(*own);
  const Chosen chosen = choose(own->device);
  const auto value = static_cast<Word>(random_.next());
  took(chosen.stream.fill(part.view(), value));
  change(chosen, part, true,
         [value](std::span<Word> model) { std::fill(model.begin(), model.end(), value); });
}

void Actor::launch() {
  Own* const own = any_own();
  if (own == nullptr) return;
  const Part part = any_part(*own);
  const Chosen chosen = choose(own->device);
  const auto value = static_cast<Word>(random_.next());
  switch (random_.below(3)) {
    case 0:
      took(chosen.stream.launch(world_.add, part.count, part.view(), value));
      change(chosen, part, false, [value](std::span<Word> model) {
        for (Word& element : model) element += value;
      });
      break;
    case 1: {
      // A kernel of its own, which goes while it runs.
      const auto code = kernel("ramp", &fill_with_ramp);
      took(chosen.stream.launch(code, part.count, part.view(), value));
      change(chosen, part, true,
             [value](std::span<Word> model) { std::iota(model.begin(), model.end(), value); });
      break;
    }
    default: {
      Own& other = *any_own();
      if (&other == own || other.device != own->device) return;
      const auto code = kernel("add array", &add_array);
      const std::size_t count = std::min(part.count, other.model.size());
      const Part to{own, part.first, count};
      took(chosen.stream.launch(code, count, to.view(), other.view.subview(0, count)));
      change(chosen, to, false, [&other](std::span<Word> model) {
        for (std::size_t i = 0; i != model.size(); ++i) model[i] += other.model[i];
      });
      own->known = own->known && (other.known || count == 0);
    }
  }
}

// Enough cells that idle workers take a part.
void Actor::launch_many() {
  for (const auto& own : owns_) {
    if (own->model.size() < 4096) continue;
    const Part part{own.get(), 0, own->model.size()};
    const Chosen chosen = choose(own->device);
    const auto value = static_cast<Word>(random_.next());
    took(chosen.stream.launch(world_.add, part.count, part.view(), value));
    change(chosen, part, false, [value](std::span<Word> model) {
      for (Word& element : model) element += value;
    });
  }
}

void Actor::launch_indirect() {
  Own* const own = any_own();
  if (own == nullptr) return;
  const Part part = any_part(*own);
  const auto extent = any_stream(own->device).upload(std::vector<Extent>{{part.count, 1, 1}});
  if (!took(extent, {ErrorKind::out_of_memory})) return;
  const Chosen chosen = choose(own->device);
  const auto value = static_cast<Word>(random_.next());
  took(chosen.stream.launch_indirect(world_.add, *extent, part.view(), value));
  change(chosen, part, false, [value](std::span<Word> model) {
    for (Word& element : model) element += value;
  });
}

void Actor::use_tile() {
  constexpr std::size_t kPitch = 8;
  Own* const own = any_own();
  if (own == nullptr || own->model.size() < 4 * kPitch) return;
  const Part part{own, 0, own->model.size()};
  const std::size_t first = random_.below(kPitch / 2);
  const std::size_t width = 1 + random_.below(kPitch / 2);
  const std::size_t rows = 1 + random_.below(static_cast<std::uint32_t>(part.count / kPitch - 1));
  const View2D<Word> tile = own->view.tile(first, width, rows, kPitch);
  const Chosen chosen = choose(own->device);
  const auto value = static_cast<Word>(random_.next());
  const auto each = [&](std::span<Word> model, const auto& use) {
    for (std::size_t y = 0; y != rows; ++y)
      for (std::size_t x = 0; x != width; ++x) use(model[first + y * kPitch + x], y * width + x);
  };
  switch (random_.below(3)) {
    case 0:
      took(chosen.stream.fill(tile, value));
      change(chosen, part, false, [&](std::span<Word> model) {
        each(model, [&](Word& element, std::size_t) { element = value; });
      });
      break;
    case 1: {
      const std::vector<Word> values = ramp(width * rows, value);
      const auto task = chosen.stream.upload(tile, std::span<const Word>(values));
      if (!took(task, {ErrorKind::out_of_memory})) return;
      change(chosen, part, false, [&](std::span<Word> model) {
        each(model, [&](Word& element, std::size_t i) { element = values[i]; });
      });
      break;
    }
    default: {
      Read read;
      read.future = chosen.stream.read(tile);
      read.stoppable = chosen.stop != Stop::never;
      read.known = own->known;
      each(part.model(), [&](Word& element, std::size_t) { read.expected.push_back(element); });
      reads_.push_back(std::move(read));
    }
  }
}

void Actor::copy() {
  Own* const from = any_own();
  Own* const to = any_own();
  if (from == to || from == nullptr) return;
  const Part source = any_part(*from);
  const std::size_t count = std::min(source.count, to->model.size());
  const Part target{to, 0, count};
  // Between two devices, on a stream of either.
  const Chosen chosen = choose(random_.chance(50) ? from->device : to->device);
  took(chosen.stream.copy(target.view(), from->view.subview(source.first, count)));
  change(chosen, target, from->known, [&](std::span<Word> model) {
    const auto values = source.model().first(count);
    std::copy(values.begin(), values.end(), model.begin());
  });
  if (chosen.stop == Stop::never && count != 0) to->known = to->known && from->known;
}

void Actor::upload() {
  Own* const own = any_own();
  if (own == nullptr) return;
  const Part part = any_part(*own);
  const Chosen chosen = choose(own->device);
  const std::vector<Word> values = ramp(part.count, static_cast<Word>(random_.next()));
  const Kinds allowed{ErrorKind::out_of_memory};
  if (random_.chance(50)) {
    const std::span<const Word> from(values);
    if (!took(chosen.stream.upload(part.view(), from), allowed)) return;
  } else {
    std::vector<Word> taken = values;
    if (!took(chosen.stream.upload(part.view(), std::move(taken)), allowed)) return;
  }
  change(chosen, part, true, [&values](std::span<Word> model) {
    std::copy(values.begin(), values.end(), model.begin());
  });
}

void Actor::upload_new() {
  if (owns_.size() >= kOwnsMax) return drop_own();
  const std::size_t d = any_device();
  std::vector<Word> values = ramp(1 + random_.below(200), static_cast<Word>(random_.next()));
  auto own = std::make_unique<Own>();
  own->device = d;
  own->model = values;
  own->known = true;
  const auto array = any_stream(d).upload(std::move(values));
  if (!took(array, {ErrorKind::out_of_memory})) return;
  own->view = array->view();
  owns_.push_back(std::move(own));
}

void Actor::upload_borrowed() {
  Own* const own = any_own();
  if (own == nullptr) return;
  const Part part = any_part(*own);
  const Chosen chosen = choose(own->device);
  Sent sent;
  sent.source =
      std::make_shared<std::vector<Word>>(ramp(part.count, static_cast<Word>(random_.next())));
  sent.stoppable = chosen.stop != Stop::never;
  sent.future = chosen.stream.upload_borrowed(part.view(), std::span<const Word>(*sent.source));
  change(chosen, part, true, [&sent](std::span<Word> model) {
    std::copy(sent.source->begin(), sent.source->end(), model.begin());
  });
  sent_.push_back(std::move(sent));
}

void Actor::read() {
  Own* const own = any_own();
  if (own == nullptr) return;
  const Part part = any_part(*own);
  const Chosen chosen = choose(own->device);
  Read read;
  read.future = chosen.stream.read(View<const Word>(part.view()));
  read.stoppable = chosen.stop != Stop::never;
  read.known = own->known;
  if (read.known) read.expected.assign(part.model().begin(), part.model().end());
  // Nobody has to look at what he asked for.
  if (!random_.chance(10)) reads_.push_back(std::move(read));
}

void Actor::native() {
  Own* const own = any_own();
  if (own == nullptr) return;
  const Part part = any_part(*own);
  const Chosen chosen = choose(own->device);
  const auto value = static_cast<Word>(random_.next());
  const auto work = [value](NativeHandle, std::span<const NativeBytes> bytes) {
    auto* const elements = reinterpret_cast<Word*>(bytes[0].address);
    for (std::size_t i = 0; i != bytes[0].size_bytes / sizeof(Word); ++i) elements[i] += value;
  };
  took(chosen.stream.native({updates(part.view())}, work));
  change(chosen, part, false, [value](std::span<Word> model) {
    for (Word& element : model) element += value;
  });
}

void Actor::touch() {
  Own* const own = any_own();
  if (own == nullptr) return;
  const Part part = any_part(*own);
  took(any_stream(own->device).touch({orders(part.view()), reads(own->view)}));
}

void Actor::map_own() {
  Own* const own = any_own();
  if (own == nullptr) return;
  const Part part = any_part(*own);
  const Stream& stream = any_stream(own->device);
  const bool refuses = part.count != 0;
  const auto refused = [&](const Result<Task>& task) {
    require(!refuses || !task, "A task uses what the host has mapped.");
    took(task, {ErrorKind::invalid_argument});
  };
  if (random_.chance(40)) {
    const auto mapped = random_.chance(50) ? try_map(part.view(), for_reading)
                                           : map(part.view(), for_reading, some_deadline());
    if (!took(mapped, {ErrorKind::timeout, ErrorKind::not_ready})) return;
    const auto model = part.model();
    require(!own->known || std::equal(mapped->begin(), mapped->end(), model.begin(), model.end()),
            "What is mapped is not what was written.");
    refused(stream.fill(part.view(), Word{1}));
    return;
  }
  const auto mapped = random_.chance(50) ? try_map(part.view(), for_update)
                                         : map(part.view(), for_update, some_deadline());
  if (!took(mapped, {ErrorKind::timeout, ErrorKind::not_ready})) return;
  const auto model = part.model();
  require(!own->known || std::equal(mapped->begin(), mapped->end(), model.begin(), model.end()),
          "What is mapped is not what was written.");
  refused(stream.touch({reads(part.view())}));
  const auto value = static_cast<Word>(random_.next());
  std::iota(mapped->begin(), mapped->end(), value);
  std::iota(model.begin(), model.end(), value);
  own->known = own->known || part.whole();
}

// Data that all threads change.

// True when it was accepted; refused where another thread has the array mapped.
bool Actor::launch_add(const Stream& stream, Common& common, test::Random& random) {
  const auto size = static_cast<std::uint32_t>(common.sums.size());
  const std::size_t first = random.chance(50) ? 0 : random.below(size);
  const std::size_t count =
      first == 0 ? size : random.below(static_cast<std::uint32_t>(size - first + 1));
  const auto value = static_cast<Word>(random.below(1000));
  const auto task = stream.launch(world_.add, count, common.array.view(first, count), value);
  if (!took(task, {ErrorKind::invalid_argument})) return false;
  common.sums.add(first, count, value);
  return true;
}

void Actor::add_to_common() {
  const std::size_t d = any_device();
  Common& common = world_.commons[d][random_.below(4)];
  launch_add(any_stream(d), common, random_);
}

void Actor::map_common() {
  Common& common = world_.commons[any_device()][random_.below(4)];
  // Busy: somebody else has it mapped, or uses it.
  const Kinds allowed{ErrorKind::timeout, ErrorKind::not_ready, ErrorKind::invalid_argument};
  const auto mapped = random_.chance(50) ? try_map(common.array, for_update)
                                         : map(common.array, for_update, some_deadline());
  if (!took(mapped, allowed)) return;
  for (Word& element : *mapped) element += 7;
  common.sums.add(0, mapped->size(), 7);
}

void Actor::read_common() {
  const std::size_t d = any_device();
  const Common& common = world_.commons[d][random_.below(4)];
  const Stream& stream = any_stream(d);
  if (random_.chance(50)) {
    Own* const own = any_own();
    if (own == nullptr) return;
    const std::size_t count = std::min(own->model.size(), common.sums.size());
    const auto task = stream.copy(own->view.subview(0, count), common.array.view(0, count));
    if (took(task, {ErrorKind::invalid_argument})) own->known = false;
    return;
  }
  auto future = stream.read(common.array);
  Deadline deadline = some_deadline();
  const auto values = future.get(deadline);
  took(values, {ErrorKind::invalid_argument, ErrorKind::timeout});
}

// Views that come and go with the threads that made them.
void Actor::use_shared_view() {
  const std::size_t d = any_device();
  const View<Word> view = shared_.views[d][random_.below(4)];
  const Stream& stream = any_stream(d);
  const Kinds allowed{ErrorKind::invalid_argument};  // Mapped.
  switch (random_.below(6)) {
    case 0:
      took(stream.fill(view, Word{1}), allowed);
      break;
    case 1:
      took(stream.launch(world_.add, view.count(), view, 2), allowed);
      break;
    case 2: {
      const View<Word> other = shared_.views[any_device()][random_.below(4)];
      const std::size_t count = std::min(view.count(), other.count());
      took(stream.copy(view.subview(0, count), other.subview(0, count)), allowed);
      break;
    }
    case 3: {
      const auto mapped = try_map(view, for_update);
      if (took(mapped, {ErrorKind::not_ready, ErrorKind::invalid_argument})) ++(*mapped)[0];
      break;
    }
    case 4:
      took(stream.touch({updates(view)}), allowed);
      break;
    default:
      took(stream.launch(kernel("ramp", &fill_with_ramp), view.count(), view, 5), allowed);
  }
}

void Actor::adopt_window() {
  if (windows_.size() >= kWindowsMax) return drop_window();
  const Span span = kWindows[random_.below(kWindows.size())];
  Window window;
  window.device = any_device();
  window.first = span.first;
  const auto array = Array<Word>::adopt(world_.devices[window.device],
                                        std::span(world_.block).subspan(span.first, span.count),
                                        [&world = world_] { ++world.deletions; });
  if (!took(array)) return;
  ++world_.adoptions;
  window.array = *array;
  windows_.push_back(std::move(window));
}

void Actor::use_window() {
  if (windows_.empty()) return adopt_window();
  const Window& window = random_.pick(windows_);
  const Kinds mapped_by_another{ErrorKind::invalid_argument};
  const std::size_t count = window.array.count();
  const auto value = static_cast<Word>(random_.below(1000));
  const std::uint32_t dice = random_.below(100);
  if (dice < 80) {
    const Stream& stream = any_stream(window.device);
    const auto size = static_cast<std::uint32_t>(count);
    const std::size_t first = dice < 40 ? 0 : random_.below(size);
    const std::size_t part = dice < 40 ? size : std::min<std::size_t>(32, size - first);
    const auto task = stream.launch(world_.add, part, window.array.view(first, part), value);
    if (took(task, mapped_by_another)) world_.block_sums.add(window.first + first, part, value);
  } else if (dice < 95) {
    auto future = any_stream(window.device).read(window.array);
    took(future.get(some_deadline()), {ErrorKind::invalid_argument, ErrorKind::timeout});
  } else {
    const auto mapped = try_map(window.array, for_update);
    if (!took(mapped, {ErrorKind::not_ready, ErrorKind::invalid_argument})) return;
    for (Word& element : *mapped) element += value;
    world_.block_sums.add(window.first, count, value);
  }
}

void Actor::drop_window() {
  if (windows_.empty()) return;
  take_out(windows_, random_.below(static_cast<std::uint32_t>(windows_.size())));
}

// Host functions and callbacks.

void Actor::host_function() {
  const std::size_t d = any_device();
  Common& common = world_.commons[d][random_.below(4)];
  const Chosen chosen = choose(d);
  Sent sent;
  sent.throws = random_.chance(10);
  sent.stoppable = chosen.stop != Stop::never;
  const auto body = [this, d, &world = world_, &common, stream = any_stream(d),
                     event = shared_.events[d][0], seed = random_.next(),
                     throws = sent.throws]() mutable {
    // On another thread: nothing here is the actor's but what does not change.
    ++world.host_functions;
    test::Random random(seed);
    launch_add(stream, common, random);
    took(stream.record(event));
    took(stream.wait_event(event));
    took(stream.synchronize(), {ErrorKind::wait_forbidden});
    if (random.chance(30)) {
      const auto made = Stream::create(world.devices[d]);
      if (took(made)) took(made->wait(stream));
    }
    if (random.chance(30)) {
      const auto array = Array<Word>::create(stream, 50);
      if (took(array, {ErrorKind::out_of_memory})) took(stream.fill(*array, Word{3}));
    }
    if (random.chance(20)) world.devices[d].poll();
    if (throws) throw std::runtime_error("stress");
  };
  sent.uses_common = random_.chance(50);
  if (sent.uses_common) {
    sent.future = chosen.stream.host("stress", {reads(common.array)}, body);
  } else {
    sent.future = chosen.stream.host("stress", {}, body);
  }
  // Nobody has to look at the end.
  if (!random_.chance(20)) sent_.push_back(std::move(sent));
}

void Actor::give_callback(const auto& give) {
  const std::size_t d = any_device();
  Common& common = world_.commons[d][random_.below(4)];
  auto function = [this, &world = world_, &common, stream = any_stream(d),
                   seed = random_.next()]() mutable {
    test::Random random(seed);
    if (random.chance(50)) launch_add(stream, common, random);
    stream = {};
    ++world.callbacks_called;
  };
  ++world_.callbacks_given;
  if (!give(UniqueFunction(std::move(function)))) --world_.callbacks_given;
}

void Actor::callback() {
  const std::size_t d = any_device();
  const Stream& stream = any_stream(d);
  switch (random_.below(3)) {
    case 0: {
      const auto task = stream.touch({});
      took(task);
      give_callback([&](UniqueFunction function) {
        return took(stream.on_complete(*task, std::move(function)));
      });
      break;
    }
    case 1: {
      const Event& event = shared_.events[d][random_.below(4)];
      give_callback([&](UniqueFunction function) {
        return took(event.on_complete(std::move(function)), {ErrorKind::event_not_recorded});
      });
      break;
    }
    default: {
      if (sent_.empty()) return;
      give_callback([&](UniqueFunction function) {
        return took(random_.pick(sent_).future.on_complete(std::move(function)));
      });
    }
  }
}

// Order.

void Actor::close_gate() {
  const Timeline& timeline = world_.timelines[random_.below(World::kTimelines)];
  const std::uint64_t value = timeline.value() + 1 + random_.below(2);
  const Stream& stream = any_stream(any_device());
  took(stream.wait(timeline, value));
  gates_.push_back({timeline, value, steps() + 1 + random_.below(20)});
}

void Actor::signal() {
  const Timeline& timeline = world_.timelines[random_.below(World::kTimelines)];
  const std::uint64_t value = timeline.value() + random_.below(2);
  const Kinds too_late{ErrorKind::invalid_argument};
  if (random_.chance(50)) {
    took(timeline.signal(value), too_late);
  } else {
    took(any_stream(any_device()).signal(timeline, value), too_late);
  }
}

void Actor::wait_for_timeline() {
  const Timeline& timeline = world_.timelines[random_.below(World::kTimelines)];
  const std::uint64_t value = timeline.value();
  took(timeline.wait(value));
  took(timeline.wait(value + 1, microseconds(random_.below(300))), {ErrorKind::timeout});
}

void Actor::record() {
  const std::size_t d = any_device();
  const Event& event = shared_.events[d][random_.below(4)];
  took(any_stream(d).record(event));
  const auto wrong = any_stream(1 - d).record(event);
  require(!wrong, "An event of another device is recorded.");
  took(wrong, {ErrorKind::context_mismatch});
}

void Actor::wait_event() {
  const Event& event = shared_.events[any_device()][random_.below(4)];
  took(any_stream(any_device()).wait_event(event));
}

void Actor::ask_event() {
  const Event& event = shared_.events[any_device()][random_.below(4)];
  const EventState before = event.query();
  require(before != EventState::lost, "A lost event.");
  took(event.wait(some_deadline()), {ErrorKind::timeout});
  require(event.query() != EventState::not_recorded || before == EventState::not_recorded,
          "A record is gone.");
}

void Actor::time_events() {
  if (marks_.size() < kMarksMax) {
    const std::size_t d = any_device();
    const auto event = TimedEvent::create(world_.devices[d]);
    if (took(event)) marks_.push_back({d, *event});
    return;
  }
  const Mark& from = random_.pick(marks_);
  const Mark& to = random_.pick(marks_);
  const Stream& stream = any_stream(from.device);
  took(stream.record(from.event));
  const auto time = elapsed(from.event, to.event);
  if (from.device != to.device) require(!time, "The time between events of two devices.");
  took(time, {ErrorKind::not_ready, ErrorKind::event_not_recorded, ErrorKind::context_mismatch});
  if (random_.chance(5)) marks_.pop_back();
}

void Actor::wait_stream() { took(any_stream(any_device()).wait(any_stream(any_device()))); }

void Actor::synchronize() {
  took(any_stream(any_device()).synchronize(some_deadline()), {ErrorKind::timeout});
}

void Actor::synchronize_device() {
  took(world_.devices[any_device()].synchronize(some_deadline()), {ErrorKind::timeout});
}

void Actor::adopt_queue() {
  const std::size_t d = any_device();
  const Device& device = world_.devices[d];
  const Stream& stream = any_stream(d);
  const auto again = Stream::adopt(device, stream.raw(), Ownership::borrowed);
  took(again);
  require(again->is_same_queue(stream), "An adopted queue is another one.");
  const auto owned = Stream::adopt(device, stream.raw(), Ownership::owned);
  require(!owned, "A queue has two owners.");
  took(owned, {ErrorKind::invalid_argument});
  const auto elsewhere = Stream::adopt(world_.devices[1 - d], stream.raw(), Ownership::borrowed);
  require(!elsewhere, "A queue is of two devices.");
  took(elsewhere, {ErrorKind::not_found});
  // Gone, or another thread has a handle.
  if (!former_.empty())
    took(Stream::adopt(device, random_.pick(former_), Ownership::borrowed), {ErrorKind::not_found});
}

void Actor::request_stop() {
  if (stops_.empty()) return;
  stops_.back().request_stop();
  take_out(stops_, random_.below(static_cast<std::uint32_t>(stops_.size())));
}

// Devices.

void Actor::ask_device() {
  const Device& device = world_.devices[any_device()];
  switch (random_.below(7)) {
    case 0:
      device.poll();
      break;
    case 1:
      device.trim(random_.chance(50) ? 0 : 1 << 20);
      break;
    case 2: {
      const Statistics statistics = device.statistics();
      require(statistics.queues_destroyed <= statistics.queues_created,
              "More queues than there were.");
      break;
    }
    case 3: {
      const MemoryUsage usage = device.memory_usage();
      require(usage.reserved_bytes == usage.live_bytes + usage.pending_bytes + usage.cached_bytes,
              "The sum of the memory in use.");
      static_cast<void>(device.host_memory_usage());
      break;
    }
    case 4:
      set_log_hook(random_.chance(50) ? LogHook([](LogLevel, std::string_view) {}) : LogHook());
      break;
    case 5:
      for (const WaitRecord& record : device.wait_ledger())
        require(record.count != 0, "A wait that never was.");
      break;
    default:
      require(!backends().empty(), "No backends.");
      require(device.priority_range().contains(0) && device.valid(), "A device.");
  }
}

void Actor::pool() {
  const std::size_t d = any_device();
  if (random_.chance(70)) {
    Common& common = world_.commons[d][random_.below(4)];
    launch_add(world_.pools[d].next(), common, random_);
    return;
  }
  const auto pool = StreamPool::create(world_.devices[d], 1 + random_.below(3));
  took(pool);
  for (int i = 0; i != 3; ++i) took(pool->next().touch({}));
}

// Handles of a device go in any order, and what is enqueued still runs.
void Actor::short_device() {
  if (!random_.chance(30)) return;
  Future<std::vector<Word>> future;
  {
    const auto opened = Device::open(world_.short_device);
    // Too many threads at once.
    if (!took(opened, {ErrorKind::unavailable})) return;
    Device device = *opened;
    Stream stream = must(Stream::create(device));
    if (random_.chance(50)) device = {};
    const auto array = Array<Word>::create(stream, 10);
    took(array);
    took(stream.fill(*array, Word{9}));
    future = stream.read(*array);
    if (random_.chance(50)) stream = {};
  }
  const auto values = future.get();
  took(values);
  require(*values == std::vector<Word>(10, 9), "What a device did that is gone.");
}

// Of a stream that refuses tasks while others are outstanding.
void Actor::small_room() {
  const std::size_t d = any_device();
  StreamOptions options;
  options.room_bytes = 1024;
  const auto stream = Stream::create(world_.devices[d], options);
  took(stream);
  took(stream->wait(any_stream(d)));
  const View<Word>& view = shared_.views[d][random_.below(4)];
  for (int i = 0; i != 12; ++i) {
    const auto task = stream->fill(view, Word{4});
    if (took(task, {ErrorKind::queue_full, ErrorKind::invalid_argument})) continue;
    took(stream->wait_for_room(some_deadline()), {ErrorKind::timeout});
  }
}

void Actor::misuse() {
  const std::size_t d = any_device();
  const Stream& stream = any_stream(d);
  const auto refused = [this](const auto& result, ErrorKind kind) {
    require(!result, "A wrong call was accepted.");
    took(result, {kind});
  };
  switch (random_.below(7)) {
    case 0:
      refused(Stream().touch({}), ErrorKind::invalid_handle);
      break;
    case 1:
      refused(stream.record(Event()), ErrorKind::invalid_handle);
      break;
    case 2: {
      const View<Word>& foreign = shared_.views[1 - d][0];
      refused(stream.fill(foreign, Word{1}), ErrorKind::context_mismatch);
      break;
    }
    case 3: {
      const Array<Word>& array = world_.commons[d][1].array;
      refused(stream.fill(View<Word>(array.buffer(), 4, array.count()), Word{0}),
              ErrorKind::invalid_argument);
      break;
    }
    case 4:
      refused(stream.on_complete(Task(), [] {}), ErrorKind::invalid_argument);
      break;
    case 5:
      refused(Stream::with_priority(world_.devices[d], 9), ErrorKind::invalid_argument);
      break;
    default:
      refused(stream.upload(world_.commons[d][0].array, std::vector<Word>(2)),
              ErrorKind::invalid_size);
  }
}

// Futures.

void Actor::take(Read read, Deadline deadline) {
  auto values = read.future.get(deadline);
  if (!values && values.error().kind() == ErrorKind::timeout) {
    reads_.push_back(std::move(read));
    return;
  }
  if (read.stoppable && !took(values, {ErrorKind::cancelled})) return;
  if (!took(values)) return require(!read.known, "Bytes that were written are said not to be.");
  require(!read.known || read.expected == *values, "What is read is not what was written.");
}

// The future is empty afterwards, unless the deadline came first.
void Actor::take(Sent& sent, Deadline deadline) {
  const auto ended = sent.future.get(deadline);
  if (ended) return require(!sent.throws, "What a host function throws is lost.");
  const ErrorKind kind = ended.error().kind();
  if (kind == ErrorKind::timeout && sent.future.valid()) return;
  const bool expected = (kind == ErrorKind::task_failed && sent.throws) ||
                        (kind == ErrorKind::cancelled && sent.stoppable) ||
                        is_unwritten(ended.error()) ||
                        (kind == ErrorKind::invalid_argument && sent.uses_common);
  if (!expected) fail(ended.error().to_string());
}

void Actor::take_read() {
  if (reads_.empty()) return;
  const std::size_t at = random_.below(static_cast<std::uint32_t>(reads_.size()));
  Read read = std::move(reads_[at]);
  take_out(reads_, at);
  const bool many = reads_.size() > kFuturesMax;
  if (many) open_gates(true);
  take(std::move(read), many ? Deadline() : some_deadline());
}

void Actor::take_sent() {
  if (sent_.empty()) return;
  const std::size_t at = random_.below(static_cast<std::uint32_t>(sent_.size()));
  const bool many = sent_.size() > kFuturesMax;
  if (many) open_gates(true);
  take(sent_[at], many ? Deadline() : some_deadline());
  if (!sent_[at].future.valid()) take_out(sent_, at);
}

}  // namespace thalweg::stress
