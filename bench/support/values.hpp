// SPDX-License-Identifier: Apache-2.0
//
// support/values.hpp - order statistics.

#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace thalweg::bench {

// The value below which `share` of the samples lie. Reorders them. REQUIRES: there is one.
template <class T>
T percentile(std::vector<T>& samples, double share) {
  const auto index =
      static_cast<std::size_t>(share * static_cast<double>(samples.size() - 1) + 0.5);
  const auto place = samples.begin() + static_cast<std::ptrdiff_t>(index);
  std::nth_element(samples.begin(), place, samples.end());
  return *place;
}

struct Spread {
  double median = 0;
  double low = 0;  // The lowest and the highest value.
  double high = 0;
};

// REQUIRES: there is a value.
inline Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  const double median =
      values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {median, values.front(), values.back()};
}

}  // namespace thalweg::bench
