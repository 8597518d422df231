// SPDX-License-Identifier: MIT
#include "driver/unfused.hpp"

namespace fuseplan::driver {

namespace {

// Apart from the batch normalisation behind it, an activation's backward has to read its source.
bool reads_recomputed(const ProblemSpec& whole, const OpSpec& op) {
  return op.kind == OpKind::activation_backward && &op != &whole.ops.back() &&
         (&op + 1)->kind == OpKind::norm_backward;
}

}  // namespace

Unfused::Unfused(Case& fused, fuseplanHandle_t handle)
    : input_(fused.input().data()), output_(fused.output().like()) {
  const ProblemSpec& whole = fused.problem();
  const bool channels_last = whole.input.strides == packed_strides(whole.input.lens, true);
  TensorSpec value = whole.input;
  std::size_t parameter = 0;
  for (const OpSpec& op : whole.ops) {
    ProblemSpec step;
    step.input = value;
    step.ops = {op};
    step.output = packed(whole.input.type, whole.output_lens(), channels_last);
    value = step.output;
    steps_.push_back(std::make_unique<Case>(step));
    if (reads_recomputed(whole, op)) {
      steps_.back()->parameter(0).set_values(fused.recomputed()->values());
    } else {
      for (std::size_t i = 0; i < steps_.back()->parameter_count(); ++i, ++parameter)
        steps_.back()->parameter(i).set_values(fused.parameter(parameter).values());
    }
    steps_.back()->set_constant_weights();
    steps_.back()->compile(handle);
  }
}

void Unfused::execute(fuseplanHandle_t handle) {
  const void* from = input_;
  for (const auto& step : steps_) {
    check(fuseplanExecutePlan(handle, step->plan(), step->input_desc(), from, step->output_desc(),
                              output_.data(), step->args()));
    from = output_.data();
  }
}

}  // namespace fuseplan::driver
