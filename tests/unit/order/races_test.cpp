// SPDX-License-Identifier: Apache-2.0
//
// Races of four or five steps that each come from one shortcut. Every program runs twice: as it
// must be, which leaves no conflict unordered, and with the shortcut, which must leave one.

#include <gtest/gtest.h>

#include "base/plant.hpp"
#include "unit/order/world.hpp"

namespace thalweg::test {
namespace {

using order::Point;
using order::PointSet;

constexpr order::QueueIndex A = 0;
constexpr order::QueueIndex B = 1;
constexpr order::QueueIndex C = 2;

enum class Way { right, shortcut };

const WorldOptions kThreeQueues{.queues = 3, .start = Serial{}};

Buffer& new_buffer(World& world, order::QueueIndex home) {
  return world.add_buffer(&world.add_block(16), 16, home);
}

PointSet set_of(Point point) {
  PointSet set;
  set.add(point);
  return set;
}

#if defined(THALWEG_TEST_HOOKS)
// A writes x. B writes y, and only then reads x, after A. C reads y: it waits for B@1, which is not
// after A. If C takes B's present frontier, it believes to be after A and reads x unordered.
std::size_t conflicts_of_a_late_wait(Way way) {
  const plant::Scope bug(way == Way::shortcut ? plant::Bug::present_frontier : plant::Bug::none);
  World world(kThreeQueues);
  Buffer& x = new_buffer(world, A);
  Buffer& y = new_buffer(world, B);
  Buffer& z = new_buffer(world, B);
  world.submit(A, {World::write(x)});
  world.submit(B, {World::write(y)});
  world.submit(B, {World::read(x), World::write(z)});
  world.submit(C, {World::read(y)});
  world.submit(C, {World::read(x)});
  return world.findings().unordered;
}

TEST(Races, AWaitTeachesTheFrontierOfItsSerialAndNotThePresentOne) {
  EXPECT_EQ(conflicts_of_a_late_wait(Way::right), 0U);
  EXPECT_EQ(conflicts_of_a_late_wait(Way::shortcut), 1U);
}
#endif

// A uses x, which is dropped. B, ordered after A, takes the block for y. C writes y first of all:
// it is after A only through y's birth.
std::size_t conflicts_of_a_reused_block(Way way) {
  World world(kThreeQueues);
  Buffer& x = new_buffer(world, A);
  world.submit(A, {World::write(x)});
  world.drop(x);
  Buffer& y = world.reserve(*x.block, 16, B);
  if (way == Way::shortcut) y.map.reset(16);
  world.submit(C, {World::write(y)});
  return world.findings().unordered;
}

TEST(Races, ABufferOnAReusedBlockIsBornWithAPoint) {
  EXPECT_EQ(conflicts_of_a_reused_block(Way::right), 0U);
  EXPECT_GE(conflicts_of_a_reused_block(Way::shortcut), 1U);
}

// B writes x, A waits for B and drops x: all uses are ordered before what A does next, so to A the
// block is free and carries none of them. C takes it: it must be ordered after what A did up to the
// free, and that one point stands for B's use as well.
std::size_t conflicts_of_a_free_block(Way way) {
  World world(kThreeQueues);
  Buffer& x = new_buffer(world, A);
  const Point use = world.submit(B, {World::write(x)});
  world.wait(A, set_of(use));
  world.drop(x);
  Block& block = *x.block;
  block.uses.remove_if([&](Point point) { return world.queue(A).frontier().covers(point); });
  EXPECT_TRUE(block.uses.empty());
  if (way == Way::right) block.uses.add(world.record(A));
  world.reserve(block, 16, C);
  return world.findings().unordered;
}

TEST(Races, AFreeBlockKeepsItsHomesPoint) {
  EXPECT_EQ(conflicts_of_a_free_block(Way::right), 0U);
  EXPECT_GE(conflicts_of_a_free_block(Way::shortcut), 1U);
}

// The same, with the home's point, but taken while the wait of A has no serial yet: A's tail is
// then not after B's use.
std::size_t conflicts_of_a_free_with_an_owed_wait(Way way) {
  World world(kThreeQueues);
  Buffer& x = new_buffer(world, A);
  Buffer& other = new_buffer(world, A);
  world.submit(A, {World::write(other)});
  world.wait(A, set_of(world.submit(B, {World::write(x)})));
  world.drop(x);
  x.block->uses.clear();
  x.block->uses.add(way == Way::right ? world.record(A) : world.queue(A).tail());
  world.reserve(*x.block, 16, C);
  return world.findings().unordered;
}

TEST(Races, APointRememberedForAFreeIsAfterTheOwedWaits) {
  EXPECT_EQ(conflicts_of_a_free_with_an_owed_wait(Way::right), 0U);
  EXPECT_GE(conflicts_of_a_free_with_an_owed_wait(Way::shortcut), 1U);
}

// A writes x. B is told to wait for A, and an event {point, copy of the frontier} is recorded on B
// at once. C waits for the event and writes x: it trusts the copy, so the point must be after the
// wait.
std::size_t conflicts_of_an_event(Way way) {
  World world(kThreeQueues);
  Buffer& x = new_buffer(world, A);
  const Point use = world.submit(A, {World::write(x)});
  world.submit_empty(B);
  world.wait(B, set_of(use));
  const Point event = way == Way::right ? world.record(B) : world.queue(B).tail();
  const order::Frontier copy = world.queue(B).frontier();
  world.queue(C).learn(event, &copy);
  world.owe(C, event);
  world.submit(C, {World::write(x)});
  return world.findings().unordered;
}

TEST(Races, AnEventTakesASerialWhenAWaitIsOwed) {
  EXPECT_EQ(conflicts_of_an_event(Way::right), 0U);
  EXPECT_EQ(conflicts_of_an_event(Way::shortcut), 1U);
}

// A writes x, which is dropped; B takes the block, waits for A, and y is born at B's tail at once.
// C writes y: it waits for the birth, which must be after the wait.
std::size_t conflicts_of_a_birth(Way way) {
  World world(kThreeQueues);
  Buffer& x = new_buffer(world, A);
  const Point use = world.submit(A, {World::write(x)});
  world.submit_empty(B);
  world.wait(B, set_of(use));
  Buffer& y = world.add_buffer(x.block, 16, B);
  const Point birth = way == Way::right ? world.record(B) : world.queue(B).tail();
  y.map.set_birth(birth);
  world.submit(C, {World::write(y)});
  return world.findings().unordered;
}

TEST(Races, ABirthTakesASerialWhenAWaitIsOwed) {
  EXPECT_EQ(conflicts_of_a_birth(Way::right), 0U);
  EXPECT_EQ(conflicts_of_a_birth(Way::shortcut), 1U);
}

}  // namespace
}  // namespace thalweg::test
