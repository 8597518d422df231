// SPDX-License-Identifier: MIT
#include "run/variant.hpp"

#include <chrono>
#include <new>

#include "base/denormals.hpp"
#include "base/log.hpp"
#include "base/status.hpp"
#include "cache/single_flight.hpp"
#include "plan/row_form.hpp"
#include "run/arguments.hpp"
#include "run/build_id.hpp"
#include "run/chooser.hpp"

namespace fuseplan {
namespace {

// What a kernel is made from: a GPU's from its source, which serves problems of many sizes.
CacheKey key_of(const CompileContext& context, const Problem& problem, const Candidate& candidate,
                const Kernel& kernel) {
  return KeyBuilder()
      .field("library", build_id())
      .field("backend", context.backend->name())
      .field("toolchain", context.backend->toolchain_id())
      .field("target", context.traits.to_text())
      .field("solver", candidate.solver->id())
      .field("config", candidate.config)
      .field("passes_off", context.options.passes.disabled)
      .field("problem", kernel.gpu != nullptr ? kernel.gpu->source() : to_text(problem))
      .build();
}

// Emitting again and comparing is how a stale or corrupted generator is caught in the act.
void verify_code(const CompileContext& context, const Kernel& kernel, const Row& row) {
  const Binary fresh = context.backend->compile(kernel, context.traits);
  require(fresh == row.blob, Status::InternalError,
          "cached code of {} differs from what the library generates", kernel.name);
}

void build_with(const CompileContext& context, const Choice& choice, Variant& variant) {
  const Question question{variant.asked, variant.chain, context.traits, &context.filter};
  variant.choice = choice;
  const Candidate& candidate = choice.candidate;
  const Kernel kernel = candidate.solver->build(question, candidate.config);
  auto [row, from_cache] = fetch_code(context, variant.asked, candidate, kernel);
  variant.from_cache = from_cache;
  if (variant.from_cache && context.options.verify_code) verify_code(context, kernel, row);
  variant.executable =
      context.backend->load(kernel, row.blob, context.device, context.options.jit_profile);
  variant.binary = std::move(row.blob);
  if (const ConvOp* conv = variant.asked.conv())
    variant.weight_format = to_text(conv->weights) + " " + variant.executable->weight_format();
}

// The choice, and the defaults of the other accepted solvers for the case that it fails.
std::vector<Choice> choices_for(const CompileContext& context, const Question& question,
                                const std::vector<const Solver*>& accepted,
                                const Parallel* timing) {
  if (accepted.empty()) return {};
  std::vector<Choice> choices{timing != nullptr ? find_fastest(context, question, accepted, *timing)
                                                : choose(context, question, accepted)};
  for (const Solver* solver : accepted)
    if (solver != choices.front().candidate.solver)
      choices.push_back({{solver, {}}, ChoiceSource::model, {}});
  return choices;
}

/// Which is no reason to run another kernel from now on: the next call may find some.
bool is_out_of_memory(const std::exception& error) {
  const auto* ours = dynamic_cast<const Error*>(&error);
  if (ours != nullptr) return ours->status() == Status::AllocFailed;
  return dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
}

Rejection compile_failure(const Solver& solver, const std::exception& error) {
  return {RejectCode::Compile, std::string(solver.id()),           -1, "kernel",
          error.what(),        "a kernel that compiles and loads", {}};
}

}  // namespace

KernelCode fetch_code(const CompileContext& context, const Problem& problem,
                      const Candidate& candidate, const Kernel& kernel) {
  const bool is_kept = context.store->mode() != CacheMode::off;
  const CacheKey key = is_kept ? key_of(context, problem, candidate, kernel) : CacheKey();
  const auto compile = [&] {
    return Row{kernel.name, context.backend->compile(kernel, context.traits)};
  };
  Outcome outcome{};
  Row row = get_or_build(*context.store, key, compile, outcome);
  if (outcome != Outcome::built && !context.backend->is_current(row.blob)) {
    context.store->erase(key);
    row = get_or_build(*context.store, key, compile, outcome);
  }
  return {std::move(row), outcome != Outcome::built};
}

std::string reasons_text(const std::vector<Rejection>& rejections) {
  std::string text;
  for (const Rejection& rejection : rejections) text += "\n  " + rejection.sentence();
  return text;
}

std::unique_ptr<const Variant> make_variant(const CompileContext& context, Problem problem,
                                            const Parallel* timing,
                                            std::vector<Rejection>* failures) {
  const auto start = std::chrono::steady_clock::now();
  const StandardFloats floats;  // the code is kept for others
  Problem asked = row_form(problem);
  SplitChain chain = optimize(lower(asked), context.options.passes);
  Footprint footprint = footprint_of(asked, chain);
  auto variant = std::make_unique<Variant>(Variant{std::move(problem),
                                                   std::move(asked),
                                                   std::move(chain),
                                                   std::move(footprint),
                                                   {},
                                                   {},
                                                   nullptr,
                                                   {}});
  const Question question{variant->asked, variant->chain, context.traits, &context.filter};
  Selection selection = timing != nullptr ? select_with_pin(context, question)
                                          : select_solvers(question, context.filter);
  for (Choice& choice : choices_for(context, question, selection.accepted, timing)) {
    const Solver& solver = *choice.candidate.solver;
    try {
      if (choice.candidate.config.empty()) choice.candidate.config = solver.first_config(question);
      build_with(context, choice, *variant);
    } catch (const std::exception& error) {
      if (is_out_of_memory(error)) throw;
      log(LogLevel::warning, "compile", "solver={},problem={},error={}", solver.id(),
          to_text(variant->problem), error.what());
      selection.rejections.push_back(compile_failure(solver, error));
      if (failures != nullptr) failures->push_back(selection.rejections.back());
      continue;
    }
    variant->compile_us =
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    if (log_enabled(LogLevel::info))
      log(LogLevel::info, "compile", "solver={},config={},from={},cached={},us={:.0f},problem={}",
          solver.id(), choice.candidate.config, name_of(choice.source), variant->from_cache,
          variant->compile_us, to_text(variant->problem));
    return variant;
  }
  fail(Status::UnsupportedOp, "no solver runs {} on {}:{}", to_text(variant->problem),
       context.traits.to_text(), reasons_text(selection.rejections));
}

}  // namespace fuseplan
