// SPDX-License-Identifier: Apache-2.0

#include "base/callback.hpp"

#include <fmt/format.h>

#include <exception>
#include <string_view>

#include "base/explored.hpp"
#include "thalweg/base/error.hpp"
#include "thalweg/base/log.hpp"

namespace thalweg {

void call_reporting(UniqueFunction& function) noexcept {
  const auto report = [](std::string_view what) {
    if (ExploredProgram* const program = ExploredProgram::here())
      return program->callback_threw(what);
    detail::to_error_sink(Error(ErrorKind::task_failed, fmt::format("A callback threw {}.", what)));
  };
  try {
    function();
  } catch (const MustFailed&) {
    // The exploration was told before it was thrown.
  } catch (const std::exception& thrown) {
    const char* const text = thrown.what();
    report(text != nullptr ? text : "no text");
  } catch (...) {
    report("something that is no std::exception");
  }
}

}  // namespace thalweg
