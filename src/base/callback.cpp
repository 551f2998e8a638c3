// SPDX-License-Identifier: Apache-2.0

#include "base/callback.hpp"

#include <fmt/format.h>

#include <source_location>
#include <string>

#include "base/explored.hpp"
#include "base/thrown.hpp"
#include "thalweg/base/error.hpp"
#include "thalweg/base/log.hpp"

namespace thalweg {

void call_reporting(UniqueFunction& function) noexcept {
  try {
    function();
  } catch (const MustFailed&) {
    // The exploration was told before it was thrown.
  } catch (...) {
    const std::string what = thrown_words();
    if (ExploredProgram* const program = ExploredProgram::here())
      return program->callback_threw(what);
    // Where it was handed in is not known here.
    detail::to_error_sink(Error(ErrorKind::task_failed, fmt::format("A callback threw {}.", what),
                                std::source_location()));
  }
}

}  // namespace thalweg
