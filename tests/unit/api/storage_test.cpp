// SPDX-License-Identifier: Apache-2.0
//
// What thalweg/base/storage.hpp promises, on cpu.

#include "thalweg/base/storage.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/refusal.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

using testing::HasSubstr;

// A storage of the program's, and the books it keeps: every call is checked against what was given
// out before. It answers as `answer` says.
class Program {
 public:
  enum class Answer { memory, null, misaligned, exception };

  Answer answer = Answer::memory;

  StorageTable table() { return {&alloc, &free, this}; }
  StorageHooks hooks() { return {&taken, &given_back, this}; }

  std::size_t live() const {
    const std::lock_guard lock(mutex_);
    return live_.size();
  }
  std::uint64_t allocs() const {
    const std::lock_guard lock(mutex_);
    return allocs_;
  }
  std::uint64_t live_bytes() const {
    const std::lock_guard lock(mutex_);
    std::uint64_t sum = 0;
    for (const auto& [memory, bytes] : live_) sum += bytes;
    return sum;
  }

  // What the hooks were told of and not told the end of.
  std::size_t told(MemoryKind kind) const {
    const std::lock_guard lock(mutex_);
    return told_[index(kind)].size();
  }
  std::uint64_t told_in_all(MemoryKind kind) const {
    const std::lock_guard lock(mutex_);
    return told_in_all_[index(kind)];
  }

 private:
  static constexpr std::size_t kSlack = 4096 + 64;

  static std::size_t index(MemoryKind kind) { return kind == MemoryKind::device ? 0 : 1; }

  static void* alloc(void* context, std::uint64_t size_bytes, std::uint64_t alignment_bytes) {
    auto& self = *static_cast<Program*>(context);
    EXPECT_TRUE(std::has_single_bit(alignment_bytes));
    EXPECT_LE(alignment_bytes, 4096U);
    EXPECT_GT(size_bytes, 0U);
    if (self.answer == Answer::null) return nullptr;
    if (self.answer == Answer::exception) throw std::runtime_error("no memory here");
    void* memory = std::aligned_alloc(4096, (size_bytes + kSlack + 4095) / 4096 * 4096);
    if (self.answer == Answer::misaligned) memory = static_cast<std::byte*>(memory) + 8;
    const std::lock_guard lock(self.mutex_);
    ++self.allocs_;
    EXPECT_TRUE(self.live_.emplace(memory, size_bytes).second);
    return memory;
  }

  static void free(void* context, void* memory, std::uint64_t size_bytes) {
    auto& self = *static_cast<Program*>(context);
    {
      const std::lock_guard lock(self.mutex_);
      const auto at = self.live_.find(memory);
      ASSERT_NE(at, self.live_.end()) << "It was not given out.";
      EXPECT_EQ(at->second, size_bytes);
      self.live_.erase(at);
    }
    const std::uintptr_t odd = reinterpret_cast<std::uintptr_t>(memory) % 4096;
    std::free(static_cast<std::byte*>(memory) - odd);
  }

  static void taken(void* context, MemoryKind kind, const void* memory, std::uint64_t size_bytes) {
    auto& self = *static_cast<Program*>(context);
    const std::lock_guard lock(self.mutex_);
    EXPECT_TRUE(self.told_[index(kind)].emplace(memory, size_bytes).second);
    ++self.told_in_all_[index(kind)];
  }

  static void given_back(void* context, MemoryKind kind, const void* memory,
                         std::uint64_t size_bytes) {
    auto& self = *static_cast<Program*>(context);
    const std::lock_guard lock(self.mutex_);
    const auto at = self.told_[index(kind)].find(memory);
    ASSERT_NE(at, self.told_[index(kind)].end()) << "It was not taken.";
    EXPECT_EQ(at->second, size_bytes);
    self.told_[index(kind)].erase(at);
  }

  mutable std::mutex mutex_;
  std::map<const void*, std::uint64_t> live_;
  std::map<const void*, std::uint64_t> told_[2];
  std::uint64_t told_in_all_[2] = {0, 0};
  std::uint64_t allocs_ = 0;
};

// The device may end on a thread of its own.
bool all_given_back(const Program& program) {
  return comes_true([&] {
    return program.live() == 0 && program.told(MemoryKind::device) == 0 &&
           program.told(MemoryKind::host) == 0;
  });
}

// Work of both kinds of memory, so that something is in each pool; the results are right.
void use(const Device& device) {
  const Stream s = must(Stream::create(device));
  const Stream t = must(Stream::create(device));
  for (std::uint64_t count = 1; count <= 100'000; count *= 10) {
    const auto data = must(Array<std::uint32_t>::create(s, count));
    const auto pages = must(HostArray<std::uint32_t>::create(s, count));
    const auto square = kernel("square", [](Cell at, std::span<std::uint32_t> to) {
      to[at.x] = static_cast<std::uint32_t>(at.x * at.x);
    });
    must(s.launch(square, static_cast<std::int64_t>(count), data));
    must(t.copy(pages, data));
    const auto view = must(pages.map(for_reading, kLimit));
    for (std::uint64_t i = 0; i < count; i += 97)
      ASSERT_EQ(view[i], static_cast<std::uint32_t>(i * i));
    const std::vector<std::uint32_t> twos(count, 2);
    must(s.upload(data, std::span<const std::uint32_t>(twos)));
    EXPECT_EQ(must(t.read(data).get(kLimit)), twos);
  }
}

TEST(StorageTest, DeviceMemoryComesFromTheTableAndGoesBack) {
  Program program;
  {
    const Device device = must(Device::open("cpu", {.device_storage = program.table()}));
    EXPECT_EQ(program.allocs(), 0U);
    use(device);
    EXPECT_GT(program.allocs(), 0U);
    EXPECT_EQ(program.live_bytes(), device.memory_usage().reserved_bytes);
    EXPECT_GT(device.host_memory_usage().reserved_bytes, 0U);
    device.poll();
    device.trim();
    EXPECT_EQ(program.live_bytes(), device.memory_usage().reserved_bytes);
  }
  EXPECT_TRUE(all_given_back(program));
}

TEST(StorageTest, HostMemoryComesFromTheTableAndGoesBack) {
  Program program;
  {
    const Device device = must(Device::open("cpu", {.host_storage = program.table()}));
    use(device);
    EXPECT_GT(program.allocs(), 0U);
    EXPECT_EQ(program.live_bytes(), device.host_memory_usage().reserved_bytes);
  }
  EXPECT_TRUE(all_given_back(program));
}

// Two tables, and hooks over both: each kind is told apart.
TEST(StorageTest, EachKindHasItsTableAndItsHooks) {
  Program of_device;
  Program of_host;
  Program told;
  {
    const Device device = must(Device::open("cpu", {.device_storage = of_device.table(),
                                                    .host_storage = of_host.table(),
                                                    .storage_hooks = told.hooks()}));
    use(device);
    EXPECT_EQ(told.told_in_all(MemoryKind::device), of_device.allocs());
    EXPECT_EQ(told.told_in_all(MemoryKind::host), of_host.allocs());
    EXPECT_EQ(told.told(MemoryKind::device), of_device.live());
    EXPECT_EQ(told.told(MemoryKind::host), of_host.live());
  }
  EXPECT_TRUE(all_given_back(of_device));
  EXPECT_TRUE(all_given_back(of_host));
  EXPECT_TRUE(all_given_back(told));
}

// Hooks without a table hear of the device's own memory.
TEST(StorageTest, HooksHearOfTheDevicesOwnMemory) {
  Program told;
  {
    const Device device = must(Device::open("cpu", {.storage_hooks = told.hooks()}));
    use(device);
    EXPECT_GT(told.told_in_all(MemoryKind::device), 0U);
    EXPECT_GT(told.told_in_all(MemoryKind::host), 0U);
  }
  EXPECT_TRUE(all_given_back(told));
}

// One hook of the two is fine.
TEST(StorageTest, OneHookIsEnough) {
  Program told;
  StorageHooks hooks = told.hooks();
  hooks.given_back = nullptr;
  use(must(Device::open("cpu", {.storage_hooks = hooks})));
  EXPECT_GT(told.told_in_all(MemoryKind::device), 0U);
}

// Memory that is in use when the last handle goes goes back when the work has passed.
TEST(StorageTest, MemoryInFlightGoesBackLater) {
  Program program;
  Timeline gate;
  {
    const Device device = must(Device::open("cpu?workers=1", {.device_storage = program.table(),
                                                              .host_storage = program.table(),
                                                              .storage_hooks = program.hooks()}));
    gate = must(Timeline::create(device));
    const Stream s = must(Stream::create(device));
    must(s.wait(gate, 1));
    const auto data = must(Array<int>::create(s, 1000));
    must(s.upload(data, std::vector<int>(1000, 1)));
    const std::vector<int> twos(1000, 2);
    must(s.upload(data, std::span<const int>(twos)));
  }
  EXPECT_GE(program.live(), 2U);
  must(gate.signal(1));
  gate = {};
  EXPECT_TRUE(all_given_back(program));
}

class BadAnswers : public testing::TestWithParam<Program::Answer> {};

// What the table cannot or does not give is refused, for both kinds, and nothing is kept of it: the
// next request, which is answered, is fine.
TEST_P(BadAnswers, AreRefusedAndLeaveNothingBehind) {
  Program program;
  {
    const Device device = must(Device::open("cpu", {.device_storage = program.table(),
                                                    .host_storage = program.table(),
                                                    .storage_hooks = program.hooks()}));
    const Stream s = must(Stream::create(device));
    const std::string expected =
        GetParam() == Program::Answer::misaligned ? "invalid_argument" : "out_of_memory";
    program.answer = GetParam();
    EXPECT_EQ(refusal(Array<int>::create(s, 10)), expected);
    EXPECT_EQ(refusal(Array<int>::create(s, 10'000)), expected);
    EXPECT_EQ(refusal(HostArray<int>::create(s, 10)), expected);
    EXPECT_EQ(program.live(), 0U);
    EXPECT_EQ(program.told_in_all(MemoryKind::device), 0U);
    EXPECT_EQ(program.told_in_all(MemoryKind::host), 0U);
    EXPECT_EQ(device.memory_usage().reserved_bytes, 0U);
    EXPECT_EQ(device.memory_usage().live_bytes, 0U);
    EXPECT_EQ(device.host_memory_usage().reserved_bytes, 0U);

    program.answer = Program::Answer::memory;
    const auto data = must(Array<int>::create(s, 10));
    program.answer = GetParam();
    const std::vector<int> values(10, 3);
    const auto staged = s.upload(data, std::span<const int>(values));
    EXPECT_EQ(refusal(staged), expected);
    EXPECT_THAT(message(staged), HasSubstr("staging an upload"));
    must(s.upload(data, std::vector<int>(values)));
    EXPECT_EQ(must(s.read(data).get(kLimit)), values);
  }
  EXPECT_TRUE(all_given_back(program));
}

INSTANTIATE_TEST_SUITE_P(Storage, BadAnswers,
                         testing::Values(Program::Answer::null, Program::Answer::misaligned,
                                         Program::Answer::exception));

TEST(StorageTest, ATableNamesTheStorageThatHasNoMemory) {
  Program program;
  const Device device = must(Device::open("cpu", {.device_storage = program.table()}));
  const Stream s = must(Stream::create(device));
  program.answer = Program::Answer::null;
  EXPECT_THAT(message(Array<int>::create(s, 10)), HasSubstr("storage table"));
}

TEST(StorageTest, OneFunctionWithoutTheOtherIsRefused) {
  Program program;
  for (const bool device_kind : {true, false}) {
    for (const bool with_alloc : {true, false}) {
      StorageTable half = program.table();
      if (with_alloc) {
        half.free = nullptr;
      } else {
        half.alloc = nullptr;
      }
      DeviceOptions options;
      (device_kind ? options.device_storage : options.host_storage) = half;
      const auto device = Device::open("cpu", options);
      EXPECT_EQ(refusal(device), "invalid_argument");
      EXPECT_THAT(message(device),
                  HasSubstr(with_alloc ? "alloc without free" : "free without alloc"));
    }
  }
  EXPECT_EQ(program.allocs(), 0U);
}

// The limit is the device's, whatever the storage has.
TEST(StorageTest, TheLimitHoldsForATableToo) {
  Program program;
  {
    const Device device = must(
        Device::open("cpu", {.memory_limit_bytes = 1 << 20, .device_storage = program.table()}));
    const Stream s = must(Stream::create(device));
    EXPECT_EQ(refusal(Array<std::byte>::create(s, (1 << 20) + 1)), "out_of_memory");
    EXPECT_EQ(program.allocs(), 0U);
    for (int i = 0; i != 10; ++i) {
      EXPECT_EQ(refusal(Array<std::byte>::create(s, (1 << 19) + 4096 * i)), "none");
      EXPECT_LE(program.live_bytes(), 1U << 20);
    }
  }
  EXPECT_TRUE(all_given_back(program));
}

}  // namespace
}  // namespace thalweg::test
