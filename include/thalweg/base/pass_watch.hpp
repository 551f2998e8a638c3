// SPDX-License-Identifier: Apache-2.0
//
// thalweg/base/pass_watch.hpp - told when the host asks how far a queue has come.
//
// A simulated device learns in this way which of its steps an answer depends on. Queues of real
// devices have none.

#pragma once

#include <cstdint>

namespace thalweg {

class PassWatch {
 public:
  // The answer depends on more than one serial.
  static constexpr std::uint64_t kEverything = 0;

  // Whether everything up to `serial` has passed is asked, and answered after this call.
  virtual void asked(std::uint64_t serial) noexcept = 0;

 protected:
  ~PassWatch() = default;
};

}  // namespace thalweg
