// SPDX-License-Identifier: MIT
#include "run/chooser.hpp"

#include <fmt/format.h>

#include <chrono>
#include <set>

#include "base/log.hpp"
#include "base/status.hpp"
#include "cache/single_flight.hpp"
#include "run/build_id.hpp"
#include "run/search.hpp"
#include "run/shipped_table.hpp"

namespace fuseplan {
namespace {

using Solvers = std::vector<const Solver*>;

// What a search depends on: the contestants, and everything that makes one faster than another.
CacheKey tuning_key(const CompileContext& context, const Problem& problem,
                    const Solvers& accepted) {
  std::string names;
  for (const Solver* solver : accepted) names += fmt::format("{} ", solver->id());
  // Some solvers try others of their backend with a part of the problem.
  std::set<std::string> off;
  for (const std::string& id : context.filter.disabled)
    if (find_solver(id)->backend() == context.backend->name()) off.insert(id);
  return KeyBuilder()
      .field("library", build_id())
      .field("toolchain", context.backend->toolchain_id())
      .field("target", context.traits.to_text())
      .field("device", context.backend->device_name(context.device))
      .field("threads", context.threads)
      .field("solvers", names)
      .field("solvers_off", fmt::format("{}", fmt::join(off, " ")))
      .field("passes_off", context.options.passes.disabled)
      .field("problem", to_text(problem))
      .build();
}

// A kernel that an execution asks for may lack the pinned configuration: with the output to blend
// in, say, a register less is free. Then it is not pinned; compiling has select_with_pin() refuse
// it.
std::optional<Choice> pinned(const CompileContext& context, const Question& question,
                             const Solvers& accepted) {
  const PinnedChoice& pin = context.options.pin;
  if (pin.config.empty() || pin.solver != accepted.front()->id()) return std::nullopt;
  auto found = find_candidate(question, accepted, pin.solver + ":" + pin.config);
  if (!found) return std::nullopt;
  return Choice{std::move(*found), ChoiceSource::pinned, {}};
}

std::optional<Choice> from_value(const Question& question, const Solvers& accepted,
                                 const std::string& text) {
  const auto value = parse_tuning_value(text);
  if (!value) return std::nullopt;
  auto candidate = find_candidate(question, accepted, value->candidate);
  if (!candidate) return std::nullopt;
  return Choice{std::move(*candidate), ChoiceSource::tuned, value->times};
}

std::optional<Choice> stored(const CompileContext& context, const Question& question,
                             const Solvers& accepted) {
  if (context.store->mode() == CacheMode::off) return std::nullopt;
  const auto text = context.store->find_tuning(tuning_key(context, question.problem, accepted));
  if (!text) return std::nullopt;
  auto choice = from_value(question, accepted, *text);
  if (choice) context.store->count_tuning_hit();
  return choice;
}

Choice without_search(const CompileContext& context, const Question& question,
                      const Solvers& accepted) {
  const std::string_view table = shipped_table(context.traits.family);
  if (!table.empty())
    if (const auto text = find_shipped(table, to_text(question.problem)))
      if (auto candidate = find_candidate(question, accepted, *text))
        return {std::move(*candidate), ChoiceSource::shipped, {}};
  return {{accepted.front(), accepted.front()->first_config(question)}, ChoiceSource::model, {}};
}

std::vector<Candidate> first_to_last(Candidate first, std::vector<Candidate> candidates) {
  std::erase(candidates, first);
  candidates.insert(candidates.begin(), std::move(first));
  return candidates;
}

}  // namespace

Selection select_with_pin(const CompileContext& context, const Question& question) {
  Selection selection = select_solvers(question, context.filter);
  const PinnedChoice& pin = context.options.pin;
  if (selection.accepted.empty() || pin.config.empty()) return selection;
  const Solver& solver = *selection.accepted.front();
  if (pin.solver != solver.id() || solver.offers(question, pin.config)) return selection;
  selection.rejections.push_back(
      {RejectCode::SwitchedOff, pin.solver, -1, "config", pin.config,
       fmt::format("one of {}", fmt::join(solver.configs(question), "  ")),
       "the pin option asks for one configuration only"});
  selection.accepted.erase(selection.accepted.begin());
  return selection;
}

Choice choose(const CompileContext& context, const Question& question, const Solvers& accepted) {
  if (auto choice = pinned(context, question, accepted)) return *std::move(choice);
  if (auto choice = stored(context, question, accepted)) return *std::move(choice);
  return without_search(context, question, accepted);
}

Choice find_fastest(const CompileContext& context, const Question& question,
                    const Solvers& accepted, const Parallel& parallel) {
  const FindMode mode = context.options.find_mode;
  if (mode == FindMode::fast) return choose(context, question, accepted);
  if (auto choice = pinned(context, question, accepted)) return *std::move(choice);
  Choice otherwise = without_search(context, question, accepted);
  const auto candidates = first_to_last(otherwise.candidate, candidates_of(question, accepted));
  if (candidates.size() == 1) return otherwise;
  TuningRequest request;
  request.usable = [&](const std::string& text) {
    return mode != FindMode::normal && from_value(question, accepted, text).has_value();
  };
  request.search = [&] {
    const auto value = search(context, question, candidates, parallel);
    return value ? to_text(*value) : std::string();
  };
  // Another process may take longer than its budget where both share the machine.
  request.patience = std::chrono::milliseconds(2 * context.options.tune_ms);
  request.shared = !parallel.is_callers();
  const std::string text =
      get_or_tune(*context.store, tuning_key(context, question.problem, accepted), request);
  return from_value(question, accepted, text).value_or(std::move(otherwise));
}

void store_winner(const CompileContext& context, const Question& question, const Solvers& accepted,
                  const Candidate& winner) {
  const std::string why = context.store->put_tuning(tuning_key(context, question.problem, accepted),
                                                    to_text(TuningValue{to_text(winner), {}}));
  require(why.empty(), Status::InternalError, "the winner was not stored: {}", why);
}

}  // namespace fuseplan
