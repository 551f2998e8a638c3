// SPDX-License-Identifier: Apache-2.0
//
// A device of one's own backend: it works as the built-in ones do, and what it refuses changes
// nothing.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "contract/support/tiny_backend.hpp"
#include "support/device_memory.hpp"
#include "support/gate.hpp"
#include "support/refusal.hpp"

namespace thalweg::test {
namespace {

std::uint32_t line_of(const Error& error) { return error.site().line(); }
std::uint32_t here(std::source_location site = std::source_location::current()) {
  return site.line();
}

// A device of the tiny backend, and what it counts. At its end the device must be gone whole: no
// stream and no byte is left.
class Tiny : public ::testing::Test {
 protected:
  ~Tiny() override {
    release();
    device = Device();
    EXPECT_TRUE(comes_true([this] { return gone(); }));
  }

  bool gone() const { return control->streams == 0 && control->bytes == 0; }

  // Lets what is enqueued run.
  void release() {
    control->held = false;
    control->run();
  }

  std::shared_ptr<TinyControl> control = std::make_shared<TinyControl>();
  Device device =
      must(runtime::open(TinyBackend(control), {.backend = "tiny", .name = "tiny?size=3"}));
};

// Names, ids and ranges are those it was opened with; without a backend's name nothing opens.
TEST_F(Tiny, IsADevice) {
  EXPECT_EQ(device.backend(), "tiny");
  EXPECT_EQ(device.name(), "tiny?size=3");
  EXPECT_EQ(device.priority_range(), PriorityRange());
  const Result<Device> nameless = runtime::open(TinyBackend(std::make_shared<TinyControl>()), {});
  EXPECT_EQ(refusal(nameless), "invalid_argument");
  EXPECT_EQ(line_of(nameless.error()), here() - 2);
  EXPECT_EQ(refusal(runtime::open(nullptr, {.backend = "x"})), "invalid_argument");
  const Device other =
      must(runtime::open(TinyBackend(std::make_shared<TinyControl>()), {.backend = "t"}));
  EXPECT_EQ(other.name(), "t");
  EXPECT_NE(other, device);
  const Stream s = must(Stream::create(device, {0, "named"}));
  EXPECT_EQ(s.name(), "named");
  EXPECT_NE(s.raw().value, 0U);
  EXPECT_EQ(refusal(Stream::with_priority(device, 1)), "invalid_argument");
}

// A driver of the library opens apart from its device, with all that the name says.
TEST(OpenDriver, IsTheFirstHalfOfDeviceOpen) {
  const std::string text = "cpu?workers=1&skip_passed=off";
  runtime::OpenedDriver opened = must(runtime::open_driver(text));
  EXPECT_EQ(opened.options.backend, "cpu");
  EXPECT_EQ(opened.options.name, text);
  EXPECT_FALSE(opened.options.skip_passed);
  const Device device = must(runtime::open(std::move(opened.driver), opened.options));
  EXPECT_EQ(device.name(), text);
  const Stream s = must(Stream::create(device));
  EXPECT_EQ(must(s.read(must(s.upload(std::vector<int>{4}))).get())[0], 4);
  const auto refused = runtime::open_driver("none");
  EXPECT_EQ(refusal(refused), "not_found");
  EXPECT_EQ(line_of(refused.error()), here() - 2);
}

// Every kind of task, on one stream and across two, gives what it gives on cpu: the same program
// runs on both, and what it reads back is compared.
std::vector<std::vector<int>> program(const Device& device) {
  const Stream a = must(Stream::create(device));
  const Stream b = must(Stream::create(device));
  auto x = must(a.upload(std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8}));
  auto y = must(Array<int>::create(b, 8));
  must(b.fill(y, 10));
  must(b.copy(y.view(2, 3), x.view(5, 3)));
  const std::vector<int> borrowed{70, 71};
  auto lent = a.upload_borrowed(x.view(0, 2), std::span<const int>(borrowed));
  const auto add = kernel("add", [](Cell at, std::span<int> to, std::span<const int> from, int by) {
    to[at.x] += from[at.x] + by;
  });
  must(a.launch(add, 8, x, y, 100));
  const Event event = must(Event::create(device));
  must(a.record(event));
  must(b.wait_event(event));
  must(b.upload(y.view(7, 1), std::vector<int>{-1}));
  auto sum = b.host("sum", {reads(x), updates(y)}, [from = device_span(x), to = device_span(y)] {
    to[0] = std::accumulate(from.begin(), from.end(), 0);
  });
  must(b.wait(a));
  must(sum.get());
  must(lent.get());
  std::vector<std::vector<int>> seen{must(a.read(x).get()), must(b.read(y).get())};
  must(device.synchronize());
  EXPECT_EQ(event.query(), EventState::done);
  must(event.wait());
  return seen;
}

TEST_F(Tiny, ComputesWhatCpuComputes) {
  EXPECT_EQ(program(device), program(must(Device::open("cpu?workers=2"))));
}

// Nothing runs while a stream waits for a timeline; other streams go on; the signal runs the rest
// on the thread that signals.
TEST_F(Tiny, WaitsForTimelines) {
  const Stream s = must(Stream::create(device));
  const Stream other = must(Stream::create(device));
  const Timeline gate = must(Timeline::create(device));
  std::thread::id ran;
  must(s.wait(gate, 3));
  auto done = s.host("f", {}, [&ran] { ran = std::this_thread::get_id(); });
  must(other.host("g", {}, [] {}).get());
  must(gate.signal(2));
  EXPECT_FALSE(done.ready());
  EXPECT_EQ(refusal(done.get(std::chrono::nanoseconds(1))), "timeout");
  EXPECT_EQ(ran, std::thread::id());
  must(gate.signal(3));
  EXPECT_TRUE(done.ready());
  EXPECT_EQ(ran, std::this_thread::get_id());
  must(done.get());
}

// Failures travel as they do elsewhere: to the future, to who reads the bytes, or to the error sink
// when nobody does.
TEST_F(Tiny, ReportsWhatTasksThrow) {
  const Stream s = must(Stream::create(device));
  auto failed = s.host("f", {}, [] { throw std::runtime_error("broken"); });
  EXPECT_EQ(message(failed.get()), "broken");
  std::vector<std::string> sunk;
  set_error_sink([&sunk](const Error& error) { sunk.emplace_back(error.message()); });
  static_cast<void>(s.host("f", {}, [] { throw std::runtime_error("unheard"); }));
  {
    const auto v = must(Array<int>::create(s, 1));
    must(s.launch(kernel("k", [](Cell, std::span<int>) { throw std::runtime_error("kernel"); }), 1,
                  v));
    EXPECT_EQ(s.read(v).get().error().root().message(), "kernel");
    must(s.launch(kernel("k", [](Cell, std::span<int>) { throw std::runtime_error("lost"); }), 1,
                  must(Array<int>::create(s, 1))));
  }
  static_cast<void>(device.poll());
  set_error_sink({});
  EXPECT_EQ(sunk, (std::vector<std::string>{"unheard", "lost"}));
}

// Every handle goes while work is in flight; it runs later, and the device goes after it.
TEST_F(Tiny, RunsWhatIsLeftWhenAllHandlesAreGone) {
  int ran = 0;
  control->held = true;
  {
    const Stream s = must(Stream::create(device));
    const auto v = must(s.upload(std::vector<int>{1, 2, 3}));
    static_cast<void>(s.host("f", {reads(v)}, [&ran, from = device_span(v)] { ran = from[2]; }));
    device = Device();
  }
  EXPECT_EQ(ran, 0);
  EXPECT_EQ(control->streams, 1);
  release();
  EXPECT_EQ(ran, 3);
  EXPECT_TRUE(comes_true([this] { return gone(); }));
}

// announce() is called without any lock, also for the last task: a backend may run there what it
// was given, its end included. In a process of its own, because a lock taken twice ends it or stops
// it.
TEST(TinyDeathTest, TheEndOfAStreamMayComeInsideItsAnnouncement) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        alarm(10);
        auto control = std::make_shared<TinyControl>();
        control->last_in_announce = true;
        {
          const Device device = must(runtime::open(TinyBackend(control), {.backend = "tiny"}));
          const Stream s = must(Stream::create(device));
          must(s.fill(must(Array<int>::create(s, 4)), 1));
        }
        std::exit(control->streams == 0 ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

// Refusals. Each test makes the backend refuse one call, and looks at all that must not have
// changed.

// A refused submission: the error is the backend's, at the user's call site; no serial is taken,
// nothing is kept, and the next submission is as if the refused one had never been.
TEST_F(Tiny, ARefusedSubmissionNeverWas) {
  const Stream s = must(Stream::create(device));
  auto v = must(Array<int>::create(s, 4));
  const Task before = must(s.fill(v, 1));
  const auto k = kernel("k", [](Cell at, std::span<int> to) { to[at.x] = 9; });
  const auto references = [&] {
    return std::vector{v.buffer().core()->references(), device.core()->references(),
                       s.core()->references(), k.code()->references()};
  };
  const auto count = references();
  const std::uint64_t submissions = device.statistics().submissions;
  std::vector<Error> errors;
  const auto take = [&errors](auto result) {
    ASSERT_FALSE(result);
    errors.push_back(result.error());
  };
  const auto next = [this] { control->submit.next(); };
  const std::uint32_t first = here();
  next(), take(s.fill(v, 2));
  next(), take(s.copy(v.view(0, 1), v.view(1, 1)));
  next(), take(s.launch(k, 4, v));
  next(), take(s.upload(v, std::span<const int>(std::vector<int>{1, 2, 3, 4})));
  next(), take(s.upload(std::vector<int>{5}));
  next(), take(s.read(v).get());
  next(), take(s.host("f", {updates(v)}, [] { ADD_FAILURE() << "It never was."; }).get());
  next(), take(s.upload_borrowed(v, std::span<const int>(std::vector<int>{1, 2, 3, 4})).get());
  next(), take(s.wait(must(Timeline::create(device)), 1));
  for (std::size_t i = 0; i != errors.size(); ++i) {
    EXPECT_EQ(name(errors[i].kind()), "queue_full") << i;
    EXPECT_EQ(errors[i].message(), "Tiny takes no task.") << i;
    EXPECT_EQ(line_of(errors[i]), first + 1 + i);
  }
  EXPECT_EQ(references(), count);
  EXPECT_EQ(device.statistics().submissions, submissions);
  EXPECT_EQ(must(s.fill(v, 3)).serial().value, before.serial().value + 1);
  EXPECT_EQ(must(s.read(v).get()), (std::vector<int>{3, 3, 3, 3}));
}

// An upload that takes a vector gives it back when it is refused.
TEST_F(Tiny, ARefusedUploadGivesTheVectorBack) {
  const Stream s = must(Stream::create(device));
  const auto v = must(Array<int>::create(s, 3));
  std::vector<int> values{1, 2, 3};
  const int* const data = values.data();
  control->submit.next();
  EXPECT_FALSE(s.upload(v, std::move(values)));
  EXPECT_EQ(values,
            (std::vector<int>{1, 2, 3}));  // NOLINT(bugprone-use-after-move): what is claimed.
  EXPECT_EQ(values.data(), data);
}

// A refused write leaves no trace on the bytes: nobody waits for a task that never was.
TEST_F(Tiny, ARefusedSubmissionLeavesTheBytesAlone) {
  control->held = true;
  const Stream a = must(Stream::create(device));
  const Stream b = must(Stream::create(device));
  const auto v = must(Array<int>::create(a, 4));
  control->submit.next();
  EXPECT_FALSE(a.fill(v, 1));
  must(b.fill(v, 2));
  EXPECT_EQ(control->waits, 0);
  must(a.fill(v, 3));
  EXPECT_EQ(control->waits, 1);
  control->submit.next();
  EXPECT_FALSE(b.fill(v, 4));
  EXPECT_EQ(control->waits, 2);
  const Stream c = must(Stream::create(device));
  auto read = c.read(v);
  EXPECT_EQ(control->waits, 3);
  EXPECT_EQ(control->last_wait.queue(), control->indices[0]);  // `a`, the last that wrote.
  release();
  EXPECT_EQ(must(read.get()), (std::vector<int>{3, 3, 3, 3}));
}

// The waits that a refused task had placed stay owed: the next task of the stream carries them, no
// wait is placed twice, and the order holds.
TEST_F(Tiny, WaitsOfARefusedTaskStayOwed) {
  control->held = true;
  const Stream a = must(Stream::create(device));
  const Stream b = must(Stream::create(device));
  const auto v = must(Array<int>::create(a, 1));
  const auto w = must(Array<int>::create(b, 1));
  must(a.fill(v, 7));
  control->submit.next();
  EXPECT_FALSE(b.copy(w, v));
  EXPECT_EQ(control->waits, 1);
  must(b.copy(w, v));
  EXPECT_EQ(control->waits, 1);
  EXPECT_EQ(device.statistics().waits_placed, 1U);
  auto seen = b.read(w);
  release();
  EXPECT_EQ(must(seen.get())[0], 7);
}

// An owed wait and a refused record: the event is as before, and the next record carries the wait.
TEST_F(Tiny, ARefusedRecordLeavesTheEventAsItWas) {
  control->held = true;
  const Stream a = must(Stream::create(device));
  const Stream b = must(Stream::create(device));
  const Event event = must(Event::create(device));
  static_cast<void>(a.host("f", {}, [] {}));
  must(b.wait(a));
  control->submit.next();
  const Result<void> refused = b.record(event);
  EXPECT_EQ(line_of(refused.error()), here() - 1);
  EXPECT_EQ(event.query(), EventState::not_recorded);
  must(b.record(event));
  EXPECT_EQ(event.query(), EventState::not_yet);
  release();
  EXPECT_EQ(event.query(), EventState::done);
}

// A wait that the backend refuses is reported where the user called, and is tried again by the next
// task that needs it: it does not count as placed.
TEST_F(Tiny, ARefusedWaitIsPlacedByTheNextTask) {
  control->held = true;
  const Stream a = must(Stream::create(device));
  const Stream b = must(Stream::create(device));
  const auto v = must(Array<int>::create(a, 1));
  must(a.fill(v, 7));
  const std::uint64_t references = v.buffer().core()->references();
  control->wait_for.next();
  const Result<Task> task = b.fill(v, 8);
  EXPECT_EQ(message(task), "Tiny takes no wait.");
  EXPECT_EQ(line_of(task.error()), here() - 2);
  control->wait_for.next();
  const Result<void> wait = b.wait(a);
  EXPECT_EQ(line_of(wait.error()), here() - 1);
  EXPECT_EQ(v.buffer().core()->references(), references);
  EXPECT_EQ(device.statistics().waits_placed, 0U);
  must(b.fill(v, 9));
  EXPECT_EQ(control->waits, 1);
  auto seen = a.read(v);
  release();
  EXPECT_EQ(must(seen.get())[0], 9);
}

// The second of two waits is refused: the first stays placed, and only the second is placed again.
TEST_F(Tiny, OnlyTheRefusedOneOfTwoWaitsIsPlacedAgain) {
  control->held = true;
  const Stream a = must(Stream::create(device));
  const Stream b = must(Stream::create(device));
  const Stream c = must(Stream::create(device));
  const auto x = must(Array<int>::create(a, 1));
  const auto y = must(Array<int>::create(b, 1));
  must(a.fill(x, 1));
  must(b.fill(y, 2));
  control->wait_for.next(2);
  EXPECT_FALSE(c.copy(x, y));
  EXPECT_EQ(control->waits, 1);
  must(c.copy(x, y));
  EXPECT_EQ(control->waits, 2);
  auto seen = c.read(x);
  release();
  EXPECT_EQ(must(seen.get())[0], 2);
}

// A stream that cannot be made leaves nothing behind: no reference, no slot, nothing counted.
TEST_F(Tiny, ARefusedStreamLeavesNothingBehind) {
  const std::uint64_t references = device.core()->references();
  for (int i = 0; i != 3; ++i) {
    control->create.next();
    const Result<Stream> refused = Stream::create(device);
    EXPECT_EQ(message(refused), "Tiny has no stream.");
    EXPECT_EQ(line_of(refused.error()), here() - 2);
  }
  EXPECT_EQ(device.core()->references(), references);
  EXPECT_EQ(device.statistics().queues_created, 0U);
  EXPECT_EQ(control->streams, 0);
  static_cast<void>(must(Stream::create(device)));
  ASSERT_TRUE(comes_true([&] { return device.core()->references() == references; }));
  control->create.next();
  EXPECT_FALSE(Stream::create(device));
  const Stream again = must(Stream::create(device));
  EXPECT_LE(control->indices.back(), control->indices.front());  // The lowest that is free.
}

// Memory that the backend refuses: out_of_memory at the call site, for buffers and for staged
// uploads. It is asked twice: once more after finished work has let go of what it held.
TEST_F(Tiny, RefusedMemoryChangesNothing) {
  const Stream s = must(Stream::create(device));
  const auto v = must(Array<int>::create(s, 4));
  const std::uint64_t references = device.core()->references();
  const MemoryUsage before = device.memory_usage();
  control->alloc.next(1, 2);
  const auto buffer = Buffer::create(s, 4096);
  EXPECT_EQ(message(buffer), "Tiny has no memory left.");
  EXPECT_EQ(line_of(buffer.error()), here() - 2);
  control->alloc.next(1, 2);
  const std::vector<int> values{1, 2, 3, 4};
  const auto upload = s.upload(v, std::span<const int>(values));
  EXPECT_EQ(refusal(upload), "out_of_memory");
  EXPECT_EQ(line_of(upload.error()), here() - 2);
  EXPECT_EQ(device.core()->references(), references);
  EXPECT_EQ(device.memory_usage().reserved_bytes, before.reserved_bytes);
  must(s.upload(v, std::span<const int>(values)));
  EXPECT_EQ(must(s.read(v).get()), values);
}

// The fences of the drop queue are refused: what uploads staged is kept, and goes when one is
// recorded and has passed.
TEST_F(Tiny, ARefusedFenceKeepsWhatUploadsStaged) {
  const Stream s = must(Stream::create(device));
  const auto v = must(Array<char>::create(s, 1));
  for (int round = 0; round != 3; ++round) {
    control->fence.next();
    must(s.upload(v, std::vector<char>{'x'}));
    device.poll();
  }
  EXPECT_EQ(control->fences, 0);
  EXPECT_EQ(device.statistics().fences, 0U);
  EXPECT_TRUE(device.poll());
  EXPECT_EQ(control->fences, 1);
}

// A buffer that takes over bytes still in use must name its birth, which may need a turn of its
// own. That turn is refused, and so is the buffer; the bytes' former uses must not be forgotten
// with it: a third stream gets them only ordered after the work on them.
TEST_F(Tiny, ARefusedBirthForgetsNoFormerUse) {
  control->held = true;
  const Stream a = must(Stream::create(device));
  const Stream b = must(Stream::create(device));
  const Stream c = must(Stream::create(device));
  auto old = must(Array<int>::create(a, 16));
  std::vector<int> seen(16);
  must(b.fill(old, 1));
  const std::span<int> bytes = device_span(old);
  static_cast<void>(b.host("slow", {updates(old)}, [bytes, &seen] {
    std::copy(bytes.begin(), bytes.end(), seen.begin());
  }));
  must(a.wait(b));  // Now `a` is ordered after the uses, and owes the wait.
  old = Array<int>();
  control->submit.next();
  ASSERT_FALSE(Array<int>::create(a, 16));
  // `c` knows nothing of `b`. Whatever bytes it gets, its write must not come before `slow`.
  const auto taken = must(Array<int>::create(c, 16));
  const bool same_bytes = device_span(taken).data() == bytes.data();
  const int waits = control->waits;
  must(c.fill(taken, 5));
  EXPECT_TRUE(!same_bytes || control->waits > waits) << "The bytes are handed out while in use.";
  release();
  must(device.synchronize());
  EXPECT_EQ(seen, std::vector<int>(16, 1));
}

}  // namespace
}  // namespace thalweg::test
