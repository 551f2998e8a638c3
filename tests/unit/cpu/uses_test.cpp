// SPDX-License-Identifier: Apache-2.0
//
// What a slot keeps of accesses is what use_of() says of them.

#include "backends/cpu/uses.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "thalweg/base/ids.hpp"

namespace thalweg::test {
namespace {

class Uses : public ::testing::Test {
 protected:
  Uses() {
    owned_.id = owned_.record = make_id<AllocationId>();
    owned_.size_bytes = 100;
    owned_.life = &life_;
    life_.begin(owned_.id, owned_.size_bytes);
    brought_.id = make_id<AllocationId>();
    brought_.size_bytes = 100;
    brought_.record = make_id<AllocationId>();
    brought_.record_offset = 0x7fff12345678;
    nothing_.id = make_id<AllocationId>();
  }

  // Writes the accesses into a slot and compares what is read from it.
  void expect_kept(const std::vector<Access>& accesses) {
    alignas(64) std::byte memory[8192];
    cpu::Slot& slot = *new (memory) cpu::Slot();
    slot.uses_at = 48;
    const std::byte* const end = cpu::write_uses(slot, accesses);
    EXPECT_LE(static_cast<std::size_t>(end - cpu::uses_address(slot)),
              cpu::uses_bytes_max(accesses.size()));
    std::vector<failure::Use> expected;
    for (const Access& access : accesses)
      if (backend::has_outcome(access)) expected.push_back(backend::use_of(access));
    const std::vector<failure::Use> kept = cpu::uses_of(slot);
    ASSERT_EQ(kept.size(), expected.size());
    for (std::size_t i = 0; i != kept.size(); ++i) {
      EXPECT_EQ(kept[i].allocation, expected[i].allocation);
      EXPECT_EQ(kept[i].life, expected[i].life);
      EXPECT_EQ(kept[i].mode, expected[i].mode);
      EXPECT_EQ(kept[i].offset, expected[i].offset);
      EXPECT_EQ(kept[i].row_bytes, expected[i].row_bytes);
      EXPECT_EQ(kept[i].rows, expected[i].rows);
      if (kept[i].rows == 1) continue;
      EXPECT_EQ(kept[i].pitch, expected[i].pitch);
    }
    cpu::destroy_uses(slot);
  }

  AllocationLife life_;
  Allocation owned_;
  Allocation brought_;  // By the program: it has no life, and a record that others share.
  Allocation nothing_;  // Has no bytes.
};

// Each shape in each mode, on each kind of memory, alone and together.
TEST_F(Uses, EveryShapeIsKept) {
  std::vector<Access> all;
  for (const AccessMode mode :
       {AccessMode::read, AccessMode::write, AccessMode::read_write, AccessMode::token})
    for (Allocation* const allocation : {&owned_, &brought_, &nothing_})
      for (const Access& shape :
           {Access{allocation, 0, allocation->size_bytes, 1, 0, mode},
            Access{allocation, 10, 20, 1, 0, mode}, Access{allocation, 0, 99, 1, 0, mode},
            Access{allocation, 5, 10, 4, 25, mode}, Access{allocation, 0, 100, 0, 100, mode},
            Access{allocation, 50, 0, 1, 0, mode}}) {
        expect_kept({shape});
        all.push_back(shape);
      }
  expect_kept({all.begin(), all.begin() + cpu::kUsesMax});
  expect_kept(all);
}

// The allocation has ended; its life has not become another's.
TEST_F(Uses, TheIdIsKnownAfterTheEnd) {
  alignas(64) std::byte memory[256];
  cpu::Slot& slot = *new (memory) cpu::Slot();
  const Access access{&owned_, 0, 100, 1, 0, AccessMode::write};
  cpu::write_uses(slot, {&access, 1});
  life_.end();
  EXPECT_EQ(cpu::uses_of(slot).at(0).allocation, owned_.id);
  EXPECT_FALSE(life_.is_of(owned_.id));
}

}  // namespace
}  // namespace thalweg::test
