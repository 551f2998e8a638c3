// SPDX-License-Identifier: Apache-2.0
//
// The command `thalweg`. Exit code 0: all is well; 1: a result differs; 2: an error, in one line on
// stderr; 128 and the signal's number: ended by it.

#include <CLI/CLI.hpp>
#include <charconv>
#include <exception>
#include <new>

#include "commands.hpp"
#include "interrupt.hpp"
#include "text.hpp"

namespace thalweg::tool {
namespace {

Error refused(std::string text) { return Error(ErrorKind::invalid_argument, std::move(text)); }

Result<std::int64_t> whole_number(std::string_view text, std::string_view option) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::result_out_of_range)
    return refused(std::string(option) + " '" + std::string(text) + "' is out of range.");
  if (error != std::errc() || end != text.data() + text.size())
    return refused(std::string(option) + " '" + std::string(text) + "' is not a whole number.");
  return number;
}

// "1,2,4"
Result<std::vector<std::int64_t>> whole_numbers(std::string_view text, std::string_view option) {
  std::vector<std::int64_t> numbers;
  for (;;) {
    const std::size_t comma = std::min(text.find(','), text.size());
    THALWEG_TRY_ASSIGN(numbers.emplace_back(), whole_number(text.substr(0, comma), option));
    if (comma == text.size()) return numbers;
    text.remove_prefix(comma + 1);
  }
}

// The options as they were typed; numbers are read here so that every mistake gets one clear line.
struct DemoArguments {
  DemoOptions options;
  std::string streams = "1,2,4";
  std::string bands;
  std::string repeats = "5";

  CLI::App* add_to(CLI::App& app) {
    CLI::App* const demo = app.add_subcommand(
        "demo",
        "Run a picture through a multi-stream pipeline, and compare each result byte for "
        "byte with a sequential program's");
    demo->add_option("IMAGE", options.image, "A PNG or JPEG file; without it, a picture of ours");
    demo->add_option("--streams", streams, "How many streams, one run for each number")
        ->type_name("N,N,...")
        ->capture_default_str();
    demo->add_option("--bands", bands, "Bands of rows to cut the picture into (default: 16)")
        ->type_name("N");
    demo->add_option("--device", options.devices,
                     "A device to run on, as in cpu or cpu?workers=4; may be given several times "
                     "(default: every backend that is available)")
        ->type_name("NAME")
        ->allow_extra_args(false);
    demo->add_option("--repeat", repeats, "How often to run and measure each")
        ->type_name("N")
        ->capture_default_str();
    demo->add_option("--out", options.out, "Where the resulting picture goes")
        ->type_name("FILE")
        ->capture_default_str();
    demo->add_flag("--json", options.json, "Print one JSON object instead of the table");
    return demo;
  }

  Result<DemoOptions> parsed() && {
    THALWEG_TRY_ASSIGN(options.streams, whole_numbers(streams, "--streams"));
    THALWEG_TRY_ASSIGN(options.repeats, whole_number(repeats, "--repeat"));
    if (!bands.empty()) {
      THALWEG_TRY_ASSIGN(options.bands, whole_number(bands, "--bands"));
      if (options.bands == 0) return refused("--bands 0 leaves nothing of the picture.");
    }
    return std::move(options);
  }
};

Result<int> run(int count, char** arguments) {
  CLI::App app("thalweg: a stream runtime for asynchronous compute", "thalweg");
  app.require_subcommand(1);
  DemoArguments demo_arguments;
  const CLI::App* const demo_command = demo_arguments.add_to(app);
  app.add_subcommand("devices", "List the backends, and why those that are not available are not");
  try {
    app.parse(count, arguments);
  } catch (const CLI::Success& success) {  // --help
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return refused(std::string(error.what()) + " (--help lists the options.)");
  }
  if (!demo_command->parsed()) return devices();
  THALWEG_TRY_ASSIGN(const DemoOptions options, std::move(demo_arguments).parsed());
  return demo(options);
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
