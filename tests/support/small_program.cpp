// SPDX-License-Identifier: Apache-2.0

#include "support/small_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <random>

#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

using Block = Array<std::uint32_t>;
constexpr std::uint64_t kElements = 2;

const char* name(SmallKind kind) {
  constexpr const char* kNames[] = {"write", "read",  "copy", "change", "record",
                                    "wait",  "query", "sync", "raw",    "renew"};
  return kNames[static_cast<std::size_t>(kind)];
}

// What one run of a program holds.
struct World {
  std::vector<Stream> streams;
  std::vector<Block> blocks;
  std::vector<Event> events;
  std::vector<Future<std::vector<std::uint32_t>>> reads;
};

void change(Cell at, std::span<std::uint32_t> to, std::span<const std::uint32_t> from) {
  to[at.x] = to[at.x] * 3 + from[at.x];
}

class Runner {
 public:
  explicit Runner(const SmallProgram& program)
      : program_(program), change_(kernel("change", &change)) {}

  void before(ExploreRun& run) {
    world_ = std::make_unique<World>();
    for (int i = 0; i != program_.streams; ++i)
      world_->streams.push_back(must(Stream::create(run.device())));
    for (int i = 0; i != program_.blocks; ++i) {
      const Stream& home = world_->streams[static_cast<std::size_t>(i % program_.streams)];
      world_->blocks.push_back(must(Block::create(home, kElements)));
      must(home.fill(world_->blocks.back(), static_cast<std::uint32_t>(100 + i)));
    }
    for (int i = 0; i != program_.events; ++i)
      world_->events.push_back(must(Event::create(run.device())));
  }

  void run(ExploreRun& run) {
    std::uint32_t number = 0;
    for (const SmallStep& step : program_.steps) take(run, step, ++number);
    must(run.device().synchronize());
  }

  void after(ExploreRun&) { world_.reset(); }

 private:
  Block& block(int i) { return world_->blocks[static_cast<std::size_t>(i)]; }

  void take(ExploreRun& run, const SmallStep& step, std::uint32_t number) {
    const Stream& stream = world_->streams[static_cast<std::size_t>(step.stream)];
    switch (step.kind) {
      case SmallKind::write:
        must(stream.fill(block(step.a), number));
        break;
      case SmallKind::read:
        world_->reads.push_back(stream.read(block(step.a)));
        break;
      case SmallKind::copy:
        if (step.a != step.b) must(stream.copy(block(step.a), block(step.b)));
        break;
      case SmallKind::change:
        if (step.a != step.b) must(stream.launch(change_, kElements, block(step.a), block(step.b)));
        break;
      case SmallKind::record:
        must(stream.record(world_->events[static_cast<std::size_t>(step.a)]));
        break;
      case SmallKind::wait:
        must(stream.wait_event(world_->events[static_cast<std::size_t>(step.a)]));
        break;
      case SmallKind::query:
        run.observe(
            static_cast<std::uint64_t>(world_->events[static_cast<std::size_t>(step.a)].query()));
        break;
      case SmallKind::sync:
        must(stream.synchronize());
        break;
      case SmallKind::raw: {
        auto* const first = reinterpret_cast<std::uint32_t*>(
            thalweg::detail::native_bytes({updates(block(step.a))}).front().address);
        must(enqueue_raw(stream.raw(), "raw", [first] { first[0] = first[0] * 5 + 1; }));
        break;
      }
      case SmallKind::renew:
        block(step.a) = {};
        block(step.a) = must(Block::create(stream, kElements));
        must(stream.fill(block(step.a), number));
        break;
    }
  }

  const SmallProgram program_;
  Kernel<decltype(&change)> change_;
  std::unique_ptr<World> world_;
};

void extend(SmallProgram& program, int left, int streams, int blocks, int streams_used,
            int blocks_used, const std::function<void(const SmallProgram&)>& function) {
  if (left == 0) return function(program);
  for (int stream = 0; stream != std::min(streams, streams_used + 1); ++stream)
    for (int block = 0; block != std::min(blocks, blocks_used + 1); ++block)
      for (const SmallKind kind : {SmallKind::write, SmallKind::read}) {
        program.steps.push_back({kind, stream, block, 0});
        extend(program, left - 1, streams, blocks, std::max(streams_used, stream + 1),
               std::max(blocks_used, block + 1), function);
        program.steps.pop_back();
      }
}

SmallProgram random_of(std::uint64_t seed, int steps, int kinds) {
  std::mt19937_64 random(seed);
  const auto below = [&random](int bound) {
    return static_cast<int>(random() % static_cast<std::uint64_t>(bound));
  };
  SmallProgram program;
  for (int i = 0; i != steps; ++i) {
    SmallStep step;
    step.kind = static_cast<SmallKind>(below(kinds));
    step.stream = below(program.streams);
    const bool event = step.kind == SmallKind::record || step.kind == SmallKind::wait ||
                       step.kind == SmallKind::query;
    step.a = below(event ? program.events : program.blocks);
    step.b = (step.a + 1) % program.blocks;
    program.steps.push_back(step);
  }
  return program;
}

}  // namespace

std::string describe(const SmallProgram& program) {
  std::string text;
  for (const SmallStep& step : program.steps)
    text += fmt::format("{}s{} {} {} {}", text.empty() ? "" : "; ", step.stream, name(step.kind),
                        step.a, step.b);
  return text;
}

ExploreProgram to_explore(const SmallProgram& program) {
  auto runner = std::make_shared<Runner>(program);
  ExploreProgram explored;
  explored.before = [runner](ExploreRun& run) { runner->before(run); };
  explored.actors.emplace_back([runner](ExploreRun& run) { runner->run(run); });
  explored.after = [runner](ExploreRun& run) { runner->after(run); };
  return explored;
}

void for_each_program(int steps, int streams, int blocks,
                      const std::function<void(const SmallProgram&)>& function) {
  SmallProgram program;
  program.streams = streams;
  program.blocks = blocks;
  program.events = 0;
  extend(program, steps, streams, blocks, 0, 0, function);
}

SmallProgram random_program(std::uint64_t seed, int steps_max) {
  const int steps = 1 + static_cast<int>(seed % static_cast<std::uint64_t>(steps_max));
  return random_of(seed, steps, 10);
}

SmallProgram random_copies(std::uint64_t seed, int steps) { return random_of(seed, steps, 4); }

}  // namespace thalweg::test
