// SPDX-License-Identifier: Apache-2.0
//
// thalweg/backends.hpp - what could be opened here.

#pragma once

#include <string>
#include <vector>

#include "thalweg/base/export.hpp"

namespace thalweg {

struct BackendInfo {
  std::string name;  // What Device::open takes.
  bool available = false;
  std::string reason;                // Why it is not available; empty when it is.
  std::vector<std::string> devices;  // For people: "2 processors, 24 GiB".
};

// Every backend this library was built with, available or not. Threads: any.
THALWEG_EXPORT std::vector<BackendInfo> backends();

}  // namespace thalweg
