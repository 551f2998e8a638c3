// SPDX-License-Identifier: Apache-2.0

#include "support/failing_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <map>
#include <stdexcept>
#include <utility>

#include "support/device_memory.hpp"
#include "support/model/failures.hpp"
#include "support/random.hpp"
#include "support/refusal.hpp"

namespace thalweg::test {
namespace {

using Step = FailingStep;
using Kind = FailingStep::Kind;
using Range = FailingStep::Range;
using End = FailingStep::End;
using Byte = std::uint8_t;
using Block = Array<Byte>;
using Contents = std::array<Byte, FailingProgram::kBytes>;

constexpr const char* kKinds[] = {"fill", "copy", "set", "add", "swap", "host", "replace", "read"};

bool may_fail(Kind kind) {
  return kind == Kind::set || kind == Kind::add || kind == Kind::swap || kind == Kind::host;
}
bool has_second(Kind kind) { return kind == Kind::copy || may_fail(kind); }

// How a task ends whose number is in its error, and in what is said of skips.
struct Ending {
  std::uint32_t number = 0;
  std::uint32_t delay = 0;
  bool throws = false;
};

void end_as(const Ending& ending) {
  static std::atomic<std::uint32_t> turns;
  for (std::uint32_t i = 0; i != ending.delay; ++i) turns.fetch_add(1, std::memory_order_relaxed);
  if (ending.throws) throw std::runtime_error(fmt::format("task {}.", ending.number));
}

const auto set_kernel =
    kernel("set", [](Cell i, Out<Byte> to, std::span<const Byte> from, Byte value, Ending ending) {
      to[i.x] = static_cast<Byte>(from[i.x % from.size()] * 3 + value);
      if (i.x + 1 == to.size()) end_as(ending);
    });
const auto add_kernel = kernel(
    "add", [](Cell i, std::span<Byte> to, std::span<const Byte> from, Byte value, Ending ending) {
      to[i.x] = static_cast<Byte>(to[i.x] + from[i.x % from.size()] + value);
      if (i.x + 1 == to.size()) end_as(ending);
    });
const auto swap_kernel =
    kernel("swap", [](Cell i, std::span<Byte> a, std::span<Byte> b, Ending ending) {
      if (i.x < b.size()) std::swap(a[i.x], b[i.x]);
      if (i.x + 1 == a.size()) end_as(ending);
    });

// What is expected.
class Expected {
 public:
  explicit Expected(const FailingProgram& program) : contents_(program.buffers) {
    for (int i = 0; i != program.buffers; ++i) contents_[i].fill(static_cast<Byte>(i + 1));
    for (std::size_t i = 0; i != program.steps.size(); ++i)
      run(static_cast<int>(i), program.steps[i]);
  }

  struct Reading {
    std::vector<Byte> bytes;
    std::vector<model::Bad> bad;  // Each failure once, in order.
  };

  Reading read(const Range& range) const {
    Reading reading;
    for (std::uint32_t i = range.first; i != range.first + range.count; ++i) {
      reading.bytes.push_back(contents_[range.buffer][i]);
      const model::Bad* const bad = failures_.at(range.buffer, i);
      const auto same = [bad](const model::Bad& known) { return known.failure == bad->failure; };
      if (bad != nullptr && std::none_of(reading.bad.begin(), reading.bad.end(), same))
        reading.bad.push_back(*bad);
    }
    return reading;
  }

  const Reading& reading(std::size_t step) const { return readings_.at(step); }

 private:
  static model::Part part(const Range& range, model::Touching how) {
    return {range.buffer, range.first, range.first + range.count, how};
  }

  static std::vector<model::Part> parts(const Step& step) {
    using model::Touching;
    switch (step.kind) {
      case Kind::fill:
      case Kind::replace:
        return {part(step.a, Touching::write)};
      case Kind::copy:
      case Kind::set:
        return {part(step.a, Touching::write), part(step.b, Touching::read)};
      case Kind::add:
        return {part(step.a, Touching::read_write), part(step.b, Touching::read)};
      case Kind::swap:
        return {part(step.a, Touching::read_write), part(step.b, Touching::read_write)};
      case Kind::host:
        return {part(step.b, Touching::read), part(step.a, Touching::read_write)};
      default:
        return {part(step.a, Touching::read)};
    }
  }

  void run(int number, const Step& step) {
    if (step.kind == Kind::replace) failures_.forget(step.a.buffer);
    if (step.kind == Kind::read) {
      readings_[static_cast<std::size_t>(number)] = read(step.a);
      return;
    }
    if (failures_.run(number, step.end != End::good, parts(step)) || step.end != End::good) return;
    Byte* const a = contents_[step.a.buffer].data() + step.a.first;
    Byte* const b = contents_[step.b.buffer].data() + step.b.first;
    for (std::uint32_t i = 0; i != step.a.count; ++i) {
      const Byte from = step.b.count == 0 ? Byte{0} : b[i % step.b.count];
      switch (step.kind) {
        case Kind::copy:
          a[i] = from;
          break;
        case Kind::set:
          a[i] = static_cast<Byte>(from * 3 + step.value);
          break;
        case Kind::add:
        case Kind::host:
          a[i] = static_cast<Byte>(a[i] + from + step.value);
          break;
        case Kind::swap:
          if (i < step.b.count) std::swap(a[i], b[i]);
          break;
        default:
          a[i] = step.value;
      }
    }
  }

  std::vector<Contents> contents_;
  model::Failures failures_;
  std::map<std::size_t, Reading> readings_;
};

}  // namespace

class FailingRun::Impl {
 public:
  Impl(const FailingProgram& program, const Device& device)
      : program_(program),
        device_(device),
        expected_(program),
        gate_(must(Timeline::create(device))) {
    stopped_.request_stop();
    for (int i = 0; i != program.streams; ++i) streams_.push_back(must(Stream::create(device)));
    for (int i = 0; i != program.buffers; ++i)
      blocks_.push_back(fresh(static_cast<Byte>(i + 1), i % program.streams));
  }

  void submit() {
    if (program_.gated)
      for (const Stream& stream : streams_) must(stream.wait(gate_, 1));
    for (std::size_t i = 0; i != program_.steps.size(); ++i) submit(i, program_.steps[i]);
    must(gate_.signal(1));
  }

  std::string finish() {
    for (auto& [step, future] : reads_)
      compare(fmt::format("step {}", step), future.get(), expected_.reading(step));
    for (int buffer = 0; buffer != program_.buffers; ++buffer)
      for (std::uint32_t i = 0; i != FailingProgram::kBytes; ++i)
        compare(fmt::format("byte {} of buffer {}", i, buffer),
                streams_[0].read(blocks_[buffer].view(i, 1)).get(), expected_.read({buffer, i, 1}));
    blocks_.clear();
    must(device_.synchronize());
    // What a stream that is gone still had to do may be a moment late.
    if (failure_.empty() && !comes_true([this] { return device_.failures().empty(); }))
      failure_ = fmt::format("{} failures outlive the buffers", device_.failures().size());
    return failure_;
  }

 private:
  Block fresh(Byte value, int stream) {
    return must(streams_[stream].upload(std::vector<Byte>(FailingProgram::kBytes, value)));
  }

  View<Byte> view(const Range& range) const {
    return blocks_[range.buffer].view(range.first, range.count);
  }

  void submit(std::size_t number, const Step& step) {
    const Stream stream = step.end == End::stopped
                              ? streams_[step.stream].with_stop_token(stopped_.get_token())
                              : streams_[step.stream];
    const Ending ending{static_cast<std::uint32_t>(number), step.delay, step.end == End::thrown};
    switch (step.kind) {
      case Kind::fill:
        must(stream.fill(view(step.a), step.value));
        break;
      case Kind::copy:
        must(stream.copy(view(step.a), view(step.b)));
        break;
      case Kind::set:
        must(stream.launch(set_kernel, step.a.count, view(step.a), view(step.b), step.value,
                           ending));
        break;
      case Kind::add:
        must(stream.launch(add_kernel, step.a.count, view(step.a), view(step.b), step.value,
                           ending));
        break;
      case Kind::swap:
        must(stream.launch(swap_kernel, step.a.count, view(step.a), view(step.b), ending));
        break;
      case Kind::host:
        submit_host(stream, step, ending);
        break;
      case Kind::replace:
        blocks_[step.a.buffer] = fresh(step.value, step.stream);
        break;
      case Kind::read:
        reads_.emplace_back(number, stream.read(view(step.a)));
        break;
    }
  }

  void submit_host(const Stream& stream, const Step& step, const Ending& ending) {
    const View<Byte> a = view(step.a);
    const View<Byte> b = view(step.b);
    Byte* const to = device_span(a).data();
    const Byte* const from = device_span(b).data();
    static_cast<void>(
        stream.host(fmt::format("task {}", ending.number), {reads(b), updates(a)},
                    [=, counts = std::pair(step.a.count, step.b.count), value = step.value] {
                      for (std::uint32_t i = 0; i != counts.first; ++i)
                        to[i] = static_cast<Byte>(to[i] + from[i % counts.second] + value);
                      end_as(ending);
                    }));
  }

  void compare(const std::string& where, const Result<std::vector<Byte>>& found,
               const Expected::Reading& expected) {
    if (!failure_.empty()) return;
    if (expected.bad.empty()) {
      if (!found)
        failure_ = fmt::format("{} should be good: {}", where, found.error().to_string());
      else if (*found != expected.bytes)
        failure_ = fmt::format("{} has other bytes", where);
      return;
    }
    if (found || found.error().kind() != ErrorKind::unwritten) {
      failure_ = fmt::format("{} should be bad because of step {}", where, expected.bad[0].failure);
      return;
    }
    const auto reports = found.error().failures();
    if (reports.size() != expected.bad.size()) {
      failure_ = fmt::format("{} tells of {} failures instead of {}", where, reports.size(),
                             expected.bad.size());
      return;
    }
    for (std::size_t i = 0; i != reports.size(); ++i) {
      const model::Bad& bad = expected.bad[i];
      if (!names(reports[i].root, bad.failure) ||
          reports[i].chain.size() + reports[i].chain_dropped != bad.way.size())
        failure_ = fmt::format("{} should be bad because of step {} by way of {}: {}", where,
                               bad.failure, bad.way.size(), found.error().to_string());
    }
  }

  bool names(const Error& root, int step) const {
    if (program_.steps[static_cast<std::size_t>(step)].end == End::stopped)
      return root.kind() == ErrorKind::cancelled;
    return root.kind() == ErrorKind::task_failed &&
           root.message().find(fmt::format("task {}.", step)) != std::string_view::npos;
  }

  const FailingProgram& program_;
  const Device device_;
  const Expected expected_;
  const Timeline gate_;
  std::stop_source stopped_;
  std::vector<Stream> streams_;
  std::vector<Block> blocks_;
  std::vector<std::pair<std::size_t, Future<std::vector<Byte>>>> reads_;
  std::string failure_;
};

FailingProgram make_failing_program(std::uint64_t seed, std::uint32_t steps_max, bool delays) {
  Random random(seed);
  FailingProgram program;
  program.seed = seed;
  program.streams = static_cast<int>(random.between(1, 3));
  program.buffers = static_cast<int>(random.between(2, 3));
  program.gated = random.chance(50);
  const auto range = [&](int buffer) {
    Range made;
    made.buffer = buffer;
    made.count = random.between(1, FailingProgram::kBytes);
    made.first = random.below(FailingProgram::kBytes - made.count + 1);
    return made;
  };
  for (std::uint32_t i = random.between(2, steps_max); i != 0; --i) {
    Step step;
    step.kind = static_cast<Kind>(random.below(static_cast<std::uint32_t>(std::size(kKinds))));
    step.stream = static_cast<int>(random.below(static_cast<std::uint32_t>(program.streams)));
    step.value = static_cast<Byte>(random.below(256));
    const int buffer = static_cast<int>(random.below(static_cast<std::uint32_t>(program.buffers)));
    step.a = range(buffer);
    if (step.kind == Kind::replace) step.a = {buffer, 0, FailingProgram::kBytes};
    if (has_second(step.kind)) {
      step.b = range((buffer + 1) % program.buffers);
      if (step.kind == Kind::copy) {
        step.b.count = step.a.count;
        step.b.first = random.below(FailingProgram::kBytes - step.b.count + 1);
      }
    }
    if (may_fail(step.kind) && random.chance(30))
      step.end = random.chance(70) ? End::thrown : End::stopped;
    if (delays && random.chance(30)) step.delay = 1u << random.below(14);
    program.steps.push_back(step);
  }
  return program;
}

FailingRun::FailingRun(const FailingProgram& program, const Device& device)
    : impl_(std::make_unique<Impl>(program, device)) {}
FailingRun::FailingRun(FailingRun&&) noexcept = default;
FailingRun::~FailingRun() = default;
void FailingRun::submit() { impl_->submit(); }
std::string FailingRun::finish() { return impl_->finish(); }

std::string run_failing_program(const FailingProgram& program, const Device& device) {
  FailingRun run(program, device);
  run.submit();
  return run.finish();
}

std::string describe(const FailingProgram& program) {
  std::string text = fmt::format("{} streams, {} buffers{}\n", program.streams, program.buffers,
                                 program.gated ? ", behind a gate" : "");
  for (std::size_t i = 0; i != program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    constexpr const char* kEnds[] = {"", " throws", " stopped"};
    fmt::format_to(std::back_inserter(text), "{:3} s{} {:8} b{}[{}, {}) b{}[{}, {}) {}{}\n", i,
                   step.stream, kKinds[static_cast<int>(step.kind)], step.a.buffer, step.a.first,
                   step.a.first + step.a.count, step.b.buffer, step.b.first,
                   step.b.first + step.b.count, step.value, kEnds[static_cast<int>(step.end)]);
  }
  return text;
}

}  // namespace thalweg::test
