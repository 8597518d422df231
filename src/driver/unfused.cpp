// SPDX-License-Identifier: MIT
#include "driver/unfused.hpp"

namespace fuseplan::driver {

namespace {

// Apart from the batch normalisation behind it, an activation's backward has to read its source.
bool reads_recomputed(const ProblemSpec& whole, const OpSpec& op) {
  return op.kind == OpKind::activation_backward && &op != &whole.ops.back() &&
         (&op + 1)->kind == OpKind::norm_backward;
}

TensorSpec between_ops(const ProblemSpec& whole) {
  return packed(computed_type(whole.input.type), whole.output_lens(),
                is_channels_last(whole.input));
}

}  // namespace

std::vector<ProblemSpec> steps_of(const ProblemSpec& whole) {
  std::vector<ProblemSpec> steps;
  TensorSpec value = whole.input;
  for (const OpSpec& op : whole.ops) {
    ProblemSpec& step = steps.emplace_back();
    step.input = value;
    step.ops = {op};
    step.output = value = between_ops(whole);
  }
  steps.back().output = whole.result();
  return steps;
}

bool needs_tensor_between(const ProblemSpec& whole) {
  return whole.ops.size() > 1 && between_ops(whole) != whole.result();
}

Unfused::Unfused(Case& fused, fuseplanHandle_t handle)
    : fused_(fused), output_(fused.output().like()), placement_(fused.placement().device()) {
  const std::vector<ProblemSpec> steps = steps_of(fused.problem());
  if (needs_tensor_between(fused.problem())) {
    const TensorSpec& between = steps.front().output;
    between_.emplace(static_cast<test::Element>(between.type), between.lens, between.strides);
  }
  std::size_t parameter = 0;
  for (const ProblemSpec& step : steps) {
    const OpSpec& op = fused.problem().ops[steps_.size()];
    steps_.push_back(std::make_unique<Case>(step, CaseOptions{.device = placement_.device()}));
    if (reads_recomputed(fused.problem(), op)) {
      steps_.back()->set_parameter(0, fused.recomputed()->values());
    } else {
      for (std::size_t i = 0; i < steps_.back()->parameter_count(); ++i, ++parameter)
        steps_.back()->set_parameter(i, fused.parameter(parameter).values());
    }
    steps_.back()->set_constant_weights();
    steps_.back()->compile(handle);
  }
}

void Unfused::launch(fuseplanHandle_t handle, const void* input, void* output) {
  const void* from = input;
  void* between = between_ ? placement_.place(*between_) : output;
  for (const auto& step : steps_) {
    void* to = step == steps_.back() ? output : between;
    step->launch(handle, from, to);
    from = to;
  }
}

void Unfused::execute(fuseplanHandle_t handle) {
  launch(handle, fused_.input_at(), placement_.place(output_));
}

test::HostTensor& Unfused::output() {
  placement_.download(output_);
  return output_;
}

}  // namespace fuseplan::driver
