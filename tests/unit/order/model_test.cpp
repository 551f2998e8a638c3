// SPDX-License-Identifier: Apache-2.0
//
// The rules that the layer is held to, each by the shortest history that shows it.

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "support/model/ordering.hpp"

namespace thalweg::test::model {
namespace {

constexpr Queue A{0};
constexpr Queue B{1};
constexpr Queue C{2};
constexpr Event kEvent{0};

// X and Y have bytes of their own; Z owns those of X later.
constexpr Buffer X{0};
constexpr Buffer Y{1};
constexpr Buffer Z{2};

using List = std::vector<Step>;

class Rules : public testing::Test {
 protected:
  Rules() {
    for (const Queue queue : {A, B, C}) model_.open(queue);
    model_.reserve(X, Block{0});
    model_.reserve(Y, Block{1});
  }

  Step use(Queue queue, const Access& access) {
    const Step step = model_.take(queue);
    model_.use(step, access);
    return step;
  }
  List conflicts(const Access& access) const { return model_.conflicts(access).list(); }
  List needed(Queue queue, const List& must) const {
    Steps steps;
    for (const Step step : must) steps.add(step);
    return model_.needed(queue, steps).list();
  }
  bool ordered(Step before, Step after) const { return model_.before(after).has(before); }

  static Access read(Buffer buffer) { return {buffer, Mode::read, 0, 8}; }
  static Access write(Buffer buffer) { return {buffer, Mode::write, 0, 8}; }

  Ordering model_;
};

TEST_F(Rules, AQueueIsInOrder) {
  const Step a1 = model_.take(A);
  const Step b1 = model_.take(B);
  const Step a2 = model_.take(A);
  EXPECT_TRUE(ordered(a1, a2));
  EXPECT_FALSE(ordered(a1, b1));
  EXPECT_FALSE(ordered(b1, a2));
}

TEST_F(Rules, AWaitHoldsFromThenOnAndForAllThatIsBeforeItsStep) {
  const Step a1 = model_.take(A);
  const Step b1 = model_.take(B);
  model_.wait(B, a1);
  const Step b2 = model_.take(B);
  model_.wait(C, b2);
  const Step c1 = model_.take(C);
  EXPECT_FALSE(ordered(a1, b1));
  EXPECT_TRUE(ordered(a1, b2));
  EXPECT_TRUE(ordered(a1, c1));
}

TEST_F(Rules, AWaitImpliesNothingThatItsSourceWasToldLater) {
  const Step a1 = model_.take(A);
  const Step b1 = model_.take(B);
  model_.wait(B, a1);
  model_.take(B);
  model_.wait(C, b1);
  EXPECT_FALSE(ordered(a1, model_.take(C)));
}

TEST_F(Rules, AWaitTakesNoStep) {
  const Step a1 = model_.take(A);
  const Step b1 = model_.take(B);
  EXPECT_FALSE(model_.owes(B));
  model_.wait(B, a1);
  EXPECT_TRUE(model_.owes(B));
  EXPECT_EQ(model_.last(B), b1);
  model_.take(B);
  EXPECT_FALSE(model_.owes(B));
}

TEST_F(Rules, ReadsConflictWithWritesAndWritesWithAll) {
  const Step read_by_a = use(A, read(X));
  const Step written_by_b = use(B, write(X));
  EXPECT_EQ(conflicts(read(X)), (List{written_by_b}));
  EXPECT_EQ(conflicts(write(X)), (List{read_by_a, written_by_b}));
  EXPECT_EQ(conflicts(write(Y)), List());
}

// Bytes 0, 1, 4 and 5 are written.
TEST_F(Rules, TilesConflictInTheBytesTheyShare) {
  const Step tile = use(A, {X, Mode::write, 0, 2, 2, 4});
  EXPECT_EQ(conflicts({X, Mode::read, 2, 2, 2, 4}), List());
  EXPECT_EQ(conflicts({X, Mode::read, 2, 2}), List());
  EXPECT_EQ(conflicts({X, Mode::read, 2, 3}), (List{tile}));
  EXPECT_EQ(conflicts({X, Mode::read, 3, 1, 3, 1}), (List{tile}));
}

TEST_F(Rules, AnAccessOfNoBytesConflictsWithNone) {
  use(A, write(X));
  EXPECT_EQ(conflicts({X, Mode::write, 4, 0}), List());
  EXPECT_EQ(conflicts({X, Mode::write, 0, 8, 0, 1}), List());
}

TEST_F(Rules, TokensOfABufferConflictWhateverTheirBytes) {
  const Step low = use(A, {X, Mode::token, 0, 2});
  const Step none = use(B, {X, Mode::token, 0, 0});
  EXPECT_EQ(conflicts({X, Mode::token, 4, 2}), (List{low, none}));
  EXPECT_EQ(conflicts({X, Mode::read, 0, 8}), (List{low}));
  EXPECT_EQ(conflicts({Y, Mode::token, 0, 2}), List());
}

TEST_F(Rules, ANewOwnerIsAfterAllThatFormerOnesDid) {
  const Step former = use(A, {X, Mode::read, 0, 4});
  model_.reserve(Z, Block{0});
  EXPECT_EQ(conflicts({Z, Mode::read, 2, 4}), (List{former}));
  EXPECT_EQ(conflicts({Z, Mode::read, 4, 4}), List());
  EXPECT_EQ(conflicts({Z, Mode::token, 0, 0}), List());
}

// Whoever waits for the birth needs no wait for former users.
TEST_F(Rules, ABirthIsAWriteAtTheEndOfItsHome) {
  const Step former = use(A, write(X));
  model_.reserve(Z, Block{0});
  model_.wait(B, former);
  const Step end = model_.take(B);
  model_.bear(read(Z), B);
  EXPECT_EQ(conflicts(read(Z)), (List{former, end}));
  EXPECT_EQ(needed(C, conflicts(read(Z))), (List{end}));
}

TEST_F(Rules, AWaitForAnEventIsForItsLatestRecord) {
  EXPECT_TRUE(model_.recorded(kEvent).empty());
  const Step a1 = model_.take(A);
  model_.record(kEvent, A);
  const Step a2 = model_.take(A);
  EXPECT_EQ(model_.recorded(kEvent).list(), (List{a1}));
  model_.record(kEvent, A);
  EXPECT_EQ(needed(B, model_.recorded(kEvent).list()), (List{a2}));
}

TEST_F(Rules, ARecordStandsForTheWaitsBeforeIt) {
  const Step a1 = model_.take(A);
  const Step b1 = model_.take(B);
  model_.wait(B, a1);
  model_.record(kEvent, B);
  EXPECT_EQ(model_.recorded(kEvent).list(), (List{a1, b1}));
}

TEST_F(Rules, WaitsThatOthersImplyAreNotNeeded) {
  const Step a1 = model_.take(A);
  const Step a2 = model_.take(A);
  EXPECT_EQ(needed(B, {a1, a2}), (List{a2}));
  model_.wait(B, a1);
  const Step b1 = model_.take(B);
  EXPECT_EQ(needed(C, {a1, b1}), (List{b1}));
  EXPECT_EQ(needed(C, {a2, b1}), (List{a2, b1}));
  EXPECT_EQ(needed(B, {a1, b1}), List());
}

TEST_F(Rules, WhatHasPassedNeedsNoWait) {
  const Step a1 = model_.take(A);
  const Step a2 = model_.take(A);
  EXPECT_FALSE(model_.may_pass(a2));
  model_.pass(a1);
  EXPECT_TRUE(model_.may_pass(a2));
  EXPECT_EQ(needed(B, {a1}), List());
  EXPECT_EQ(needed(B, {a1, a2}), (List{a2}));
}

}  // namespace
}  // namespace thalweg::test::model
