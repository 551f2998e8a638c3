// SPDX-License-Identifier: Apache-2.0
//
// Failures travel with the data: who reads bytes that were left unwritten is skipped, and says so.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "contract/support/sink.hpp"
#include "runtime/failures.hpp"
#include "support/failing_program.hpp"
#include "support/gate.hpp"
#include "support/refusal.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

using ::testing::HasSubstr;
using Numbers = Array<std::uint32_t>;
using Values = std::vector<std::uint32_t>;

const auto breaks =
    kernel("breaks", [](Cell, std::span<std::uint32_t>) { throw std::runtime_error("broken"); });
const auto adds = kernel("adds", [](Cell i, std::span<std::uint32_t> to,
                                    std::span<const std::uint32_t> from) { to[i.x] += from[i.x]; });

class FailuresTest : public testing::TestWithParam<const char*> {
 protected:
  Stream stream(const char* name) {
    StreamOptions options;
    options.name = name;
    return must(Stream::create(device_, options));
  }

  Numbers numbers(const Stream& home, std::uint32_t value = 1) {
    return must(home.upload(Values(8, value)));
  }

  std::size_t living() const {
    static_cast<void>(device_.poll());
    return device_.failures().size();
  }

  const Device device_ = must(Device::open(GetParam()));
};

TEST_P(FailuresTest, WhoReadsBadBytesIsSkippedAndTheReaderIsTold) {
  const Stream a = stream("a");
  const Stream b = stream("b");
  const Numbers x = numbers(a);
  const Numbers y = numbers(b);
  const Numbers z = numbers(b, 5);
  must(a.launch(breaks, 8, x));
  must(b.launch(adds, 8, y, x));
  must(b.fill(z, 10u));
  const Result<Values> read = b.read(y).get();
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind(), ErrorKind::unwritten);
  EXPECT_THAT(std::string(read.error().root().message()), HasSubstr("broken"));
  ASSERT_EQ(read.error().failures().size(), 1u);
  const FailureReport& report = read.error().failures()[0];
  ASSERT_EQ(report.chain.size(), 1u);
  EXPECT_EQ(report.chain[0].task, "kernel `adds`");
  EXPECT_EQ(report.chain[0].stream, "b");
  EXPECT_EQ(must(b.read(z).get()), Values(8, 10));
  must(device_.synchronize());
  EXPECT_EQ(living(), 1u);
}

TEST_P(FailuresTest, WritingMakesExactlyTheWrittenBytesGood) {
  const Stream a = stream("a");
  const Numbers x = numbers(a);
  must(a.launch(breaks, 8, x));
  must(a.fill(x.view(2, 3), 7u));
  EXPECT_EQ(must(a.read(x.view(2, 3)).get()), Values(3, 7));
  EXPECT_EQ(a.read(x.view(1, 3)).get().error().kind(), ErrorKind::unwritten);
  must(a.fill(x, 7u));
  EXPECT_EQ(must(a.read(x).get()), Values(8, 7));
  EXPECT_EQ(living(), 0u);
}

// t1 fails late, t2 has read it by then, t3 has overwritten it: t2's bytes are bad, t3's are good.
TEST_P(FailuresTest, AWriteBehindTheFailureIsGood) {
  const Stream a = stream("a");
  const Stream b = stream("b");
  const Numbers x = numbers(a);
  const Numbers y = numbers(b);
  const Gate gate(device_);
  gate.hold(a);
  must(a.launch(breaks, 8, x));
  must(b.launch(adds, 8, y, x));
  must(b.fill(x, 3u));
  gate.open();
  EXPECT_EQ(must(b.read(x).get()), Values(8, 3));
  EXPECT_EQ(b.read(y).get().error().kind(), ErrorKind::unwritten);
}

TEST_P(FailuresTest, TheNextOwnerOfTheBytesStartsClean) {
  const Stream a = stream("a");
  {
    const Numbers x = numbers(a);
    must(a.launch(breaks, 8, x));
  }
  const Numbers next = must(Numbers::create(a, 8));
  must(a.fill(next, 2u));
  EXPECT_EQ(must(a.read(next).get()), Values(8, 2));
  must(device_.synchronize());
  EXPECT_TRUE(comes_true([this] { return living() == 0; }));
}

TEST_P(FailuresTest, AMapOfBadBytesIsRefusedAndAWrittenViewMakesThemGood) {
  const Stream a = stream("a");
  const Numbers x = numbers(a);
  must(a.launch(breaks, 8, x));
  EXPECT_EQ(map(x, for_reading).error().kind(), ErrorKind::unwritten);
}

// As many as make the process look for buffers that are gone, and none of them is.
TEST_P(FailuresTest, ManyBuffersCanBeBadAtATime) {
  const QuietSink quiet;
  constexpr std::size_t kBuffers = 600;
  const Stream a = stream("a");
  std::vector<Numbers> bad;
  for (std::size_t i = 0; i != kBuffers; ++i) {
    bad.push_back(must(Numbers::create(a, 1)));
    must(a.launch(breaks, 1, bad.back()));
  }
  must(a.synchronize());
  EXPECT_EQ(living(), kBuffers);
  for (const Numbers& each : bad) must(a.fill(each, 1u));
  must(a.synchronize());
  EXPECT_EQ(living(), 0u);
}

// An observer whose device ends while it is told.
class Leaving final : public backend::Observer {
 public:
  static std::shared_ptr<Leaving> create(DeviceId device) {
    const auto made = std::make_shared<Leaving>();
    made->device_ = device;
    made->self_ = made;
    return made;
  }

  void unheard(const Error&) noexcept override {
    const std::weak_ptr<Leaving> here = self_;
    runtime::Failures::instance().observe(device_, nullptr);
    alive = !here.expired();
  }

  void turn(Site) noexcept override {}
  void allocated(const Allocation&, MemoryKind, std::uintptr_t, Site) noexcept override {}
  void staged(std::uint64_t, std::uint64_t) noexcept override {}
  void dropped(const Allocation&) noexcept override {}
  void view_opened(const Access&, std::uint64_t, Site) noexcept override {}
  void view_closed(std::uint64_t) noexcept override {}
  void timeline_asked(const neutral::Timeline&, std::uint64_t) noexcept override {}
  void timeline_raised(const neutral::Timeline&, std::uint64_t, std::uint64_t,
                       Site) noexcept override {}
  void timeline_dropped(const neutral::Timeline&) noexcept override {}
  void call_later(UniqueFunction) noexcept override {}
  std::shared_ptr<Observer> share() noexcept override { return self_.lock(); }

  static inline bool alive = false;

 private:
  DeviceId device_;
  std::weak_ptr<Leaving> self_;
};

// Whoever forgets a failure need have nothing to do with its device, which may end meanwhile.
TEST(Unheard, TheObserverStaysWhileItIsTold) {
  runtime::Failures& failures = runtime::Failures::instance();
  const auto device = make_id<DeviceId>();
  const failure::Use use{make_id<AllocationId>(), 0, 8, 1, 0, AccessMode::write};
  failures.observe(device, Leaving::create(device));
  {
    Error broken(ErrorKind::task_failed, "broken");
    ASSERT_TRUE(failures.fail(broken, device, {&use, 1}));
  }
  failures.prove({&use, 1});
  EXPECT_TRUE(Leaving::alive);
  EXPECT_FALSE(failures.any());
}

// Of adopted bytes only those that nobody has any more are clean for the next who brings them.
TEST_P(FailuresTest, WhoBringsBytesAgainStartsCleanWhereNobodyElseHadThem) {
  const Stream s = stream("s");
  Values memory(64);
  const auto adopt = [&](std::size_t first, std::size_t count) {
    return must(Numbers::adopt(device_, std::span(memory).subspan(first, count)));
  };
  const auto breaks_all =
      kernel("breaks all", [](Cell, Out<std::uint32_t>) { throw std::runtime_error("broken"); });
  const Numbers other = adopt(24, 24);
  {
    const Numbers mine = adopt(0, 32);
    must(s.launch(breaks_all, 1, mine));
    EXPECT_EQ(refusal(s.read(other).get()), "unwritten");
  }
  must(s.synchronize());
  EXPECT_TRUE(s.read(adopt(0, 24)).get());
  EXPECT_EQ(refusal(s.read(adopt(0, 25)).get()), "unwritten");
  EXPECT_EQ(living(), 1u);
  must(s.fill(other, 1u));
  must(s.synchronize());
  EXPECT_EQ(living(), 0u);
}

// Nothing keeps a buffer of no bytes from going before the task that was given it, and another one
// from being made in its place: which the task has nothing to do with.
TEST_P(FailuresTest, ABufferOfNoBytesIsNeverTakenForAnother) {
  const Stream a = stream("a");
  const Stream b = stream("b");
  for (const bool fails : {true, false}) {
    const Gate gate(device_);
    gate.hold(a);
    Numbers none = must(Numbers::create(a, 0));
    Future<void> task = a.host("task", {writes(none)}, [fails] {
      if (fails) throw std::runtime_error("broken");
    });
    none = {};
    const Numbers other = must(Numbers::create(a, 16));
    if (fails) {
      must(b.fill(other, 7u));
    } else {
      must(b.launch(breaks, 16, other));
    }
    must(b.synchronize());
    gate.open();
    EXPECT_EQ(refusal(task.get()), fails ? "task_failed" : "none");
    EXPECT_EQ(refusal(b.read(other).get()), fails ? "none" : "unwritten");
  }
}

// The tasks of the former owner have passed, and the thread that sees to it is busy.
TEST_P(FailuresTest, WhoBringsBytesAgainStartsCleanAtOnce) {
  const Stream s = stream("s");
  Values memory(16);
  const auto first = must(s.touch({}));
  const auto over = std::make_shared<std::atomic<bool>>(false);
  if (!std::string_view(GetParam()).starts_with("sim"))
    must(s.on_complete(first, [over] { over->wait(false); }));
  {
    const Gate gate(device_);
    gate.hold(s);
    const Numbers mine = must(Numbers::adopt(device_, std::span(memory)));
    must(s.launch(kernel("breaks all", [](Cell, Out<std::uint32_t>) { throw 1; }), 1, mine));
  }
  must(s.synchronize());
  const Numbers again = must(Numbers::adopt(device_, std::span(memory)));
  EXPECT_TRUE(s.read(again).get());
  *over = true;
  over->notify_all();
}

// A failure is told once: by whoever gives it to the program first; by the error sink when nobody
// is left who could.
class ToldOnceTest : public FailuresTest {
 protected:
  std::vector<std::string> sunk() const {
    std::vector<std::string> all;
    for (const Error& error : sink_.errors()) all.emplace_back(name(error.kind()));
    return all;
  }

  Future<void> fails(const Stream& s, const Numbers& x) const {
    return s.host("fails", {writes(x)}, [] { throw std::runtime_error("broken"); });
  }

  const contract::Sink sink_;
};

TEST_P(ToldOnceTest, ByAFutureThatOutlivesTheBytes) {
  const Stream s = stream("s");
  Future<Values> read;
  {
    const Numbers x = numbers(s);
    must(s.launch(breaks, 8, x));
    read = s.read(x);
  }
  must(s.synchronize());
  EXPECT_EQ(living(), 0u);
  EXPECT_TRUE(sink_.errors().empty());
  EXPECT_EQ(refusal(read.get()), "unwritten");
  read = {};
  EXPECT_TRUE(sink_.errors().empty());
}

TEST_P(ToldOnceTest, ByAReaderWhenTheTasksFutureWasDropped) {
  const Stream s = stream("s");
  const Numbers x = numbers(s);
  static_cast<void>(fails(s, x));
  EXPECT_EQ(refusal(s.read(x).get()), "unwritten");
  must(s.fill(x, 1u));
  must(s.synchronize());
  EXPECT_EQ(living(), 0u);
  EXPECT_TRUE(sink_.errors().empty());
}

TEST_P(ToldOnceTest, ByTheTasksFutureWhenTheBytesAreGone) {
  const Stream s = stream("s");
  Future<void> failed = fails(s, numbers(s));
  must(s.synchronize());
  EXPECT_EQ(living(), 0u);
  EXPECT_TRUE(sink_.errors().empty());
  EXPECT_EQ(refusal(failed.get()), "task_failed");
  EXPECT_TRUE(sink_.errors().empty());
}

TEST_P(ToldOnceTest, ByTheSinkWhenTheLastWhoCouldIsGone) {
  const Stream s = stream("s");
  {
    Future<void> failed;
    Future<Values> read;
    {
      const Numbers x = numbers(s);
      failed = fails(s, x);
      read = s.read(x);
      must(s.synchronize());
    }
    EXPECT_EQ(living(), 0u);
    failed = {};
    EXPECT_TRUE(sink_.errors().empty());
  }
  EXPECT_EQ(sunk(), std::vector<std::string>{"task_failed"});
}

TEST_P(ToldOnceTest, ByTheSinkAtOnceWhereNoBytesAreBad) {
  const Stream s = stream("s");
  static_cast<void>(s.host("fails", {}, [] { throw std::runtime_error("broken"); }));
  must(s.synchronize());
  EXPECT_EQ(sunk(), std::vector<std::string>{"task_failed"});
}

INSTANTIATE_TEST_SUITE_P(All, ToldOnceTest,
                         testing::Values("cpu?workers=1", "cpu?workers=3", "sim"));

INSTANTIATE_TEST_SUITE_P(All, FailuresTest,
                         testing::Values("cpu?workers=1", "cpu?workers=3", "sim?seed=1",
                                         "sim?seed=2"));

}  // namespace
}  // namespace thalweg::test
