// SPDX-License-Identifier: Apache-2.0

#include "thalweg/base/no_wait.hpp"

namespace thalweg {
namespace {
thread_local unsigned depth = 0;
}  // namespace

NoWaitScope::NoWaitScope() noexcept { ++depth; }
NoWaitScope::~NoWaitScope() { --depth; }
bool NoWaitScope::active() noexcept { return depth != 0; }

}  // namespace thalweg
