// SPDX-License-Identifier: Apache-2.0
//
// thalweg/backend/fence.hpp - concept: something recorded on a stream that can be tested and waited
// for.

#pragma once

#include <concepts>

#include "thalweg/base/clock.hpp"
#include "thalweg/base/result.hpp"

namespace thalweg::backend {

// `passed()` never blocks. `wait(deadline)` blocks the host until it has passed, or gives
// `timeout`. A fence may move to another thread.
template <class F>
concept Fence = std::movable<F> && requires(const F& fence, Deadline deadline) {
  { fence.passed() } -> std::same_as<bool>;
  { fence.wait(deadline) } -> std::same_as<Result<void>>;
};

}  // namespace thalweg::backend
