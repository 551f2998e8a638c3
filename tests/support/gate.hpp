// SPDX-License-Identifier: Apache-2.0
//
// tests/support/gate.hpp - holds streams until the test lets them go.
//
// Built on a Timeline: a held stream occupies no thread. The destructor opens what is closed, so a
// test that fails early does not leave a device that never ends.

#pragma once

#include <cstdint>

#include "thalweg/thalweg.hpp"

namespace thalweg::test {

class Gate {
 public:
  explicit Gate(const Device& device) : timeline_(must(Timeline::create(device))) {}
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  // In a forked child there is nothing to open.
  ~Gate() { static_cast<void>(timeline_.signal(1)); }

  // What is enqueued on `stream` from now on waits for open().
  void hold(const Stream& stream) const { must(stream.wait(timeline_, 1)); }

  void open() const { must(timeline_.signal(1)); }

 private:
  Timeline timeline_;
};

}  // namespace thalweg::test
