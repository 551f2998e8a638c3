// SPDX-License-Identifier: Apache-2.0
//
// Handles that hold nothing, and handles of another backend: refused, never a crash.

#include <span>
#include <utility>

#include "contract/support/foreign_backend.hpp"
#include "contract/support/work.hpp"

namespace thalweg::contract {
namespace {

constexpr const char* kInvalid = "invalid_handle";
constexpr const char* kForeign = "backend_mismatch";

// Every call on a stream that holds nothing.
void expect_invalid(const Stream& empty, const Device& device) {
  const Stream good = need(Stream::create(device));
  const Event event = need(Event::create(device));
  const Timeline timeline = need(Timeline::create(device));
  const auto data = need(Array<int>::create(good, 2));
  const int values[] = {1, 2};
  EXPECT_EQ(refusal(empty.fill(data, 1)), kInvalid);
  EXPECT_EQ(refusal(empty.copy(data.view(0, 1), data.view(1, 1))), kInvalid);
  EXPECT_EQ(refusal(empty.upload(data, std::span<const int>(values))), kInvalid);
  EXPECT_EQ(refusal(empty.upload(data, std::vector<int>{1, 2})), kInvalid);
  EXPECT_EQ(refusal(empty.upload(std::vector<int>{1, 2})), kInvalid);
  EXPECT_EQ(refusal(empty.upload_borrowed(data, std::span<const int>(values)).get()), kInvalid);
  EXPECT_EQ(refusal(empty.read(data).get()), kInvalid);
  EXPECT_EQ(refusal(empty.host("f", {}, [] { ADD_FAILURE() << "It ran."; }).get()), kInvalid);
  const auto nothing = kernel("nothing", [](Cell) { ADD_FAILURE() << "It ran."; });
  EXPECT_EQ(refusal(empty.launch(nothing, 1)), kInvalid);
  EXPECT_EQ(refusal(empty.record(event)), kInvalid);
  EXPECT_EQ(refusal(empty.wait_event(event)), kInvalid);
  EXPECT_EQ(refusal(empty.wait(good)), kInvalid);
  EXPECT_EQ(refusal(good.wait(empty)), kInvalid);
  EXPECT_EQ(refusal(empty.wait(timeline, 0)), kInvalid);
  EXPECT_EQ(refusal(empty.synchronize()), kInvalid);
  EXPECT_EQ(refusal(Buffer::create(empty, 1)), kInvalid);
  EXPECT_EQ(empty.raw(), NativeHandle());
  EXPECT_FALSE(empty.device().valid());
  EXPECT_EQ(empty.priority(), 0);
  EXPECT_FALSE(empty.id());
  EXPECT_EQ(empty.name(), "");
  EXPECT_FALSE(empty.is_same_queue(good));
  EXPECT_FALSE(empty.is_same_queue(empty));
}

// A handle that was never one, and one that was moved from, in every place where a handle is taken.
CONTRACT_ROW(S23, AHandleThatHoldsNothingIsInvalid) {
  expect_invalid(Stream(), device());
  Stream moved = stream();
  const Stream s = std::move(moved);
  expect_invalid(moved, device());  // NOLINT(bugprone-use-after-move): what is claimed.

  Event event = this->event();
  const Event event_taken = std::move(event);
  EXPECT_EQ(refusal(s.record(event)), kInvalid);
  EXPECT_EQ(refusal(s.wait_event(event)), kInvalid);
  EXPECT_EQ(refusal(event.wait()), kInvalid);
  EXPECT_EQ(event.query(), EventState::lost);

  Timeline timeline = need(Timeline::create(device()));
  const Timeline timeline_taken = std::move(timeline);
  EXPECT_EQ(refusal(s.wait(timeline, 0)), kInvalid);
  EXPECT_EQ(refusal(timeline.wait(0)), kInvalid);
  EXPECT_EQ(refusal(timeline.signal(1)), kInvalid);

  auto data = need(Array<int>::create(s, 2));
  const auto data_taken = std::move(data);
  EXPECT_EQ(refusal(s.fill(data, 1)), kInvalid);
  EXPECT_EQ(refusal(s.copy(data, data_taken)), kInvalid);
  EXPECT_EQ(refusal(s.copy(data_taken, data)), kInvalid);
  EXPECT_EQ(refusal(s.read(data).get()), kInvalid);
  EXPECT_EQ(refusal(s.host("f", {reads(data)}, [] { ADD_FAILURE() << "It ran."; }).get()),
            kInvalid);

  Device moved_device = device();
  const Device device_taken = std::move(moved_device);
  EXPECT_EQ(refusal(Stream::create(moved_device)), kInvalid);
  EXPECT_EQ(refusal(Event::create(moved_device)), kInvalid);
  EXPECT_EQ(refusal(Timeline::create(moved_device)), kInvalid);
  EXPECT_EQ(refusal(moved_device.synchronize()), kInvalid);

  EXPECT_EQ(refusal(s.fill(data_taken, 1)), "none");
  EXPECT_EQ(refusal(s.synchronize(kLimit)), "none");
}

// Streams, events, timelines and memory of a device of another backend, and ours there. The backend
// hears of none, and both devices work as before.
CONTRACT_ROW(S23Foreign, AHandleOfAnotherBackendIsRefused) {
  const Device foreign = need(open_foreign());
  const Stream ours = stream();
  const Stream theirs = need(Stream::create(foreign));
  const Event event = this->event();
  const Event their_event = need(Event::create(foreign));
  const Timeline timeline = need(Timeline::create(device()));
  const Timeline their_timeline = need(Timeline::create(foreign));
  const auto data = need(Array<int>::create(ours, 2));
  const auto their_data = need(Array<int>::create(theirs, 2));
  need(theirs.record(their_event));
  need(ours.record(event));

  const std::uint64_t waits = control().calls(Call::wait_for);
  const std::uint64_t submits = control().calls(Call::submit);
  EXPECT_EQ(refusal(ours.record(their_event)), kForeign);
  EXPECT_EQ(refusal(ours.wait_event(their_event)), kForeign);
  EXPECT_EQ(refusal(ours.wait(theirs)), kForeign);
  EXPECT_EQ(refusal(ours.wait(their_timeline, 0)), kForeign);
  EXPECT_EQ(refusal(ours.fill(their_data, 1)), kForeign);
  EXPECT_EQ(refusal(ours.copy(data, their_data)), kForeign);
  EXPECT_EQ(refusal(ours.copy(their_data, data)), kForeign);
  EXPECT_EQ(refusal(ours.upload(their_data, std::vector<int>{1, 2})), kForeign);
  EXPECT_EQ(refusal(ours.read(their_data).get()), kForeign);
  EXPECT_EQ(refusal(ours.host("f", {reads(their_data)}, [] { ADD_FAILURE(); }).get()), kForeign);
  EXPECT_EQ(refusal(theirs.record(event)), kForeign);
  EXPECT_EQ(refusal(theirs.wait_event(event)), kForeign);
  EXPECT_EQ(refusal(theirs.wait(ours)), kForeign);
  EXPECT_EQ(refusal(theirs.wait(timeline, 0)), kForeign);
  EXPECT_EQ(refusal(theirs.fill(data, 1)), kForeign);
  EXPECT_EQ(control().calls(Call::wait_for), waits);
  EXPECT_EQ(control().calls(Call::submit), submits);
  EXPECT_FALSE(ours.is_same_queue(theirs));

  EXPECT_EQ(refusal(ours.fill(data, 1)), "none");
  EXPECT_EQ(refusal(ours.synchronize(kLimit)), "none");
  EXPECT_EQ(refusal(theirs.fill(their_data, 1)), "none");
  EXPECT_EQ(refusal(theirs.synchronize(kLimit)), "none");
}

}  // namespace
}  // namespace thalweg::contract
