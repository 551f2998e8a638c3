// SPDX-License-Identifier: Apache-2.0

#include "explore/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace thalweg::explore_detail {
namespace {

using sim::FaultSite;
using sim::Refusal;

bool same(const std::source_location& a, const std::source_location& b) noexcept {
  return a.line() == b.line() && a.column() == b.column() &&
         std::string_view(a.file_name()) == b.file_name();
}

std::string text_of(const std::source_location& site) {
  return fmt::format("{}:{}", file_name(site.file_name()), site.line());
}

// A call of the program's of which something was refused. All of it names the fault.
struct Refused {
  std::vector<const Refusal*> refusals;
  bool told = false;

  const Refusal& last() const noexcept { return *refusals.back(); }

  bool explains(const Error& error) const noexcept {
    return same(error.site(), last().caller.site) && is_in(error);
  }

  // Somebody reads what the task should have written.
  bool left_unwritten(const Error& error) const noexcept {
    return error.kind() == ErrorKind::unwritten && last().fault == FaultSite::run &&
           is_in(error.root());
  }

 private:
  bool is_in(const Error& error) const noexcept {
    return std::any_of(refusals.begin(), refusals.end(), [&error](const Refusal* refusal) {
      return error.message().find(refusal->message) != std::string_view::npos;
    });
  }
};

// Calls that have to give an error.
std::vector<Refused> refused_calls(const RunResult& run) {
  std::vector<Refused> calls;
  for (const Refusal& refusal : run.refusals) {
    // A fence that is refused leaves what it was for to the next one.
    if (refusal.recovered || refusal.fault == FaultSite::fence) continue;
    const bool again = !calls.empty() && refusal.fault != FaultSite::run &&
                       calls.back().last().caller.number == refusal.caller.number;
    if (!again) calls.emplace_back();
    calls.back().refusals.push_back(&refusal);
  }
  return calls;
}

bool lost(const RunResult& run) noexcept {
  return std::any_of(run.refusals.begin(), run.refusals.end(),
                     [](const Refusal& refusal) { return refusal.fault == FaultSite::lost; });
}

void add(RunResult& run, std::string message, const std::source_location& site) {
  Finding finding;
  finding.kind = FindingKind::wrong_error;
  finding.message = std::move(message);
  finding.first.file = file_name(site.file_name());
  finding.first.line = site.line();
  run.findings.push_back(std::move(finding));
}

bool has(const RunResult& run, FindingKind kind) noexcept {
  return std::any_of(run.findings.begin(), run.findings.end(),
                     [kind](const Finding& finding) { return finding.kind == kind; });
}

bool is_usual(const Error& error, const std::vector<Error>& usual) noexcept {
  return std::any_of(usual.begin(), usual.end(), [&error](const Error& other) {
    return other.kind() == error.kind() && same(other.site(), error.site());
  });
}

}  // namespace

std::size_t check_errors(RunResult& run, const std::vector<Error>& usual, bool all_told) {
  std::vector<Refused> calls = refused_calls(run);
  const bool device_lost = lost(run);
  // Waits for what the refused task would have signalled.
  const bool waits_in_vain = !same_work(run) && !device_lost && has(run, FindingKind::deadlock);
  std::size_t explained = 0;
  for (const Error& error : run.told) {
    const auto by = std::find_if(calls.begin(), calls.end(), [&error](const Refused& call) {
      return !call.told && call.explains(error);
    });
    if (by != calls.end()) by->told = true;
    const bool unwritten = std::any_of(calls.begin(), calls.end(), [&error](const Refused& call) {
      return call.left_unwritten(error);
    });
    if (by != calls.end() || unwritten || (device_lost && error.kind() == ErrorKind::device_lost) ||
        (waits_in_vain && error.kind() == ErrorKind::wait_forbidden)) {
      ++explained;
    } else if (!is_usual(error, usual)) {
      add(run,
          fmt::format("The call at {} gives an error that is not its own: {}: {}",
                      text_of(error.site()), name(error.kind()), error.message()),
          error.site());
    }
  }
  for (const Refused& call : calls) {
    const FaultSite fault = call.last().fault;
    // Nobody may hold the future of a task, or ask a lost device.
    if (call.told || !all_told || fault == FaultSite::run || fault == FaultSite::lost) continue;
    add(run,
        fmt::format("The call at {} was refused, and gives no error that says so: {}",
                    text_of(call.last().caller.site), call.last().message),
        call.last().caller.site);
  }
  return explained;
}

void drop_consequences(RunResult& run) {
  if (same_work(run) || lost(run)) return;
  std::erase_if(run.findings, [](const Finding& finding) {
    return finding.kind == FindingKind::unwritten_read || finding.kind == FindingKind::never_ran ||
           finding.kind == FindingKind::deadlock;
  });
}

bool same_work(const RunResult& run) noexcept {
  return std::all_of(run.refusals.begin(), run.refusals.end(), [](const Refusal& refusal) {
    return refusal.recovered || refusal.fault == FaultSite::fence;
  });
}

}  // namespace thalweg::explore_detail
