// SPDX-License-Identifier: Apache-2.0
//
// What thalweg/device.hpp and thalweg/backends.hpp promise, on cpu.

#include "thalweg/device.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "support/gate.hpp"
#include "support/refusal.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Device, OpensWithEveryOptionItDocuments) {
  const Device device =
      must(Device::open("cpu?workers=3&memory=64MiB&helping=off&skip_passed=off&measure_busy=on&"
                        "random_delay_us=5"));
  EXPECT_TRUE(device.valid());
  EXPECT_EQ(device.backend(), "cpu");
  EXPECT_THAT(std::string(device.name()), HasSubstr("workers=3"));
  EXPECT_EQ(device.memory_usage().limit_bytes, std::uint64_t{64} << 20);
}

TEST(Device, MemoryIsInBytesOrInAUnit) {
  const auto limit = [](const std::string& value) {
    return must(Device::open("cpu?memory=" + value)).memory_usage().limit_bytes;
  };
  EXPECT_EQ(limit("1048576"), 1048576u);
  EXPECT_EQ(limit("512KiB"), 524288u);
  EXPECT_EQ(limit("1GiB"), 1073741824u);
}

TEST(Device, WhatTheNameSaysWinsOverTheOptions) {
  DeviceOptions options;
  options.memory_limit_bytes = std::uint64_t{8} << 20;
  EXPECT_EQ(must(Device::open("cpu", options)).memory_usage().limit_bytes, std::uint64_t{8} << 20);
  EXPECT_EQ(must(Device::open("cpu?memory=16MiB", options)).memory_usage().limit_bytes,
            std::uint64_t{16} << 20);
}

TEST(Device, AnUnknownBackendIsNotFoundAndTheMessageNamesWhatThereIs) {
  const Result<Device> opened = Device::open("abacus");
  EXPECT_EQ(refusal(opened), "not_found");
  EXPECT_THAT(message(opened), AllOf(HasSubstr("abacus"), HasSubstr("cpu")));
  EXPECT_EQ(refusal(Device::open("")), "not_found");
}

struct BadOption {
  const char* name;
  const char* option;
  const char* value;
};

class DeviceOption : public testing::TestWithParam<BadOption> {};

// The message names the option and the value.
TEST_P(DeviceOption, IsRefusedByName) {
  const Result<Device> opened = Device::open(GetParam().name);
  EXPECT_EQ(refusal(opened), "invalid_argument");
  EXPECT_THAT(message(opened), AllOf(HasSubstr(GetParam().option), HasSubstr(GetParam().value)));
}

INSTANTIATE_TEST_SUITE_P(
    Cpu, DeviceOption,
    testing::Values(
        BadOption{"cpu?workers=0", "workers", "0"}, BadOption{"cpu?workers=257", "workers", "257"},
        BadOption{"cpu?workers=-1", "workers", "-1"},
        BadOption{"cpu?workers=two", "workers", "two"},
        BadOption{"cpu?workers=2x", "workers", "2x"},
        BadOption{"cpu?workers=99999999999999999999", "workers", "99999999999999999999"},
        BadOption{"cpu?workers=", "workers", ""}, BadOption{"cpu?workers", "workers", ""},
        BadOption{"cpu?memory=lots", "memory", "lots"},
        BadOption{"cpu?memory=1XiB", "memory", "1XiB"},
        BadOption{"cpu?memory=99999999999GiB", "memory", "99999999999GiB"},
        BadOption{"cpu?helping=maybe", "helping", "maybe"},
        BadOption{"cpu?skip_passed=1", "skip_passed", "1"},
        BadOption{"cpu?measure_busy=yes", "measure_busy", "yes"},
        BadOption{"cpu?random_delay_us=-3", "random_delay_us", "-3"},
        BadOption{"cpu?depth=3", "depth", ""}, BadOption{"cpu?workers=2&depth=3", "depth", ""}));

TEST(Device, ARefusedNumberComesWithItsLimit) {
  EXPECT_THAT(message(Device::open("cpu?workers=257")), HasSubstr("256"));
}

TEST(Device, OpeningABackendTwiceGivesTwoDevices) {
  const Device one = must(Device::open("cpu"));
  const Device two = must(Device::open("cpu"));
  const Device copy = one;
  EXPECT_FALSE(one == two);
  EXPECT_TRUE(one == copy);
  EXPECT_NE(one.id(), two.id());
  EXPECT_EQ(one.id(), copy.id());
}

TEST(Device, AnInvalidHandleIsRefusedAndNeverCrashes) {
  Device moved = must(Device::open("cpu"));
  const Device taken = std::move(moved);
  for (const Device& device : {Device(), std::as_const(moved)}) {
    EXPECT_FALSE(device.valid());
    EXPECT_EQ(refusal(device.synchronize(kLimit)), "invalid_handle");
    EXPECT_EQ(refusal(Stream::create(device)), "invalid_handle");
    EXPECT_EQ(refusal(Stream::with_priority(device, 0)), "invalid_handle");
    EXPECT_EQ(refusal(Event::create(device)), "invalid_handle");
    EXPECT_EQ(refusal(Timeline::create(device)), "invalid_handle");
    EXPECT_EQ(device.priority_range(), (PriorityRange{0, 0}));
    EXPECT_TRUE(device.poll());
    EXPECT_EQ(device.trim(), 0u);
    EXPECT_EQ(device.statistics().submissions, 0u);
    EXPECT_EQ(device.memory_usage().reserved_bytes, 0u);
    EXPECT_TRUE(device.wait_ledger().empty());
    EXPECT_EQ(device.name(), "");
    EXPECT_EQ(device.backend(), "");
    EXPECT_FALSE(static_cast<bool>(device.id()));
  }
  EXPECT_TRUE(taken.valid());
}

TEST(Device, SynchronizeWaitsForAllStreams) {
  const Device device = must(Device::open("cpu?workers=2"));
  std::atomic<int> ran{0};
  for (int i = 0; i < 8; ++i) {
    const Stream stream = must(Stream::create(device));
    static_cast<void>(stream.host("count", {}, [&ran] { ++ran; }));
  }
  ASSERT_EQ(refusal(device.synchronize(kLimit)), "none");
  EXPECT_EQ(ran, 8);
}

// A deadline of zero tests; a passed deadline leaves everything as it was.
TEST(Device, SynchronizeTimesOutAndChangesNothing) {
  const Device device = must(Device::open("cpu"));
  const Stream stream = must(Stream::create(device));
  const Gate gate(device);
  std::atomic<bool> ran{false};
  EXPECT_EQ(refusal(device.synchronize(std::chrono::seconds(0))), "none");
  gate.hold(stream);
  static_cast<void>(stream.host("held", {}, [&ran] { ran = true; }));
  EXPECT_EQ(refusal(device.synchronize(std::chrono::seconds(0))), "timeout");
  EXPECT_EQ(refusal(device.synchronize(std::chrono::nanoseconds(-5))), "timeout");
  EXPECT_EQ(refusal(device.synchronize(std::chrono::milliseconds(1))), "timeout");
  EXPECT_FALSE(device.poll());
  EXPECT_FALSE(ran);
  gate.open();
  EXPECT_EQ(refusal(device.synchronize(kLimit)), "none");
  EXPECT_TRUE(ran);
  EXPECT_TRUE(device.poll());
}

TEST(Backends, TheCpuIsListedAndAvailable) {
  const auto list = backends();
  const auto cpu = std::find_if(list.begin(), list.end(),
                                [](const BackendInfo& info) { return info.name == "cpu"; });
  ASSERT_NE(cpu, list.end());
  EXPECT_TRUE(cpu->available);
  EXPECT_EQ(cpu->reason, "");
  EXPECT_FALSE(cpu->devices.empty());
  for (const BackendInfo& info : list) EXPECT_EQ(info.available, info.reason.empty()) << info.name;
}

}  // namespace
}  // namespace thalweg::test
