// SPDX-License-Identifier: Apache-2.0
//
// Queues and memory that were there before.

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "contract/support/work.hpp"

namespace thalweg::contract {
namespace {

using Values = std::vector<int>;

// Memory of the program's: it lives until the row and all deleters are done with it.
class Memory {
 public:
  explicit Memory(std::size_t count, int value = 0)
      : values_(std::make_shared<Values>(count, value)) {}

  std::span<int> span() const { return *values_; }
  std::span<int> span(std::size_t first, std::size_t count) const {
    return span().subspan(first, count);
  }

  Array<int> adopt(const Device& device, std::size_t first, std::size_t count) const {
    return need(Array<int>::adopt(device, span(first, count), keeper()));
  }
  Array<int> adopt(const Device& device) const { return adopt(device, 0, values_->size()); }

 private:
  // A deleter that has nothing to do but to let go.
  UniqueFunction keeper() const {
    return [values = values_] {};
  }

  std::shared_ptr<Values> values_;
};

// A deleter that counts.
struct Deletions {
  std::shared_ptr<std::atomic<int>> count = std::make_shared<std::atomic<int>>(0);
  UniqueFunction deleter() const {
    return [count = count] { ++*count; };
  }
};

// Queues.

// The handle of a queue that is known gives another handle to it.
CONTRACT_ROW(A1, AnAdoptedQueueIsTheOneThatIsKnown) {
  Stream s = stream();
  const std::uint64_t made = control().streams_created();
  const Stream adopted = need(Stream::adopt(device(), s.raw(), Ownership::borrowed));
  EXPECT_TRUE(adopted.is_same_queue(s));
  EXPECT_EQ(adopted.id(), s.id());
  EXPECT_EQ(adopted.raw(), s.raw());
  EXPECT_EQ(control().streams_created(), made);
  const Log log;
  const Gate gate(device());
  gate.hold(s);
  static_cast<void>(log.enqueue(adopted, 1));
  static_cast<void>(log.enqueue(s, 2));
  s = Stream();
  Future<void> last = log.enqueue(adopted, 3);
  EXPECT_EQ(control().streams_destroyed(), 0U);
  gate.open();
  EXPECT_EQ(refusal(last.get(kLimit)), "none");
  EXPECT_EQ(log.entries(), (Values{1, 2, 3}));
}

// A queue has one owner, and a handle that names none of the device's queues is not found: never
// given, of another device, or of a queue that is gone.
CONTRACT_ROW(A2, HandlesThatNameNoQueueAreNotFound) {
  const Opened second = second_device();
  const Stream s = stream();
  const Stream theirs = need(Stream::create(second.device));
  EXPECT_EQ(refusal(Stream::adopt(device(), s.raw(), Ownership::owned)), "invalid_argument");
  EXPECT_EQ(refusal(Stream::adopt(Device(), s.raw(), Ownership::borrowed)), "invalid_handle");
  for (const Ownership ownership : {Ownership::borrowed, Ownership::owned}) {
    EXPECT_EQ(refusal(Stream::adopt(device(), NativeHandle{}, ownership)), "not_found");
    EXPECT_EQ(refusal(Stream::adopt(device(), theirs.raw(), ownership)), "not_found");
    EXPECT_EQ(refusal(Stream::adopt(second.device, s.raw(), ownership)), "not_found");
  }
  Stream gone = stream();
  const NativeHandle stale = gone.raw();
  const std::uint64_t destroyed = control().streams_destroyed();
  gone = Stream();
  ASSERT_TRUE(comes_true([&] { return control().streams_destroyed() == destroyed + 1; }));
  EXPECT_EQ(refusal(Stream::adopt(device(), stale, Ownership::borrowed)), "not_found");
  EXPECT_EQ(refusal(Log().enqueue(s, 1).get(kLimit)), "none");
}

// The last handle goes while other threads ask for the queue: they get the queue or nothing.
CONTRACT_ROW(A3, AdoptingAQueueThatIsAboutToGoIsSafe) {
  ASSERT_TRUE(backend().any_thread) << "The backend is not for several threads.";
  for (int round = 0; round != 100; ++round) {
    Stream last = stream();
    const NativeHandle raw = last.raw();
    const QueueId id = last.id();
    on_threads(3, [&](int i) {
      if (i == 0) {
        last = Stream();
        return;
      }
      const auto adopted = Stream::adopt(device(), raw, Ownership::borrowed);
      if (adopted) {
        EXPECT_EQ(adopted->id(), id);
        EXPECT_EQ(refusal(adopted->host("f", {}, [] {}).get(kLimit)), "none");
      } else {
        EXPECT_EQ(refusal(adopted), "not_found");
      }
    });
  }
}

// Memory.

// Tasks find what the program left in the bytes, and the program finds what they wrote.
CONTRACT_ROW(B1, AdoptedMemoryIsTheProgramsOwn) {
  const Stream s = stream();
  const Memory memory(8);
  std::iota(memory.span().begin(), memory.span().end(), 1);
  const Array<int> array = memory.adopt(device());
  EXPECT_EQ(array.count(), 8U);
  EXPECT_EQ(need(s.read(array).get(kLimit)), (Values{1, 2, 3, 4, 5, 6, 7, 8}));
  const auto copy = need(Array<int>::create(s, 8));
  need(s.copy(copy, array));
  need(s.fill(array.view(0, 4), 9));
  need(s.upload(array.view(4, 2), Values{20, 21}));
  need(s.synchronize(kLimit));
  const Values expected{9, 9, 9, 9, 20, 21, 7, 8};
  EXPECT_EQ(Values(memory.span().begin(), memory.span().end()), expected);
  EXPECT_EQ(need(s.read(copy).get(kLimit)), (Values{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(refusal(s.fill(View<int>(array.buffer(), 0, 9), 1)), "invalid_argument");
}

struct Range {
  std::size_t first;
  std::size_t count;
  bool has(std::size_t i) const { return i >= first && i < first + count; }
};

// Two buffers of overlapping bytes, in the ways two ranges meet; the second is made while a gate
// holds work on the first. Work on common bytes waits, work beside them does not.
CONTRACT_ROW(B2, OverlappingBytesAreOrderedAsOneMemory) {
  constexpr Range kFirst{8, 8};
  for (const Range other :
       {kFirst, Range{10, 4}, Range{4, 16}, Range{12, 8}, Range{4, 8}, Range{15, 1}}) {
    const Stream a = stream();
    const Stream b = stream();
    const Stream c = stream();
    const Stream idle = stream();
    const Memory memory(24);
    const Array<int> first = memory.adopt(device(), kFirst.first, kFirst.count);
    const Gate gate(device());
    gate.hold(a);
    need(a.fill(first, 1));
    const Array<int> second = memory.adopt(device(), other.first, other.count);
    EXPECT_NE(first.buffer().id(), second.buffer().id());
    Future<Values> read = b.read(second);
    need(b.fill(second, 2));
    need(c.fill(first, 3));
    Future<void> last = c.host("last", {}, [] {});
    // Neighbouring bytes are nobody's.
    EXPECT_EQ(need(idle.read(memory.adopt(device(), 0, 4)).get(kLimit)), Values(4, 0));
    EXPECT_TRUE(gate.closed());
    EXPECT_FALSE(read.ready());
    EXPECT_FALSE(last.ready());
    gate.open();
    EXPECT_EQ(refusal(last.get(kLimit)), "none");
    const Values seen = need(read.get(kLimit));
    for (std::size_t i = 0; i != other.count; ++i)
      EXPECT_EQ(seen[i], kFirst.has(other.first + i) ? 1 : 0) << i;
    for (std::size_t i = 0; i != 24; ++i)
      EXPECT_EQ(memory.span()[i], kFirst.has(i) ? 3 : other.has(i) ? 2 : 0) << i;
  }
}

// What does not overlap is not ordered, though one buffer over both makes them one memory.
CONTRACT_ROW(B2Beside, BytesSideBySideAreNotOrdered) {
  const Stream a = stream();
  const Stream b = stream();
  const Memory memory(16, 1);
  const Array<int> low = memory.adopt(device(), 0, 8);
  const Array<int> high = memory.adopt(device(), 8, 8);
  const Gate gate(device());
  gate.hold(a);
  need(a.fill(low, 2));
  EXPECT_EQ(need(b.read(high).get(kLimit)), Values(8, 1));
  const Array<int> both = memory.adopt(device());
  EXPECT_EQ(need(b.read(high).get(kLimit)), Values(8, 1));
  EXPECT_EQ(need(b.read(both.view(8, 8)).get(kLimit)), Values(8, 1));
  need(b.fill(both.view(8, 8), 3));
  EXPECT_EQ(need(b.read(high).get(kLimit)), Values(8, 3));
  EXPECT_TRUE(gate.closed());
  Future<Values> all = b.read(both);
  EXPECT_FALSE(all.ready());
  gate.open();
  EXPECT_EQ(refusal(all.get(kLimit)), "none");
}

// Two buffers that do not meet, each with work behind a gate of its own, and a third one over the
// seam: it waits for both, and they wait for it.
CONTRACT_ROW(B3, AThirdBufferJoinsTwo) {
  const Stream a = stream();
  const Stream b = stream();
  const Stream c = stream();
  const Stream d = stream();
  const Memory memory(24);
  const Array<int> low = memory.adopt(device(), 0, 10);
  const Array<int> high = memory.adopt(device(), 14, 10);
  const Gate gate_a(device());
  const Gate gate_b(device());
  gate_a.hold(a);
  gate_b.hold(b);
  need(a.fill(low, 1));
  need(b.fill(high, 2));
  const Array<int> middle = memory.adopt(device(), 8, 8);
  Future<Values> seen = c.read(middle);
  need(c.fill(middle, 3));
  Future<Values> ends = d.read(low.view(0, 8));
  Future<Values> joined = d.read(low);
  gate_a.open();
  EXPECT_EQ(need(ends.get(kLimit)), Values(8, 1));
  EXPECT_FALSE(seen.ready());
  EXPECT_FALSE(joined.ready());
  gate_b.open();
  EXPECT_EQ(need(seen.get(kLimit)), (Values{1, 1, 0, 0, 0, 0, 2, 2}));
  EXPECT_EQ(need(joined.get(kLimit)), (Values{1, 1, 1, 1, 1, 1, 1, 1, 3, 3}));
  EXPECT_EQ(need(d.read(high).get(kLimit)), (Values{3, 3, 2, 2, 2, 2, 2, 2, 2, 2}));
}

// The same bytes on two devices are one memory too.
CONTRACT_ROW(B4, BytesOnTwoDevicesAreOrderedAsOneMemory) {
  ASSERT_TRUE(backend().devices_meet) << "Work of two devices does not meet.";
  const Opened second = second_device();
  const Stream ours = stream();
  const Stream theirs = need(Stream::create(second.device));
  const Memory memory(12);
  const Array<int> here = memory.adopt(device(), 0, 8);
  const Gate gate(device());
  gate.hold(ours);
  need(ours.fill(here, 1));
  const Array<int> there = memory.adopt(second.device, 4, 8);
  Future<Values> seen = theirs.read(there);
  need(theirs.fill(there, 2));
  Future<Values> back = ours.read(here);
  EXPECT_FALSE(seen.ready());
  EXPECT_TRUE(gate.closed());
  gate.open();
  EXPECT_EQ(need(seen.get(kLimit)), (Values{1, 1, 1, 1, 0, 0, 0, 0}));
  EXPECT_EQ(need(back.get(kLimit)), (Values{1, 1, 1, 1, 2, 2, 2, 2}));
}

// All buffers of the bytes are gone while tasks use them. Handed in again at once, as they were and
// as another range, they are what they were: in use.
CONTRACT_ROW(B5, BytesInFlightThatAreHandedInAgainAreOrdered) {
  for (const Range again : {Range{0, 8}, Range{2, 4}, Range{4, 8}}) {
    const Stream a = stream();
    const Stream b = stream();
    const Memory memory(12);
    const Gate gate(device());
    gate.hold(a);
    need(a.fill(memory.adopt(device(), 0, 8), 1));
    const Array<int> next = memory.adopt(device(), again.first, again.count);
    Future<Values> read = b.read(next);
    EXPECT_FALSE(read.ready());
    EXPECT_TRUE(gate.closed());
    gate.open();
    const Values seen = need(read.get(kLimit));
    for (std::size_t i = 0; i != again.count; ++i)
      EXPECT_EQ(seen[i], again.first + i < 8 ? 1 : 0) << i;
  }
}

// A view that the host has open stays open when another buffer joins the bytes.
CONTRACT_ROW(B6, AnOpenViewSurvivesAJoin) {
  const Stream s = stream();
  const Memory memory(16, 1);
  const Array<int> first = memory.adopt(device(), 4, 8);
  auto view = map(first.view(0, 4), for_writing);
  if (!view) {
    EXPECT_EQ(refusal(view), "unsupported");
    return;
  }
  EXPECT_EQ(view->data(), memory.span(4, 4).data());
  const Array<int> all = memory.adopt(device());
  EXPECT_EQ(refusal(s.fill(all, 2)), "invalid_argument");
  EXPECT_EQ(refusal(s.fill(all.view(7, 1), 2)), "invalid_argument");
  EXPECT_EQ(refusal(s.read(all.view(4, 1)).get()), "invalid_argument");
  EXPECT_EQ(refusal(map(all.view(0, 5), for_reading)), "invalid_argument");
  EXPECT_EQ(refusal(s.fill(all.view(8, 8), 2)), "none");
  EXPECT_EQ(refusal(s.fill(all.view(0, 4), 2)), "none");
  view->unmap();
  EXPECT_EQ(refusal(s.fill(all, 3)), "none");
  const auto whole = need(map(all, for_reading, kLimit));
  EXPECT_EQ(Values(whole.begin(), whole.end()), Values(16, 3));
  EXPECT_EQ(refusal(s.fill(first, 4)), "invalid_argument");
}

// With nothing in flight the deleter runs in the call that drops the last handle; so it does when
// all uses have passed.
CONTRACT_ROW(B7, TheDeleterRunsAtOnceWhereNothingIsInFlight) {
  const Memory memory(8);
  std::thread::id where;
  const auto note = [&where] { where = std::this_thread::get_id(); };
  Array<int> unused = need(Array<int>::adopt(device(), memory.span(), note));
  Array<int> copy = unused;
  unused = {};
  EXPECT_EQ(where, std::thread::id());
  copy = {};
  EXPECT_EQ(where, std::this_thread::get_id());

  const Deletions used;
  const Stream s = stream();
  Array<int> array = need(Array<int>::adopt(device(), memory.span(), used.deleter()));
  need(s.fill(array, 1));
  need(s.synchronize(kLimit));
  EXPECT_EQ(*used.count, 0);
  array = {};
  EXPECT_EQ(*used.count, 1);

  const Deletions empty;
  Buffer none = need(Buffer::adopt(device(), nullptr, 0, empty.deleter()));
  EXPECT_TRUE(none.valid());
  EXPECT_EQ(none.size_bytes(), 0U);
  none = Buffer();
  EXPECT_EQ(*empty.count, 1);
  EXPECT_EQ(refusal(Buffer::adopt(device(), memory.span().data(), 4)), "none");
}

// The last handle goes while tasks of two streams use the bytes: the deleter runs once, when both
// have passed, and finds what they wrote.
CONTRACT_ROW(B8, TheDeleterRunsWhenAllUsesHavePassed) {
  const Stream a = stream();
  const Stream b = stream();
  const Memory memory(8);
  const auto sum = std::make_shared<std::atomic<int>>(0);
  const Deletions deletions;
  const Gate gate_a(device());
  const Gate gate_b(device());
  gate_a.hold(a);
  gate_b.hold(b);
  {
    const Array<int> array = need(Array<int>::adopt(
        device(), memory.span(), [values = memory.span(), sum, count = deletions.count] {
          *sum = std::accumulate(values.begin(), values.end(), 0);
          ++*count;
        }));
    need(a.fill(array.view(0, 4), 1));
    need(b.fill(array.view(4, 4), 2));
  }
  EXPECT_EQ(*deletions.count, 0);
  gate_a.open();
  need(a.synchronize(kLimit));
  EXPECT_EQ(*deletions.count, 0);
  gate_b.open();
  EXPECT_TRUE(comes_true([&] { return *deletions.count == 1; }));
  EXPECT_EQ(*sum, 12);
}

// Two buffers of the same bytes: each has its deleter.
CONTRACT_ROW(B8Two, EachBufferHasItsDeleter) {
  const Stream s = stream();
  const Memory memory(8);
  const Deletions first;
  const Deletions second;
  Array<int> one = need(Array<int>::adopt(device(), memory.span(), first.deleter()));
  Array<int> two = need(Array<int>::adopt(device(), memory.span(2, 4), second.deleter()));
  const Gate gate(device());
  gate.hold(s);
  need(s.fill(one, 1));
  two = {};  // Work on common bytes was given to the other buffer; the bytes are in use.
  one = {};
  EXPECT_EQ(*first.count, 0);
  gate.open();
  EXPECT_TRUE(comes_true([&] { return *first.count == 1 && *second.count == 1; }));
}

// The device's other handles, streams among them, go first.
CONTRACT_ROW(B9, TheDeleterRunsWhenTheDeviceIsDropped) {
  const Memory memory(8);
  const Deletions deletions;
  std::optional<Gate> gate(device());
  {
    const Stream s = stream();
    gate->hold(s);
    const Array<int> array = need(Array<int>::adopt(device(), memory.span(), deletions.deleter()));
    need(s.fill(array, 1));
    take_device() = Device();
  }
  EXPECT_EQ(*deletions.count, 0);
  gate->open();
  gate.reset();
  EXPECT_TRUE(comes_true([&] { return *deletions.count == 1; }));
  EXPECT_EQ(memory.span()[7], 1);
}

// The program keeps what is refused: its deleter is not called.
CONTRACT_ROW(B10, MemoryThatIsRefusedIsNotDeleted) {
  const Stream s = stream();
  const Memory memory(8);
  const Deletions deletions;
  const auto adopt = [&](const Device& to, void* address, std::uint64_t size_bytes) {
    return refusal(Buffer::adopt(to, address, size_bytes, deletions.deleter()));
  };
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  auto* const bytes = reinterpret_cast<std::byte*>(memory.span().data());
  EXPECT_EQ(adopt(Device(), bytes, 32), "invalid_handle");
  EXPECT_EQ(adopt(device(), nullptr, 1), "invalid_argument");
  EXPECT_EQ(adopt(device(), bytes, (std::uint64_t{1} << 56) + 1), "invalid_size");
  EXPECT_EQ(adopt(device(), bytes, kMost), "invalid_size");
  EXPECT_EQ(adopt(device(), reinterpret_cast<void*>(~std::uintptr_t{15}), 32), "invalid_size");

  const auto pages = need(HostArray<int>::create(s, 64));
  auto* const mine = reinterpret_cast<std::byte*>(need(pages.map(for_update)).data());
  EXPECT_EQ(adopt(device(), mine, 256), "invalid_argument");
  EXPECT_EQ(adopt(device(), mine + 128, 4), "invalid_argument");
  EXPECT_EQ(adopt(device(), mine - 4, 8), "invalid_argument");
  EXPECT_EQ(*deletions.count, 0);
  EXPECT_EQ(refusal(s.fill(pages, 1)), "none");
  EXPECT_EQ(refusal(s.synchronize(kLimit)), "none");
}

// Where the host reaches device memory, that is the device's own too.
CONTRACT_ROW(B10Device, DeviceMemoryIsNotAdopted) {
  const Stream s = stream();
  const auto data = need(Array<int>::create(s, 64));
  auto view = map(data, for_update, kLimit);
  if (!view) {
    EXPECT_EQ(refusal(view), "unsupported");
    return;
  }
  const Deletions deletions;
  EXPECT_EQ(refusal(Array<int>::adopt(device(), view->span(), deletions.deleter())),
            "invalid_argument");
  EXPECT_EQ(refusal(Array<int>::adopt(device(), view->span().subspan(8, 4), deletions.deleter())),
            "invalid_argument");
  EXPECT_EQ(*deletions.count, 0);
}

// A copy between two buffers overlaps where their bytes do, not where their offsets do.
CONTRACT_ROW(B11, ACopyBetweenBuffersOfTheSameBytesIsRefusedWhereItOverlaps) {
  const Stream s = stream();
  const Memory memory(16, 1);
  const Array<int> low = memory.adopt(device(), 0, 8);
  const Array<int> high = memory.adopt(device(), 4, 12);
  EXPECT_EQ(refusal(s.copy(low, high.view(0, 8))), "invalid_argument");
  EXPECT_EQ(refusal(s.copy(high.view(0, 4), low.view(4, 4))), "invalid_argument");
  EXPECT_EQ(refusal(s.copy(low.view(7, 1), high.view(3, 1))), "invalid_argument");
  need(s.fill(high.view(4, 8), 5));
  EXPECT_EQ(refusal(s.copy(low, high.view(4, 8))), "none");
  EXPECT_EQ(refusal(s.copy(high.view(4, 4), low.view(0, 4))), "none");
  EXPECT_EQ(refusal(s.copy(low.view(0, 0), high.view(0, 0))), "none");
  EXPECT_EQ(need(s.read(low).get(kLimit)), Values(8, 5));
}

// What is ordered by `orders` alone is one memory's affair, wherever the bytes are; also when
// another buffer joined the memory meanwhile.
CONTRACT_ROW(B12, OrdersOfOneMemorySurviveAJoin) {
  for (const std::uint64_t count : {0U, 2U}) {
    const Stream a = stream();
    const Stream b = stream();
    const Stream idle = stream();
    const Memory memory(16);
    const Array<int> first = memory.adopt(device(), 0, 8);
    const Log log;
    const Gate gate(device());
    gate.hold(a);
    static_cast<void>(a.host("one", {orders(first.view(0, count))}, [] {}));
    static_cast<void>(log.enqueue(a, 1));
    const Array<int> all = memory.adopt(device());
    Future<void> two = b.host("two", {orders(first.view(6, count))}, [] {});
    EXPECT_EQ(refusal(log.enqueue(idle, 0).get(kLimit)), "none");
    EXPECT_FALSE(two.ready());
    Future<void> three = b.host("three", {orders(all.view(12, count))}, [] {});
    EXPECT_FALSE(three.ready());
    gate.open();
    EXPECT_EQ(refusal(three.get(kLimit)), "none");
    need(a.synchronize(kLimit));
  }
}

}  // namespace
}  // namespace thalweg::contract
