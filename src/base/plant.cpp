// SPDX-License-Identifier: Apache-2.0

#include "base/plant.hpp"

#if defined(THALWEG_TEST_HOOKS)

#include <cstdlib>

namespace thalweg::plant {

Bug from_environment() noexcept {
  const char* const number = std::getenv("THALWEG_PLANT");
  return number != nullptr ? static_cast<Bug>(std::atoi(number)) : Bug::none;
}

}  // namespace thalweg::plant

#endif
