// SPDX-License-Identifier: Apache-2.0
//
// Names of devices and the values of their options: tables of good and bad ones.

#include "base/device_name.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/refusal.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

using Options = std::vector<std::pair<std::string_view, std::string_view>>;

const std::source_location kSite = std::source_location::current();

// Whether `text` has every one of `parts`, which a person who reads the message needs.
void expect_parts(std::string_view text, const std::vector<std::string_view>& parts) {
  for (const std::string_view part : parts)
    EXPECT_NE(text.find(part), std::string_view::npos) << "`" << part << "` is not in: " << text;
}

// A name is a backend and options in the order of the name; values may hold anything but the marks.
TEST(ParseName, TakesANameApart) {
  struct Case {
    std::string_view name;
    std::string_view backend;
    Options options;
  };
  const std::vector<Case> cases{
      {"cpu", "cpu", {}},
      {"", "", {}},
      {"cpu?", "cpu", {}},
      {"cpu?workers=4", "cpu", {{"workers", "4"}}},
      {"cpu?workers=4&memory=1GiB", "cpu", {{"workers", "4"}, {"memory", "1GiB"}}},
      {"?a=b", "", {{"a", "b"}}},
      {"x?a==", "x", {{"a", "="}}},
      {"x?a=b?c", "x", {{"a", "b?c"}}},
      {"x?a=b=c&d=e", "x", {{"a", "b=c"}, {"d", "e"}}},
      {"x? a = b ", "x", {{" a ", " b "}}},
  };
  for (const Case& c : cases) {
    const auto parsed = device_name::parse_name(c.name, kSite);
    ASSERT_TRUE(parsed) << c.name;
    EXPECT_EQ(parsed->backend, c.backend) << c.name;
    EXPECT_EQ(parsed->options, c.options) << c.name;
  }
}

// What is not option=value is refused, wherever it stands, and the message shows it with the whole
// name.
TEST(ParseName, RefusesWhatIsNoOption) {
  for (const std::string_view name :
       {"cpu?x", "cpu?=", "cpu?=4", "cpu?workers=", "cpu?&workers=4", "cpu?workers=4&&memory=1",
        "cpu?workers=4&memory", "cpu?workers=4&=", "cpu??"}) {
    const auto parsed = device_name::parse_name(name, kSite);
    ASSERT_FALSE(parsed) << name;
    EXPECT_EQ(refusal(parsed), "invalid_argument");
    EXPECT_EQ(parsed.error().site().line(), kSite.line());
    expect_parts(parsed.error().message(), {name, "option=value"});
  }
}

// The first and the second value would contradict each other.
TEST(ParseName, RefusesAnOptionGivenTwice) {
  const auto parsed = device_name::parse_name("cpu?a=1&b=2&a=1", kSite);
  EXPECT_EQ(refusal(parsed), "invalid_argument");
  expect_parts(message(parsed), {"`a`", "twice", "cpu?a=1&b=2&a=1"});
}

// A count is a plain decimal number within its bounds.
TEST(ParseCount, TakesNumbersWithinTheBounds) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(*device_name::parse_count("n", "1", 1, 256, kSite), 1U);
  EXPECT_EQ(*device_name::parse_count("n", "256", 1, 256, kSite), 256U);
  EXPECT_EQ(*device_name::parse_count("n", "007", 1, 256, kSite), 7U);
  EXPECT_EQ(*device_name::parse_count("n", "0", 0, 0, kSite), 0U);
  EXPECT_EQ(*device_name::parse_count("n", "18446744073709551615", 0, kMax, kSite), kMax);
}

// Everything else is refused, and the message names the option, the value and both limits.
TEST(ParseCount, RefusesEverythingElse) {
  for (const std::string_view value :
       {"0", "257", "", " ", "-1", "+1", "1 ", " 1", "1.0", "1e1", "0x10", "one", "1,000", "1KiB",
        "18446744073709551616", "99999999999999999999999999"}) {
    const auto parsed = device_name::parse_count("workers", value, 1, 256, kSite);
    ASSERT_FALSE(parsed) << value;
    EXPECT_EQ(refusal(parsed), "invalid_argument");
    EXPECT_EQ(parsed.error().site().line(), kSite.line());
    expect_parts(parsed.error().message(),
                 {"`workers`", "`" + std::string(value) + "`", "1", "256"});
  }
}

// A switch is on or off, in small letters and nothing else.
TEST(ParseSwitch, IsOnOrOff) {
  EXPECT_TRUE(*device_name::parse_switch("s", "on", kSite));
  EXPECT_FALSE(*device_name::parse_switch("s", "off", kSite));
  for (const std::string_view value : {"", "On", "OFF", "1", "0", "true", "no", "on ", " off"}) {
    const auto parsed = device_name::parse_switch("helping", value, kSite);
    ASSERT_FALSE(parsed) << value;
    EXPECT_EQ(refusal(parsed), "invalid_argument");
    expect_parts(parsed.error().message(),
                 {"`helping`", "`" + std::string(value) + "`", "`on`", "`off`"});
  }
}

// Bytes are a number and at most one unit, up to the largest power of two that fits.
TEST(ParseBytes, KnowsItsUnits) {
  const std::vector<std::pair<std::string_view, std::uint64_t>> cases{
      {"1", 1},
      {"4096", 4096},
      {"1KiB", 1024},
      {"3MiB", std::uint64_t{3} << 20},
      {"16GiB", std::uint64_t{16} << 30},
      {"9223372036854775808", std::uint64_t{1} << 63},
      {"9007199254740992KiB", std::uint64_t{1} << 63},
      {"8796093022208MiB", std::uint64_t{1} << 63},
      {"8589934592GiB", std::uint64_t{1} << 63},
  };
  for (const auto& [text, bytes] : cases) {
    const auto parsed = device_name::parse_bytes("memory", text, kSite);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(*parsed, bytes) << text;
  }
}

// Zero, too much, other units, other spellings, and what would wrap around when shifted.
TEST(ParseBytes, RefusesEverythingElse) {
  for (const std::string_view value :
       {"", "0", "0GiB", "KiB", "-1", "1 KiB", "1kib", "1K", "1KB", "1GiBs", "1.5GiB", "1TiB",
        "9223372036854775809", "9007199254740993KiB", "8796093022209MiB", "8589934593GiB",
        "17179869184GiB", "18446744073709551615GiB", "18446744073709551616"}) {
    const auto parsed = device_name::parse_bytes("memory", value, kSite);
    ASSERT_FALSE(parsed) << value;
    EXPECT_EQ(refusal(parsed), "invalid_argument");
    expect_parts(parsed.error().message(),
                 {"`memory`", "`" + std::string(value) + "`", "2^63", "GiB"});
  }
}

// The same refusals through the door that programs use, with their own call site.
TEST(DeviceName, IsRefusedWithTheUsersCallSite) {
  const std::vector<std::pair<std::string_view, std::vector<std::string_view>>> cases{
      {"gpu9000", {"`gpu9000`", "cpu"}},
      {"", {"``", "cpu"}},
      {"CPU", {"`CPU`"}},
      {"cpu?workers=0", {"`workers`", "`0`", "256"}},
      {"cpu?workers=257", {"`workers`", "`257`", "256"}},
      {"cpu?cores=2", {"`cores`", "workers"}},
      {"cpu?memory=lots", {"`memory`", "`lots`"}},
      {"cpu?helping=maybe", {"`helping`", "`maybe`"}},
      {"cpu?skip_passed=1", {"`skip_passed`", "`1`"}},
      {"cpu?measure_busy=", {"measure_busy="}},
      {"cpu?random_delay_us=1000001", {"`random_delay_us`", "1000000"}},
  };
  for (const auto& [name, parts] : cases) {
    const auto line = std::source_location::current().line() + 1;
    const Result<Device> device = Device::open(name);
    ASSERT_FALSE(device) << name;
    EXPECT_EQ(device.error().site().line(), line) << name;
    expect_parts(device.error().message(), parts);
  }
}

// What the name says wins over the options; the options' own limit is kept too.
TEST(DeviceName, WinsOverTheOptions) {
  DeviceOptions options;
  options.memory_limit_bytes = 1;
  const Device device = must(Device::open("cpu?memory=1MiB&workers=1", options));
  EXPECT_EQ(device.memory_usage().limit_bytes, 1U << 20);
  EXPECT_EQ(device.name(), "cpu?memory=1MiB&workers=1");
  EXPECT_EQ(device.backend(), "cpu");
  options.random_delay_us = 1'000'001;
  const Result<Device> refused = Device::open("cpu", options);
  EXPECT_EQ(refusal(refused), "invalid_argument");
  expect_parts(message(refused), {"1000001", "1000000"});
}

}  // namespace
}  // namespace thalweg::test
