// SPDX-License-Identifier: Apache-2.0
//
// Native work, and work that the program declares.

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "contract/support/sink.hpp"
#include "contract/support/work.hpp"

namespace thalweg::contract {
namespace {

using Values = std::vector<int>;
using Bytes = std::span<const NativeBytes>;

// What native work was called with, and how often.
struct Seen {
  std::atomic<int> calls{0};
  NativeHandle queue;
  std::vector<NativeBytes> bytes;
};

auto observer(const std::shared_ptr<Seen>& seen) {
  return [seen](NativeHandle queue, Bytes bytes) {
    seen->queue = queue;
    seen->bytes.assign(bytes.begin(), bytes.end());
    ++seen->calls;
  };
}

// The queue's own handle, and for each access the address and the size of its bytes, in their
// order: offsets between them are those of the views.
CONTRACT_ROW(N1, NativeWorkGetsTheQueueAndTheBytes) {
  const Stream s = stream();
  const auto data = need(Array<int>::create(s, 16));
  const auto other = need(Array<std::uint8_t>::create(s, 100));
  need(s.fill(data, 0));
  const auto seen = std::make_shared<Seen>();
  const Task task = need(s.native(
      {reads(data.view(4, 3)), writes(other), orders(data.view(0, 16)), updates(data.view(8, 0))},
      observer(seen)));
  EXPECT_EQ(task.queue(), s.id());
  need(s.synchronize(kLimit));
  ASSERT_EQ(seen->calls, 1);
  EXPECT_EQ(seen->queue, s.raw());
  ASSERT_EQ(seen->bytes.size(), 4U);
  const std::vector<NativeBytes>& bytes = seen->bytes;
  EXPECT_EQ(bytes[0].size_bytes, 12U);
  EXPECT_EQ(bytes[1].size_bytes, 100U);
  EXPECT_EQ(bytes[2].size_bytes, 64U);
  EXPECT_EQ(bytes[3].size_bytes, 0U);
  EXPECT_EQ(bytes[0].offset, 16U);
  EXPECT_EQ(bytes[1].offset, 0U);
  EXPECT_EQ(bytes[2].offset, 0U);
  EXPECT_EQ(bytes[3].offset, 32U);
  EXPECT_EQ(bytes[0].address - bytes[2].address, bytes[2].address == 0 ? 0U : 16U);
  EXPECT_EQ(bytes[0].resource, bytes[2].resource);

  const auto none = std::make_shared<Seen>();
  need(s.native({}, observer(none)));
  need(s.synchronize(kLimit));
  EXPECT_EQ(none->calls, 1);
  EXPECT_TRUE(none->bytes.empty());
}

// What native work of one stream touches is ordered with copies and kernels of others, before it
// and behind it. Nothing here is of one stream.
CONTRACT_ROW(N2, NativeWorkIsOrderedByItsAccesses) {
  const Stream a = stream();
  const Stream b = stream();
  const Stream c = stream();
  const auto from = need(a.upload(Values(4, 1)));
  const auto to = need(Array<int>::create(c, 4));
  const auto marks = std::make_shared<std::vector<int>>();
  const auto add = kernel("add", [](Cell at, std::span<int> values) { values[at.x] += 10; });
  need(device().synchronize(kLimit));
  const Gate gate(device());
  gate.hold(a);
  need(a.launch(add, 4, from));
  static_cast<void>(a.host("before", {reads(from)}, [marks] { marks->push_back(1); }));
  need(b.native({updates(from)}, [marks](NativeHandle, Bytes) { marks->push_back(2); }));
  const Event behind_native = event();
  need(b.record(behind_native));
  need(c.copy(to, from));
  Future<void> after = c.host("after", {reads(to)}, [marks] { marks->push_back(3); });
  EXPECT_EQ(refusal(stream().host("free", {}, [] {}).get(kLimit)), "none");
  EXPECT_FALSE(after.ready());
  EXPECT_EQ(behind_native.query(), EventState::not_yet);
  gate.open();
  EXPECT_EQ(refusal(after.get(kLimit)), "none");
  EXPECT_EQ(*marks, (Values{1, 2, 3}));
  EXPECT_EQ(need(c.read(to).get(kLimit)), Values(4, 11));
}

// The other way round: native work is behind the gate, and the others wait for it; those that touch
// other bytes do not.
CONTRACT_ROW(N2Behind, TasksWaitForNativeWork) {
  const Stream a = stream();
  const Stream b = stream();
  const auto data = need(a.upload(Values(8, 1)));
  const auto marks = std::make_shared<std::vector<int>>();
  need(device().synchronize(kLimit));
  const Gate gate(device());
  gate.hold(a);
  need(a.native({writes(data.view(0, 4))}, [marks](NativeHandle, Bytes) { marks->push_back(1); }));
  Future<Values> beside = b.read(data.view(4, 4));
  EXPECT_EQ(need(beside.get(kLimit)), Values(4, 1));
  Future<void> touching = b.host("f", {reads(data.view(3, 2))}, [marks] { marks->push_back(2); });
  EXPECT_TRUE(gate.closed());
  EXPECT_FALSE(touching.ready());
  gate.open();
  EXPECT_EQ(refusal(touching.get(kLimit)), "none");
  EXPECT_EQ(*marks, (Values{1, 2}));
}

// Nobody holds a future of it: what it throws goes to the error sink, with the place of the call.
// The stream goes on.
CONTRACT_ROW(N3, WhatNativeWorkThrowsGoesToTheErrorSink) {
  const Sink sink;
  const Stream s = stream();
  const unsigned line = __LINE__ + 1;
  need(s.native({}, [](NativeHandle, Bytes) { throw std::runtime_error("native and broken"); }));
  need(s.native({}, [](NativeHandle, Bytes) { throw 7; }));
  EXPECT_EQ(refusal(Log().enqueue(s, 1).get(kLimit)), "none");
  const std::vector<Error> errors = sink.errors();
  ASSERT_EQ(errors.size(), 2U);
  EXPECT_EQ(errors[0].kind(), ErrorKind::task_failed);
  EXPECT_NE(errors[0].message().find("native and broken"), std::string_view::npos);
  EXPECT_EQ(errors[0].site().line(), line);
  EXPECT_STREQ(errors[0].site().file_name(), __FILE__);
  EXPECT_EQ(errors[1].kind(), ErrorKind::task_failed);
  EXPECT_EQ(refusal(s.synchronize(kLimit)), "none");
  EXPECT_EQ(device().statistics().tasks_failed, 2U);
}

// A touch stands for work that the runtime does not see: it comes after what it conflicts with, and
// what comes later on other streams is ordered after it.
CONTRACT_ROW(N4, ATouchDeclaresWork) {
  const Stream a = stream();
  const Stream b = stream();
  const Stream c = stream();
  const auto data = need(a.upload(Values(4, 1)));
  const auto unrelated = need(c.upload(Values(4, 6)));
  need(device().synchronize(kLimit));
  {
    const Gate gate(device());
    const Event mark = event();
    gate.hold(a);
    need(a.fill(data, 2));
    need(b.touch({reads(data)}));
    need(b.record(mark));
    EXPECT_EQ(mark.query(), EventState::not_yet);
    gate.open();
    EXPECT_EQ(refusal(mark.wait(kLimit)), "none");
    EXPECT_EQ(need(c.read(data).get(kLimit)), Values(4, 2));
  }
  const Gate gate(device());
  gate.hold(b);
  const Task task = need(b.touch({writes(data)}));
  EXPECT_EQ(task.queue(), b.id());
  Future<Values> later = c.read(data);
  EXPECT_EQ(need(a.read(unrelated).get(kLimit)), Values(4, 6));
  EXPECT_FALSE(later.ready());
  gate.open();
  EXPECT_EQ(need(later.get(kLimit)), Values(4, 2));
  EXPECT_EQ(refusal(b.touch({})), "none");
}

CONTRACT_ROW(N5, NativeWorkThatDoesNotFitIsRefused) {
  const Opened second = second_device();
  const Stream s = stream();
  const Stream theirs = need(Stream::create(second.device));
  const auto data = need(Array<int>::create(s, 4));
  const auto their_data = need(Array<int>::create(theirs, 4));
  const auto fail = [](NativeHandle, Bytes) { ADD_FAILURE() << "It ran."; };
  EXPECT_EQ(refusal(Stream().native({}, fail)), "invalid_handle");
  EXPECT_EQ(refusal(Stream().touch({})), "invalid_handle");
  EXPECT_EQ(refusal(s.native({reads(View<int>())}, fail)), "invalid_handle");
  EXPECT_EQ(refusal(s.touch({reads(View<int>())})), "invalid_handle");
  EXPECT_EQ(refusal(s.native({reads(data.view(2, 3))}, fail)), "invalid_argument");
  EXPECT_EQ(refusal(s.native({reads(View<int>(data.buffer(), 0, 5))}, fail)), "invalid_argument");
  EXPECT_EQ(refusal(s.touch({writes(View<int>(data.buffer(), 0, 5))})), "invalid_argument");
  EXPECT_EQ(refusal(s.native({reads(their_data)}, fail)), "context_mismatch");
  EXPECT_EQ(refusal(s.touch({reads(their_data)})), "context_mismatch");
  EXPECT_EQ(refusal(s.synchronize(kLimit)), "none");
}

}  // namespace
}  // namespace thalweg::contract
