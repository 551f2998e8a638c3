// SPDX-License-Identifier: Apache-2.0
//
// tests/support/device_memory.hpp - the bytes of a view, for host functions of tests.
//
// On the cpu a device's address is one of the host. Only for use inside a task that declared the
// access.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "thalweg/buffer.hpp"

namespace thalweg::test {

template <Viewable V>
std::span<ElementOf<V>> device_span(const V& view) {
  using T = ElementOf<V>;
  const detail::ViewParts parts = detail::ViewTraits<V>::parts(view);
  if (parts.memory == nullptr || parts.count == 0) return {};
  const auto address = static_cast<std::uintptr_t>(parts.memory->address + parts.offset_bytes);
  return {reinterpret_cast<T*>(address), static_cast<std::size_t>(parts.count)};
}

}  // namespace thalweg::test
