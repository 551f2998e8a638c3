// SPDX-License-Identifier: Apache-2.0
//
// The command `thalweg`. Exit code 0: all is well; 1: a result differs, or a
// rule was found broken; 2: an error, in one line on
// stderr; 128 and the signal's number: ended by it.

#include <CLI/CLI.hpp>
#include <exception>
#include <new>

#include "arguments.hpp"
#include "commands.hpp"
#include "interrupt.hpp"
#include "text.hpp"

namespace thalweg::tool {
namespace {

Error refused(std::string text) { return Error(ErrorKind::invalid_argument, std::move(text)); }

Result<int> run(int count, char** arguments) {
  CLI::App app("thalweg: a stream runtime for asynchronous compute", "thalweg");
  app.require_subcommand(1);
  DemoArguments demo_arguments;
  const CLI::App* const demo_command = demo_arguments.add_to(app);
  ExploreArguments explore_arguments;
  const CLI::App* const explore_command = explore_arguments.add_to(app);
  app.add_subcommand("devices", "List the backends, and why those that are not available are not");
  try {
    app.parse(count, arguments);
  } catch (const CLI::Success& success) {  // --help
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return refused(std::string(error.what()) + " (--help lists the options.)");
  }
  if (demo_command->parsed()) {
    THALWEG_TRY_ASSIGN(const DemoOptions options, std::move(demo_arguments).parsed());
    return demo(options);
  }
  if (explore_command->parsed()) {
    THALWEG_TRY_ASSIGN(ExploreCommand command, std::move(explore_arguments).parsed());
    return explore(std::move(command));
  }
  return devices();
}

int run_and_explain(int count, char** arguments) {
  try {
    const Result<int> code = run(count, arguments);
    if (code) return *code;
    if (interrupted()) {
      complain("Interrupted; nothing is written.");
      return interrupted_exit_code();
    }
    complain(message_of(code.error()));
  } catch (const std::bad_alloc&) {
    complain("The memory of this machine is not enough.");
  } catch (const std::exception& error) {
    complain(error.what());
  }
  return kExitError;
}

}  // namespace
}  // namespace thalweg::tool

int main(int count, char** arguments) {
  thalweg::tool::catch_signals();
  return thalweg::tool::run_and_explain(count, arguments);
}
