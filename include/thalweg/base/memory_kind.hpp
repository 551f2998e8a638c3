// SPDX-License-Identifier: Apache-2.0
//
// thalweg/base/memory_kind.hpp - the two kinds of memory a device gives.

#pragma once

#include <cstdint>

namespace thalweg {

enum class MemoryKind : std::uint8_t {
  device,
  host,  // Of the host and within the device's reach; its pages are locked where the system does.
};

}  // namespace thalweg
