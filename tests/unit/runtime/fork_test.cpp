// SPDX-License-Identifier: Apache-2.0
//
// What a forked child sees of the runtime: refusals, answers without a lock, handles that go
// without an end. Each test forks; the child ends itself by an alarm when it hangs.

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "contract/support/tiny_backend.hpp"
#include "runtime/device.hpp"
#include "runtime/queue.hpp"
#include "runtime/registry.hpp"
#include "support/gate.hpp"
#include "support/refusal.hpp"
#include "thalweg/base/log.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

constexpr unsigned kAlarm_s = 20;

void add_one(Cell, std::span<int> to) { ++to[0]; }

// Runs `body` in a child. True when it ends there by itself and no expectation failed.
template <class Body>
bool in_child(Body body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(kAlarm_s);
    body();
    std::fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

// One of each, in the middle of work: the stream is held by a gate.
struct World {
  Device device = must(Device::open("cpu?workers=2&measure_busy=on"));
  Stream stream = must(Stream::create(device));
  Stream other = must(Stream::create(device));
  Gate gate{device};
  Timeline timeline = must(Timeline::create(device, 3));
  Event event = must(Event::create(device));
  TimedEvent timed = must(TimedEvent::create(device));
  Buffer buffer = must(Buffer::create(stream, 64));
  Array<int> array = must(Array<int>::create(stream, 16));
  HostArray<int> host_array = must(HostArray<int>::create(stream, 16));
  Mapped<int> mapped = must(map(must(Array<int>::create(stream, 4)), for_writing));
  StreamPool pool = must(StreamPool::create(device, 2));
  std::optional<Kernel<void (*)(Cell, std::span<int>)>> add = kernel("add", &add_one);
  Future<void> done = other.host("done", {}, [] {});
  std::optional<Task> task;
  Future<void> future;
  Future<std::vector<int>> values;

  World() {
    must(done.get());
    done = other.host("done", {}, [] {});
    must(other.synchronize());
    gate.hold(stream);
    task = must(stream.launch(*add, 1, array));
    future = stream.host("behind", {reads(array)}, [] {});
    values = stream.read(array);
    must(stream.upload(array, std::vector<int>(16)));
    must(stream.record(event));
    must(stream.record(timed));
  }
};

template <class T>
void expect_refused(const Result<T>& result, int line) {
  EXPECT_EQ(refusal(result), "unavailable") << "line " << line;
  EXPECT_NE(message(result).find("forked"), std::string::npos) << "line " << line;
}

#define EXPECT_REFUSED(...) expect_refused(__VA_ARGS__, __LINE__)

void try_device(World& w) {
  EXPECT_REFUSED(Device::open("cpu"));
  EXPECT_REFUSED(runtime::open(TinyBackend(std::make_shared<TinyControl>()), {.backend = "tiny"}));
  EXPECT_REFUSED(w.device.synchronize());
  EXPECT_REFUSED(w.device.synchronize(std::chrono::nanoseconds(0)));
  EXPECT_TRUE(w.device.poll());
  EXPECT_EQ(w.device.trim(), 0U);
  EXPECT_EQ(w.device.priority_range().least, 1);
  EXPECT_EQ(w.device.failure_scope(), FailureScope::task);
  EXPECT_EQ(w.device.statistics().submissions, 0U);
  EXPECT_EQ(w.device.memory_usage().reserved_bytes, 0U);
  EXPECT_EQ(w.device.host_memory_usage().reserved_bytes, 0U);
  EXPECT_TRUE(w.device.wait_ledger().empty());
  EXPECT_EQ(w.device.backend(), "cpu");
  EXPECT_TRUE(w.device.valid());
  EXPECT_EQ(w.stream.device(), w.device);
  ASSERT_EQ(backends().size(), 2U);
  EXPECT_FALSE(backends()[0].available);
  EXPECT_NE(backends()[0].reason.find("forked"), std::string::npos);
}

void try_making(World& w) {
  EXPECT_REFUSED(Stream::create(w.device));
  EXPECT_REFUSED(Stream::with_priority(w.device, 0));
  EXPECT_REFUSED(Stream::adopt(w.device, w.stream.raw(), Ownership::borrowed));
  EXPECT_REFUSED(StreamPool::create(w.device, 1));
  EXPECT_REFUSED(Event::create(w.device));
  EXPECT_REFUSED(TimedEvent::create(w.device));
  EXPECT_REFUSED(Timeline::create(w.device));
  EXPECT_REFUSED(Buffer::create(w.stream, 64));
  EXPECT_REFUSED(Buffer::create(w.stream, 0));
  EXPECT_REFUSED(Array<int>::create(w.stream, 1));
  EXPECT_REFUSED(HostArray<int>::create(w.stream, 1));
  std::array<int, 4> own{};
  bool deleted = false;
  EXPECT_REFUSED(Array<int>::adopt(w.device, own, [&deleted] { deleted = true; }));
  EXPECT_FALSE(deleted);
}

void try_submitting(World& w) {
  const std::vector<int> values(16, 1);
  const std::span<const int> span(values);
  EXPECT_REFUSED(w.stream.launch(*w.add, 1, w.array));
  EXPECT_REFUSED(w.stream.launch(kernel("new", &add_one), 1, w.array));
  EXPECT_REFUSED(w.stream.fill(w.array, 1));
  EXPECT_REFUSED(w.stream.copy(w.array.view(0, 8), w.array.view(8, 8)));
  EXPECT_REFUSED(w.stream.upload(w.array, span));
  std::vector<int> taken(16, 7);
  EXPECT_REFUSED(w.stream.upload(w.array, std::move(taken)));
  EXPECT_EQ(taken, std::vector<int>(16, 7));
  EXPECT_REFUSED(w.stream.upload(std::move(taken)));
  EXPECT_REFUSED(w.stream.upload_borrowed(w.array, span).get());
  EXPECT_REFUSED(w.stream.read(w.array).get());
  EXPECT_REFUSED(w.stream.host("f", {}, [] { std::abort(); }).get());
  EXPECT_REFUSED(
      w.stream.native({}, [](NativeHandle, std::span<const NativeBytes>) { std::abort(); }));
  EXPECT_REFUSED(w.stream.touch({reads(w.array)}));
  EXPECT_REFUSED(w.stream.signal(w.timeline, 5));
  EXPECT_REFUSED(w.stream.on_complete(*w.task, [] { std::abort(); }));
  EXPECT_REFUSED(w.stream.record(w.event));
  EXPECT_REFUSED(w.stream.record(w.timed));
  EXPECT_REFUSED(w.stream.wait_event(w.event));
  EXPECT_REFUSED(w.stream.wait(w.other));
  EXPECT_REFUSED(w.stream.wait(w.timeline, 5));
  EXPECT_REFUSED(w.stream.synchronize());
  EXPECT_REFUSED(w.stream.wait_for_room());
  EXPECT_REFUSED(w.other.synchronize());  // Nothing of it is left to wait for.
  EXPECT_TRUE(w.stream.is_same_queue(Stream(w.stream)));
  EXPECT_NE(w.stream.raw(), NativeHandle{});
  EXPECT_TRUE(w.pool.next().valid());
}

void try_waiting(World& w) {
  EXPECT_EQ(w.event.query(), EventState::lost);
  EXPECT_REFUSED(w.event.wait());
  EXPECT_REFUSED(w.event.on_complete([] { std::abort(); }));
  EXPECT_REFUSED(elapsed(w.timed, w.timed));
  EXPECT_EQ(w.timeline.value(), 3U);
  EXPECT_REFUSED(w.timeline.signal(4));
  EXPECT_REFUSED(w.timeline.wait(3));
  EXPECT_REFUSED(w.timeline.wait(4));
  EXPECT_REFUSED(map(w.array, for_reading));
  EXPECT_REFUSED(try_map(w.array, for_writing));
  EXPECT_REFUSED(w.host_array.map(for_writing));
  EXPECT_REFUSED(w.future.on_complete([] { std::abort(); }));
  EXPECT_TRUE(w.future.ready());
  EXPECT_REFUSED(w.future.get());
  EXPECT_FALSE(w.future.valid());
  EXPECT_REFUSED(w.values.get());
  EXPECT_REFUSED(drain(w.done));
  set_log_hook([](LogLevel, std::string_view) { std::abort(); });
  set_error_sink([](const Error&) { std::abort(); });
}

void try_all(World& w) {
  try_device(w);
  try_making(w);
  try_submitting(w);
  try_waiting(w);
}

// Every call, and then every handle goes. The parent goes on as if nothing had been.
TEST(Fork, RefusesEveryCallInTheChild) {
  auto world = std::make_unique<World>();
  EXPECT_TRUE(in_child([&world] {
    try_all(*world);
    world.reset();
  }));
  world->gate.open();
  must(world->stream.synchronize());
  EXPECT_EQ(refusal(world->future.get(kLimit)), "none");
  EXPECT_EQ(must(world->values.get()).size(), 16U);
  must(world->timeline.signal(4));
  EXPECT_EQ(world->event.query(), EventState::done);
}

// A child of the child is one too.
TEST(Fork, RefusesEveryCallInAGrandchild) {
  World world;
  EXPECT_TRUE(in_child([&world] { EXPECT_TRUE(in_child([&world] { try_all(world); })); }));
}

// The forking thread holds the locks of the process, of the memory and of both streams: whoever
// takes one of them in the child stays there.
TEST(Fork, TakesNoLockInTheChild) {
  auto world = std::make_unique<World>();
  auto& device = static_cast<runtime::Device&>(*world->device.core());
  auto& queue = static_cast<runtime::Queue&>(*world->stream.core());
  const bool fine = device.with_memory([&] {
    const sync::Locked submission(runtime::Registry::instance().submission());
    const sync::Locked locked(queue.slot().lock);
    return in_child([&world] {
      try_all(*world);
      world.reset();
    });
  });
  EXPECT_TRUE(fine);
}

// Forked again and again while other threads submit, make and drop: whatever they hold at that
// moment, the child neither hangs nor crashes.
TEST(Fork, WhileOthersSubmit) {
  World world;
  std::atomic<bool> stop{false};
  std::vector<std::thread> busy;
  busy.emplace_back([&] {
    while (!stop) must(world.other.fill(world.array, 1));
  });
  busy.emplace_back([&] {
    while (!stop) {
      const Stream stream = must(Stream::create(world.device));
      const auto array = must(Array<int>::create(stream, 64));
      must(stream.upload(array, std::vector<int>(64)));
      must(stream.launch(kernel("short", &add_one), 1, array));
      static_cast<void>(world.device.statistics());
      static_cast<void>(world.device.poll());
    }
  });
  for (int round = 0; round != 30; ++round) {
    ASSERT_TRUE(in_child([&world] {
      try_all(world);
      world.add.reset();
      world.array = {};
      world.buffer = {};
      world.stream = {};
      world.timeline = {};
      world.event = {};
      world.future = {};
      world.device = {};
    })) << round;
  }
  stop = true;
  for (std::thread& thread : busy) thread.join();
}

// Failures live in the parent, whose other threads are skipped because of them over and over: they
// hold the lock of the bad bytes at almost any time. The child neither knows of the failures nor
// tells of them; the parent's stay as they are.
TEST(Fork, WithFailuresAlive) {
  static std::atomic<int> told;
  told = 0;
  set_error_sink([](const Error&) { ++told; });
  World world;
  const auto breaks = kernel("breaks", [](Cell, Out<int>) { throw std::runtime_error("broken"); });
  const auto takes =
      kernel("takes", [](Cell, Out<int> to, std::span<const int> from) { to[0] = from[0]; });
  auto bad = must(Array<int>::create(world.other, 4));
  auto skipped = must(Array<int>::create(world.other, 4));
  must(world.other.launch(breaks, 4, bad));
  must(world.other.launch(takes, 1, skipped, bad));
  const Error known = world.other.read(skipped).get(kLimit).error();
  auto untaken = world.other.read(skipped);
  auto untold = world.other.host("throws", {}, [] { throw std::runtime_error("broken too"); });
  must(world.other.synchronize());
  std::atomic<bool> stop{false};
  std::vector<std::thread> busy;
  for (int i = 0; i != 2; ++i)
    busy.emplace_back([&] {
      const Stream stream = must(Stream::create(world.device));
      while (!stop) {
        must(stream.launch(takes, 1, must(Array<int>::create(stream, 4)), bad));
        static_cast<void>(world.device.failures());
      }
    });
  for (int round = 0; round != 20; ++round) {
    ASSERT_TRUE(in_child([&] {
      try_all(world);
      EXPECT_TRUE(world.device.failures().empty());
      EXPECT_REFUSED(map(bad, for_reading));
      EXPECT_REFUSED(untaken.get(kLimit));
      EXPECT_REFUSED(world.other.fill(bad, 1));
      EXPECT_NE(known.to_string().find("broken"), std::string::npos);
      EXPECT_FALSE(known.to_json().empty());
      bad = {};
      skipped = {};
      untaken = {};
      untold = {};
      world.other = {};
      world.stream = {};
      world.device = {};
      EXPECT_EQ(told, 0);
    })) << round;
  }
  stop = true;
  for (std::thread& thread : busy) thread.join();
  EXPECT_EQ(told, 0);
  EXPECT_EQ(world.device.failures().size(), 1U);
  EXPECT_EQ(refusal(untaken.get(kLimit)), "unwritten");
  must(world.other.fill(bad, 1));
  must(world.other.fill(skipped, 1));
  EXPECT_EQ(refusal(world.other.read(skipped).get(kLimit)), "none");
  untold = {};
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(comes_true([&world] {
    world.device.poll();
    return world.device.failures().empty();
  }));
  set_error_sink({});
}

// A host function that forks and comes back in the child: the child ends there, with a status that
// says that something was wrong, and none of the tasks behind runs a second time.
TEST(Fork, AChildOfATaskDoesNotGoOnWithTheQueue) {
  void* const page = mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  auto* const runs = new (page) std::atomic<int>(0);
  const Device device = must(Device::open("cpu?workers=1&helping=off"));
  const Stream stream = must(Stream::create(device));
  const Gate gate(device);
  gate.hold(stream);
  int status = -1;
  Future<void> forks = stream.host("forks", {}, [&] {
    const pid_t child = fork();
    if (child == 0) {
      alarm(kAlarm_s);
      return;
    }
    waitpid(child, &status, 0);
  });
  Future<void> behind = stream.host("behind", {}, [runs] { ++*runs; });
  gate.open();
  EXPECT_EQ(refusal(forks.get(kLimit)), "none");
  EXPECT_EQ(refusal(behind.get(kLimit)), "none");
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), EXIT_FAILURE);
  EXPECT_EQ(*runs, 1);
  munmap(page, sizeof(std::atomic<int>));
}

// In a process that has not used the runtime yet: the child opens a device and works, and so does
// the parent afterwards.
TEST(ForkDeathTest, BeforeTheFirstUseConcernsNobody) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer ends a forked child that starts threads.";
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "ThreadSanitizer ends a forked child that starts threads.";
#endif
#endif
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto work = [] {
    const Device device = must(Device::open("cpu?workers=2"));
    const Stream stream = must(Stream::create(device));
    const auto array = must(Array<int>::create(stream, 4));
    must(stream.fill(array, 1));
    must(stream.launch(kernel("add", &add_one), 1, array));
    EXPECT_EQ(must(stream.read(array).get())[0], 2);
  };
  EXPECT_EXIT(
      {
        bool fine = in_child(work);
        fine = in_child(work) && fine;
        work();
        fine = in_child([] { EXPECT_REFUSED(Device::open("cpu")); }) && fine;
        std::_Exit(fine && !testing::Test::HasFailure() ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace thalweg::test
