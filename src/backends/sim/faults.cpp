// SPDX-License-Identifier: Apache-2.0

#include "backends/sim/faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace thalweg::sim {
namespace {

constexpr std::array<std::string_view, kFaultSites> kNames{
    "create_stream", "alloc", "fence",   "wait", "fill", "copy",  "launch",
    "host",          "other", "compile", "run",  "lost", "never", "slow"};
constexpr std::uint64_t kChance = 64;

Error bad(std::string_view item, std::source_location site) {
  return Error(
      ErrorKind::invalid_argument,
      fmt::format("`{}` is no fault: `site:n` and `site:n+` are, with n from 1 and site one "
                  "of {}; or `seed:n`.",
                  item, fmt::join(kNames, ", ")),
      site);
}

std::optional<std::uint64_t> number(std::string_view text) noexcept {
  std::uint64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// A seed's draws are for calls that can simply be refused.
bool refusable(FaultSite site) noexcept { return site <= FaultSite::compile; }

}  // namespace

std::string_view name(FaultSite site) noexcept { return kNames[static_cast<std::size_t>(site)]; }

FaultSite site_of(neutral::TaskKind kind) noexcept {
  using Kind = neutral::TaskKind;
  switch (kind) {
    case Kind::fill:
      return FaultSite::fill;
    case Kind::copy:
    case Kind::upload:
    case Kind::read_back:
      return FaultSite::copy;
    case Kind::kernel:
    case Kind::indirect:
      return FaultSite::launch;
    case Kind::host:
    case Kind::native:
      return FaultSite::host;
    default:
      return FaultSite::other;
  }
}

Result<Faults> Faults::parse(std::string_view text, std::source_location site) {
  Faults faults;
  for (bool more = !text.empty(); more;) {
    const std::string_view item = text.substr(0, text.find(','));
    more = item.size() != text.size();
    text.remove_prefix(item.size() + (more ? 1 : 0));
    const std::size_t colon = item.find(':');
    if (colon == std::string_view::npos) return bad(item, site);
    const bool onwards = item.back() == '+';
    const auto nth = number(item.substr(colon + 1, item.size() - colon - (onwards ? 2 : 1)));
    if (!nth) return bad(item, site);
    if (item.substr(0, colon) == "seed" && !onwards) {
      faults.random_.emplace(*nth);
      continue;
    }
    const auto known = std::find(kNames.begin(), kNames.end(), item.substr(0, colon));
    if (known == kNames.end() || *nth == 0) return bad(item, site);
    faults.rules_.push_back({static_cast<FaultSite>(known - kNames.begin()), *nth, onwards});
  }
  return faults;
}

// All refusable sites draw from one row of numbers.
std::uint16_t Faults::rows(FaultSite site) const noexcept {
  static_assert(kFaultSites < 15);
  unsigned rows = random_ && refusable(site) ? 1u << 15 : 0u;
  if (std::any_of(rules_.begin(), rules_.end(), [site](const Rule& r) { return r.site == site; }))
    rows |= 1u << index(site);
  return static_cast<std::uint16_t>(rows);
}

bool Faults::refuses(FaultSite site, std::uint64_t call) noexcept {
  bool refused = std::any_of(rules_.begin(), rules_.end(), [&](const Rule& rule) {
    return rule.site == site && (rule.nth == call || (rule.onwards && rule.nth < call));
  });
  if (random_ && refusable(site)) refused = random_->below(kChance) == 0 || refused;
  refused_ += refused ? 1 : 0;
  return refused;
}

void Faults::end() noexcept {
  rules_.clear();
  random_.reset();
}

Error Faults::refusal(FaultSite site, std::uint64_t nth) {
  const ErrorKind kind = site == FaultSite::compile ? ErrorKind::compile_failed
                         : site == FaultSite::run   ? ErrorKind::task_failed
                         : site == FaultSite::lost  ? ErrorKind::device_lost
                                                    : ErrorKind::out_of_memory;
  return Error(kind, fmt::format("The simulated device was told to fail here (fault {}:{}).",
                                 name(site), nth));
}

}  // namespace thalweg::sim
