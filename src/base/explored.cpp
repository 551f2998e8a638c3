// SPDX-License-Identifier: Apache-2.0

#include "base/explored.hpp"

namespace thalweg {
namespace {

thread_local ExploredProgram* explored = nullptr;

}  // namespace

ExploredProgram* ExploredProgram::here() noexcept { return explored; }

void ExploredProgram::enter(ExploredProgram& program) noexcept { explored = &program; }

ExploredProgram::Scope::Scope(ExploredProgram& program) noexcept
    : outer_(std::exchange(explored, &program)) {}

ExploredProgram::Scope::~Scope() { explored = outer_; }

}  // namespace thalweg
