// SPDX-License-Identifier: Apache-2.0
//
// An event was recorded again while an older wait was still queued, behind that very wait: the wait
// looked at the new record and never ended. A wait binds to the record that was latest when it was
// submitted.

#include <gtest/gtest.h>

#include "support/gate.hpp"
#include "support/refusal.hpp"

namespace thalweg::test {
namespace {

// Two gates hold the record and the wait; the event is recorded again behind the wait that has not
// been looked at yet.
TEST(F05EventRecordedAgain, AWaitKeepsTheRecordItWasSubmittedWith) {
  const Device device = must(Device::open("cpu"));
  const Stream a = must(Stream::create(device));
  const Stream b = must(Stream::create(device));
  const auto x = must(Array<int>::create(b, 16));
  const Event event = must(Event::create(device));
  const Gate gate_a(device);
  const Gate gate_b(device);

  gate_a.hold(a);
  gate_b.hold(b);
  must(a.record(event));
  must(b.wait_event(event));
  must(b.fill(x, 1));

  gate_a.open();
  ASSERT_TRUE(comes_true([&] { return event.query() == EventState::done; }));

  must(b.record(event));
  EXPECT_EQ(event.query(), EventState::not_yet);

  gate_b.open();
  ASSERT_EQ(refusal(b.synchronize(kLimit)), "none");
  EXPECT_EQ(must(b.read(x).get(kLimit)), std::vector<int>(16, 1));
  EXPECT_EQ(event.query(), EventState::done);
}

}  // namespace
}  // namespace thalweg::test
