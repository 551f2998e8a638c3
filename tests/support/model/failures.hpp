// SPDX-License-Identifier: Apache-2.0
//
// tests/support/model/failures.hpp - which bytes are bad, and by way of whom.
//
// One byte at a time, each with the whole way back to the root: nothing is shared, summed up or
// forgotten. It has no line of the library.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace thalweg::test::model {

// What a task does with a byte.
enum class Touching : std::uint8_t { read, write, read_write };

// Bytes [begin, end) of a buffer.
struct Part {
  int buffer = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  Touching how = Touching::read;
};

// A bad byte.
struct Bad {
  int failure = 0;       // The number of the task that failed.
  std::vector<int> way;  // Tasks that were skipped, the latest first.

  friend bool operator==(const Bad&, const Bad&) = default;
};

class Failures {
 public:
  // A task runs, whose number is `task`; `fails`: if it runs, it fails. Gives back why it did not
  // run.
  std::optional<Bad> run(int task, bool fails, const std::vector<Part>& parts);

  // Nobody can use the buffer any more.
  void forget(int buffer);

  // Null: the byte is good.
  const Bad* at(int buffer, std::uint64_t byte) const;

  // The failures that some byte carries, with the number of buffers that have such a byte.
  std::map<int, int> carriers() const;

 private:
  std::map<std::pair<int, std::uint64_t>, Bad> bad_;
};

}  // namespace thalweg::test::model
