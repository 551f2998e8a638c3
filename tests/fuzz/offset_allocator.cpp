// SPDX-License-Identifier: Apache-2.0
//
// The offset allocator does as the model says, whatever it is asked: the bytes are the requests.
//
//   byte 0, 1   granules of the range
//   then        0 size size alignment   allocate, 256 bytes a granule, size in sixteenths of one
//               1 which                 free a live block
//               2 granules              grow
//               3 granules              shrink, but for so many
//               4 which                 free a block that is gone

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "support/model/blocks.hpp"
#include "thalweg/memory/offset_allocator.hpp"

namespace {

using thalweg::memory::OffsetAllocator;
using thalweg::memory::OffsetBlock;

constexpr std::uint64_t kGranule = 256;

void require(bool holds) {
  if (!holds) std::abort();
}

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}
  bool empty() const { return at_ == end_; }
  std::uint64_t next() { return at_ == end_ ? 0 : *at_++; }

 private:
  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

struct Run {
  explicit Run(std::uint64_t granules)
      : tested(*OffsetAllocator::create({granules * kGranule, kGranule, 0})),
        model(kGranule, 0, granules * kGranule) {}

  void allocate(std::uint64_t size, std::uint64_t alignment) {
    const auto block = tested.allocate(size, alignment);
    if (!block) return require(!model.fits(size, alignment));
    require(model.wrong(block->offset, block->size_bytes, size, alignment).empty());
    model.add(block->offset, block->size_bytes);
    live.push_back(*block);
  }

  void free(std::size_t which) {
    if (live.empty()) return;
    const std::size_t at = which % live.size();
    require(tested.free(live[at].handle));
    model.remove(live[at].offset, live[at].size_bytes);
    gone.push_back(live[at]);
    live[at] = live.back();
    live.pop_back();
  }

  void grow(std::uint64_t granules) {
    require(static_cast<bool>(tested.grow(granules * kGranule)));
    model.resize(model.size() + granules * kGranule);
  }

  void shrink(std::uint64_t granules) {
    model.resize(model.size() - tested.shrink(granules * kGranule));
  }

  void check() {
    require(tested.fault().empty());
    require(tested.size_bytes() == model.size() && tested.live_bytes() == model.live());
    require(tested.largest_free_bytes() == model.largest(kGranule));
    require(tested.end_offset() == model.end());
  }

  OffsetAllocator tested;
  thalweg::test::model::Blocks model;
  std::vector<OffsetBlock> live;
  std::vector<OffsetBlock> gone;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  const std::uint64_t high = bytes.next();
  Run run(high << 8 | bytes.next());
  for (int step = 1; !bytes.empty(); ++step) {
    switch (bytes.next() % 5) {
      case 0: {
        const std::uint64_t asked = (bytes.next() << 8 | bytes.next()) * kGranule / 16;
        const std::uint64_t alignment = bytes.next();
        run.allocate(asked, alignment < 16 ? std::uint64_t{1} << alignment : 0);
        break;
      }
      case 1:
        run.free(bytes.next());
        break;
      case 2:
        run.grow(bytes.next());
        break;
      case 3:
        run.shrink(bytes.next());
        break;
      default:
        if (const std::uint64_t which = bytes.next(); !run.gone.empty())
          require(!run.tested.free(run.gone[which % run.gone.size()].handle));
        break;
    }
    if (step % 16 == 0) run.check();
  }
  run.check();
  return 0;
}
