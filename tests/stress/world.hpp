// SPDX-License-Identifier: Apache-2.0
//
// stress/world.hpp - what the threads of the stress test share, and what must be true at its end.
//
// Threads take copies of shared handles seldom (World::exchange), and use those: a lock around each
// use would order the threads, and hide from ThreadSanitizer what the library does not order.
//
// What is known of data that all of them change: tasks only add to it, so it is the sum of all
// tasks that were accepted, in whatever order they ran.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/thalweg.hpp"

namespace thalweg::stress {

using Word = std::uint32_t;

inline constexpr std::size_t kDevices = 2;

// Elements that only ever grow, and by how much they must have grown.
class Sums {
 public:
  explicit Sums(std::size_t count) : added_(count) {}

  void add(std::size_t first, std::size_t count, Word value) noexcept {
    for (std::size_t i = first; i != first + count; ++i)
      added_[i].fetch_add(value, std::memory_order_relaxed);
  }

  std::size_t size() const noexcept { return added_.size(); }
  Word at(std::size_t i) const noexcept { return added_[i].load(std::memory_order_relaxed); }

 private:
  std::vector<std::atomic<Word>> added_;
};

// An array of a device that all threads add to.
struct Common {
  Common(const Stream& home, std::size_t count);

  Array<Word> array;
  Sums sums;
};

// Handles that threads give to one another.
struct Handles {
  std::array<std::array<Stream, 6>, kDevices> streams;
  std::array<std::array<Event, 4>, kDevices> events;
  std::array<std::array<View<Word>, 4>, kDevices> views;  // Nothing is known of their contents.
};

// The kernel that adds `value` to each element.
inline void add_to(Cell at, std::span<Word> values, Word value) { values[at.x] += value; }
using AddKernel = decltype(kernel("add", &add_to));

class World {
 public:
  static constexpr std::size_t kBlock = 2048;  // Elements of the block that windows are cut of.
  static constexpr std::size_t kTimelines = 4;

  // `device`: of which all are opened; empty: cpu devices of several kinds.
  World(std::uint64_t seed, const std::string& device);

  // Puts some of `mine` in place of others, and makes `mine` a copy of all.
  void exchange(Handles& mine, std::uint64_t random);

  // Prints the seed and what went wrong, and ends the process.
  [[noreturn]] void fail(std::string_view who, std::string_view what) const;

  // Waits until nothing is left to happen, and checks the sums and the counts. REQUIRES: all
  // threads have ended, and dropped what they had.
  void check_end();

  const std::uint64_t seed;
  const std::string short_device;  // What is opened and dropped again in the middle.
  std::array<Device, kDevices> devices;
  std::array<StreamPool, kDevices> pools;
  AddKernel add;
  std::array<std::vector<Common>, kDevices> commons;
  std::vector<Timeline> timelines;

  // Memory of the program's, which threads hand to either device in overlapping windows.
  std::vector<Word> block;
  Sums block_sums{kBlock};

  std::atomic<std::uint64_t> adoptions{0};
  std::atomic<std::uint64_t> deletions{0};
  std::atomic<std::uint64_t> callbacks_given{0};
  std::atomic<std::uint64_t> callbacks_called{0};
  std::atomic<std::uint64_t> host_functions{0};
  std::atomic<std::uint64_t> sunk_errors{0};

 private:
  void check_sums();

  std::mutex mutex_;
  Handles handles_;
};

}  // namespace thalweg::stress
