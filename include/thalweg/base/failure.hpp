// SPDX-License-Identifier: Apache-2.0
//
// thalweg/base/failure.hpp - what a reader of bad bytes is told.
//
//   t1 fails, should have written x      ->  x is bad: the root is t1's error
//   t2 reads x, would write y            ->  t2 is skipped, y is bad: the same failure
//   t3 reads y, would write z            ->  t3 is skipped, z is bad: the same failure
//   read z                               ->  unwritten: t1's error, by way of t3 and t2
//
// Threads:    plain values.
// Ownership:  own their texts; they name allocations that may be gone.

#pragma once

#include <cstdint>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/error.hpp"
#include "thalweg/base/export.hpp"
#include "thalweg/base/ids.hpp"

namespace thalweg {

using FailureId = Id<struct FailureTag>;

// What else is left undone when a task of a device fails.
enum class FailureScope : std::uint8_t {
  task,    // Nothing but what reads its bytes.
  queue,   // What its queue had been handed to the driver, and what is ordered after that.
  device,  // All that has not passed: the device is lost.
};

constexpr std::string_view name(FailureScope scope) noexcept {
  switch (scope) {
    case FailureScope::task:
      return "task";
    case FailureScope::queue:
      return "queue";
    case FailureScope::device:
      return "device";
  }
  return "?";
}

// Bytes [offset, offset + size_bytes) of an allocation. Of memory that the program brought the
// allocation stands for all that it may bring, and the offset is an address.
struct FailedBytes {
  AllocationId allocation;
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;
  bool by_address = false;

  friend bool operator==(const FailedBytes&, const FailedBytes&) noexcept = default;
};

// A task that did not run, because bytes that it reads are bad.
struct SkippedTask {
  std::string task;    // "kernel `blur`"
  std::string stream;  // Its name; may be empty.
  std::source_location site;
  FailedBytes input;  // The first of the bad bytes that it would have read.
};

// One failure, as somebody who reads some bytes meets it.
struct FailureReport {
  FailureId failure;
  Error root;                  // Of the task that failed.
  FailedBytes bytes;           // The first bad ones of those asked for.
  std::uint64_t carriers = 0;  // Allocations with a byte that carries the failure.
  std::uint64_t skips = 0;     // Tasks that were skipped because of it, everywhere.

  // The skipped tasks between these bytes and the root, from the bytes on. Of a failure the newest
  // 16 skips are kept of tasks that write something: so many are left out at the root's end.
  std::vector<SkippedTask> chain;
  std::uint64_t chain_dropped = 0;
};

// A failure that some bytes carry.
struct LivingFailure {
  FailureId failure;
  DeviceId device;  // Of the stream of the task that failed.
  Error root;
  std::uint64_t carriers = 0;  // Allocations with such a byte.
  std::uint64_t skips = 0;     // Tasks that were skipped because of it so far.
};

// `unwritten`, with the reports, the first one's root as its cause.
// REQUIRES: there is one.
THALWEG_EXPORT Error unwritten(std::vector<FailureReport> reports,
                               std::source_location site = std::source_location::current());

}  // namespace thalweg
