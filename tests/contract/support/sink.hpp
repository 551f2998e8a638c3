// SPDX-License-Identifier: Apache-2.0
//
// contract/support/sink.hpp - takes what goes to the error sink, for the life of a row.
//
// The sink is the process's own: one Sink at a time.

#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "thalweg/base/log.hpp"

namespace thalweg::contract {

class Sink {
 public:
  Sink() {
    set_error_sink([state = state_](const Error& error) {
      const std::lock_guard lock(state->mutex);
      state->errors.push_back(error);
    });
  }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  ~Sink() { set_error_sink({}); }

  std::vector<Error> errors() const {
    const std::lock_guard lock(state_->mutex);
    return state_->errors;
  }
  std::size_t size() const { return errors().size(); }

 private:
  struct State {
    std::mutex mutex;
    std::vector<Error> errors;
  };

  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace thalweg::contract
