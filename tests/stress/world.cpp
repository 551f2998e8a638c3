// SPDX-License-Identifier: Apache-2.0

#include "stress/world.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

#include "thalweg/base/log.hpp"

namespace thalweg::stress {
namespace {

using std::chrono::seconds;

// Generous: a sanitizer makes everything ten times slower, and others use the machine.
constexpr seconds kEndMax{300};

constexpr std::array<const char*, kDevices> kNames{"cpu?workers=2&memory=64MiB",
                                                   "cpu?workers=3&measure_busy=on"};

// Sizes around the limits of the backend: 4,096 cells from which on idle workers help.
constexpr std::array<std::size_t, 4> kCommonCounts{1, 100, 1000, 6000};

}  // namespace

Common::Common(const Stream& home, std::size_t count)
    : array(must(Array<Word>::create(home, count))), sums(count) {
  must(home.fill(array, Word{0}));
}

World::World(std::uint64_t seed_of_run, const std::string& device)
    : seed(seed_of_run),
      short_device(device.empty() ? "cpu?workers=1" : device),
      add(kernel("add", &add_to)) {
  // What no call could return: host functions that threw and whose future was dropped, tasks that
  // were stopped, signals that came too late.
  set_error_sink([this](const Error& error) {
    sunk_errors.fetch_add(1, std::memory_order_relaxed);
    const ErrorKind kind = error.kind();
    // Threads read each other's arrays, written or not.
    if (error.message().find("`unwritten_read`") != std::string::npos) return;
    if (kind != ErrorKind::task_failed && kind != ErrorKind::cancelled &&
        kind != ErrorKind::invalid_argument)
      fail("error sink", error.to_string());
  });
  block.assign(kBlock, 0);
  for (std::size_t d = 0; d != kDevices; ++d) {
    devices[d] = must(Device::open(device.empty() ? kNames[d] : device));
    pools[d] = must(StreamPool::create(devices[d], 3));
    for (Stream& stream : handles_.streams[d]) stream = must(Stream::create(devices[d]));
    for (Event& event : handles_.events[d]) event = must(Event::create(devices[d]));
    for (View<Word>& view : handles_.views[d])
      view = must(Array<Word>::create(handles_.streams[d][0], 300)).view();
    commons[d].reserve(kCommonCounts.size());
    for (std::size_t i = 0; i != kCommonCounts.size(); ++i)
      commons[d].emplace_back(handles_.streams[d][i], kCommonCounts[i]);
  }
  for (std::size_t i = 0; i != kTimelines; ++i)
    timelines.push_back(must(Timeline::create(devices[i % kDevices])));
}

void World::exchange(Handles& mine, std::uint64_t random) {
  // Dropped without the lock.
  Stream stream;
  Event event;
  View<Word> view;
  const std::size_t d = random % kDevices;
  const std::scoped_lock lock(mutex_);
  const auto swap_in = [&](auto& common, auto& own, auto& former) {
    const std::size_t slot = (random >> 8) % common.size();
    if (!own[slot].core()) return;
    former = std::exchange(common[slot], own[slot]);
  };
  swap_in(handles_.streams[d], mine.streams[d], stream);
  swap_in(handles_.events[d], mine.events[d], event);
  swap_in(handles_.views[d], mine.views[d], view);
  mine = handles_;
}

void World::fail(std::string_view who, std::string_view what) const {
  fmt::print(stderr, "SEED={}\n{}: {}\n", seed, who, what);
  std::fflush(stderr);
  std::_Exit(1);
}

void World::check_end() {
  handles_ = {};
  pools = {};
  const auto begin = std::chrono::steady_clock::now();
  // Callbacks and host functions submit too: the end is when nothing new has come.
  for (bool over = false; !over;) {
    const std::uint64_t before = callbacks_called + host_functions;
    for (const Device& device : devices)
      if (const Result<void> waited = device.synchronize(Deadline(kEndMax)); !waited)
        fail("end", waited.error().to_string());
    over = callbacks_called == callbacks_given && deletions == adoptions &&
           before == callbacks_called + host_functions;
    for (const Device& device : devices) over = device.poll() && over;
    if (over) break;
    if (std::chrono::steady_clock::now() - begin > kEndMax)
      fail("end", fmt::format("{} of {} callbacks were called, {} of {} deleters.",
                              callbacks_called.load(), callbacks_given.load(), deletions.load(),
                              adoptions.load()));
    // Leaves the processor to what has to end.
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  check_sums();
  commons = {};
  timelines.clear();
  devices = {};
}

void World::check_sums() {
  const auto check = [this](std::string_view what, std::span<const Word> found, const Sums& sums) {
    for (std::size_t i = 0; i != found.size(); ++i)
      if (found[i] != sums.at(i))
        fail("end", fmt::format("{}, element {} of {}: {} and not {}.", what, i, found.size(),
                                found[i], sums.at(i)));
  };
  for (std::size_t d = 0; d != kDevices; ++d)
    for (const Common& common : commons[d]) {
      auto found = map(common.array, for_reading);
      if (!found) fail("end", found.error().to_string());
      check(fmt::format("array of device {}", d), found->span(), common.sums);
    }
  check("block", block, block_sums);
}

}  // namespace thalweg::stress
