// SPDX-License-Identifier: Apache-2.0
//
// thalweg/failure/error_graph.hpp - which bytes were left unwritten, and because of what.
//
// A failure belongs to the bytes that work should have written and did not. They are tainted until
// somebody writes them. Whoever would read one is skipped, and what he would have written carries
// the same failure:
//
//   x   |....FFFFFF....|      F, the root: task 7 failed
//   y   |..FFFF........|      F, by way of record 1: task 9 would have read x
//
//   F -> {error of task 7, 2 carriers, records: 1 {task 9, read x[4, 10), which was the root's}}
//
// The bytes change when tasks run, and tasks that conflict run one after the other: so whoever is
// about to run sees what all earlier tasks did to his bytes, and nothing else has to be known of
// them. An outcome is entered before the task's point counts as passed.
//
// Taint is keyed by allocation and not by address: who gets the bytes of a dropped allocation
// starts clean. What a dropped allocation carries stays until each task that may use it has passed.
// A failure without a carrier is forgotten; so the graph is as large as the bad memory is ragged.
// Its root is then given to take_forgotten(): whoever has it may be the last who can tell of it.
//
// Threads:    external synchronization.
// Errors:     none.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "thalweg/base/access.hpp"
#include "thalweg/base/error.hpp"
#include "thalweg/base/export.hpp"
#include "thalweg/base/failure.hpp"
#include "thalweg/base/ids.hpp"
#include "thalweg/order/point.hpp"

namespace thalweg::failure {

// An access, as a task remembers it to its end: the allocation may be gone by then.
struct Use {
  AllocationId allocation;
  std::uint64_t offset = 0;
  std::uint64_t row_bytes = 0;
  std::uint64_t rows = 1;
  std::uint64_t pitch = 0;
  AccessMode mode = AccessMode::read;
  const AllocationLife* life = nullptr;

  bool reads() const noexcept { return mode == AccessMode::read || mode == AccessMode::read_write; }
  bool writes() const noexcept {
    return mode == AccessMode::write || mode == AccessMode::read_write;
  }
};

// Who is skipped.
struct TaskWords {
  std::string_view task;
  std::string_view stream;
  std::source_location site;
};

// What is wrong with a byte.
struct Taint {
  FailureId failure;
  std::uint64_t record = 0;  // Of the skip that left it unwritten; 0: the root did.
  std::uint64_t depth = 0;   // Skips between it and the root, its own included.

  friend bool operator==(const Taint&, const Taint&) noexcept = default;
};

// Skips of one failure that are remembered.
inline constexpr std::size_t kRecordsKept = 16;

class THALWEG_EXPORT ErrorGraph {
 public:
  // Bytes of one allocation that a task would read.
  struct Bad {
    Taint taint;
    FailedBytes bytes;
  };

  // Whether no byte is bad.
  bool empty() const noexcept { return carriers_.empty(); }

  // A task that makes `uses` starts: the first bad byte that it reads, by use and then by offset,
  // with those behind it that are bad in the same way. None: it runs.
  std::optional<Bad> first_bad(std::span<const Use> uses) const;

  // It ends. Every byte that it writes is good:
  void prove(std::span<const Use> uses);

  // or it has failed, and what it should have written is not. Gives back 0, and remembers nothing,
  // where that is no byte.
  // `same`: the bytes get this failure, and not a new one, where it still lives.
  FailureId fail(const Error& root, DeviceId device, std::span<const Use> uses,
                 FailureId same = {});

  // Whether fail() would remember anything.
  static bool taints(std::span<const Use> uses) noexcept;

  // or it was skipped because of `input`.
  void skip(const Bad& input, const TaskWords& task, std::span<const Use> uses);

  // Allocations that carry something, whose last handle has gone, and that were not dropped yet.
  std::vector<std::pair<AllocationId, const AllocationLife*>> gone() const;

  // Nobody can submit work for the allocation any more; `uses` are the points of what was submitted
  // and may not have passed. What it carries, and what that work will make it carry, goes when it
  // has passed: see collect(). An allocation that carries nothing is not remembered.
  void drop(AllocationId allocation, const order::PointSet& uses);

  // Forgets what dropped allocations carry whose uses have all passed. `passed(point)` says so.
  // Looks at no more than `most` of them: at the latest, and at others each time.
  template <class Passed>
  void collect(Passed passed, std::size_t most = std::numeric_limits<std::size_t>::max()) {
    for (most = std::min(most, dropped_.size()); most != 0; --most) {
      const AllocationId allocation = dropped_.front();
      dropped_.pop_front();
      const auto carrier = carriers_.find(allocation);
      // Good by now; and may be bad again, but not dropped.
      if (carrier == carriers_.end() || !carrier->second.dropped) continue;
      carrier->second.uses.remove_if(passed);
      if (carrier->second.uses.empty())
        shed(carrier);
      else
        dropped_.push_back(allocation);
    }
  }

  // The roots of failures that were forgotten since the last call.
  std::vector<Error> take_forgotten() { return std::exchange(forgotten_, {}); }

  // Each failure among the bytes that the uses read, once, in the order in which they are met.
  std::vector<FailureReport> reports(std::span<const Use> uses) const;

  // Those that live, the oldest first.
  std::vector<LivingFailure> living() const;

  // How large it is.
  std::size_t carriers() const noexcept { return carriers_.size(); }
  std::size_t ranges() const noexcept;

 private:
  // Bad bytes that are bad in the same way.
  struct Range {
    std::uint64_t end = 0;
    Taint taint;
  };
  using Ranges = std::map<std::uint64_t, Range>;  // By first byte; they do not overlap.

  struct Carrier {
    Ranges ranges;
    std::map<FailureId, std::uint64_t> failures;  // How many of the ranges carry each.
    const AllocationLife* life = nullptr;         // Null: as if it was there for ever.
    bool dropped = false;
    order::PointSet uses;  // When dropped.
  };

  struct Record {
    std::uint64_t number = 0;
    SkippedTask task;
    Taint input;
    std::vector<FailedBytes> outputs;
  };

  struct Node {
    Error root;
    DeviceId device;
    std::uint64_t carriers = 0;
    std::uint64_t skips = 0;
    std::uint64_t recorded = 0;   // Of these, with outputs: the number of the latest record.
    std::vector<Record> records;  // Number n is at n % kRecordsKept.
  };

  using Carriers = std::unordered_map<AllocationId, Carrier>;

  void taint(std::span<const Use> uses, const Taint& taint);
  void set(Carrier& carrier, std::uint64_t begin, std::uint64_t end, const Taint& taint);
  void clear(Carrier& carrier, std::uint64_t begin, std::uint64_t end);
  void count_up(Carrier& carrier, FailureId failure);
  void count_down(Carrier& carrier, FailureId failure);
  void release(FailureId failure);
  void shed(Carriers::iterator carrier);
  void remove_if_clean(Carriers::iterator carrier);
  void follow(const Node& node, Taint taint, FailureReport& report) const;

  Carriers carriers_;                 // Each has a range.
  std::deque<AllocationId> dropped_;  // Those that are dropped, and some that were.
  std::map<FailureId, Node> nodes_;   // Each has a carrier.
  std::vector<Error> forgotten_;
};

}  // namespace thalweg::failure
