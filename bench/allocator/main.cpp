// SPDX-License-Identifier: Apache-2.0
//
// What handing out and taking back costs when nothing but the bookkeeping is done. README.md has
// the question and the method.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "support/clock.hpp"
#include "support/draw.hpp"
#include "support/machine.hpp"
#include "support/rounds.hpp"
#include "support/transformer_trace.hpp"
#include "support/values.hpp"
#include "support/work.hpp"
#include "thalweg/memory/offset_allocator.hpp"

namespace thalweg::bench {
namespace {

constexpr std::uint64_t kGranule = 256;
constexpr std::uint64_t kRange = (std::uint64_t{1} << 40) - kGranule;

// What is asked of an allocator: a place takes a size, or gives back what it has.
struct Step {
  std::uint32_t place = 0;
  std::uint64_t size_bytes = 0;  // 0: it gives back.
};

struct Workload {
  std::vector<Step> before;  // Not timed.
  std::vector<Step> timed;
  std::uint32_t places = 0;

  std::uint64_t pairs() const { return timed.size() / 2; }
};

// Contenders: take(size) gives a handle, give(handle) takes it back, high() is the end of what was
// ever used.

class Offsets {
 public:
  using Handle = memory::BlockHandle;
  Offsets() : allocator_(must(memory::OffsetAllocator::create({kRange, kGranule, 0}))) {}
  Handle take(std::uint64_t size_bytes) {
    const auto block = allocator_.allocate(size_bytes);
    end_ = std::max(end_, block->offset + block->size_bytes);
    return block->handle;
  }
  void give(const Handle& handle) { allocator_.free(handle); }
  std::uint64_t high() const { return end_; }

 private:
  memory::OffsetAllocator allocator_;
  std::uint64_t end_ = 0;
};

// The floor of time: sizes are rounded up to powers of two, and nothing is split or merged.
class Buckets {
 public:
  struct Handle {
    std::uint64_t offset = 0;
    std::uint32_t bucket = 0;
  };
  Handle take(std::uint64_t size_bytes) {
    const auto bucket =
        static_cast<std::uint32_t>(std::bit_width(std::max(size_bytes, kGranule) - 1));
    std::vector<std::uint64_t>& free = free_[bucket];
    if (free.empty()) {
      const std::uint64_t offset = end_;
      end_ += std::uint64_t{1} << bucket;
      return {offset, bucket};
    }
    const std::uint64_t offset = free.back();
    free.pop_back();
    return {offset, bucket};
  }
  void give(const Handle& handle) { free_[handle.bucket].push_back(handle.offset); }
  std::uint64_t high() const { return end_; }

 private:
  std::vector<std::uint64_t> free_[64];
  std::uint64_t end_ = 0;
};

// The tightest that fits, the lowest of those, merged at once.
class BestFit {
 public:
  using Handle = std::uint64_t;
  Handle take(std::uint64_t size_bytes) {
    const std::uint64_t size = (size_bytes + kGranule - 1) / kGranule * kGranule;
    const auto found = by_size_.lower_bound({size, 0});
    if (found == by_size_.end()) {
      live_[end_] = size;
      return std::exchange(end_, end_ + size);
    }
    const auto [had, offset] = *found;
    remove(offset, had);
    if (had != size) add(offset + size, had - size);
    live_[offset] = size;
    return offset;
  }
  void give(Handle offset) {
    const auto live = live_.find(offset);
    std::uint64_t size = live->second;
    live_.erase(live);
    high_ = std::max(high_, end_);
    auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && next->first == offset + size) {
      size += next->second;
      next = remove(next->first, next->second);
    }
    if (next != by_offset_.begin()) {
      const auto [before, had] = *std::prev(next);
      if (before + had == offset) {
        remove(before, had);
        offset = before;
        size += had;
      }
    }
    if (offset + size == end_) {
      end_ = offset;
    } else {
      add(offset, size);
    }
  }
  std::uint64_t high() const { return std::max(high_, end_); }

 private:
  void add(std::uint64_t offset, std::uint64_t size) {
    by_size_.insert({size, offset});
    by_offset_[offset] = size;
  }
  std::map<std::uint64_t, std::uint64_t>::iterator remove(std::uint64_t offset,
                                                          std::uint64_t size) {
    by_size_.erase({size, offset});
    return by_offset_.erase(by_offset_.find(offset));
  }

  std::set<std::pair<std::uint64_t, std::uint64_t>> by_size_;
  std::map<std::uint64_t, std::uint64_t> by_offset_;
  std::unordered_map<std::uint64_t, std::uint64_t> live_;
  std::uint64_t end_ = 0;
  std::uint64_t high_ = 0;
};

// Workloads.

std::uint64_t log_uniform(Draw& draw, std::uint64_t low, std::uint64_t high) {
  const double share = static_cast<double>(draw.below(std::uint64_t{1} << 30)) * 0x1p-30;
  const double at = std::log(static_cast<double>(low)) +
                    share * std::log(static_cast<double>(high) / static_cast<double>(low));
  return static_cast<std::uint64_t>(std::exp(at));
}

// `live` places are full; then one is emptied and filled with another size, again and again.
Workload churn(std::uint32_t live, std::uint64_t size_max, std::uint64_t pairs,
               std::uint64_t seed) {
  Draw draw(seed);
  Workload load;
  load.places = live;
  for (std::uint32_t place = 0; place != live; ++place)
    load.before.push_back({place, log_uniform(draw, 256, size_max)});
  const auto change = [&](std::vector<Step>& steps) {
    const auto place = static_cast<std::uint32_t>(draw.below(live));
    steps.push_back({place, 0});
    steps.push_back({place, log_uniform(draw, 256, size_max)});
  };
  for (std::uint64_t i = 0; i != std::uint64_t{live} * 4; ++i) change(load.before);
  for (std::uint64_t i = 0; i != pairs; ++i) change(load.timed);
  return load;
}

Workload lifo(std::uint64_t pairs) {
  Draw draw(1);
  Workload load;
  load.places = 64;
  std::vector<std::uint64_t> sizes;
  for (int i = 0; i != 64; ++i) sizes.push_back(log_uniform(draw, 256, std::uint64_t{64} << 20));
  for (std::uint64_t i = 0; i < pairs; i += load.places) {
    for (std::uint32_t place = 0; place != load.places; ++place)
      load.timed.push_back({place, sizes[place]});
    for (std::uint32_t place = load.places; place-- != 0;) load.timed.push_back({place, 0});
  }
  return load;
}

Workload training(bool variable, bool quick) {
  TraceOptions options;
  options.variable = variable;
  if (quick) options.steps = 2;
  Workload load;
  for (const TraceStep& step : transformer_trace(options)) {
    load.timed.push_back({step.block, step.taken ? step.size_bytes : 0});
    load.places = std::max(load.places, step.block + 1);
  }
  return load;
}

// Bytes of all that is live at once, as multiples of the granule.
std::uint64_t peak_of(const Workload& load) {
  std::vector<std::uint64_t> sizes(load.places);
  std::uint64_t live = 0;
  std::uint64_t peak = 0;
  for (const auto* const steps : {&load.before, &load.timed}) {
    for (const Step& step : *steps) {
      live -= sizes[step.place];
      sizes[step.place] = (step.size_bytes + kGranule - 1) / kGranule * kGranule;
      live += sizes[step.place];
      peak = std::max(peak, live);
    }
  }
  return peak;
}

template <class A>
void play(A& allocator, const std::vector<Step>& steps, std::vector<typename A::Handle>& handles) {
  for (const Step& step : steps) {
    if (step.size_bytes != 0)
      handles[step.place] = allocator.take(step.size_bytes);
    else
      allocator.give(handles[step.place]);
  }
}

// Nanoseconds of single calls.
template <class A>
void add_tails(std::vector<Value>& values, A& allocator, const std::vector<Step>& steps,
               std::vector<typename A::Handle>& handles) {
  std::vector<std::uint64_t> takes;
  std::vector<std::uint64_t> gives;
  for (const Step& step : steps) {
    const std::uint64_t begin = ticks();
    if (step.size_bytes != 0)
      handles[step.place] = allocator.take(step.size_bytes);
    else
      allocator.give(handles[step.place]);
    (step.size_bytes != 0 ? takes : gives).push_back(ticks() - begin);
  }
  if (!takes.empty())
    values.push_back({"take, p99.9 with timer", "ns", to_ns(percentile(takes, 0.999))});
  if (!gives.empty())
    values.push_back({"give, p99.9 with timer", "ns", to_ns(percentile(gives, 0.999))});
}

template <class A>
Contender contender(std::string who, std::string variant, const Workload& load,
                    std::uint64_t peak) {
  const auto run = [&load, peak] {
    Outcome outcome;
    {
      A allocator;
      std::vector<typename A::Handle> handles(load.places);
      play(allocator, load.before, handles);
      const Stopwatch watch;
      play(allocator, load.timed, handles);
      outcome.values.push_back({"pair", "ns", watch.wall_ns() / static_cast<double>(load.pairs())});
      outcome.values.push_back({"used / peak live", "1",
                                static_cast<double>(allocator.high()) / static_cast<double>(peak)});
    }
    A allocator;
    std::vector<typename A::Handle> handles(load.places);
    play(allocator, load.before, handles);
    add_tails(outcome.values, allocator, load.timed, handles);
    outcome.checksum = load.pairs();
    return outcome;
  };
  return {std::move(who), std::move(variant), load.pairs(), run};
}

void measure(Runner& runner, std::string_view name, const Workload& load) {
  runner.run(name, [&] {
    const std::uint64_t peak = peak_of(load);
    Group group;
    group.contenders = {contender<Offsets>("thalweg", "offset allocator", load, peak),
                        contender<BestFit>("best fit", "std::set", load, peak),
                        contender<Buckets>("floor", "powers of two", load, peak)};
    return group;
  });
}

// How full a range is when a request is refused for the first time: the mean over `seeds`.
Contender filled(std::uint64_t seeds) {
  const auto run = [seeds] {
    double sum = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      Draw draw(seed);
      auto allocator = must(memory::OffsetAllocator::create({std::uint64_t{1} << 30, kGranule, 0}));
      std::vector<memory::OffsetBlock> live;
      for (;;) {
        // Twice as many come as go.
        if (!live.empty() && draw.below(3) == 0) {
          const std::size_t at = draw.below(live.size());
          allocator.free(live[at].handle);
          live[at] = live.back();
          live.pop_back();
          continue;
        }
        const auto block = allocator.allocate(log_uniform(draw, 256, std::uint64_t{1} << 20));
        if (!block) break;
        live.push_back(*block);
      }
      sum +=
          static_cast<double>(allocator.live_bytes()) / static_cast<double>(allocator.size_bytes());
    }
    Outcome outcome;
    outcome.values.push_back({"filled", "1", sum / static_cast<double>(seeds)});
    outcome.checksum = seeds;
    return outcome;
  };
  return {"thalweg", "offset allocator", seeds, run};
}

void measure_all(Runner& runner) {
  const bool quick = runner.options().quick;
  const std::uint64_t pairs = quick ? 20'000 : 1'000'000;
  const std::uint64_t large = std::uint64_t{64} << 20;
  measure(runner, "LIFO", lifo(pairs));
  measure(runner, "1,000 live", churn(1'000, large, pairs, 1));
  measure(runner, "10,000 live", churn(10'000, large, pairs, 2));
  if (!quick)
    measure(runner, "100,000 live, to 4 MiB", churn(100'000, std::uint64_t{4} << 20, pairs, 3));
  measure(runner, "training, fixed length", training(false, quick));
  measure(runner, "training, variable length", training(true, quick));
  runner.run("filled at the first refusal", [quick] {
    Group group;
    group.contenders = {filled(quick ? 2 : 20)};
    return group;
  });
}

}  // namespace
}  // namespace thalweg::bench

int main(int argc, char** argv) {
  using namespace thalweg::bench;
  for (const bool variable : {false, true}) {
    TraceOptions trace;
    trace.variable = variable;
    const std::string_view asked = variable ? "--trace=variable" : "--trace=fixed";
    if (argc != 2 || argv[1] != asked) continue;
    print_csv(transformer_trace(trace), stdout);
    return 0;
  }
  auto options = parse_options("allocator", argc, argv);
  // One thread is all it takes.
  if (options) options->cores = "one core";
  return options ? run_on_one_core_and_on_all(*options, measure_all) : 2;
}
