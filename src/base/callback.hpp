// SPDX-License-Identifier: Apache-2.0
//
// base/callback.hpp - calls a function of the program's that nobody takes an exception from.

#pragma once

#include "thalweg/base/unique_function.hpp"

namespace thalweg {

// Calls `function` here. What it throws goes to the error sink; in an exploration it is a finding.
void call_reporting(UniqueFunction& function) noexcept;

}  // namespace thalweg
