// SPDX-License-Identifier: Apache-2.0
//
// runtime/record.hpp - who uses the bytes of an allocation: tasks, and views the host has open.

#pragma once

#include <cstdint>
#include <vector>

#include "thalweg/order/access_map.hpp"

namespace thalweg::runtime {

// A range that the host reads, or reads and writes, until the view is closed.
struct OpenView {
  std::uint64_t ticket = 0;
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;
  bool writes = false;
};

struct Record {
  order::AccessMap map;
  std::vector<OpenView> views;

  // The view that forbids `access`; null when there is none.
  const OpenView* against(const Access& access) const noexcept;

  // Null when there is none.
  const OpenView* view(std::uint64_t ticket) const noexcept;

  void close(std::uint64_t ticket) noexcept;
};

}  // namespace thalweg::runtime
