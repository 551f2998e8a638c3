// SPDX-License-Identifier: Apache-2.0
//
// base/thrown.hpp - an exception in words.

#pragma once

#include <string>

namespace thalweg {

// Type and text of the exception that is being handled: "std::runtime_error: broken".
// REQUIRES: one is.
std::string thrown_words();

}  // namespace thalweg
