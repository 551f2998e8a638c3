// SPDX-License-Identifier: Apache-2.0
//
// tools/input_file.hpp - a text file as a whole, or the standard input.

#pragma once

#include <cstddef>
#include <string>

#include "thalweg/base/result.hpp"

namespace thalweg::tool {

// The bytes of the file, or for "-" of the standard input, up to its end. Pipes are fine.
// Errors: not_found, with the system's words; invalid_argument for more than `size_max` bytes;
//         cancelled, when the program is interrupted.
Result<std::string> read_input(const std::string& path, std::size_t size_max);

// The file's name for messages.
std::string input_name(const std::string& path);

}  // namespace thalweg::tool
