// SPDX-License-Identifier: Apache-2.0
//
// thalweg/base/native.hpp - queues and memory as the backend below names them.

#pragma once

#include <cstdint>

namespace thalweg {

// What a device's backend calls a queue: an opaque id on cpu.
struct NativeHandle {
  std::uintptr_t value = 0;
  friend bool operator==(NativeHandle a, NativeHandle b) noexcept { return a.value == b.value; }
};

// Who destroys what was made elsewhere and handed to us.
enum class Ownership : std::uint8_t {
  borrowed,  // Whoever made it, after the last handle is gone and its work has passed.
  owned,     // We, with the last handle.
};

// The bytes of one access, as native work receives them.
struct NativeBytes {
  std::uint64_t address = 0;  // Of the first byte, where the device has addresses.
  std::uint64_t size_bytes = 0;
  void* resource = nullptr;  // The backend's own object, where it has one,
  std::uint64_t offset = 0;  // and where in it the bytes begin.
};

}  // namespace thalweg
