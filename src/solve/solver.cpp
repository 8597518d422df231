// SPDX-License-Identifier: MIT
#include "solve/solver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace fuseplan {
namespace {

struct RejectionInfo {
  RejectCode code;
  const char* name;
  const char* sentence;
};
constexpr RejectionInfo kRejections[] = {
#define FUSEPLAN_REJECTION(name, value, sentence) {RejectCode::name, #name, sentence},
#include "solve/rejections.def"
#undef FUSEPLAN_REJECTION
};

const RejectionInfo* find(RejectCode code) {
  const auto* row = std::find_if(std::begin(kRejections), std::end(kRejections),
                                 [&](const RejectionInfo& info) { return info.code == code; });
  return row == std::end(kRejections) ? nullptr : row;
}

void apply_filter(const Solver& solver, const SolverFilter& filter, Verdict& verdict) {
  verdict.need(filter.pinned.empty() || filter.pinned == solver.id(), RejectCode::SwitchedOff,
               "solver", solver.id(), filter.pinned, "the plan asks for one solver only");
  verdict.need(std::find(filter.disabled.begin(), filter.disabled.end(), solver.id()) ==
                   filter.disabled.end(),
               RejectCode::SwitchedOff, "solver", "disabled", "enabled",
               "an option switches it off");
  verdict.need(filter.algorithm == Algorithm::none || solver.algorithm() == Algorithm::none ||
                   solver.algorithm() == filter.algorithm,
               RejectCode::SwitchedOff, "algorithm", name_of(solver.algorithm()),
               name_of(filter.algorithm), "the plan asks for one algorithm only");
}

}  // namespace

const char* name_of(RejectCode code) {
  const RejectionInfo* row = find(code);
  return row != nullptr ? row->name : "";
}

const char* sentence_of(RejectCode code) {
  const RejectionInfo* row = find(code);
  return row != nullptr ? row->sentence : "";
}

std::string Rejection::sentence() const {
  std::string text = fmt::format("{}: {} is {}, expected {}", solver, field, got, need);
  if (op >= 0) text += fmt::format(" (op {})", op);
  if (!hint.empty()) text += "; " + hint;
  return text;
}

std::string Traits::to_text() const {
  if (!arch.empty()) return fmt::format("{}:{}{}", backend, arch, tf32 ? "+tf32" : "");
  return fmt::format("{}:{}{}{}{}{}", backend, cpu::name_of(isa), extensions.bf16 ? "+bf16" : "",
                     extensions.has_vnni(isa) ? "+vnni" : "",
                     extensions.tiles_bf16 ? "+tiles_bf16" : "",
                     extensions.tiles_int8 ? "+tiles_int8" : "");
}

void Verdict::need(bool holds, RejectCode code, std::string_view field, std::string_view got,
                   std::string_view need, std::string_view hint, int op) {
  if (holds) return;
  rejections_.push_back({code, std::string(solver_), op, std::string(field), std::string(got),
                         std::string(need), std::string(hint)});
}

std::string Solver::first_config(const Question& question) const {
  return std::move(configs(question).front());
}

bool Solver::offers(const Question& question, std::string_view config) const {
  const std::vector<std::string> all = configs(question);
  return std::find(all.begin(), all.end(), config) != all.end();
}

const Solver* find_solver(std::string_view id) {
  for (const Solver* solver : all_solvers())
    if (solver->id() == id) return solver;
  return nullptr;
}

bool may_run(const Question& question, std::string_view solver) {
  if (question.filter == nullptr) return true;
  Verdict verdict(solver);
  apply_filter(*find_solver(solver), *question.filter, verdict);
  return verdict.accepted();
}

Selection select_solvers(const Question& question, const SolverFilter& filter) {
  Selection selection;
  for (const Solver* solver : all_solvers()) {
    if (solver->backend() != question.traits.backend) continue;
    Verdict verdict(solver->id());
    apply_filter(*solver, filter, verdict);
    if (verdict.accepted()) solver->accepts(question, verdict);
    if (verdict.accepted()) {
      selection.accepted.push_back(solver);
    } else {
      std::ranges::move(verdict.take_rejections(), std::back_inserter(selection.rejections));
    }
  }
  std::ranges::stable_sort(selection.accepted, {},
                           [&](const Solver* solver) { return solver->rank(question); });
  return selection;
}

}  // namespace fuseplan
