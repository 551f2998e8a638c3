// SPDX-License-Identifier: Apache-2.0
//
// The concepts a backend is written against: a small model satisfies each, and lacks it again when
// any one of its parts is missing or of another type. All of it is checked by the compiler.

#include <gtest/gtest.h>

#include <cstdint>
#include <type_traits>

#include "contract/support/tiny_backend.hpp"

namespace thalweg::test {
namespace {

// A part is taken away by a member of the same name that hides the model's.

static_assert(backend::Fence<TinyFence>);
struct FenceWithoutPassed : TinyFence {
  bool passed() const = delete;
};
struct FenceWithoutWait : TinyFence {
  Result<void> wait(Deadline) const = delete;
};
struct FencePassedOnlyWhenMutable : TinyFence {
  bool passed() { return true; }
};
struct FencePassedIsAnInt : TinyFence {
  int passed() const { return 1; }
};
struct FenceWaitsForNothing : TinyFence {
  void wait(Deadline) const {}
};
struct FenceThatStays : TinyFence {
  FenceThatStays(FenceThatStays&&) = delete;
};
static_assert(!backend::Fence<FenceWithoutPassed>);
static_assert(!backend::Fence<FenceWithoutWait>);
static_assert(!backend::Fence<FencePassedOnlyWhenMutable>);
static_assert(!backend::Fence<FencePassedIsAnInt>);
static_assert(!backend::Fence<FenceWaitsForNothing>);
static_assert(!backend::Fence<FenceThatStays>);
static_assert(!backend::Fence<int>);

static_assert(backend::ComputeStorage<TinyStorage>);
struct StorageWithoutAlignment : TinyStorage {
  std::uint64_t alignment() const = delete;
};
struct StorageWithoutGranularity : TinyStorage {
  std::uint64_t granularity() const = delete;
};
struct StorageWithoutAlloc : TinyStorage {
  Result<backend::StorageHandle> alloc(std::uint64_t) = delete;
};
struct StorageWithoutGet : TinyStorage {
  backend::StorageResource get(const backend::StorageHandle&) const = delete;
};
struct StorageWithoutDealloc : TinyStorage {
  void dealloc(const backend::StorageHandle&) = delete;
};
struct StorageWithoutFlush : TinyStorage {
  void flush() = delete;
};
struct StorageThatCannotRefuse : TinyStorage {
  backend::StorageHandle alloc(std::uint64_t) { return {}; }
};
static_assert(!backend::ComputeStorage<StorageWithoutAlignment>);
static_assert(!backend::ComputeStorage<StorageWithoutGranularity>);
static_assert(!backend::ComputeStorage<StorageWithoutAlloc>);
static_assert(!backend::ComputeStorage<StorageWithoutGet>);
static_assert(!backend::ComputeStorage<StorageWithoutDealloc>);
static_assert(!backend::ComputeStorage<StorageWithoutFlush>);
static_assert(!backend::ComputeStorage<StorageThatCannotRefuse>);

static_assert(backend::DeviceStream<TinyStream>);
struct StreamWithoutDeviceMemory : TinyStream {
  void device_memory() = delete;
};
struct StreamWithoutHostMemory : TinyStream {
  void host_memory() = delete;
};
struct StreamWithoutDropQueue : TinyStream {
  void drop_queue() = delete;
};
struct StreamWithoutSignal : TinyStream {
  Signal signal() const = delete;
};
struct StreamWithoutFence : TinyStream {
  static Result<TinyFence> fence(Signal) = delete;
};
struct StreamWhoseFenceIsNone : TinyStream {
  using Fence = int;
};
struct StreamWhoseStorageIsNone : TinyStream {
  using DeviceStorage = int;
};
struct StreamWithAnotherStorage : TinyStream {
  using HostStorage = StorageWithoutFlush;
};
struct StreamWithAnotherSignal : TinyStream {
  using Signal = std::shared_ptr<TinyQueue>;
  Signal signal() const { return nullptr; }
  static Result<TinyFence> fence(const Signal& queue) { return TinyStream::fence(queue.get()); }
};
static_assert(!backend::DeviceStream<StreamWithoutDeviceMemory>);
static_assert(!backend::DeviceStream<StreamWithoutHostMemory>);
static_assert(!backend::DeviceStream<StreamWithoutDropQueue>);
static_assert(!backend::DeviceStream<StreamWithoutSignal>);
static_assert(!backend::DeviceStream<StreamWithoutFence>);
static_assert(!backend::DeviceStream<StreamWhoseFenceIsNone>);
static_assert(!backend::DeviceStream<StreamWhoseStorageIsNone>);
static_assert(!backend::DeviceStream<StreamWithAnotherStorage>);
static_assert(!backend::DeviceStream<StreamWithAnotherSignal>);

static_assert(backend::StreamFactory<TinyFactory>);
struct FactoryWithoutCreate : TinyFactory {
  Result<TinyStream> create(const backend::StreamRequest&) = delete;
};
struct FactoryOfAnotherStream : TinyFactory {
  using Stream = int;
};
struct FactoryWithoutStream {
  Result<TinyStream> create(const backend::StreamRequest&);
};
static_assert(!backend::StreamFactory<FactoryWithoutCreate>);
static_assert(!backend::StreamFactory<FactoryOfAnotherStream>);
static_assert(!backend::StreamFactory<FactoryWithoutStream>);

static_assert(backend::EventStreamBackend<TinyBackend>);
struct BackendWithoutFactory : TinyBackend {
  TinyFactory& factory() = delete;
};
struct BackendWithoutSubmit : TinyBackend {
  static Result<void> submit(TinyStream&, const neutral::Task&, Serial) = delete;
};
struct BackendWithoutWaitFor : TinyBackend {
  static Result<Serial> wait_for(TinyStream&, TinyStream&, Serial) = delete;
};
struct BackendWithoutFence : TinyBackend {
  static Result<TinyFence> fence(TinyStream::Signal) = delete;
};
struct BackendThatSaysNotWhatItWaitsFor : TinyBackend {
  static Result<void> wait_for(TinyStream&, TinyStream&, Serial) { return {}; }
};
struct BackendOfAnotherStream : TinyBackend {
  using Stream = StreamWithoutFence;
};
static_assert(!backend::EventStreamBackend<BackendWithoutFactory>);
static_assert(!backend::EventStreamBackend<BackendWithoutSubmit>);
static_assert(!backend::EventStreamBackend<BackendWithoutWaitFor>);
static_assert(!backend::EventStreamBackend<BackendWithoutFence>);
static_assert(!backend::EventStreamBackend<BackendThatSaysNotWhatItWaitsFor>);
static_assert(!backend::EventStreamBackend<BackendOfAnotherStream>);

// What is optional may be missing: the tiny backend has no wait(), no raw(), no priorities.
TEST(Concepts, OptionalPartsMayBeMissing) {
  backend::MultiStream<TinyBackend> driver{TinyBackend(std::make_shared<TinyControl>())};
  EXPECT_EQ(driver.priority_range(), PriorityRange());
  EXPECT_FALSE(driver.wait(order::Point(), Deadline()));
  EXPECT_EQ(driver.counters().futex_wakes, 0U);
  EXPECT_EQ(driver.failure_scope(), FailureScope::task);
}

// runtime::open takes what models the concept, and nothing else, without an error deep inside.
TEST(Concepts, OpenTakesBackendsOnly) {
  constexpr auto opens = []<class B>(std::type_identity<B>) {
    return requires(B backend) { runtime::open(std::move(backend), {.backend = "x"}); };
  };
  static_assert(opens(std::type_identity<TinyBackend>{}));
  static_assert(!opens(std::type_identity<BackendWithoutSubmit>{}));
  static_assert(!opens(std::type_identity<int>{}));
}

}  // namespace
}  // namespace thalweg::test
