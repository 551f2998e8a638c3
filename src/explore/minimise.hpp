// SPDX-License-Identifier: Apache-2.0
//
// explore/minimise.hpp - fewer choices that lead to the same finding.

#pragma once

#include "explore/run.hpp"

namespace thalweg::explore_detail {

struct Minimised {
  Choices choices;
  std::uint64_t runs = 0;
};

// Takes out one choice after the other (whoever comes first takes its place), and keeps what still
// gives `finding`, until no single one can go.
Result<Minimised> minimise(const RunSetup& setup, Choices choices, const Finding& finding,
                           const Reference& sequential);

}  // namespace thalweg::explore_detail
