// SPDX-License-Identifier: Apache-2.0
//
// The name of a simulated device, and what is refused in it.

#include <gtest/gtest.h>

#include <string>

#include "support/refusal.hpp"
#include "thalweg/backends.hpp"
#include "thalweg/explore.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

TEST(SimSettings, TheNameIsRefusedInWords) {
  const auto check = [](const std::string& name, const std::string& text) {
    const auto opened = Device::open(name);
    EXPECT_EQ(refusal(opened), "invalid_argument") << name;
    EXPECT_EQ(message(opened), text) << name;
  };
  check("sim?workers=2",
        "Device `sim` has no option `workers`; it has seed, memory, copy_engines, faults, "
        "skip_passed and strict_events.");
  for (const std::string option :
       {"seed=-1", "seed=", "seed=18446744073709551616", "seed=0x1", "copy_engines=65",
        "copy_engines=many", "memory=0", "memory=1MB", "memory=-1", "skip_passed=yes",
        "strict_events=1", "faults=alloc"}) {
    const auto opened = Device::open("sim?" + option);
    EXPECT_EQ(refusal(opened), "invalid_argument") << option;
    // The option or its value is named.
    const std::string value = option.substr(option.find('=') + 1);
    EXPECT_NE(message(opened).find(value), std::string::npos) << message(opened);
  }
}

TEST(SimSettings, TheNameSaysWhatTheDeviceIs) {
  const Device device =
      must(Device::open("sim?seed=18446744073709551615&memory=1MiB&copy_engines=64"));
  EXPECT_EQ(device.backend(), "sim");
  EXPECT_EQ(device.memory_usage().limit_bytes, std::uint64_t{1} << 20);
  const Stream stream = must(Stream::create(device));
  EXPECT_EQ(refusal(Array<std::uint8_t>::create(stream, (std::uint64_t{1} << 20) + 1)),
            "out_of_memory");
  EXPECT_EQ(refusal(Array<std::uint8_t>::create(stream, std::uint64_t{1} << 20)), "none");
}

TEST(SimSettings, TheNameWinsOverTheOptions) {
  DeviceOptions options;
  options.memory_limit_bytes = 4096;
  options.strict_events = true;
  const auto strict = [](const Device& device) {
    return refusal(must(Stream::create(device)).wait_event(must(Event::create(device))));
  };
  EXPECT_EQ(strict(must(Device::open("sim", options))), "event_not_recorded");
  EXPECT_EQ(strict(must(Device::open("sim?strict_events=off", options))), "none");
  EXPECT_EQ(strict(must(Device::open("sim?strict_events=on"))), "event_not_recorded");
  EXPECT_EQ(must(Device::open("sim?memory=8KiB", options)).memory_usage().limit_bytes, 8192U);
  EXPECT_EQ(must(Device::open("sim", options)).memory_usage().limit_bytes, 4096U);
}

TEST(SimSettings, AFaultIsRefusedWhereTheNameSays) {
  const Device device = must(Device::open("sim?faults=alloc:2+,create_stream:3"));
  const Stream stream = must(Stream::create(device));
  const Stream other = must(Stream::create(device));
  EXPECT_EQ(refusal(Stream::create(device)), "out_of_memory");
  const auto first = Array<std::uint8_t>::create(stream, 100);
  EXPECT_EQ(refusal(first), "none");
  const auto second = Array<std::uint8_t>::create(stream, 100'000);
  EXPECT_EQ(refusal(second), "out_of_memory");
  EXPECT_NE(message(second).find("fault alloc:"), std::string::npos) << message(second);
}

TEST(SimSettings, ItTakesNoMemoryFromElsewhere) {
  DeviceOptions options;
  options.device_storage.alloc = [](void*, std::size_t, std::size_t) -> void* { return nullptr; };
  EXPECT_EQ(refusal(Device::open("sim", options)), "unsupported");
}

TEST(SimSettings, RawWorkIsRefusedInWords) {
  const Device device = must(Device::open("sim"));
  const Stream stream = must(Stream::create(device));
  EXPECT_EQ(message(enqueue_raw(stream.raw(), "none", {})), "Raw work is an empty function.");
  EXPECT_EQ(refusal(enqueue_raw(stream.raw(), "none", {})), "invalid_argument");
  const Device cpu = must(Device::open("cpu?workers=1"));
  const Stream other = must(Stream::create(cpu));
  EXPECT_EQ(refusal(enqueue_raw(other.raw(), "elsewhere", [] {})), "not_found");
  NativeHandle gone;
  {
    const Stream ended = must(Stream::create(device));
    gone = ended.raw();
  }
  EXPECT_EQ(refusal(enqueue_raw(gone, "late", [] {})), "not_found");
  bool ran = false;
  must(enqueue_raw(stream.raw(), "work", [&ran] { ran = true; }));
  must(stream.synchronize());
  while (!ran) static_cast<void>(device.poll());
}

TEST(SimSettings, ItIsAmongTheBackends) {
  const std::vector<BackendInfo> all = backends();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [](const BackendInfo& info) { return info.name == "sim"; });
  ASSERT_NE(found, all.end());
  EXPECT_TRUE(found->available);
  EXPECT_EQ(found->devices.size(), 1U);
}

}  // namespace
}  // namespace thalweg::test
