// SPDX-License-Identifier: Apache-2.0
//
// What the oracle itself is worth: the generator repeats, and the models give on programs written
// by hand what one can count on the fingers.

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "support/model/program_order.hpp"
#include "support/model/results.hpp"
#include "support/program.hpp"

namespace thalweg::test {
namespace {

using model::ProgramOrder;

constexpr std::uint32_t kCount = 8;

// Streams A, B, C = 0, 1, 2 and buffers X, Y = 0, 1, whose contents nobody has written.
class Written {
 public:
  Written() {
    program_.streams = 3;
    program_.buffers = 2;
    program_.events = 1;
    for (int i = 0; i < 3; ++i) add({.kind = OpKind::create_stream, .stream = i});
  }

  std::size_t add(const Op& op) {
    program_.prologue.push_back(op);
    log_.push_back({-1, static_cast<int>(log_.size())});
    return log_.size() - 1;
  }
  std::size_t write(int stream, int buffer, std::uint32_t first = 0, std::uint32_t count = kCount) {
    Op op{.kind = OpKind::fill, .stream = stream};
    op.a = {buffer, first, count};
    return add(op);
  }
  std::size_t read(int stream, int buffer, std::uint32_t first = 0, std::uint32_t count = kCount) {
    Op op{.kind = OpKind::read, .stream = stream, .read = program_.reads++};
    op.a = {buffer, first, count};
    return add(op);
  }
  void record(int stream) { add({.kind = OpKind::record, .stream = stream, .event = 0}); }
  std::size_t wait_event(int stream) {
    return add({.kind = OpKind::wait_event, .stream = stream, .event = 0});
  }

  ProgramOrder order() const { return ProgramOrder(program_, log_); }

 private:
  Program program_;
  Log log_;
};

TEST(Generator, TheSameSeedGivesTheSameProgram) {
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    EXPECT_EQ(describe(make_program(seed, {})), describe(make_program(seed, {})));
  EXPECT_NE(describe(make_program(1, {})), describe(make_program(2, {})));
}

// Every kind of operation turns up, or the oracle does not test it.
TEST(Generator, EveryKindOfOperationTurnsUp) {
  std::set<OpKind> found;
  const auto look = [&found](const std::vector<Op>& ops) {
    for (const Op& op : ops) found.insert(op.kind);
  };
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    ProgramShape shape;
    shape.threads = seed % 2 == 0 ? 1 : 2;
    shape.locked = seed % 4 != 1;
    const Program program = make_program(seed, shape);
    look(program.prologue);
    for (const auto& part : program.parts) look(part);
  }
  EXPECT_EQ(found.size(), static_cast<std::size_t>(OpKind::refused) + 1);
}

TEST(Results, AReadIsAsOfItsSubmission) {
  Program program;
  Op op{.kind = OpKind::create_buffer};
  op.a = {0, 0, 2};
  op.value = 1;
  program.prologue.push_back(op);
  op.kind = OpKind::read;
  op.read = 0;
  program.prologue.push_back(op);
  op.kind = OpKind::affine;
  op.x = 1;
  op.value = 5;
  program.prologue.push_back(op);
  const model::Expected expected = model::run_in_order(program, {{-1, 0}, {-1, 1}, {-1, 2}});
  EXPECT_EQ(expected.reads.at(0), (model::Values{1, 1}));
  EXPECT_EQ(expected.buffers.at(0), (model::Values{8, 1}));
}

// A conflict needs one wait, and the same place is waited for once.
TEST(ProgramOrder, AConflictIsWaitedForOnce) {
  Written program;
  const std::size_t a = program.write(0, 0);
  const std::size_t b = program.read(1, 0);
  const std::size_t again = program.read(1, 0);
  const ProgramOrder order = program.order();
  EXPECT_TRUE(order.before(a, b));
  EXPECT_FALSE(order.before(b, a));
  EXPECT_EQ(order.waits_at(b), 1u);
  EXPECT_EQ(order.waits_at(again), 0u);
}

// Reads do not conflict, and neither do halves.
TEST(ProgramOrder, ReadsAndDisjointBytesAreIndependent) {
  Written program;
  program.read(0, 0);
  program.read(1, 0);
  program.write(0, 1, 0, 4);
  program.write(1, 1, 4, 4);
  EXPECT_EQ(program.order().waits_min(), 0u);
}

// What a wait implies needs no wait of its own: C is after A's write through B.
TEST(ProgramOrder, AWaitImpliesWhatItsSourceHadWaitedFor) {
  Written program;
  const std::size_t a = program.write(0, 0);
  program.read(1, 0);
  program.write(1, 1);
  const std::size_t c = program.read(2, 1);
  const std::size_t x = program.read(2, 0);
  const ProgramOrder order = program.order();
  EXPECT_TRUE(order.before(a, c));
  EXPECT_EQ(order.waits_at(x), 0u);
  EXPECT_EQ(order.waits_min(), 2u);
}

// What the source waits for later is not implied.
TEST(ProgramOrder, AWaitImpliesNothingItsSourceLearntLater) {
  Written program;
  program.write(1, 1);
  program.write(0, 0);
  program.read(1, 0);
  program.read(2, 1);
  const std::size_t x = program.read(2, 0);
  EXPECT_EQ(program.order().waits_at(x), 1u);
}

// An event recorded right after a wait stands for that wait.
TEST(ProgramOrder, ARecordStandsForTheWaitBeforeIt) {
  Written program;
  const std::size_t a = program.write(0, 0);
  program.record(0);
  program.wait_event(1);
  program.record(1);
  program.wait_event(2);
  const std::size_t c = program.write(2, 1);
  const ProgramOrder order = program.order();
  EXPECT_TRUE(order.before(a, c));
  EXPECT_EQ(order.waits_min(), 2u);
}

// An event that was never recorded, or on the waiter's own queue, costs nothing.
TEST(ProgramOrder, AnEventWithoutARecordCostsNoWait) {
  Written program;
  program.wait_event(1);
  program.write(1, 0);
  program.record(1);
  program.wait_event(1);
  program.write(1, 0);
  EXPECT_EQ(program.order().waits_min(), 0u);
}

}  // namespace
}  // namespace thalweg::test
