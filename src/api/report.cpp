// SPDX-License-Identifier: MIT
// What became of a plan: passes, expressions, kernels.
#include "api/guard.hpp"
#include "api/objects.hpp"
#include "fuseplan/query.h"

using namespace fuseplan;
using namespace fuseplan::api;

namespace {

std::string optimized_text(const SplitChain& chain) {
  std::string text;
  const auto part = [&](const char* name, const Expr& expr) {
    if (expr.roots.empty()) return;
    if (!text.empty()) text += '\n';
    text += fmt::format("{}: {}", name, to_text(expr));
  };
  part("once", chain.uniforms);
  part("per channel", chain.channels);
  part("per element", chain.body);
  return text;
}

std::string expression_text(const Plan& plan, const Handle& handle,
                            fuseplanExpressionStage_t stage) {
  const Chain chain = lower(plan.problem());
  if (stage == fuseplanExpressionLowered) return to_text(chain.expr);
  require(stage == fuseplanExpressionOptimized, Status::InvalidValue,
          "stage is {}, expected a fuseplanExpressionStage_t", static_cast<int>(stage));
  return optimized_text(optimize(chain, handle.options().passes));
}

}  // namespace

fuseplanStatus_t fuseplanPlanGetPassReport(fuseplanHandle_t handle, fuseplanPlan_t plan,
                                           int requestCount, int* returnedCount,
                                           fuseplanPassReport_t* passes) {
  return guard(__func__, [&] {
    const auto handle_object = pin(handle, "handle");
    const auto plan_object = pin(plan, "plan");
    std::vector<PassReport> reports;
    (void)optimize(lower(plan_object->plan.problem()), handle_object->handle.options().passes,
                   &reports, true);
    StringPool& strings = plan_object->strings;
    std::vector<fuseplanPassReport_t> rows;
    for (const PassReport& report : reports)
      rows.push_back({0, report.name, report.enabled ? 1 : 0, report.applied, report.nodes_before,
                      report.nodes_after, strings.keep(report.before), strings.keep(report.after)});
    write_structs(requestCount, returnedCount, passes, rows, "passes");
  });
}

fuseplanStatus_t fuseplanPlanGetExpression(fuseplanHandle_t handle, fuseplanPlan_t plan,
                                           fuseplanExpressionStage_t stage, char* text,
                                           size_t* size) {
  return guard(__func__, [&] {
    const auto handle_object = pin(handle, "handle");
    const auto plan_object = pin(plan, "plan");
    write_text(text, size, expression_text(plan_object->plan, handle_object->handle, stage));
  });
}

fuseplanStatus_t fuseplanPlanGetInfo(fuseplanHandle_t handle, fuseplanPlan_t plan,
                                     fuseplanPlanInfo_t* info) {
  return guard(__func__, [&] {
    const auto handle_object = pin(handle, "handle");
    const auto plan_object = pin(plan, "plan");
    required(info, "info");
    const auto compiled = plan_object->plan.compiled(handle_object->handle);
    const Variant& variant = compiled->main();
    fuseplanPlanInfo_t answer{};
    answer.solver = plan_object->strings.keep(variant.choice.candidate.solver->id());
    answer.config = plan_object->strings.keep(variant.choice.candidate.config);
    answer.kernelCount = 1;
    answer.variantCount = static_cast<int>(compiled->variant_count());
    answer.cacheHit = variant.from_cache ? 1 : 0;
    answer.compileMicroseconds = variant.compile_us;
    answer.binaryBytes = variant.binary.size();
    answer.preparedWeightBytes = variant.executable->prepared_bytes();
    answer.configSource = name_of(variant.choice.source);
    answer.tunedMicroseconds = variant.choice.times.us;
    answer.untunedMicroseconds = variant.choice.times.model_us;
    answer.candidatesTimed = variant.choice.times.timed;
    write_struct(info, answer, "info");
  });
}

fuseplanStatus_t fuseplanPlanGetBinary(fuseplanHandle_t handle, fuseplanPlan_t plan, void* buffer,
                                       size_t* size) {
  return guard(__func__, [&] {
    const auto handle_object = pin(handle, "handle");
    const auto plan_object = pin(plan, "plan");
    const auto compiled = plan_object->plan.compiled(handle_object->handle);
    const Binary& binary = compiled->main().binary;
    write_bytes(buffer, size, binary.data(), binary.size());
  });
}
