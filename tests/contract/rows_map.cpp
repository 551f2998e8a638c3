// SPDX-License-Identifier: Apache-2.0
//
// The host's views of memory that tasks use too.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "contract/support/foreign_backend.hpp"
#include "contract/support/work.hpp"

namespace thalweg::contract {
namespace {

using Values = std::vector<int>;

constexpr std::chrono::nanoseconds kNow{0};
constexpr const char* kOpen = "invalid_argument";  // What a task is told, or a view.

template <class T>
Values values_of(const Mapped<T>& view) {
  return Values(view.begin(), view.end());
}

HostArray<int> host_array(const Stream& home, std::uint64_t count) {
  return need(HostArray<int>::create(home, count));
}

// An array of `count` elements that all are `value`. Nobody uses bytes that were just handed out.
HostArray<int> host_array(const Stream& home, std::uint64_t count, int value) {
  HostArray<int> array = host_array(home, count);
  auto view = need(array.try_map(for_writing));
  std::fill(view.begin(), view.end(), value);
  return array;
}

// Eight elements each of: bytes that a task behind a gate writes, bytes that one reads, and bytes
// that none touches. A view is given where it conflicts with no task, and only there.
CONTRACT_ROW(M1, AViewWaitsForTheTasksItConflictsWithAndForNoOther) {
  const Stream a = stream();
  const Stream b = stream();
  const auto memory = host_array(a, 24, 1);
  const auto sink = need(Array<int>::create(a, 8));
  const View<int> written = memory.view(0, 8);
  const View<int> read = memory.view(8, 8);
  const View<int> untouched = memory.view(16, 8);
  const Gate gate(device());
  gate.hold(a);
  gate.hold(b);
  need(a.fill(written, 2));
  need(b.copy(sink, read));
  EXPECT_EQ(refusal(try_map(written, for_reading)), "not_ready");
  EXPECT_EQ(refusal(try_map(written, for_writing)), "not_ready");
  EXPECT_EQ(refusal(try_map(written, for_update)), "not_ready");
  EXPECT_EQ(values_of(need(try_map(read, for_reading))), Values(8, 1));
  EXPECT_EQ(refusal(try_map(read, for_writing)), "not_ready");
  EXPECT_EQ(refusal(try_map(read, for_update)), "not_ready");
  EXPECT_EQ(values_of(need(try_map(untouched, for_update))), Values(8, 1));
  EXPECT_EQ(refusal(try_map(memory.view(), for_reading)), "not_ready");
  {
    // What need not wait is given by map() too, where waiting is forbidden.
    const NoWaitScope no_wait;
    EXPECT_EQ(refusal(map(read, for_reading)), "none");
    EXPECT_EQ(refusal(map(untouched, for_writing)), "none");
  }
  EXPECT_EQ(control().calls(Call::host_wait), 0U);
  EXPECT_TRUE(gate.closed());
  gate.open();
  EXPECT_EQ(values_of(need(map(written, for_reading, kLimit))), Values(8, 2));
  EXPECT_EQ(refusal(map(read, for_writing, kLimit)), "none");
}

// A thread blocks in map() until the gate opens: then it sees what the tasks wrote, and none of
// them is left.
CONTRACT_ROW(M1Blocks, MapComesBackWhenTheTasksHavePassed) {
  ASSERT_TRUE(backend().any_thread) << "The backend is not for several threads.";
  const Stream a = stream();
  const auto memory = host_array(a, 8, 1);
  std::atomic<bool> back{false};
  Values seen;
  const Gate gate(device());
  gate.hold(a);
  need(a.fill(memory, 2));
  std::thread host([&] {
    auto view = memory.map(for_reading, kLimit);
    if (view) seen = values_of(*view);
    back = true;
  });
  // From the call on tasks are refused: that it was made is seen by that.
  const Stream b = stream();
  EXPECT_TRUE(comes_true([&] { return refusal(b.fill(memory, 3)) == kOpen; }));
  EXPECT_FALSE(back);
  gate.open();
  host.join();
  EXPECT_FALSE(seen.empty());
  // Fills that came before the call are seen, and later ones are not.
  EXPECT_TRUE(seen == Values(8, 2) || seen == Values(8, 3));
}

// Every way to use bytes that the host has open to write. The refusals change nothing: the bytes
// beside them are free, and all of them once the view is closed.
CONTRACT_ROW(M2, TasksOnBytesThatTheHostWritesAreRefused) {
  const Stream s = stream();
  const auto memory = host_array(s, 16, 1);
  const auto other = need(s.upload(Values(8, 5)));
  const View<int> open = memory.view(4, 8);
  const View<int> edge = memory.view(0, 5);  // One element of it is open.
  const auto read = kernel("read", [](Cell, std::span<const int>) {});
  const auto write = kernel("write", [](Cell at, Out<int> to) { to[at.x] = 3; });
  const auto fail = [] { ADD_FAILURE() << "It ran."; };
  std::optional view(need(map(open, for_writing)));
  const std::uint64_t submits = control().calls(Call::submit);
  const Values values(8, 2);
  EXPECT_EQ(refusal(s.fill(open, 2)), kOpen);
  EXPECT_EQ(refusal(s.fill(edge, 2)), kOpen);
  EXPECT_EQ(refusal(s.copy(open, other)), kOpen);
  EXPECT_EQ(refusal(s.copy(other, open)), kOpen);
  EXPECT_EQ(refusal(s.upload(open, std::span<const int>(values))), kOpen);
  EXPECT_EQ(refusal(s.upload(open, Values(values))), kOpen);
  EXPECT_EQ(refusal(s.upload_borrowed(open, std::span<const int>(values)).get()), kOpen);
  EXPECT_EQ(refusal(s.read(open).get()), kOpen);
  EXPECT_EQ(refusal(s.launch(read, 1, open)), kOpen);
  EXPECT_EQ(refusal(s.launch(write, 1, open)), kOpen);
  EXPECT_EQ(refusal(s.host("f", {reads(open)}, fail).get()), kOpen);
  EXPECT_EQ(refusal(s.host("f", {writes(edge)}, fail).get()), kOpen);
  EXPECT_EQ(refusal(s.native({updates(open)}, [](auto...) { ADD_FAILURE(); })), kOpen);
  EXPECT_EQ(refusal(s.touch({reads(open)})), kOpen);
  EXPECT_EQ(control().calls(Call::submit), submits);

  EXPECT_EQ(refusal(s.fill(memory.view(0, 4), 7)), "none");
  EXPECT_EQ(refusal(s.fill(memory.view(12, 4), 7)), "none");
  need(s.synchronize(kLimit));
  EXPECT_EQ(values_of(*view), Values(8, 1));
  view->unmap();
  EXPECT_EQ(refusal(s.fill(open, 2)), "none");
  Values expected(16, 7);
  std::fill_n(expected.begin() + 4, 8, 2);
  EXPECT_EQ(need(s.read(memory).get(kLimit)), expected);
}

// Readers run beside a view that reads, on the same bytes; writers are refused.
CONTRACT_ROW(M3, TasksMayReadWhatTheHostReads) {
  const Stream s = stream();
  const auto memory = host_array(s, 8, 1);
  const auto other = need(Array<int>::create(s, 8));
  const auto view = need(memory.map(for_reading));
  EXPECT_EQ(refusal(s.copy(other, memory)), "none");
  EXPECT_EQ(need(s.read(memory).get(kLimit)), Values(8, 1));
  EXPECT_EQ(refusal(s.host("f", {reads(memory)}, [] {}).get(kLimit)), "none");
  EXPECT_EQ(refusal(s.fill(memory, 2)), kOpen);
  EXPECT_EQ(refusal(s.copy(memory, other)), kOpen);
  EXPECT_EQ(refusal(s.host("f", {updates(memory)}, [] { ADD_FAILURE(); }).get()), kOpen);
  EXPECT_EQ(values_of(view), Values(8, 1));
}

// Two views that overlap and of which one writes are refused, in either order; views that only
// read, and views side by side, are not.
CONTRACT_ROW(M4, ViewsThatConflictAreRefused) {
  const Stream s = stream();
  const auto memory = host_array(s, 16, 1);
  const View<int> low = memory.view(0, 9);
  const View<int> high = memory.view(8, 8);
  {
    const auto reading = need(map(low, for_reading));
    EXPECT_EQ(refusal(map(high, for_reading)), "none");
    EXPECT_EQ(refusal(map(high, for_writing)), kOpen);
    EXPECT_EQ(refusal(try_map(high, for_update)), kOpen);
    EXPECT_EQ(refusal(map(memory.view(9, 7), for_writing)), "none");
  }
  for (int mode = 0; mode != 2; ++mode) {
    const auto writing = mode == 0 ? need(map(low, for_writing)) : need(map(low, for_update));
    EXPECT_EQ(refusal(map(high, for_reading)), kOpen);
    EXPECT_EQ(refusal(try_map(high, for_reading)), kOpen);
    EXPECT_EQ(refusal(map(high, for_writing)), kOpen);
    EXPECT_EQ(refusal(map(memory.view(9, 7), for_update)), "none");
  }
  EXPECT_EQ(refusal(map(memory.view(), for_update)), "none");
}

// A deadline that is over, behind a closed gate, and a thread that may not wait: nothing is left of
// the call.
CONTRACT_ROW(M5, AMapThatTimesOutLeavesEverythingAsItWas) {
  const Stream a = stream();
  const Stream b = stream();
  const auto memory = host_array(a, 8, 1);
  const Gate gate(device());
  gate.hold(a);
  need(a.fill(memory, 2));
  EXPECT_EQ(refusal(memory.map(for_reading, kNow)), "timeout");
  EXPECT_EQ(refusal(memory.map(for_update, kNow)), "timeout");
  {
    const NoWaitScope no_wait;
    EXPECT_EQ(refusal(memory.map(for_reading)), "wait_forbidden");
    EXPECT_EQ(refusal(memory.map(for_update, kLimit)), "wait_forbidden");
  }
  EXPECT_EQ(refusal(memory.try_map(for_update)), "not_ready");
  EXPECT_EQ(refusal(a.fill(memory.view(0, 4), 3)), "none");
  EXPECT_EQ(refusal(b.fill(memory.view(7, 1), 4)), "none");
  EXPECT_TRUE(gate.closed());
  gate.open();
  EXPECT_EQ(values_of(need(memory.map(for_reading, kLimit))), (Values{3, 3, 3, 3, 2, 2, 2, 4}));
}

// Inside a host function map() does not wait; what is free is given.
CONTRACT_ROW(M6, AHostFunctionMapsOnlyWhatIsFree) {
  struct Outcome {
    std::string waits;
    std::string tries;
    std::string free;
  };
  const Stream a = stream();
  const Stream b = stream();
  const auto busy = host_array(a, 8, 1);
  const auto idle = host_array(b, 8, 1);
  const auto outcome = std::make_shared<Outcome>();
  const Gate gate(device());
  gate.hold(a);
  need(a.fill(busy, 2));
  Future<void> function = b.host("maps", {}, [outcome, busy, idle] {
    outcome->waits = refusal(busy.map(for_reading));
    outcome->tries = refusal(busy.try_map(for_reading));
    outcome->free = refusal(idle.map(for_update));
  });
  EXPECT_EQ(refusal(function.get(kLimit)), "none");
  EXPECT_EQ(outcome->waits, "wait_forbidden");
  EXPECT_EQ(outcome->tries, "not_ready");
  EXPECT_EQ(outcome->free, "none");
}

// A thread submits as fast as it can. It is refused from the call of map() on, so that map() comes
// back; afterwards it goes on.
CONTRACT_ROW(M7, AProducerThatNeverStopsDoesNotHoldUpMap) {
  ASSERT_TRUE(backend().any_thread) << "The backend is not for several threads.";
  const Stream s = stream();
  const Stream t = stream();
  const auto memory = host_array(s, 64, 0);
  std::atomic<bool> stop{false};
  std::atomic<int> accepted{0};
  std::thread producer([&] {
    while (!stop) {
      if (s.fill(memory, 1)) ++accepted;
      if (t.fill(memory, 1)) ++accepted;
    }
  });
  for (int round = 0; round != 3; ++round) {
    const int before = accepted;
    EXPECT_TRUE(comes_true([&] { return accepted > before; }));
    auto view = memory.map(for_update, kLimit);
    ASSERT_EQ(refusal(view), "none");
    std::fill(view->begin(), view->end(), 2);
    EXPECT_EQ(values_of(*view), Values(64, 2));
  }
  stop = true;
  producer.join();
}

// A view is closed by unmap(), by its destructor, and by an assignment over it; a move takes it
// along.
CONTRACT_ROW(M8, AViewIsClosedOnce) {
  const Stream s = stream();
  const auto memory = host_array(s, 8, 1);
  const auto is_open = [&] { return refusal(s.touch({writes(memory)})) == kOpen; };
  auto view = need(memory.map(for_writing));
  EXPECT_TRUE(is_open());
  view.unmap();
  EXPECT_FALSE(is_open());
  EXPECT_EQ(view.data(), nullptr);
  EXPECT_EQ(view.size(), 0U);
  view.unmap();

  view = need(memory.map(for_writing));
  auto moved = std::move(view);
  EXPECT_EQ(view.data(), nullptr);  // NOLINT(bugprone-use-after-move): what is claimed.
  view.unmap();
  EXPECT_TRUE(is_open());
  EXPECT_EQ(moved.size(), 8U);
  auto& self = moved;  // A name of its own, or compilers warn.
  moved = std::move(self);
  EXPECT_TRUE(is_open());
  EXPECT_EQ(moved.size(), 8U);
  moved = Mapped<int>();
  EXPECT_FALSE(is_open());
  {
    const auto scoped = need(memory.map(for_writing));
    EXPECT_TRUE(is_open());
  }
  EXPECT_FALSE(is_open());
}

// All other handles go while a view is open. The bytes stay, and nobody else gets them.
CONTRACT_ROW(M9, AViewKeepsTheMemory) {
  std::optional view(need([this] {
    const Stream s = stream();
    return host_array(s, 64, 7).map(for_update);
  }()));
  const std::uint64_t live = device().host_memory_usage().live_bytes;
  EXPECT_GE(live, 64 * sizeof(int));
  const Stream s = stream();
  const auto next = host_array(s, 64, 9);
  EXPECT_NE(need(next.map(for_reading)).data(), view->data());
  EXPECT_EQ(values_of(*view), Values(64, 7));
  std::fill(view->begin(), view->end(), 8);
  EXPECT_EQ(values_of(*view), Values(64, 8));
  view.reset();
  EXPECT_EQ(device().host_memory_usage().live_bytes, live);
}

// The pages of an array that is gone are in use by a task behind a gate. A new array gets others;
// it gets them back when the task has passed.
CONTRACT_ROW(M10, PagesAreHandedOutAgainWhenTheirUsesHavePassed) {
  constexpr std::uint64_t kCount = 4096;
  const Stream s = stream();
  const Stream other = stream();
  const auto target = need(Array<int>::create(s, kCount));
  const Gate gate(device());
  const int* first = nullptr;
  {
    const auto staging = host_array(s, kCount, 5);
    first = need(staging.map(for_reading)).data();
    gate.hold(s);
    need(s.copy(target, staging));
  }
  for (const Stream& home : {s, other}) {
    const auto next = host_array(home, kCount, 6);
    EXPECT_NE(need(next.map(for_reading)).data(), first);
  }
  EXPECT_TRUE(gate.closed());
  gate.open();
  need(s.synchronize(kLimit));
  EXPECT_EQ(need(s.read(target).get(kLimit)), Values(kCount, 5));
  std::vector<HostArray<int>> kept;  // The two others are free too.
  bool again = false;
  for (int i = 0; i != 3; ++i) {
    kept.push_back(host_array(s, kCount));
    again = again || need(kept.back().map(for_reading)).data() == first;
  }
  EXPECT_TRUE(again);
}

// The host and the device take turns on the same pages.
CONTRACT_ROW(M11, TheHostAndTasksSeeEachOthersWrites) {
  constexpr int kRounds = 50;
  const Stream a = stream();
  const Stream b = stream();
  const auto memory = host_array(a, 16, 0);
  const auto on_device = need(Array<int>::create(a, 16));
  const auto add = kernel("add", [](Cell at, std::span<int> to) { ++to[at.x]; });
  for (int round = 0; round != kRounds; ++round) {
    need(a.copy(on_device, memory));
    need(b.launch(add, 16, on_device));
    need(a.copy(memory, on_device));
    auto view = need(memory.map(for_update, kLimit));
    ASSERT_EQ(values_of(view), Values(16, 2 * round + 1));
    for (int& value : view) ++value;
  }
  EXPECT_EQ(need(b.read(memory).get(kLimit)), Values(16, 2 * kRounds));
}

// Memory of the device can be mapped where its addresses are the host's, and is refused elsewhere.
CONTRACT_ROW(M12, DeviceMemoryIsMappedOrUnsupported) {
  const Stream s = stream();
  const auto data = need(s.upload(Values(8, 3)));
  auto view = map(data, for_update, kLimit);
  if (view) {
    EXPECT_EQ(values_of(*view), Values(8, 3));
    (*view)[0] = 4;
    EXPECT_EQ(refusal(s.fill(data, 1)), kOpen);
    view->unmap();
    EXPECT_EQ(need(s.read(data.view(0, 2)).get(kLimit)), (Values{4, 3}));
  } else {
    EXPECT_EQ(refusal(view), "unsupported");
    EXPECT_EQ(refusal(try_map(data, for_reading)), "unsupported");
    EXPECT_EQ(refusal(s.fill(data, 1)), "none");
  }
  EXPECT_EQ(refusal(s.synchronize(kLimit)), "none");
}

// A device whose addresses are not the host's: its own memory cannot be mapped, pages of the host
// can, and everything else works there.
CONTRACT_ROW(M12Foreign, WhereAddressesAreNotTheHostsOnlyPagesAreMapped) {
  const Device foreign = need(open_foreign());
  const Stream s = need(Stream::create(foreign));
  const auto data = need(s.upload(Values(8, 3)));
  EXPECT_EQ(refusal(map(data, for_reading)), "unsupported");
  EXPECT_EQ(refusal(try_map(data, for_writing)), "unsupported");
  const auto pages = host_array(s, 8, 4);
  need(s.copy(data, pages));
  EXPECT_EQ(need(s.read(data).get(kLimit)), Values(8, 4));
}

CONTRACT_ROW(M13, AViewOutsideItsMemoryIsRefused) {
  const Stream s = stream();
  const auto memory = host_array(s, 8, 1);
  EXPECT_EQ(refusal(map(memory.view(4, 5), for_reading)), "invalid_argument");
  EXPECT_EQ(refusal(map(View<int>(memory.buffer(), 0, 9), for_reading)), "invalid_argument");
  EXPECT_EQ(refusal(map(View<int>(memory.buffer(), 2, 1), for_reading)), "invalid_argument");
  EXPECT_EQ(refusal(map(View<int>(), for_reading)), "invalid_handle");
  EXPECT_EQ(refusal(HostArray<int>().map(for_reading)), "invalid_handle");
  EXPECT_EQ(refusal(HostArray<int>::create(Stream(), 8)), "invalid_handle");
  EXPECT_EQ(refusal(HostArray<int>::create(s, std::uint64_t{1} << 63)), "invalid_size");

  // No elements: nothing is in the way, and nothing is kept from tasks.
  const Gate gate(device());
  gate.hold(s);
  need(s.fill(memory, 2));
  const auto empty = need(try_map(memory.view(8, 0), for_writing));
  EXPECT_EQ(empty.size(), 0U);
  EXPECT_EQ(refusal(s.fill(memory, 3)), "none");
  const auto none = host_array(s, 0);
  EXPECT_EQ(need(none.map(for_update)).size(), 0U);
}

}  // namespace
}  // namespace thalweg::contract
