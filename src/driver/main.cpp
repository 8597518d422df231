// SPDX-License-Identifier: MIT
// fuseplan-driver: runs, checks, times and explains plans from the command line. Exit status: 0 if
// all is well, 1 for wrong results, refusals and failed calls, 2 for a command line not understood.
#include <cstdio>
#include <exception>

#include "driver/commands.hpp"

int main(int argc, char** argv) {
  using namespace fuseplan::driver;
  CLI::App app{"Runs, checks, times and explains fused plans"};
  app.require_subcommand(1);
  for (auto* add :
       {add_run, add_cbainfer, add_demo, add_explain, add_support, add_passes, add_cache, add_dump})
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
