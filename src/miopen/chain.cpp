// SPDX-License-Identifier: MIT
#include "miopen/chain.hpp"

#include <fmt/ranges.h>

#include <algorithm>

namespace fuseplan::miopen {
namespace {

// One array keeps all pointers of an op; what MIOpen's setter took as void* goes on as such.
void* written(const void* pointer) { return const_cast<void*>(pointer); }

void set_arguments(fuseplanOperatorArgs_t args, fuseplanOp_t op, const OpArguments& values) {
  const void* alpha = &values.alpha;
  const void* beta = &values.beta;
  const auto& p = values.pointers;
  const auto& s = values.scalars;
  switch (values.kind) {
    case OpKind::conv:
      return check(fuseplanSetOpArgsConvForward(args, op, alpha, beta, p[0]));
    case OpKind::bias:
      return check(fuseplanSetOpArgsBiasForward(args, op, alpha, beta, p[0]));
    case OpKind::norm:
      return check(
          fuseplanSetOpArgsBatchNormInference(args, op, alpha, beta, p[0], p[1], p[2], p[3], s[0]));
    case OpKind::activation:
      return check(fuseplanSetOpArgsActivForward(args, op, alpha, beta, s[0], s[1], s[2]));
    case OpKind::add:
      return check(fuseplanSetOpArgsTensorAdd(args, op, alpha, beta, p[0], s[0]));
    case OpKind::norm_training:
      return check(fuseplanSetOpArgsBatchNormForward(args, op, alpha, beta, p[0], p[1],
                                                     written(p[2]), written(p[3]), written(p[4]),
                                                     written(p[5]), s[0], s[1]));
    case OpKind::activation_backward:
      return check(
          fuseplanSetOpArgsActivBackward(args, op, alpha, beta, p[0], p[1], s[0], s[1], s[2]));
    case OpKind::norm_backward:
      return check(fuseplanSetOpArgsBatchNormBackward(args, op, alpha, beta, p[0], p[1], p[2],
                                                      written(p[3]), written(p[4]), p[5], p[6]));
  }
}

}  // namespace

std::string Chain::text() const {
  return fmt::format("{};{}->{}", text_of(input), fmt::join(ops, ";"), text_of(output));
}

std::string Chain::key() const { return fmt::format("{}@{}{}", text(), algorithm, solver); }

OwnedTensor make_tensor(const Shape& shape) {
  OwnedTensor tensor;
  check(fuseplanCreateTensorDescriptor(tensor.out()));
  check(fuseplanSetTensorDescriptorV2(tensor.get(), static_cast<fuseplanDataType_t>(shape.type),
                                      static_cast<int>(shape.rank()), shape.lens.data(),
                                      shape.strides.data()));
  return tensor;
}

OwnedPlan make_plan(const Chain& chain) {
  OwnedPlan plan;
  check(fuseplanCreatePlanFromString(plan.out(), chain.text().c_str()));
  if (chain.algorithm >= 0)
    check(fuseplanPlanConvolutionSetAlgo(plan.get(),
                                         static_cast<fuseplanConvFwdAlgorithm_t>(chain.algorithm)));
  if (!chain.solver.empty()) check(fuseplanPlanSetSolver(plan.get(), chain.solver.c_str()));
  return plan;
}

CompiledChain::CompiledChain(fuseplanHandle_t handle, const Chain& chain)
    : handle_(handle),
      plan_(make_plan(chain)),
      input_(make_tensor(chain.input)),
      output_(make_tensor(chain.output)),
      ops_(chain.ops.size()) {
  for (std::size_t i = 0; i < ops_.size(); ++i)
    check(fuseplanPlanGetOp(plan_.get(), static_cast<int>(i), &ops_[i]));
  check(fuseplanCompilePlan(handle, plan_.get()));
}

void CompiledChain::execute(const void* input, void* output,
                            std::span<const OpArguments> arguments) {
  const void* weights = arguments.front().kind == OpKind::conv ? arguments[0].pointers[0] : nullptr;
  OwnedArgs args = borrow(weights);
  for (std::size_t i = 0; i < ops_.size(); ++i) set_arguments(args.get(), ops_[i], arguments[i]);
  check(fuseplanExecutePlan(handle_, plan_.get(), input_.get(), input, output_.get(), output,
                            args.get()));
  give_back(weights, std::move(args));
}

OwnedArgs CompiledChain::borrow(const void* weights) {
  constexpr std::size_t kIdle = 64;
  OwnedArgs args;
  const std::lock_guard lock(mutex_);
  auto found = std::ranges::find(idle_, weights, &Idle::weights);
  if (found == idle_.end() && idle_.size() >= kIdle) found = idle_.begin();
  if (found == idle_.end()) {
    check(fuseplanCreateOperatorArgs(args.out()));
    return args;
  }
  args = std::move(found->args);
  idle_.erase(found);
  return args;
}

void CompiledChain::give_back(const void* weights, OwnedArgs args) {
  const std::lock_guard lock(mutex_);
  idle_.push_back({weights, std::move(args)});
}

std::shared_ptr<CompiledChain> ChainCache::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return nullptr;
  found->second.last_use = ++clock_;
  return found->second.chain;
}

std::shared_ptr<CompiledChain> ChainCache::keep(std::string key,
                                                std::shared_ptr<CompiledChain> chain) {
  const std::lock_guard lock(mutex_);
  if (entries_.size() >= kEntries)
    entries_.erase(std::ranges::min_element(
        entries_, {}, [](const auto& entry) { return entry.second.last_use; }));
  return entries_.try_emplace(std::move(key), Entry{std::move(chain), ++clock_})
      .first->second.chain;
}

std::shared_ptr<CompiledChain> ChainCache::get(fuseplanHandle_t handle, const Chain& chain) {
  std::string key = chain.key();
  if (auto known = find(key)) return known;
  // Compiled outside the lock. Two threads may both do it; fuseplan lets one of them generate code.
  return keep(std::move(key), std::make_shared<CompiledChain>(handle, chain));
}

}  // namespace fuseplan::miopen
