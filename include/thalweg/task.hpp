// SPDX-License-Identifier: Apache-2.0
//
// thalweg/task.hpp - what a submission gives back: the name of the task.

#pragma once

#include "thalweg/base/ids.hpp"

namespace thalweg {

// A value that names an accepted task. It owns nothing and keeps nothing alive.
class Task {
 public:
  Task() noexcept = default;
  Task(QueueId queue, Serial serial) noexcept : queue_(queue), serial_(serial) {}

  QueueId queue() const noexcept { return queue_; }
  Serial serial() const noexcept { return serial_; }
  friend bool operator==(const Task&, const Task&) noexcept = default;

 private:
  QueueId queue_;
  Serial serial_;
};

}  // namespace thalweg
