// SPDX-License-Identifier: Apache-2.0
//
// The shadow keeps ranges and means bytes: it is held against a model that keeps bytes.

#include "backends/sim/shadow.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "support/random.hpp"

namespace thalweg::sim {
namespace {

using Who = std::shared_ptr<const User>;
using test::Random;

constexpr std::uint64_t kBase = 0x1000;
constexpr std::uint64_t kBytes = 96;
constexpr std::size_t kSlots = 4;

bool after(const VectorClock& clock, const User& user) {
  return clock.of(user.slot) >= user.position;
}

// One byte, in the plainest words.
struct Byte {
  bool known = false;
  std::uint64_t owner = 0;
  Shadow::State state = Shadow::State::unwritten;
  Who writer;
  std::vector<Who> readers;

  void hand_to(std::uint64_t new_owner) {
    known = true;
    owner = new_owner;
    state = owner == 0 ? Shadow::State::written : Shadow::State::unwritten;
  }

  std::optional<Shadow::Conflict> touch(const Who& user, const VectorClock& clock,
                                        const Touch& touch) {
    if (!known) hand_to(touch.owner);
    const bool reused = owner != touch.owner;
    const bool writes = touch.mode != AccessMode::read;
    const FindingKind kind = reused ? FindingKind::reuse_in_flight : FindingKind::unordered;
    std::optional<Shadow::Conflict> conflict;
    if (writer && writer != user && !after(clock, *writer))
      conflict = {kind, writer, AccessMode::write, {}};
    for (const Who& reader : readers)
      if (!conflict && (writes || reused) && reader != user && !after(clock, *reader))
        conflict = {kind, reader, AccessMode::read, {}};
    if (reused) hand_to(touch.owner);
    if (!conflict && touch.mode == AccessMode::read && state == Shadow::State::unwritten)
      conflict = {FindingKind::unwritten_read, nullptr, AccessMode::write, {}};
    enter(user, touch.mode);
    return conflict;
  }

  void enter(const Who& user, AccessMode mode) {
    if (mode == AccessMode::read) {
      if (writer == user) return;
      std::erase_if(readers, [&](const Who& reader) { return reader->slot == user->slot; });
      return readers.push_back(user);
    }
    if (mode == AccessMode::write) state = Shadow::State::written;
    if (state == Shadow::State::unwritten) state = Shadow::State::perhaps;
    writer = user;
    readers.clear();
  }
};

class Both {
 public:
  explicit Both(std::uint64_t seed) : random_(seed) {}

  void step() {
    const std::uint32_t what = random_.below(20);
    const Bytes bytes = draw();
    if (what == 0) return forget(bytes);
    if (what == 1) return write(bytes);
    touch(bytes);
  }

  void compare_written() const {
    std::array<bool, kBytes> written{};
    shadow_.for_written({kBase, kBase + kBytes}, [&written](Bytes bytes) {
      for (std::uint64_t at = bytes.begin; at != bytes.end; ++at) {
        EXPECT_FALSE(written.at(at - kBase)) << "Told twice.";
        written.at(at - kBase) = true;
      }
    });
    for (std::uint64_t i = 0; i != kBytes; ++i)
      EXPECT_EQ(written.at(i), model_.at(i).known && model_.at(i).state == Shadow::State::written)
          << "byte " << i;
  }

 private:
  Bytes draw() {
    const std::uint64_t begin = random_.below(kBytes);
    return {kBase + begin,
            kBase + begin + random_.below(static_cast<std::uint32_t>(kBytes - begin) + 1)};
  }

  Byte& at(std::uint64_t address) { return model_.at(address - kBase); }

  void forget(Bytes bytes) {
    shadow_.forget(bytes);
    for (std::uint64_t i = bytes.begin; i < bytes.end; ++i) at(i) = {};
  }

  void write(Bytes bytes) {
    const std::uint64_t owner = random_.below(3);
    shadow_.write(bytes, owner);
    for (std::uint64_t i = bytes.begin; i < bytes.end; ++i) {
      at(i) = {};
      at(i).hand_to(owner);
      at(i).state = Shadow::State::written;
    }
  }

  // A task on some queue, which has come after what it happens to know of the others.
  void touch(Bytes bytes) {
    const std::size_t slot = random_.below(kSlots);
    VectorClock& clock = clocks_.at(slot);
    const std::size_t other = random_.below(kSlots);
    if (random_.chance(40)) clock.join(clocks_.at(other));
    auto user = std::make_shared<User>();
    user->slot = slot;
    user->position = clock.of(slot) + 1;
    clock.set(slot, user->position);
    for (std::uint32_t n = random_.between(1, 3); n != 0; --n) {
      const auto mode = static_cast<AccessMode>(random_.below(3));
      // Owners change now and then.
      touch_both(user, clock, {bytes, mode, random_.chance(80) ? 1u : random_.below(3)});
      bytes = draw();
    }
  }

  void touch_both(const Who& user, const VectorClock& clock, const Touch& touch) {
    std::vector<Shadow::Conflict> found;
    shadow_.touch(user, clock, touch, found);
    std::vector<std::optional<Shadow::Conflict>> expected;
    for (std::uint64_t i = touch.bytes.begin; i < touch.bytes.end; ++i)
      expected.push_back(at(i).touch(user, clock, touch));
    const auto first =
        std::find_if(expected.begin(), expected.end(), [](const auto& one) { return bool(one); });
    ASSERT_EQ(found.size(), first == expected.end() ? 0U : 1U);
    if (found.empty()) return;
    const Shadow::Conflict& conflict = found.front();
    const auto begin = touch.bytes.begin + static_cast<std::uint64_t>(first - expected.begin());
    EXPECT_EQ(conflict.bytes.begin, begin);
    ASSERT_GT(conflict.bytes.end, begin);
    ASSERT_LE(conflict.bytes.end, touch.bytes.end);
    for (std::uint64_t i = begin; i != conflict.bytes.end; ++i) {
      const auto& one = expected.at(i - touch.bytes.begin);
      ASSERT_TRUE(one);
      EXPECT_EQ(one->kind, conflict.kind);
      EXPECT_EQ(one->earlier, conflict.earlier);
      EXPECT_EQ(one->earlier_mode, conflict.earlier_mode);
    }
  }

  Random random_;
  Shadow shadow_;
  std::array<Byte, kBytes> model_;
  std::array<VectorClock, kSlots> clocks_;
};

TEST(Shadow, RangesMeanBytes) {
  for (std::uint64_t seed = 1; seed != 200 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Both both(seed);
    for (int i = 0; i != 300 && !::testing::Test::HasFatalFailure(); ++i) both.step();
    both.compare_written();
  }
}

Who user_at(std::size_t slot, std::uint32_t position) {
  auto user = std::make_shared<User>();
  user->slot = slot;
  user->position = position;
  return user;
}

TEST(Shadow, TokensAndNoBytesTouchNothing) {
  Shadow shadow;
  std::vector<Shadow::Conflict> found;
  shadow.touch(user_at(0, 1), {}, {{16, 32}, AccessMode::token, 1}, found);
  shadow.touch(user_at(1, 1), {}, {{16, 16}, AccessMode::write, 1}, found);
  shadow.touch(user_at(2, 1), {}, {{16, 32}, AccessMode::write, 1}, found);
  EXPECT_TRUE(found.empty());
}

// What only part of a range was ordered after is a conflict from there on.
TEST(Shadow, TheFirstByteOfAConflictIsNamed) {
  Shadow shadow;
  std::vector<Shadow::Conflict> found;
  const Who early = user_at(0, 1);
  const Who late = user_at(1, 1);
  VectorClock knows_early;
  knows_early.set(0, 1);
  shadow.touch(early, {}, {{0, 64}, AccessMode::write, 1}, found);
  shadow.touch(late, knows_early, {{16, 32}, AccessMode::write, 1}, found);
  ASSERT_TRUE(found.empty());
  VectorClock knows_both = knows_early;
  shadow.touch(user_at(2, 1), knows_both, {{0, 64}, AccessMode::read, 1}, found);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].earlier, late);
  EXPECT_EQ(found[0].bytes.begin, 16U);
  EXPECT_EQ(found[0].bytes.end, 32U);
}

}  // namespace
}  // namespace thalweg::sim
