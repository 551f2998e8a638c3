// SPDX-License-Identifier: Apache-2.0

#include "explore/minimise.hpp"

#include <algorithm>

namespace thalweg::explore_detail {
namespace {

constexpr std::uint64_t kRunsMax = 10'000;

bool alike(const FindingSide& a, const FindingSide& b) {
  return a.what == b.what && a.file == b.file && a.line == b.line;
}

class Minimiser {
 public:
  Minimiser(const RunSetup& setup, const Finding& finding, const Reference& sequential)
      : setup_(setup), finding_(finding), sequential_(sequential) {}

  Result<Minimised> minimise(Choices choices) {
    best_.choices = std::move(choices);
    // Brings them to the form that runs give: no choice that was the first, at the end.
    THALWEG_TRY(keeps(best_.choices));
    for (bool shorter = true; shorter && best_.runs < kRunsMax;) {
      THALWEG_TRY_ASSIGN(shorter, take_one_out());
    }
    return std::move(best_);
  }

 private:
  // From the end: what comes last is the likeliest not to matter.
  Result<bool> take_one_out() {
    for (std::size_t i = best_.choices.size(); i-- != 0 && best_.runs < kRunsMax;) {
      if (best_.choices[i] == sim::kNobody) continue;
      Choices without = best_.choices;
      without[i] = sim::kNobody;
      THALWEG_TRY_ASSIGN(const bool kept, keeps(without));
      if (kept) return true;
    }
    return false;
  }

  // Whether the choices give the finding. If so they are the best from then on.
  Result<bool> keeps(const Choices& choices) {
    ++best_.runs;
    THALWEG_TRY_ASSIGN(RunResult run, run_once(setup_, [&choices](const sim::World&) {
                         return std::make_unique<Replay>(choices);
                       }));
    if (setup_.program->actors.size() == 1) compare_contents(run, sequential_);
    const bool found =
        std::any_of(run.findings.begin(), run.findings.end(), [this](const Finding& finding) {
          return finding.kind == finding_.kind && alike(finding.first, finding_.first) &&
                 alike(finding.second, finding_.second);
        });
    if (!found) return false;
    for (std::size_t i = 0; i != run.choices.size(); ++i)
      if (run.first[i]) run.choices[i] = sim::kNobody;
    while (!run.choices.empty() && run.choices.back() == sim::kNobody) run.choices.pop_back();
    // Fewer choices, or the same: a change that only moves them does not count.
    const auto made = [](const Choices& list) {
      return list.size() -
             static_cast<std::size_t>(std::count(list.begin(), list.end(), sim::kNobody));
    };
    if (best_.runs > 1 && made(run.choices) >= made(best_.choices)) return false;
    best_.choices = std::move(run.choices);
    return true;
  }

  const RunSetup& setup_;
  const Finding& finding_;
  const Reference& sequential_;
  Minimised best_;
};

}  // namespace

Result<Minimised> minimise(const RunSetup& setup, Choices choices, const Finding& finding,
                           const Reference& sequential) {
  return Minimiser(setup, finding, sequential).minimise(std::move(choices));
}

}  // namespace thalweg::explore_detail
