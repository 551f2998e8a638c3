// SPDX-License-Identifier: Apache-2.0
//
// How queues begin and end, and what handles to them say.

#include <algorithm>
#include <array>
#include <functional>
#include <optional>

#include "contract/support/work.hpp"

namespace thalweg::contract {
namespace {

// Every other handle goes; the stream still works. When it goes too, so does the device.
CONTRACT_ROW(S4, AStreamKeepsItsDeviceAlive) {
  std::optional<Device> handle = take_device();
  std::optional<Stream> s = need(Stream::create(*handle));
  handle.reset();
  EXPECT_FALSE(control().driver_destroyed());
  const Log log;
  EXPECT_EQ(refusal(log.enqueue(*s, 1).get(kLimit)), "none");
  EXPECT_TRUE(s->device().valid());
  EXPECT_EQ(need(s->read(need(s->upload(std::vector<int>{5}))).get(kLimit))[0], 5);
  EXPECT_FALSE(control().driver_destroyed());
  s.reset();
  EXPECT_TRUE(comes_true([this] { return control().driver_destroyed(); }));
}

// The backend refuses a stream, and memory. Counts of references and of bytes are as before, and so
// is what the next creation is given.
CONTRACT_ROW(S5, AFailedCreationLeavesNothingBehind) {
  const Error error(ErrorKind::out_of_memory, "refused by the test");
  const std::uint64_t references = device().core()->references();
  control().refuse(Call::create_stream, error);
  EXPECT_EQ(refusal(Stream::create(device())), "out_of_memory");
  const order::QueueIndex index = control().latest_index();
  EXPECT_EQ(device().core()->references(), references);
  EXPECT_EQ(control().streams_created(), 0U);
  EXPECT_EQ(device().statistics().queues_created, 0U);
  EXPECT_EQ(device().statistics().queues_destroyed, 0U);

  const Stream s = stream();
  EXPECT_LE(control().latest_index(), index);  // The lowest that is free.
  const MemoryUsage usage = device().memory_usage();
  const std::uint64_t of_stream = s.core()->references();
  const std::uint64_t of_device = device().core()->references();
  // The runtime asks once more after finished work has let go of what it held.
  control().refuse(Call::grow, error, 1, 2);
  EXPECT_EQ(refusal(Buffer::create(s, 1 << 16)), "out_of_memory");
  control().refuse(Call::find, error, 1, 2);
  EXPECT_EQ(refusal(Buffer::create(s, 1 << 16)), "out_of_memory");
  EXPECT_EQ(s.core()->references(), of_stream);
  EXPECT_EQ(device().core()->references(), of_device);
  EXPECT_EQ(device().memory_usage().live_bytes, usage.live_bytes);
  EXPECT_EQ(device().memory_usage().reserved_bytes, usage.reserved_bytes);
  EXPECT_TRUE(need(Buffer::create(s, 1 << 16)).valid());
}

// Both handles name one native queue, and what is submitted through them in turn runs in that
// order, though nobody placed an event.
CONTRACT_ROW(S6, ACopyIsASecondHandleToOneQueue) {
  const Stream s = stream();
  const Stream copy = s;
  EXPECT_EQ(copy.raw(), s.raw());
  EXPECT_EQ(copy.id(), s.id());
  EXPECT_EQ(control().calls(Call::create_stream), 1U);
  const Log log;
  const Gate gate(device());
  gate.hold(s);
  std::vector<int> expected;
  for (int i = 0; i != 100; ++i) {
    static_cast<void>(log.enqueue(i % 2 == 0 ? s : copy, i));
    expected.push_back(i);
  }
  gate.open();
  need(copy.synchronize(kLimit));
  EXPECT_EQ(log.entries(), expected);
  EXPECT_EQ(control().calls(Call::wait_for), 0U);
  EXPECT_EQ(control().streams_created(), 1U);
}

// Three handles go in every order, and on three threads at once: only the last one destroys the
// queue, and it does so once.
CONTRACT_ROW(S7, TheLastHandleDestroysTheQueueOnce) {
  std::uint64_t made = 0;
  std::array<std::size_t, 3> order{0, 1, 2};
  do {
    std::array<Stream, 3> copies;
    copies.fill(stream());
    ++made;
    const Log log;
    static_cast<void>(log.enqueue(copies[0], 1));
    for (const std::size_t i : order) {
      EXPECT_EQ(control().streams_destroyed(), made - 1);
      EXPECT_EQ(refusal(copies[i].synchronize(kLimit)), "none");
      copies[i] = Stream();
    }
    ASSERT_TRUE(comes_true([&] { return control().streams_destroyed() == made; }));
  } while (std::next_permutation(order.begin(), order.end()));

  for (int round = 0; round != 50; ++round) {
    std::array<Stream, 3> copies;
    copies.fill(stream());
    ++made;
    static_cast<void>(Log().enqueue(copies[0], 1));
    on_threads(3, [&copies](int i) { copies[static_cast<std::size_t>(i)] = Stream(); });
    ASSERT_TRUE(comes_true([&] { return control().streams_destroyed() == made; }));
  }
  EXPECT_EQ(control().streams_created(), made);
}

// The only handle goes while a gate holds the queue. It goes at once, and the work runs later.
CONTRACT_ROW(S8, DestroyingABusyStreamNeitherBlocksNorCancels) {
  const Log log;
  const Gate gate(device());
  {
    const Stream s = stream();
    gate.hold(s);
    for (int i = 0; i != 3; ++i) static_cast<void>(log.enqueue(s, i));
  }
  EXPECT_TRUE(gate.closed());
  EXPECT_TRUE(log.empty());
  EXPECT_EQ(control().streams_destroyed(), 0U);
  EXPECT_EQ(control().calls(Call::host_wait), 0U);
  gate.open();
  EXPECT_TRUE(comes_true([this] { return control().streams_destroyed() == 1; }));
  EXPECT_EQ(log.entries(), (std::vector<int>{0, 1, 2}));
}

// The native handle is one value from the first call to the last, whatever the handles do.
CONTRACT_ROW(S25, RawIsStable) {
  Stream s = stream();
  const NativeHandle raw = s.raw();
  const Log log;
  const Gate gate(device());
  gate.hold(s);
  static_cast<void>(log.enqueue(s, 1));
  EXPECT_EQ(s.raw(), raw);
  Stream copy = s;
  EXPECT_EQ(copy.raw(), raw);
  const Stream moved = std::move(s);
  EXPECT_EQ(moved.raw(), raw);
  copy = Stream();
  EXPECT_EQ(moved.raw(), raw);
  gate.open();
  need(moved.synchronize(kLimit));
  EXPECT_EQ(moved.raw(), raw);
  EXPECT_NE(stream().raw(), raw);
}

// Equality of queues is an equivalence, and agrees with the ids and their hash.
CONTRACT_ROW(S26, IsSameQueueComparesQueues) {
  const Stream a = stream();
  const Stream a2 = a;
  const Stream a3 = a2;
  const Stream b = stream();
  const std::vector<Stream> all{a, b, a2, a3};
  const std::hash<QueueId> hash;
  for (const Stream& x : all) {
    EXPECT_TRUE(x.is_same_queue(x));
    for (const Stream& y : all) {
      const bool same = x.is_same_queue(y);
      EXPECT_EQ(same, y.is_same_queue(x));
      EXPECT_EQ(same, x.id() == y.id());
      EXPECT_EQ(same, x.raw() == y.raw());
      EXPECT_TRUE(!same || hash(x.id()) == hash(y.id()));
      for (const Stream& z : all) EXPECT_TRUE(!same || !y.is_same_queue(z) || x.is_same_queue(z));
    }
  }
  EXPECT_TRUE(a.is_same_queue(a3));
  EXPECT_FALSE(a.is_same_queue(b));
  EXPECT_FALSE(Stream().is_same_queue(Stream()));
  EXPECT_FALSE(a.is_same_queue(Stream()));
}

// Asking a stream for its device leaves every count as it was, and the backend unasked.
CONTRACT_ROW(S28, AskingForTheDeviceChangesNoCount) {
  const Stream s = stream();
  const std::uint64_t of_device = device().core()->references();
  const std::uint64_t of_stream = s.core()->references();
  const std::uint64_t calls = control().calls();
  for (int i = 0; i != 3; ++i) EXPECT_EQ(s.device(), device());
  EXPECT_EQ(device().core()->references(), of_device);
  EXPECT_EQ(s.core()->references(), of_stream);
  EXPECT_EQ(control().calls(), calls);
}

// Assigning over the last handle ends that queue, once; assigning a handle to itself does nothing.
CONTRACT_ROW(S29, AssigningOverTheLastHandleDestroysThatQueueOnce) {
  Stream a = stream();
  Stream b = stream();
  const Stream other = b;
  const QueueId id = b.id();
  a = b;
  ASSERT_TRUE(comes_true([this] { return control().streams_destroyed() == 1; }));
  EXPECT_TRUE(a.is_same_queue(other));
  a = stream();  // Another handle to `b` is left.
  EXPECT_EQ(control().streams_destroyed(), 1U);
  a = std::move(b);
  ASSERT_TRUE(comes_true([this] { return control().streams_destroyed() == 2; }));
  EXPECT_EQ(a.id(), id);

  Stream& self = a;  // A name of its own, or compilers warn.
  a = self;
  EXPECT_EQ(a.id(), id);
  a = std::move(self);
  EXPECT_EQ(a.id(), id);
  EXPECT_EQ(refusal(Log().enqueue(a, 1).get(kLimit)), "none");
  EXPECT_EQ(control().streams_created(), 3U);
  EXPECT_EQ(control().streams_destroyed(), 2U);
}

}  // namespace
}  // namespace thalweg::contract
