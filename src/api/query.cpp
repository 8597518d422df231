// SPDX-License-Identifier: MIT
// Does a plan fuse, and if not, why.
#include "fuseplan/query.h"

#include "api/guard.hpp"
#include "api/objects.hpp"

using namespace fuseplan;
using namespace fuseplan::api;

namespace {

bool accepted(const Selection& selection, const Solver* solver) {
  return std::find(selection.accepted.begin(), selection.accepted.end(), solver) !=
         selection.accepted.end();
}

/// Solvers of the handle's kind of device: the accepted ones, then the others in their order.
std::vector<const Solver*> solvers_for(const Handle& handle, const Selection& selection) {
  std::vector<const Solver*> solvers = selection.accepted;
  for (const Solver* solver : all_solvers())
    if (solver->backend() == handle.backend().name() && !accepted(selection, solver))
      solvers.push_back(solver);
  return solvers;
}

std::string explain(const Plan& plan, const Handle& handle) {
  const auto [selection, choice, candidates] = plan.query(handle);
  std::string text = to_text(plan.problem()) + "\n";
  for (const Solver* solver : solvers_for(handle, selection)) {
    if (!accepted(selection, solver)) continue;
    const bool chosen = solver == choice.candidate.solver;
    text += fmt::format("{}: {} ({})\n", solver->id(), chosen ? "chosen" : "could run it",
                        solver->sentence());
    if (chosen)
      text += fmt::format("  config {} ({}: {})\n", choice.candidate.config, name_of(choice.source),
                          sentence_of(choice.source));
  }
  for (const Rejection& rejection : selection.rejections) text += rejection.sentence() + "\n";
  text.pop_back();
  return text;
}

fuseplanRejection_t public_form(const Rejection& rejection, StringPool& strings) {
  fuseplanRejection_t form{};
  form.code = static_cast<fuseplanRejectCode_t>(rejection.code);
  form.stage = rejection.code == RejectCode::Compile ? "compile" : "solver";
  form.solver = strings.keep(rejection.solver);
  form.opIndex = rejection.op;
  form.field = strings.keep(rejection.field);
  form.got = strings.keep(rejection.got);
  form.need = strings.keep(rejection.need);
  form.hint = strings.keep(rejection.hint);
  return form;
}

}  // namespace

fuseplanStatus_t fuseplanQueryFusionSupport(fuseplanHandle_t handle, fuseplanPlan_t plan,
                                            fuseplanFusionSupport_t* support) {
  return guard(__func__, [&] {
    const auto handle_object = pin(handle, "handle");
    const auto plan_object = pin(plan, "plan");
    required(support, "support");
    const Selection selection = plan_object->plan.query(handle_object->handle).selection;
    fuseplanFusionSupport_t answer{};
    if (!selection.accepted.empty()) {
      answer.fused = 1;
      answer.kernelCount = 1;
      answer.solver = plan_object->strings.keep(selection.accepted.front()->id());
    }
    write_struct(support, answer, "support");
  });
}

fuseplanStatus_t fuseplanPlanGetSolvers(fuseplanHandle_t handle, fuseplanPlan_t plan,
                                        int requestCount, int* returnedCount,
                                        fuseplanSolverInfo_t* solvers) {
  return guard(__func__, [&] {
    const auto handle_object = pin(handle, "handle");
    const auto plan_object = pin(plan, "plan");
    const Selection selection = plan_object->plan.query(handle_object->handle).selection;
    std::vector<fuseplanSolverInfo_t> infos;
    for (const Solver* solver : solvers_for(handle_object->handle, selection))
      infos.push_back({0, plan_object->strings.keep(solver->id()),
                       plan_object->strings.keep(solver->sentence()),
                       static_cast<int>(solver->algorithm()), accepted(selection, solver) ? 1 : 0,
                       0});
    write_structs(requestCount, returnedCount, solvers, infos, "solvers");
  });
}

fuseplanStatus_t fuseplanPlanGetCandidates(fuseplanHandle_t handle, fuseplanPlan_t plan,
                                           int requestCount, int* returnedCount,
                                           fuseplanCandidate_t* candidates) {
  return guard(__func__, [&] {
    const auto handle_object = pin(handle, "handle");
    const auto plan_object = pin(plan, "plan");
    const Support support = plan_object->plan.query(handle_object->handle, true);
    StringPool& strings = plan_object->strings;
    std::vector<fuseplanCandidate_t> rows;
    for (const Candidate& candidate : support.candidates) {
      const bool chosen = candidate == support.choice.candidate;
      rows.push_back({0, strings.keep(candidate.solver->id()), strings.keep(candidate.config),
                      chosen ? 1 : 0, chosen ? name_of(support.choice.source) : ""});
    }
    write_structs(requestCount, returnedCount, candidates, rows, "candidates");
  });
}

fuseplanStatus_t fuseplanPlanStoreWinner(fuseplanHandle_t handle, fuseplanPlan_t plan,
                                         const char* candidate) {
  return guard(__func__, [&] {
    const auto handle_object = pin(handle, "handle");
    const auto plan_object = pin(plan, "plan");
    plan_object->plan.store_winner(handle_object->handle, required(candidate, "candidate"));
  });
}

fuseplanStatus_t fuseplanPlanGetRejections(fuseplanHandle_t handle, fuseplanPlan_t plan,
                                           int requestCount, int* returnedCount,
                                           fuseplanRejection_t* rejections) {
  return guard(__func__, [&] {
    const auto handle_object = pin(handle, "handle");
    const auto plan_object = pin(plan, "plan");
    std::vector<fuseplanRejection_t> forms;
    for (const Rejection& rejection :
         plan_object->plan.query(handle_object->handle).selection.rejections)
      forms.push_back(public_form(rejection, plan_object->strings));
    write_structs(requestCount, returnedCount, rejections, forms, "rejections");
  });
}

fuseplanStatus_t fuseplanPlanExplain(fuseplanHandle_t handle, fuseplanPlan_t plan, char* text,
                                     size_t* size) {
  return guard(__func__, [&] {
    const auto handle_object = pin(handle, "handle");
    const auto plan_object = pin(plan, "plan");
    write_text(text, size, explain(plan_object->plan, handle_object->handle));
  });
}
