// SPDX-License-Identifier: Apache-2.0
//
// runtime/kernel_uses.hpp - which kernels a queue has launched, each with its latest launch.
//
// A launch does not count a reference: that would be a write to a line that every queue and every
// worker shares. The handles keep a kernel alive, and when the last one goes, the queues are asked
// how far they have to come before nobody runs it any more.
//
// Threads:    external synchronization: the lock of the queue's slot.
// Bound:      kernels that are alive and were launched here.

#pragma once

#include <cstddef>
#include <vector>

#include "thalweg/base/ids.hpp"
#include "thalweg/base/task.hpp"

namespace thalweg::runtime {

class KernelUses {
 public:
  // `code` was launched with `serial`.
  void add(const KernelCode& code, Serial serial) {
    if (latest_ < uses_.size() && uses_[latest_].code == &code) [[likely]] {
      uses_[latest_].last = serial;
    } else {
      add_other(code, serial);
    }
  }

  // Forgets `code`. Returns the serial of its latest launch; 0 when there was none.
  Serial remove(const KernelCode& code) noexcept;

 private:
  struct Use {
    const KernelCode* code;
    Serial last;
  };

  void add_other(const KernelCode& code, Serial serial);

  std::vector<Use> uses_;
  std::size_t latest_ = 0;  // Where the latest launch is.
};

}  // namespace thalweg::runtime
