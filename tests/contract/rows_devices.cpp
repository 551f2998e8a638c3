// SPDX-License-Identifier: Apache-2.0
//
// Several devices of one backend at the same time.

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "contract/support/foreign_backend.hpp"
#include "contract/support/work.hpp"

namespace thalweg::contract {
namespace {

using Values = std::vector<int>;

// Bytes go from this device to the other one and back, with the streams of both as the copying one.
// A gate holds the first writer: each copy waits for what it reads, and who overwrites that waits
// for the copy.
CONTRACT_ROW(D1, CopiesBetweenDevicesAreOrderedByTheirBytes) {
  ASSERT_TRUE(backend().devices_meet) << "Work of two devices does not meet.";
  const Opened second = second_device();
  const Stream ours = stream();
  const Stream theirs = need(Stream::create(second.device));
  const auto here = need(Array<int>::create(ours, 8));
  const auto there = need(Array<int>::create(theirs, 8));
  for (const bool by_source : {true, false}) {
    const Stream copier = by_source ? stream() : need(Stream::create(second.device));
    const Gate gate(device());
    gate.hold(ours);
    need(ours.fill(here, 1));
    ASSERT_EQ(refusal(copier.copy(there, here)), "none");
    need(ours.fill(here, 2));  // After the copy has read.
    Future<Values> seen = theirs.read(there);
    EXPECT_FALSE(seen.ready());
    EXPECT_TRUE(gate.closed());
    gate.open();
    EXPECT_EQ(need(seen.get(kLimit)), Values(8, 1));

    const Gate back(second.device);
    back.hold(theirs);
    need(theirs.fill(there, 3));
    ASSERT_EQ(refusal(copier.copy(here, there)), "none");
    need(theirs.fill(there, 4));
    Future<Values> returned = ours.read(here);
    EXPECT_FALSE(returned.ready());
    EXPECT_TRUE(back.closed());
    back.open();
    EXPECT_EQ(need(returned.get(kLimit)), Values(8, 3));
    EXPECT_EQ(need(theirs.read(there).get(kLimit)), Values(8, 4));
  }
}

// Both ways at once, many times: no copy is lost, and nothing hangs.
CONTRACT_ROW(D1Both, CopiesBothWaysDoNotHoldEachOther) {
  ASSERT_TRUE(backend().devices_meet) << "Work of two devices does not meet.";
  constexpr int kRounds = 200;
  const Opened second = second_device();
  const Stream ours = stream();
  const Stream theirs = need(Stream::create(second.device));
  const auto here = need(ours.upload(Values(8, 0)));
  const auto there = need(theirs.upload(Values(8, 0)));
  const auto add = kernel("add", [](Cell at, std::span<int> values) { ++values[at.x]; });
  for (int round = 0; round != kRounds; ++round) {
    need(ours.launch(add, 8, here));
    need((round % 2 == 0 ? ours : theirs).copy(there, here));
    need(theirs.launch(add, 8, there));
    need((round % 2 == 0 ? theirs : ours).copy(here, there));
  }
  EXPECT_EQ(need(ours.read(here).get(kLimit)), Values(8, 2 * kRounds));
  EXPECT_EQ(need(theirs.read(there).get(kLimit)), Values(8, 2 * kRounds));
}

// The second device and every handle of it go while its memory is read from and written to. The
// work is done, and then the device is gone.
CONTRACT_ROW(D2, ADeviceMayBeDroppedWhileItsMemoryIsInFlight) {
  ASSERT_TRUE(backend().devices_meet) << "Work of two devices does not meet.";
  const Stream ours = stream();
  const auto here = need(Array<int>::create(ours, 8));
  const auto result = need(Array<int>::create(ours, 8));
  std::shared_ptr<Control> theirs_control;
  const Gate gate(device());
  gate.hold(ours);
  {
    const Opened second = second_device();
    theirs_control = second.control;
    const Stream theirs = need(Stream::create(second.device));
    const auto there = need(theirs.upload(Values(8, 5)));
    const auto target = need(Array<int>::create(theirs, 8));
    need(ours.copy(here, there));
    need(ours.copy(target, here));
    need(theirs.copy(result, target));
  }
  EXPECT_TRUE(gate.closed());
  EXPECT_FALSE(theirs_control->driver_destroyed());
  gate.open();
  EXPECT_EQ(need(ours.read(result).get(kLimit)), Values(8, 5));
  need(ours.synchronize(kLimit));
  EXPECT_TRUE(comes_true([&] {
    device().poll();
    return theirs_control->driver_destroyed();
  }));
}

// The copy alone keeps the other device: its own stream has nothing left to do.
CONTRACT_ROW(D2Idle, ACopyKeepsTheOtherDevice) {
  ASSERT_TRUE(backend().devices_meet) << "Work of two devices does not meet.";
  const Stream ours = stream();
  const auto here = need(Array<int>::create(ours, 8));
  std::shared_ptr<Control> theirs_control;
  const Gate gate(device());
  gate.hold(ours);
  {
    const Opened second = second_device();
    theirs_control = second.control;
    const Stream theirs = need(Stream::create(second.device));
    const auto there = need(theirs.upload(Values(8, 5)));
    need(theirs.synchronize(kLimit));
    need(ours.copy(here, there));
  }
  EXPECT_TRUE(comes_true([&] { return theirs_control->streams_destroyed() == 1; }));
  EXPECT_FALSE(theirs_control->driver_destroyed());
  EXPECT_TRUE(gate.closed());
  gate.open();
  EXPECT_EQ(need(ours.read(here).get(kLimit)), Values(8, 5));
  EXPECT_TRUE(comes_true([&] {
    device().poll();
    return theirs_control->driver_destroyed();
  }));
}

// Ids name one thing in the process, whichever device it is of.
CONTRACT_ROW(D3, IdsAreUniqueAcrossDevices) {
  std::vector<Opened> devices;
  std::set<std::uint64_t> device_ids{device().id().value};
  std::set<std::uint64_t> queue_ids;
  std::set<std::uint64_t> allocation_ids;
  std::set<std::uintptr_t> handles;
  std::vector<Stream> streams;
  std::vector<Array<int>> arrays;
  std::vector<HostArray<int>> pages;
  for (int i = 0; i != 3; ++i) {
    devices.push_back(second_device());
    device_ids.insert(devices.back().device.id().value);
    EXPECT_FALSE(devices.back().device == device());
    for (int j = 0; j != 3; ++j) {
      streams.push_back(need(Stream::create(devices.back().device)));
      arrays.push_back(need(Array<int>::create(streams.back(), 4)));
      pages.push_back(need(HostArray<int>::create(streams.back(), 4)));
      queue_ids.insert(streams.back().id().value);
      handles.insert(streams.back().raw().value);
      allocation_ids.insert(arrays.back().buffer().id().value);
      allocation_ids.insert(pages.back().buffer().id().value);
    }
  }
  EXPECT_EQ(device_ids.size(), 4U);
  EXPECT_EQ(queue_ids.size(), 9U);
  EXPECT_EQ(handles.size(), 9U);
  EXPECT_EQ(allocation_ids.size(), 18U);
  for (const auto& ids : {device_ids, queue_ids, allocation_ids}) EXPECT_FALSE(ids.contains(0));
}

// A backend copies between its devices or says that it does not; nothing but a copy reaches across.
CONTRACT_ROW(D4, OnlyCopiesReachAnotherDevice) {
  const Opened second = second_device();
  const Opened third = second_device();
  const Stream ours = stream();
  const Stream theirs = need(Stream::create(second.device));
  const Stream thirds = need(Stream::create(third.device));
  const auto here = need(ours.upload(Values(8, 1)));
  const auto there = need(theirs.upload(Values(8, 2)));
  const auto fail = [] { ADD_FAILURE() << "It ran."; };
  const auto read = kernel("read", [](Cell, std::span<const int>) {});
  need(theirs.synchronize(kLimit));
  const std::string outcome = refusal(ours.copy(here, there));
  EXPECT_TRUE(outcome == "none" || outcome == "unsupported") << outcome;
  EXPECT_EQ(need(ours.read(here).get(kLimit)), Values(8, outcome == "none" ? 2 : 1));
  EXPECT_EQ(refusal(theirs.copy(here, there)), outcome);

  EXPECT_EQ(refusal(thirds.copy(here, there)), "context_mismatch");
  EXPECT_EQ(refusal(ours.copy(there.view(0, 4), there.view(4, 4))), "context_mismatch");
  EXPECT_EQ(refusal(ours.fill(there, 1)), "context_mismatch");
  EXPECT_EQ(refusal(ours.upload(there, Values(8, 1))), "context_mismatch");
  EXPECT_EQ(refusal(ours.read(there).get()), "context_mismatch");
  EXPECT_EQ(refusal(ours.launch(read, 1, there)), "context_mismatch");
  EXPECT_EQ(refusal(ours.host("f", {reads(there)}, fail).get()), "context_mismatch");
  for (const Stream& s : {ours, theirs, thirds}) EXPECT_EQ(refusal(s.synchronize(kLimit)), "none");
}

CONTRACT_ROW(D5, ACopyToAnotherBackendIsRefused) {
  const Device foreign = need(open_foreign());
  const Stream ours = stream();
  const Stream theirs = need(Stream::create(foreign));
  const auto here = need(ours.upload(Values(8, 1)));
  const auto there = need(theirs.upload(Values(8, 2)));
  for (const Stream& s : {ours, theirs}) {
    EXPECT_EQ(refusal(s.copy(here, there)), "backend_mismatch");
    EXPECT_EQ(refusal(s.copy(there, here)), "backend_mismatch");
  }
  EXPECT_EQ(need(ours.read(here).get(kLimit)), Values(8, 1));
  EXPECT_EQ(need(theirs.read(there).get(kLimit)), Values(8, 2));
}

}  // namespace
}  // namespace thalweg::contract
