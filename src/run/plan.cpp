// SPDX-License-Identifier: MIT
#include "run/plan.hpp"

#include <algorithm>

#include "base/denormals.hpp"
#include "base/status.hpp"
#include "base/text.hpp"
#include "plan/overlap.hpp"
#include "plan/row_form.hpp"
#include "plan/spelled.hpp"
#include "run/chooser.hpp"

namespace fuseplan {
namespace {

/// What the solvers are asked about a plan on a handle.
struct Inquiry {
  CompileContext context;
  Problem problem;  ///< in row form
  SplitChain chain = optimize(lower(problem), context.options.passes);
  Question question{problem, chain, context.traits, &context.filter};

  Inquiry(CompileContext on, const Problem& what)
      : context(std::move(on)), problem(row_form(what)) {}
  Inquiry(const Inquiry&) = delete;
};

/// Moves the solvers that failed after they accepted to those that declined.
void decline(Support& support, std::vector<Rejection> failures) {
  for (Rejection& failure : failures) {
    std::erase_if(support.selection.accepted,
                  [&](const Solver* solver) { return solver->id() == failure.solver; });
    support.selection.rejections.push_back(std::move(failure));
  }
}

}  // namespace

struct Plan::Forms {
  struct Form {
    std::weak_ptr<const void> handle;
    std::shared_ptr<const Compiled> compiled;
  };
  FlatMap<std::uint64_t, Form> by_handle;
};

Plan::Plan(Tensor input) : input_(std::move(input)) { validate(input_, "plan input"); }
Plan::~Plan() = default;

void Plan::edited() {
  forms_.store(nullptr);
  const std::lock_guard lock(failures_mutex_);
  failures_.clear();
}

int Plan::append(OpBody op) {
  require_place(op, ops_);
  // Lengths of a chosen output follow the last op, so it is judged when the plan is used.
  Tensor value = op_output(op, values_.empty() ? input_ : values_.back());
  values_.reserve(values_.size() + 1);
  ops_.push_back(std::move(op));
  values_.push_back(std::move(value));
  edited();
  return op_count() - 1;
}

const OpBody& Plan::op(int index) const {
  require(index >= 0 && index < op_count(), Status::BadParm, "op index {} is not within 0..{}",
          index, op_count() - 1);
  return ops_[static_cast<std::size_t>(index)];
}

const Tensor& Plan::output_of(int index) const {
  (void)op(index);
  return values_[static_cast<std::size_t>(index)];
}

Tensor Plan::output() const {
  if (output_) return *output_;
  return ops_.empty() ? with_lens(input_, input_.lens) : output_of(op_count() - 1);
}

void Plan::set_output(const Tensor& output) {
  validate(output, "plan output");
  require_storage(output, "plan output");
  require(!may_overlap(output), Status::BadParm,
          "plan output {} with strides {} has elements that share memory", Spelled{output.lens},
          Spelled{output.strides, ','});
  output_ = output;
  edited();
}

void Plan::set_dynamic(DynamicDims dims) {
  require(!dims.depth || input_.rank() == 5, Status::BadParm,
          "the plan's input has rank {} and so no depth", input_.rank());
  require(!dims.height || input_.rank() >= 4, Status::BadParm,
          "the plan's input has rank {} and so no height", input_.rank());
  require(!dims.width || input_.rank() >= 3, Status::BadParm,
          "the plan's input has rank {} and so no width", input_.rank());
  dynamic_ = dims;
  edited();
}

void Plan::set_solver(std::string id) {
  if (!id.empty() && find_solver(id) == nullptr) {
    std::vector<std::string> names;
    for (const Solver* solver : all_solvers()) names.emplace_back(solver->id());
    fail(Status::InvalidValue, "no solver \"{}\"; {}", id, suggest(id, names));
  }
  filter_.pinned = std::move(id);
  edited();
}

void Plan::set_algorithm(Algorithm algorithm) {
  filter_.algorithm = algorithm;
  edited();
}

Problem Plan::problem() const {
  require(!ops_.empty(), Status::UnsupportedOp, "the plan is empty: append at least one op");
  std::vector<Op> ops;
  for (const OpBody& body : ops_) ops.push_back({body, {}});
  return Problem(input_, std::move(ops), output_.value_or(Tensor{}));
}

SolverFilter Plan::filter_on(const Handle& handle) const {
  SolverFilter filter = filter_;
  filter.disabled = handle.options().disabled_solvers;
  if (filter.pinned.empty()) filter.pinned = handle.options().pin.solver;
  return filter;
}

std::vector<Rejection> Plan::failures_on(const Handle& handle) const {
  const std::lock_guard lock(failures_mutex_);
  const auto found = failures_.find(handle.number());
  return found == failures_.end() ? std::vector<Rejection>{} : found->second.rejections;
}

void Plan::keep_failures(const Handle& handle, std::vector<Rejection> failures) {
  const std::lock_guard lock(failures_mutex_);
  failures_.erase(handle.number());
  for (auto it = failures_.begin(); it != failures_.end();)
    it = it->second.handle.expired() ? failures_.erase(it) : it + 1;
  if (!failures.empty())
    failures_.emplace(handle.number(), Failures{handle.life(), std::move(failures)});
}

Support Plan::query(const Handle& handle, bool with_candidates) const {
  const StandardFloats floats;  // models decide as they do in compiling
  const Inquiry inquiry(handle.compile_context(filter_on(handle)), problem());
  const auto& [context, problem, chain, question] = inquiry;
  Support support{select_with_pin(context, question), {}, {}};
  auto& accepted = support.selection.accepted;
  if (accepted.empty()) return support;
  support.choice = choose(context, question, accepted);
  decline(support, failures_on(handle));
  if (accepted.empty()) return support;
  // What compiling falls back on.
  if (std::ranges::find(accepted, support.choice.candidate.solver) == accepted.end())
    support.choice = {
        {accepted.front(), accepted.front()->first_config(question)}, ChoiceSource::model, {}};
  if (with_candidates) support.candidates = candidates_of(question, accepted);
  const auto chosen = std::find(accepted.begin(), accepted.end(), support.choice.candidate.solver);
  std::rotate(accepted.begin(), chosen, chosen + 1);
  return support;
}

void Plan::store_winner(const Handle& handle, std::string_view candidate) const {
  const StandardFloats floats;
  const Inquiry inquiry(handle.compile_context(filter_on(handle)), problem());
  const auto& [context, problem, chain, question] = inquiry;
  const auto accepted = select_with_pin(context, question).accepted;
  const auto found = find_candidate(question, accepted, candidate);
  require(found.has_value(), Status::InvalidValue, "\"{}\" is no solver:config that {} accepts",
          candidate, to_text(this->problem()));
  fuseplan::store_winner(context, question, accepted, *found);
}

void Plan::compile(const Handle& handle) {
  std::unique_lock lock(compile_mutex_);
  if (find_compiled(handle) != nullptr) return;
  // A caller's loop, which times candidates, may compile this plan for another handle meanwhile.
  if (handle.parallel().is_callers()) lock.unlock();
  Compiled::Dynamic axes;
  const auto rank = static_cast<std::size_t>(input_.rank());
  axes.axes[0] = dynamic_.batch;
  if (dynamic_.width) axes.axes[rank - 1] = true;
  if (dynamic_.height) axes.axes[rank - 2] = true;
  if (dynamic_.depth) axes.axes[rank - 3] = true;
  std::vector<Rejection> failures;
  std::shared_ptr<const Compiled> compiled;
  try {
    compiled = std::make_shared<const Compiled>(handle.compile_context(filter_on(handle)),
                                                problem(), axes, handle.parallel(), failures);
  } catch (...) {
    keep_failures(handle, std::move(failures));
    throw;
  }
  keep_failures(handle, std::move(failures));
  if (!lock.owns_lock()) lock.lock();
  auto forms = std::make_unique<Forms>();
  if (const Forms* old = forms_.load())
    for (const auto& [number, form] : old->by_handle)
      if (!form.handle.expired()) forms->by_handle.emplace(number, form);
  forms->by_handle[handle.number()] = {handle.life(), std::move(compiled)};
  publish(std::move(forms));
}

// Sequentially consistent, like what find_compiled() does: whoever comes after the count was seen
// at 0 finds the new snapshot. Where it is not 0, the next compilation drops what this one leaves.
void Plan::publish(std::unique_ptr<const Forms> forms) {
  kept_.push_back(std::move(forms));
  forms_.store(kept_.back().get());
  if (readers_.load() == 0) kept_.erase(kept_.begin(), kept_.end() - 1);
}

std::shared_ptr<const Compiled> Plan::find_compiled(const Handle& handle) const {
  readers_.fetch_add(1);
  std::shared_ptr<const Compiled> compiled;
  if (const Forms* forms = forms_.load()) {
    const auto found = forms->by_handle.find(handle.number());
    if (found != forms->by_handle.end()) compiled = found->second.compiled;
  }
  readers_.fetch_sub(1);
  return compiled;
}

std::shared_ptr<const Compiled> Plan::compiled(const Handle& handle) const {
  auto compiled = find_compiled(handle);
  require(compiled != nullptr, Status::NotCompiled,
          "the plan is not compiled for this handle, or was edited since: call "
          "fuseplanCompilePlan(handle, plan) first");
  return compiled;
}

}  // namespace fuseplan
