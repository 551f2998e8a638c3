// SPDX-License-Identifier: Apache-2.0
//
// support/floor.hpp - the least a runtime could do: an array of callables, run one after the other
// on the thread that filled it. It orders nothing and runs nothing beside anything.

#pragma once

#include <vector>

#include "support/work.hpp"

namespace thalweg::bench {

class CallArray {
 public:
  explicit CallArray(std::size_t capacity) { calls_.reserve(capacity); }

  void submit(const Body& body) { calls_.push_back({&call, &body}); }

  void run() {
    for (const Call& item : calls_) item.function(item.state);
    calls_.clear();
  }

 private:
  struct Call {
    void (*function)(const void*);
    const void* state;
  };

  static void call(const void* state) { (*static_cast<const Body*>(state))(); }

  std::vector<Call> calls_;
};

}  // namespace thalweg::bench
