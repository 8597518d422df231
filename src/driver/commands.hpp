// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>

namespace fuseplan::driver {

// Each adds its subcommand to the application; the callback it sets does the work and throws
// ExitCode for a result that is neither success nor an error of the caller's.
void add_run(CLI::App& app);
void add_bench(CLI::App& app);
void add_cbainfer(CLI::App& app);
void add_demo(CLI::App& app);
void add_explain(CLI::App& app);
void add_support(CLI::App& app);
void add_passes(CLI::App& app);
void add_cache(CLI::App& app);
void add_dump(CLI::App& app);
void add_device(CLI::App& app);
void add_start(CLI::App& app);
void add_tune(CLI::App& app);

struct ExitCode {
  int code;
};

}  // namespace fuseplan::driver
