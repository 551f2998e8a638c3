// SPDX-License-Identifier: Apache-2.0
//
// os/futex.hpp - sleep until a word changes.

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

namespace thalweg::os {

// Sleeps while `word` holds `expected`, for at most `timeout`. May wake for no reason.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::optional<std::chrono::nanoseconds> timeout = std::nullopt) noexcept;

// Wakes up to `count` sleepers. Only the address is used: the word may be gone by now.
void futex_wake(const std::atomic<std::uint32_t>* word, int count) noexcept;

}  // namespace thalweg::os
