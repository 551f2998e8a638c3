// SPDX-License-Identifier: Apache-2.0
//
// tests/support/refusal.hpp - under this name for all tests: the contract suite has it, because it
// is installed and sees nothing outside its folder.

#pragma once

#include "contract/support/refusal.hpp"  // IWYU pragma: export
