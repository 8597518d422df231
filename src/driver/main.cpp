// SPDX-License-Identifier: MIT
// fuseplan-driver: runs, checks, times and explains plans from the command line. Exit status: 0 if
// all is well, 1 for wrong results, refusals and failed calls, 2 for a command line not understood.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "driver/api.hpp"
#include "driver/commands.hpp"

namespace {

std::string version() {
  std::size_t major = 0, minor = 0, patch = 0;
  fuseplan::driver::check(fuseplanGetVersion(&major, &minor, &patch));
  return fmt::format("fuseplan {}.{}.{}", major, minor, patch);
}

// CLI11 says of an unknown command that one is missing.
std::string explain_failure(const CLI::App* app, const CLI::Error& error) {
  const CLI::App* command = app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  std::string expected;
  for (const CLI::App* known : command->get_subcommands([](const CLI::App*) { return true; }))
    expected += (expected.empty() ? "" : ", ") + known->get_name();
  if (expected.empty()) return CLI::FailureMessage::simple(app, error);
  const std::vector<std::string> words = command->remaining();
  const std::string wrong =
      words.empty() ? "A command is missing" : fmt::format("\"{}\" is no command", words.front());
  return CLI::FailureMessage::simple(
      app, CLI::ValidationError(fmt::format("{}, expected one of {}", wrong, expected)));
}

}  // namespace

int main(int argc, char** argv) {
  using namespace fuseplan::driver;
  CLI::App app{"Runs, checks, times and explains fused plans"};
  app.require_subcommand(1);
  app.set_version_flag("--version", version);
  app.failure_message(explain_failure);
  for (auto* add : {add_run, add_bench, add_cbainfer, add_demo, add_explain, add_support,
                    add_passes, add_cache, add_dump, add_tune, add_device, add_start})
    add(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const ExitCode& exit) {
    return exit.code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fuseplan-driver: %s\n", error.what());
    return 1;
  }
  return 0;
}
