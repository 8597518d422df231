// SPDX-License-Identifier: MIT
#include "support/reference.hpp"

#include "support/reference_convolution.hpp"
#include "support/reference_operand.hpp"
#include "support/reference_training.hpp"

namespace fuseplan::test {
namespace {

void run(ReferenceResult& result, const Bias& op) {
  const Operand bias(*op.bias, result.dims);
  map(result, [&](Bounded x, const Dims& index) { return add_shift(x, bias.at(index)); });
}

void run(ReferenceResult& result, const BatchNorm& op) {
  const Operand scale(*op.scale, result.dims), bias(*op.bias, result.dims);
  const Operand mean(*op.mean, result.dims), variance(*op.variance, result.dims);
  map(result, [&](Bounded x, const Dims& index) {
    const Bounded s = scale.at(index), b = bias.at(index), m = mean.at(index);
    const Bounded spread = variance.at(index) + Bounded{op.epsilon};
    const Bounded inverse =
        apply([](double v) { return 1 / std::sqrt(v); }, spread, 2 * kArithmetic);
    const double value = s.value * (x.value - m.value) * inverse.value + b.value;
    // Folded to one multiply-add per element, as the library may, it rounds most.
    const Bounded folded = add_shift(s * inverse * x, b - m * s * inverse);
    const bool same_class = std::isfinite(value) == std::isfinite(folded.value);
    return settle(value, folded.error, folded.determined() && same_class);
  });
}

void run(ReferenceResult& result, const Activation& op) {
  map(result, [&](Bounded x, const Dims&) { return activate(op, x); });
}

void run(ReferenceResult& result, const Add& op) {
  const Operand other(*op.other, result.dims);
  const Bounded scale{static_cast<float>(op.scale)};
  map(result, [&](Bounded x, const Dims& index) {
    const Bounded z = other.at(index);
    return x + (op.scale == 1 ? z : scale * z);
  });
}

void run(ReferenceResult& result, const ScaleShift& op) {
  const Operand scale(*op.scale, result.dims), shift(*op.shift, result.dims);
  map(result, [&](Bounded x, const Dims& index) {
    return add_shift(scale.at(index) * x, shift.at(index));
  });
}

void run(ReferenceResult&, const Convolution&) {
  throw std::invalid_argument("reference: a convolution must be the first step");
}

/// The ops of training, of which the second reads the third's data.
void run(ReferenceResult& result, const BatchNormTraining& op) { run_training(result, op); }
void run(ReferenceResult& result, const BatchNormBackward& op) { run_training(result, op); }
void run(ReferenceResult&, const ActivationBackward&) {
  throw std::invalid_argument("reference: needs the step that follows");
}

void run_step(ReferenceResult& result, std::span<const Step> steps) {
  if (const auto* op = std::get_if<ActivationBackward>(&steps[0].op))
    return run_training(result, *op,
                        steps.size() > 1 ? std::get_if<BatchNormBackward>(&steps[1].op) : nullptr);
  std::visit([&](const auto& op) { run(result, op); }, steps[0].op);
}

void blend(ReferenceResult& result, const Step& step, const HostTensor* previous) {
  const Bounded alpha{static_cast<float>(step.alpha)}, beta{static_cast<float>(step.beta)};
  if (step.alpha != 1) map(result, [&](Bounded x, const Dims&) { return alpha * x; });
  if (step.beta == 0) return;
  if (previous == nullptr) throw std::invalid_argument("reference: beta needs a previous output");
  const Operand old(*previous, result.dims);
  map(result, [&](Bounded x, const Dims& index) { return x + beta * old.at(index); });
}

/// Between two steps a value that f32 cannot hold is infinite in one library and, after folding,
/// finite in another.
void limit_to_f32(ReferenceResult& result) {
  for (Bounded& x : result.values)
    if (std::isfinite(x.value) && !(std::fabs(x.value) + x.error <= FLT_MAX))
      x.error = kUndetermined;
}

}  // namespace

Dims over_axes(const Dims& params, std::size_t rank) {
  if (params.size() != 1 || rank < 2) return params;
  Dims lens(rank, 1);
  lens[1] = params[0];
  return lens;
}

ReferenceResult run_reference(const HostTensor& input, std::span<const Step> steps,
                              const HostTensor* previous) {
  ReferenceResult result;
  const auto* conv = steps.empty() ? nullptr : std::get_if<Convolution>(&steps.front().op);
  if (conv != nullptr) {
    result = convolve(input, *conv);
  } else {
    result.dims = input.dims();
    for (double value : input.values()) result.values.push_back(loaded(value));
  }
  for (const Step& step : steps) {
    const bool last = &step == &steps.back();
    if (step.beta != 0 && !last)
      throw std::invalid_argument("reference: beta before the last step");
    if (conv == nullptr || &step != &steps.front())
      run_step(result, steps.subspan(static_cast<std::size_t>(&step - steps.data())));
    blend(result, step, previous);
    if (!last) limit_to_f32(result);
  }
  return result;
}

}  // namespace fuseplan::test
