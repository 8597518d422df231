// SPDX-License-Identifier: MIT
#include <cstdio>

#include "driver/commands.hpp"
#include "driver/report.hpp"
#include "driver/shared_flags.hpp"

namespace fuseplan::driver {
namespace {

struct RunFlags {
  MeasureOptions measure;
  FormFlags form;
  std::vector<std::string> problems;
  std::string list, chain;
  std::int64_t batch = 0;
  bool json = false, no_verify = false, no_unfused = false, changing_weights = false;
};

// Text says everything about its problem; what only shapes a list must not be ignored beside it.
void refuse_list_flags(const CLI::App& command, const RunFlags& flags) {
  if (!flags.list.empty()) return;
  for (const char* name : {"--layout", "--dtype", "--chain", "--batch"})
    if (command.get_option(name)->count() > 0) throw CLI::RequiresError(name, "--list");
}

void run(const CLI::App& command, RunFlags& flags) {
  refuse_list_flags(command, flags);
  flags.measure.verify = !flags.no_verify;
  flags.measure.unfused = !flags.no_unfused;
  flags.measure.constant_weights = !flags.changing_weights;
  std::vector<ProblemSpec> problems;
  for (const std::string& text : flags.problems) problems.push_back(parse_problem(text));
  if (!flags.list.empty())
    for (ProblemSpec& problem : read_list(
             flags.list,
             {flags.chain, flags.batch, parse_type(flags.form.type), flags.form.channels_last()}))
      problems.push_back(std::move(problem));
  if (problems.empty()) throw CLI::RequiredError("a problem or --list");
  measure_and_report(problems, flags.measure, flags.json);
}

}  // namespace

void measure_and_report(const std::vector<ProblemSpec>& problems, const MeasureOptions& options,
                        bool json) {
  const Handle handle = make_handle(options);
  std::vector<Measurement> measurements;
  {
    Progress progress(problems.size());
    for (const ProblemSpec& problem : problems) {
      progress.step(problem.name);
      measurements.push_back(measure(handle.get(), problem, options));
    }
  }
  bool right = true;
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Measurement& m : measurements) {
    right = right && m.verified.value_or(true) && m.unfused_verified.value_or(true);
    list.push_back(to_json(m));
  }
  if (json) {
    std::puts((list.size() == 1 ? list[0] : list).dump(2).c_str());
  } else {
    std::fputs(to_table(measurements).c_str(), stdout);
  }
  if (!right) throw ExitCode{1};
}

void add_run(CLI::App& app) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* command = app.add_subcommand("run", "Run problems: check them, time fused and unfused");
  command->add_option("problem", flags->problems,
                      "problems as text, e.g. \"f32:1x64x56x56:nhwc;conv(f32:64x64x3x3,pad=1x1);"
                      "bias(f32:1x64x1x1);activation(relu)\"");
  command->add_option("--list", flags->list, "a CSV list of shapes, a path or a name in problems/");
  command->add_option("--chain", flags->chain,
                      "ops behind each shape of the list, e.g. \"bias;norm;activation(gelu_erf)\"");
  command->add_option("--batch", flags->batch, "batch size instead of the list's")
      ->check(at_least(1));
  add_form_flags(*command, flags->form);
  add_handle_flags(*command, flags->measure);
  command->add_flag("--json", flags->json, "print JSON");
  command->add_flag(
      "--verify,!--no-verify", [flags](std::int64_t on) { flags->no_verify = on < 0; },
      "compare with the double-precision reference (on by default)");
  command->add_flag("--no-unfused", flags->no_unfused, "do not run the ops one by one as well");
  command->add_flag("--changing-weights", flags->changing_weights,
                    "let every execution look whether the weights have changed");
  command->add_option("--seconds", flags->measure.seconds, "time spent timing each problem")
      ->check(duration())
      ->capture_default_str();
  command
      ->add_option("-i,--iterations", flags->measure.iterations,
                   "exact number of timed executions instead")
      ->check(at_least(1));
  command->callback([command, flags] { run(*command, *flags); });
}

}  // namespace fuseplan::driver
