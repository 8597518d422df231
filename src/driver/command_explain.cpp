// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cstdio>

#include "driver/commands.hpp"
#include "driver/shared_flags.hpp"

namespace fuseplan::driver {
namespace {

struct ExplainFlags {
  MeasureOptions measure;
  std::string problem;
};

Plan plan_of(const std::string& text) {
  return make<Plan>(fuseplanCreatePlanFromString, text.c_str());
}

void explain(const ExplainFlags& flags) {
  const Handle handle = make_handle(flags.measure);
  const Plan plan = plan_of(flags.problem);
  fuseplanFusionSupport_t support = {};
  support.structSize = sizeof support;
  check(fuseplanQueryFusionSupport(handle.get(), plan.get(), &support));
  std::puts(support.fused != 0 ? fmt::format("fused by {}", support.solver).c_str() : "not fused");
  std::puts(text_of([&](char* text, std::size_t* size) {
              return fuseplanPlanExplain(handle.get(), plan.get(), text, size);
            }).c_str());
  if (support.fused == 0) throw ExitCode{1};
}

void print_passes(const ExplainFlags& flags) {
  int count = 0;
  if (flags.problem.empty()) {
    check(fuseplanGetPasses(0, &count, nullptr));
    std::vector<fuseplanPassInfo_t> passes(static_cast<std::size_t>(count));
    if (count > 0) passes[0].structSize = sizeof passes[0];
    check(fuseplanGetPasses(count, &count, passes.data()));
    for (const fuseplanPassInfo_t& pass : passes)
      std::puts(fmt::format("{:<20} {:<13} {}", pass.name,
                            pass.switchable != 0 ? "switchable" : "always on", pass.description)
                    .c_str());
    return;
  }
  const Handle handle = make_handle(flags.measure);
  const Plan plan = plan_of(flags.problem);
  check(fuseplanPlanGetPassReport(handle.get(), plan.get(), 0, &count, nullptr));
  std::vector<fuseplanPassReport_t> passes(static_cast<std::size_t>(count));
  if (count > 0) passes[0].structSize = sizeof passes[0];
  check(fuseplanPlanGetPassReport(handle.get(), plan.get(), count, &count, passes.data()));
  for (const fuseplanPassReport_t& pass : passes) {
    std::puts(fmt::format("{:<20} {:<9} {:>3} rewrites, {:>3} nodes -> {}", pass.name,
                          pass.enabled != 0 ? "on" : "off", pass.applied, pass.nodesBefore,
                          pass.nodesAfter)
                  .c_str());
    if (pass.applied > 0) std::puts(fmt::format("    {}\n    {}", pass.before, pass.after).c_str());
  }
}

}  // namespace

void add_explain(CLI::App& app) {
  auto flags = std::make_shared<ExplainFlags>();
  CLI::App* command =
      app.add_subcommand("explain", "Which solver runs a problem, and why the others do not");
  command->add_option("problem", flags->problem, "a problem as text")->required();
  add_handle_flags(*command, flags->measure);
  command->callback([flags] { explain(*flags); });
}

void add_passes(CLI::App& app) {
  auto flags = std::make_shared<ExplainFlags>();
  CLI::App* command = app.add_subcommand(
      "passes", "The rewriting passes, or what each does to the expression of a problem");
  command->add_option("problem", flags->problem, "a problem as text");
  add_handle_flags(*command, flags->measure);
  command->callback([flags] { print_passes(*flags); });
}

}  // namespace fuseplan::driver
