// SPDX-License-Identifier: Apache-2.0
//
// Writes of the host were staged and took effect before the tasks between them: write, use, write,
// use became write, write, use, use. A write of the host is one operation in the order of its
// stream.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "support/gate.hpp"
#include "support/refusal.hpp"

namespace thalweg::test {
namespace {

using Words = std::vector<std::uint32_t>;

// Every way the host has to write; the gate keeps all of it in the queue until it is complete.
TEST(F13StagedWrites, EachUseSeesTheWriteBeforeIt) {
  const Device device = must(Device::open("cpu"));
  const Stream s = must(Stream::create(device));
  const auto x = must(Array<std::uint32_t>::create(s, 64));
  const auto p = must(Array<std::uint32_t>::create(s, 64));
  const auto q = must(Array<std::uint32_t>::create(s, 64));
  const Words ones(64, 1);
  const Words twos(64, 2);
  const std::vector<std::function<void(const Words&)>> writes{
      [&](const Words& from) { must(s.upload(x, std::span(from))); },
      [&](const Words& from) { must(s.upload(x, Words(from))); },
      [&](const Words& from) { static_cast<void>(s.upload_borrowed(x, std::span(from))); },
      [&](const Words& from) { must(s.fill(x, from[0])); },
  };
  for (const auto& first : writes) {
    for (const auto& second : writes) {
      const Gate gate(device);
      gate.hold(s);
      first(ones);
      must(s.copy(p, x));
      second(twos);
      must(s.copy(q, x));
      gate.open();
      EXPECT_EQ(must(s.read(p).get(kLimit)), ones);
      EXPECT_EQ(must(s.read(q).get(kLimit)), twos);
    }
  }
}

// The bytes are used by work that is not the runtime's, on the address that native() gives: a write
// of each kind, native work that notes what it finds, another write. The use is on the stream of
// the writes and on another one.
TEST(F13StagedWrites, WorkOnTheRawAddressSeesTheWriteBeforeIt) {
  const Device device = must(Device::open("cpu?workers=2"));
  const Stream s = must(Stream::create(device));
  const Stream t = must(Stream::create(device));
  const auto x = must(Array<std::uint32_t>::create(s, 64));
  const Words ones(64, 1);
  const Words twos(64, 2);
  const std::vector<std::function<void(const Words&)>> writes{
      [&](const Words& from) { must(s.upload(x, std::span(from))); },
      [&](const Words& from) { must(s.upload(x, Words(from))); },
      [&](const Words& from) { static_cast<void>(s.upload_borrowed(x, std::span(from))); },
      [&](const Words& from) { must(s.fill(x, from[0])); },
  };
  for (const Stream& user : {s, t}) {
    for (const auto& first : writes) {
      for (const auto& second : writes) {
        const auto p = std::make_shared<Words>();
        const auto q = std::make_shared<Words>();
        const auto note = [](const std::shared_ptr<Words>& to) {
          return [to](NativeHandle, std::span<const NativeBytes> bytes) {
            const auto* const from = reinterpret_cast<const std::uint32_t*>(
                static_cast<std::uintptr_t>(bytes[0].address));
            to->assign(from, from + bytes[0].size_bytes / sizeof(std::uint32_t));
          };
        };
        {
          const Gate gate(device);
          gate.hold(s);
          first(ones);
          must(user.native({reads(x)}, note(p)));
          second(twos);
          must(user.native({reads(x)}, note(q)));
        }
        ASSERT_EQ(refusal(device.synchronize(kLimit)), "none");
        EXPECT_EQ(*p, ones);
        EXPECT_EQ(*q, twos);
      }
    }
  }
}

// Native work is the writer: what it writes is staged nowhere either.
TEST(F13StagedWrites, WhatNativeWorkWritesTakesItsTurn) {
  const Device device = must(Device::open("cpu?workers=2"));
  const Stream s = must(Stream::create(device));
  const Stream t = must(Stream::create(device));
  const auto x = must(Array<std::uint32_t>::create(s, 64));
  const auto p = must(Array<std::uint32_t>::create(s, 64));
  const auto q = must(Array<std::uint32_t>::create(s, 64));
  const auto set = [](std::uint32_t value) {
    return [value](NativeHandle, std::span<const NativeBytes> bytes) {
      auto* const to =
          reinterpret_cast<std::uint32_t*>(static_cast<std::uintptr_t>(bytes[0].address));
      std::fill_n(to, bytes[0].size_bytes / sizeof(std::uint32_t), value);
    };
  };
  {
    const Gate gate(device);
    gate.hold(s);
    must(s.upload(x, Words(64, 9)));
    must(t.native({writes(x)}, set(1)));
    must(s.copy(p, x));
    must(t.native({writes(x)}, set(2)));
    must(s.copy(q, x));
    must(s.upload(x, Words(64, 7)));
  }
  EXPECT_EQ(must(s.read(p).get(kLimit)), Words(64, 1));
  EXPECT_EQ(must(s.read(q).get(kLimit)), Words(64, 2));
  EXPECT_EQ(must(s.read(x).get(kLimit)), Words(64, 7));
}

// A thousand small writes to different offsets, a task after every tenth, on one stream and with
// the tasks on another.
TEST(F13StagedWrites, EachTaskSeesExactlyTheSmallWritesBeforeIt) {
  constexpr std::uint32_t kWrites = 1000;
  constexpr std::uint32_t kEvery = 10;
  const Device device = must(Device::open("cpu"));
  const Stream s = must(Stream::create(device));
  const Stream t = must(Stream::create(device));
  for (const Stream& user : {s, t}) {
    const auto x = must(s.upload(Words(kWrites, 0)));
    const auto seen = must(Array<std::uint32_t>::create(user, kWrites * (kWrites / kEvery)));
    for (std::uint32_t i = 0; i < kWrites; ++i) {
      const std::uint32_t at = i * 7 % kWrites;  // Each offset once, in no order of addresses.
      must(s.upload(x.view(at, 1), std::span<const std::uint32_t>(&i, 1)));
      if (i % kEvery == kEvery - 1) must(user.copy(seen.view(i / kEvery * kWrites, kWrites), x));
    }
    const Words found = must(user.read(seen).get(kLimit));
    Words expected(kWrites, 0);
    std::uint32_t wrong = 0;
    for (std::uint32_t i = 0; i < kWrites; ++i) {
      expected[i * 7 % kWrites] = i;
      if (i % kEvery != kEvery - 1) continue;
      const auto from = found.begin() + i / kEvery * kWrites;
      wrong += Words(from, from + kWrites) == expected ? 0u : 1u;
    }
    EXPECT_EQ(wrong, 0u);
  }
}

// The written bytes are the grid of a launch, which the device reads: on the stream of the writes
// and on another one, from memory at home on either.
TEST(F13StagedWrites, EachIndirectLaunchSeesTheWriteBeforeIt) {
  const Device device = must(Device::open("cpu"));
  const Stream s = must(Stream::create(device));
  const Stream t = must(Stream::create(device));
  const auto mark = kernel("mark", [](Cell at, std::span<std::uint32_t> v) { ++v[at.x]; });
  std::vector<Extent> grids;
  for (std::uint64_t x = 0; x != 6; ++x) grids.push_back({x, 1, 1});
  const auto one = [&grids](std::size_t x) { return std::span<const Extent>(&grids[x], 1); };
  for (const Stream& home : {s, t}) {
    const auto extent = must(Array<Extent>::create(home, 1));
    must(s.fill(View<std::uint64_t>(extent.buffer(), 0, 3), std::uint64_t{1}));
    const std::vector<std::function<void(std::size_t)>> writes{
        [&](std::size_t x) { must(s.upload(extent, one(x))); },
        [&](std::size_t x) { must(s.upload(extent, std::vector<Extent>{grids[x]})); },
        [&](std::size_t x) { static_cast<void>(s.upload_borrowed(extent, one(x))); },
        [&](std::size_t x) { must(s.fill(View<std::uint64_t>(extent.buffer(), 0, 1), x)); },
    };
    for (const Stream& user : {s, t}) {
      for (const auto& first : writes) {
        for (const auto& second : writes) {
          const auto p = must(user.upload(Words(6, 0)));
          const auto q = must(user.upload(Words(6, 0)));
          const Gate gate(device);
          gate.hold(s);
          first(5);
          must(user.launch_indirect(mark, extent, p));
          second(2);
          must(user.launch_indirect(mark, extent, q));
          first(0);
          gate.open();
          EXPECT_EQ(must(user.read(p).get(kLimit)), (Words{1, 1, 1, 1, 1, 0}));
          EXPECT_EQ(must(user.read(q).get(kLimit)), (Words{1, 1, 0, 0, 0, 0}));
        }
      }
    }
    must(device.synchronize(kLimit));
  }
}

}  // namespace
}  // namespace thalweg::test
