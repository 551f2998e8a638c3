// SPDX-License-Identifier: Apache-2.0
//
// An event that was never recorded was taken for one that is not yet done, or for one that is done.
// It has a state of its own; waiting for it does nothing, and a later record does not change that.

#include <gtest/gtest.h>

#include "support/gate.hpp"
#include "support/refusal.hpp"

namespace thalweg::test {
namespace {

TEST(F19EventNeverRecorded, AWaitForItIsNoWait) {
  const Device device = must(Device::open("cpu"));
  const Stream a = must(Stream::create(device));
  const Stream b = must(Stream::create(device));
  const auto x = must(Array<int>::create(b, 16));
  const Event event = must(Event::create(device));
  EXPECT_EQ(event.query(), EventState::not_recorded);
  EXPECT_EQ(refusal(event.wait(kLimit)), "none");
  must(b.wait_event(event));
  must(b.fill(x, 1));

  const Gate gate(device);
  gate.hold(a);
  must(a.record(event));
  ASSERT_EQ(refusal(b.synchronize(kLimit)), "none");
  EXPECT_EQ(must(b.read(x).get(kLimit)), std::vector<int>(16, 1));
  EXPECT_EQ(event.query(), EventState::not_yet);
}

}  // namespace
}  // namespace thalweg::test
