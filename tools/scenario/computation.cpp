// SPDX-License-Identifier: Apache-2.0

#include "scenario/computation.hpp"

#include <cstring>

namespace thalweg::tool::scenario {
namespace {

std::byte* place_of(const Bytes& bytes, std::uint64_t index) noexcept {
  return reinterpret_cast<std::byte*>(bytes.address + index * size_of(bytes.element));
}

std::uint32_t load(const Bytes& bytes, std::uint64_t index) noexcept {
  const std::byte* const place = place_of(bytes, index);
  if (bytes.element == Element::u8) return static_cast<std::uint32_t>(*place);
  std::uint32_t value;
  std::memcpy(&value, place, sizeof(value));
  return value;
}

void store(const Bytes& bytes, std::uint64_t index, std::uint32_t value) noexcept {
  std::byte* const place = place_of(bytes, index);
  if (bytes.element == Element::u8)
    *place = static_cast<std::byte>(value);
  else
    std::memcpy(place, &value, sizeof(value));
}

// Gives each element of all ranges a value made of its old one.
template <class Make>
void change(const std::vector<Bytes>& ranges, const Make& make) {
  for (const Bytes& bytes : ranges)
    for (std::uint64_t i = 0; i < bytes.count; ++i) store(bytes, i, make(bytes, i));
}

void take_all(const std::vector<Bytes>& ranges, Mixer& mixer) {
  for (const Bytes& bytes : ranges)
    for (std::uint64_t i = 0; i < bytes.count; ++i) mixer.take(load(bytes, i));
}

}  // namespace

Mixer::Mixer(std::string_view name) noexcept : state_(name.size()) {
  for (const char c : name) take(static_cast<unsigned char>(c));
}

// The constants are those of Knuth's generator of 64 bits.
void Mixer::take(std::uint32_t value) noexcept {
  state_ = (state_ ^ value) * 6364136223846793005u + 1442695040888963407u;
  state_ ^= state_ >> 29;
}

std::uint32_t Mixer::give() noexcept {
  take(0);
  return static_cast<std::uint32_t>(state_ >> 32);
}

void Computation::run() const {
  if (compute == Compute::add)
    return change(updates,
                  [this](const Bytes& bytes, std::uint64_t i) { return load(bytes, i) + value; });
  Mixer mixer(name);
  if (compute == Compute::mix) {
    take_all(reads, mixer);
    take_all(updates, mixer);
  }
  const auto next = [&](const Bytes&, std::uint64_t) {
    return compute == Compute::set ? value : mixer.give();
  };
  change(writes, next);
  change(updates, next);
}

}  // namespace thalweg::tool::scenario
