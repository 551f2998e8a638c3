// SPDX-License-Identifier: Apache-2.0
//
// os/thread.hpp - threads of our own, and short waits.

#pragma once

#include <chrono>
#include <functional>

namespace thalweg::os {

// Starts a thread that nobody joins: it ends by itself, or with the process. `name` has at most 15
// characters. False when the system refuses.
bool start_thread(const char* name, std::function<void()> body);

// Processors this process may run on; at least 1.
unsigned processors() noexcept;

// Lets this thread's short sleeps end on time (Linux adds 50 us of slack otherwise).
void sharpen_timers() noexcept;

void sleep_for(std::chrono::nanoseconds time) noexcept;
void yield() noexcept;

// Tells the processor that this is a spin loop.
inline void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace thalweg::os
