// SPDX-License-Identifier: Apache-2.0

#include "scenario/call_sites.hpp"

#include <bit>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>

namespace thalweg::tool::scenario {
namespace {

// The standard has no way to make a location of a place that is not in the source. GCC and Clang
// have the compiler write such a record, and a location is a pointer to one. Whether that is so is
// asked when the records are made: elsewhere call sites are those of this program.
struct Place {
  const char* file;
  const char* function;
  unsigned line;
  unsigned column;
};

constexpr bool kPointsToPlace = sizeof(std::source_location) == sizeof(const std::byte*) &&
                                std::is_trivially_copyable_v<std::source_location>;

std::source_location location_of([[maybe_unused]] const std::byte* place) noexcept {
  if constexpr (kPointsToPlace) {
    return std::bit_cast<std::source_location>(place);
  } else {
    return std::source_location::current();
  }
}

// Read by the compiler's own record: a location that points to another kind of record would not
// have these values.
bool locations_point_to_places() noexcept {
  if constexpr (!kPointsToPlace) return false;
  const std::source_location here = std::source_location::current();
  Place place;
  const auto* const address = std::bit_cast<const std::byte*>(here);
  std::memcpy(&place, address, sizeof(place));
  return place.line == here.line() && place.column == here.column() &&
         place.file == here.file_name() && place.function == here.function_name();
}

}  // namespace

CallSites::CallSites(std::string file, std::uint32_t lines) : file_(std::move(file)) {
  if (!locations_point_to_places()) return;
  places_ = std::make_unique<std::byte[]>((std::size_t{lines} + 1) * sizeof(Place));
  for (std::uint32_t line = 0; line <= lines; ++line) {
    const Place place{file_.c_str(), "", line, 1};
    std::memcpy(places_.get() + line * sizeof(Place), &place, sizeof(Place));
  }
}

std::source_location CallSites::at(std::uint32_t line) const noexcept {
  if (!places_) return std::source_location::current();
  return location_of(places_.get() + line * sizeof(Place));
}

}  // namespace thalweg::tool::scenario
