// SPDX-License-Identifier: MIT
#include "run/variant.hpp"

#include <chrono>

#include "base/log.hpp"
#include "base/status.hpp"
#include "cache/single_flight.hpp"
#include "run/build_id.hpp"

namespace fuseplan {
namespace {

CacheKey key_of(const CompileContext& context, const Problem& problem, const Solver& solver,
                const std::string& config) {
  return KeyBuilder()
      .field("library", build_id())
      .field("backend", context.backend->name())
      .field("toolchain", context.backend->toolchain_id())
      .field("target", context.traits.to_text())
      .field("solver", solver.id())
      .field("config", config)
      .field("passes_off", context.options.passes.disabled)
      .field("problem", to_text(problem))
      .build();
}

// Emitting again and comparing is how a stale or corrupted generator is caught in the act.
void verify_code(const CompileContext& context, const Kernel& kernel, const Row& row) {
  const Binary fresh = context.backend->compile(kernel, context.traits);
  require(fresh == row.blob, Status::InternalError,
          "cached code of {} differs from what the library generates", kernel.name);
}

void build_with(const CompileContext& context, const Solver& solver, Variant& variant) {
  const Question question{variant.problem, variant.chain, context.traits};
  variant.solver = &solver;
  variant.config = solver.configs(question).front();
  const Kernel kernel = solver.build(question, variant.config);
  const auto compile = [&] {
    return Row{kernel.name, context.backend->compile(kernel, context.traits)};
  };
  Outcome outcome{};
  Row row = get_or_build(*context.store, key_of(context, variant.problem, solver, variant.config),
                         compile, outcome);
  variant.from_cache = outcome != Outcome::built;
  if (variant.from_cache && context.options.verify_code) verify_code(context, kernel, row);
  variant.executable =
      context.backend->load(kernel, row.blob, context.device, context.options.jit_profile);
  variant.binary = std::move(row.blob);
  if (const ConvOp* conv = variant.problem.conv())
    variant.weight_format = to_text(conv->weights) + " " + variant.executable->weight_format();
}

}  // namespace

std::string reasons_text(const std::vector<Rejection>& rejections) {
  std::string text;
  for (const Rejection& rejection : rejections) text += "\n  " + rejection.sentence();
  return text;
}

std::unique_ptr<const Variant> make_variant(const CompileContext& context, Problem problem) {
  const auto start = std::chrono::steady_clock::now();
  SplitChain chain = optimize(lower(problem), context.options.passes);
  auto variant = std::make_unique<Variant>(
      Variant{std::move(problem), std::move(chain), nullptr, {}, {}, nullptr, {}});
  Selection selection =
      select_solvers({variant->problem, variant->chain, context.traits}, context.filter);
  for (const Solver* solver : selection.accepted) {
    try {
      build_with(context, *solver, *variant);
    } catch (const Error& error) {
      log(LogLevel::warning, "compile", "solver={},problem={},error={}", solver->id(),
          to_text(variant->problem), error.what());
      selection.rejections.push_back({RejectCode::Compile,
                                      std::string(solver->id()),
                                      -1,
                                      "kernel",
                                      error.what(),
                                      "a kernel that compiles and loads",
                                      {}});
      continue;
    }
    variant->compile_us =
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    log(LogLevel::info, "compile", "solver={},config={},cached={},us={:.0f},problem={}",
        solver->id(), variant->config, variant->from_cache, variant->compile_us,
        to_text(variant->problem));
    return variant;
  }
  fail(Status::UnsupportedOp, "no solver runs {} on {}:{}", to_text(variant->problem),
       context.traits.to_text(), reasons_text(selection.rejections));
}

}  // namespace fuseplan
