// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>

#include "commands.hpp"
#include "text.hpp"
#include "thalweg/backends.hpp"

namespace thalweg::tool {

Result<int> devices() {
  const std::vector<BackendInfo> known = backends();
  std::size_t width = 0;
  for (const BackendInfo& backend : known) width = std::max(width, backend.name.size());

  std::string text;
  const auto add = [&](std::string_view name, std::string_view state, std::string_view more) {
    text += fmt::format("{:<{}}  {:<13}  {}", name, width, state, on_one_line(more));
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  };
  for (const BackendInfo& backend : known) {
    if (!backend.available) {
      add(backend.name, "not available", backend.reason);
      continue;
    }
    add(backend.name, "available", backend.devices.empty() ? "" : backend.devices.front());
    for (std::size_t i = 1; i < backend.devices.size(); ++i) add("", "", backend.devices[i]);
  }
  if (known.empty()) text = "This build has no backend.\n";
  THALWEG_TRY(print(text));
  return kExitEqual;
}

}  // namespace thalweg::tool
