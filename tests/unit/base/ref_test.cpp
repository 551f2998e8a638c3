// SPDX-License-Identifier: Apache-2.0
//
// Counted and Ref: the last reference is noticed once, whatever is done to the references.

#include "thalweg/base/ref.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

namespace thalweg::test {
namespace {

struct Object : Counted {
  explicit Object(int& counter) : gone(counter) {}
  ~Object() override { ++gone; }
  int& gone;
};

struct Derived final : Object {
  using Object::Object;
};

// An object that lives on when its last reference goes, as a stream with work in flight does.
class Revived final : public Counted {
 public:
  std::atomic<int> gone{0};
  using Counted::revive;

 private:
  void last_reference_gone() noexcept override { ++gone; }
};

// Copies add a reference and moves do not; the object goes with the last one, once.
TEST(Ref, CountsCopiesAndNotMoves) {
  int gone = 0;
  {
    Ref<Object> first = make_ref<Object>(gone);
    EXPECT_EQ(first->references(), 1U);
    Ref<Object> second = first;
    EXPECT_EQ(first->references(), 2U);
    const Ref<Object> third = std::move(second);
    EXPECT_EQ(first->references(), 2U);
    EXPECT_TRUE(first == third);
    first.reset();
    EXPECT_FALSE(first);
    EXPECT_EQ(third->references(), 1U);
    EXPECT_EQ(gone, 0);
  }
  EXPECT_EQ(gone, 1);
}

// Assigned to itself, by copy and by move, a reference stays and so does the object.
TEST(Ref, SelfAssignmentAndSelfMoveKeepTheObject) {
  int gone = 0;
  Ref<Object> ref = make_ref<Object>(gone);
  Ref<Object>& same = ref;
  ref = same;
  EXPECT_EQ(ref->references(), 1U);
  ref = std::move(same);
  ASSERT_TRUE(ref);
  EXPECT_EQ(ref->references(), 1U);
  EXPECT_EQ(gone, 0);
  ref.reset();
  EXPECT_EQ(gone, 1);
}

// Assignment lets go of the former object, and two references to one object may be assigned.
TEST(Ref, AssignmentReleasesTheFormerObject) {
  int one = 0;
  int two = 0;
  Ref<Object> ref = make_ref<Object>(one);
  ref = make_ref<Object>(two);
  EXPECT_EQ(one, 1);
  Ref<Object> other = ref;
  ref = other;
  EXPECT_EQ(ref->references(), 2U);
  ref = Ref<Object>();
  EXPECT_EQ(two, 0);
  other.reset();
  EXPECT_EQ(two, 1);
}

// A reference to a base takes over that of the derived object, and adopt() and detach() are
// opposites.
TEST(Ref, ConvertsAdoptsAndDetaches) {
  int gone = 0;
  Ref<Derived> derived = make_ref<Derived>(gone);
  Ref<Object> base = derived;
  EXPECT_EQ(base->references(), 2U);
  base = std::move(derived);
  EXPECT_EQ(base->references(), 1U);
  Object* const raw = base.detach();
  EXPECT_FALSE(base);
  EXPECT_EQ(raw->references(), 1U);
  {
    const Ref<Object> shared = Ref<Object>::share(raw);
    EXPECT_EQ(raw->references(), 2U);
  }
  EXPECT_EQ(gone, 0);
  base = Ref<Object>::adopt(raw);
  base.reset();
  EXPECT_EQ(gone, 1);
  EXPECT_FALSE(Ref<Object>::share(nullptr));
}

// Eight threads copy and drop references to an object that decides itself what its end means: the
// last reference is noticed exactly once each time it is revived.
TEST(Ref, TheLastReferenceIsNoticedOnceByManyThreads) {
  Revived object;
  constexpr int kRounds = 50;
  for (int round = 1; round <= kRounds; ++round) {
    Ref<Revived> first = Ref<Revived>::adopt(&object);
    std::vector<std::thread> threads;
    for (int t = 0; t != 8; ++t)
      threads.emplace_back([ref = first] {
        for (int i = 0; i != 50; ++i) {
          Ref<Revived> copy = ref;
          Ref<Revived> moved = std::move(copy);
          copy = moved;
        }
      });
    first.reset();
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(object.gone, round);
    object.revive();
  }
}

}  // namespace
}  // namespace thalweg::test
