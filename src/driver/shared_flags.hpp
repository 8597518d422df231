// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>

#include "driver/measure.hpp"
#include "driver/problem_list.hpp"

namespace fuseplan::driver {

/// What numbers may be: refusals name the option, what it was given and what it takes.
inline CLI::Range at_least(std::int64_t least) { return {least, std::int64_t{1} << 30}; }
inline CLI::Validator duration() {
  const auto refusal = [](const std::string& text) -> std::string {
    double seconds = 0;
    if (CLI::detail::lexical_cast(text, seconds) && std::isfinite(seconds) && seconds > 0)
      return {};
    return "Value " + text + " is not a finite number of seconds above 0";
  };
  return {refusal, "above 0"};
}

/// --device, --threads and --options, which every command takes that makes a handle.
inline void add_handle_flags(CLI::App& command, MeasureOptions& options) {
  command.add_option("--device", options.device, "cpu or cuda:N")->capture_default_str();
  command.add_option("--threads", options.threads, "CPU threads; 0: as many as OpenMP offers")
      ->check(CLI::Range(0, 4096));
  command.add_option("--options", options.library_options,
                     "library options, e.g. \"--max_isa=avx2 --disable_pass=cse\"");
}

/// --layout and --dtype.
struct FormFlags {
  std::string layout = "nchw", type = "f32";
  bool channels_last() const { return layout == "nhwc"; }
};
inline void add_form_flags(CLI::App& command, FormFlags& flags) {
  command.add_option("--layout", flags.layout, "of all tensors")
      ->check(CLI::IsMember({"nchw", "nhwc"}))
      ->capture_default_str();
  command.add_option("--dtype", flags.type, "of all data tensors; weights for u8 are i8")
      ->check(CLI::IsMember({"f32", "f16", "bf16", "i8", "u8"}))
      ->capture_default_str();
}

/// Measures all problems with a progress bar and prints a table, or JSON. Throws ExitCode{1} if any
/// result is wrong.
void measure_and_report(const std::vector<ProblemSpec>& problems, const MeasureOptions& options,
                        bool json);

}  // namespace fuseplan::driver
