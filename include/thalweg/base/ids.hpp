// SPDX-License-Identifier: Apache-2.0
//
// thalweg/base/ids.hpp - numbers with types.
//
// Ids are unique in the process and never reused: an id may outlive what it names.

#pragma once

#include <compare>
#include <cstdint>
#include <functional>

#include "thalweg/base/export.hpp"

namespace thalweg {

template <class Tag>
struct Id {
  std::uint64_t value = 0;  // 0 names nothing.

  explicit operator bool() const noexcept { return value != 0; }
  friend auto operator<=>(Id, Id) noexcept = default;
};

using DeviceId = Id<struct DeviceTag>;
using QueueId = Id<struct QueueTag>;
using AllocationId = Id<struct AllocationTag>;

namespace detail {
// Memory ordering: relaxed; the numbers are unique and say nothing else.
THALWEG_EXPORT std::uint64_t next_id() noexcept;
}  // namespace detail

template <class IdType>
IdType make_id() noexcept {
  return IdType{detail::next_id()};
}

// A queue counts what is enqueued on it, waits included: the n-th thing has serial n. 0 is before
// the first. At most kSerialMax.
struct Serial {
  std::uint64_t value = 0;
  friend auto operator<=>(Serial, Serial) noexcept = default;
};

inline constexpr std::uint64_t kSerialMax = (std::uint64_t{1} << 48) - 1;

}  // namespace thalweg

template <class Tag>
struct std::hash<thalweg::Id<Tag>> {
  std::size_t operator()(thalweg::Id<Tag> id) const noexcept {
    return std::hash<std::uint64_t>()(id.value);
  }
};
