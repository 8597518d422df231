// SPDX-License-Identifier: MIT
#include "driver/case.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

namespace fuseplan::driver {
namespace {

using test::HostTensor;

HostTensor host_tensor(const TensorSpec& tensor, int misalign) {
  (void)describe(tensor);  // the library's refusal says more
  return {static_cast<test::Element>(tensor.type), tensor.lens, tensor.strides, misalign};
}

// One image of a batch, as a tensor of its own.
HostTensor image_of(const HostTensor& batch, std::int64_t image) {
  test::Dims lens = batch.dims(), index(lens.size(), 0), from;
  lens[0] = 1;
  HostTensor one(batch.type(), lens);
  do {
    from = index;
    from[0] = image;
    one.set(index, batch.get(from));
  } while (test::advance(index, lens));
  return one;
}

// Weights so small that sums over many channels stay near 1.
double weight_range(const TensorSpec& weights) {
  double taps = 1;
  for (std::size_t axis = 1; axis < weights.rank(); ++axis)
    taps *= static_cast<double>(weights.lens[axis]);
  return std::sqrt(3 / taps);
}

// What the first scale multiplies by to bring integers' sums near 1, or to the integers that the
// output can hold.
double scale_unit(const ProblemSpec& problem) {
  constexpr double kInteger = 64;
  double unit = is_integer(problem.result().type) ? kInteger : 1;
  if (!is_integer(problem.input.type)) return unit;
  unit /= kInteger;
  const OpSpec* conv = problem.conv();
  return conv == nullptr ? unit : unit / kInteger * weight_range(conv->tensor);
}

}  // namespace

ActivationParameters usual_parameters(fuseplanActivationMode_t mode) {
  switch (mode) {
    case fuseplanActivationTANH:
      return {0.8, 1.3, 0};
    case fuseplanActivationPOWER:
      return {4.5, 0.25, 1.5};  // a base that stays positive for values of a few units
    case fuseplanActivationTRUNCATEDPOWER:
      return {0.2, 1.1, 1.5};
    case fuseplanActivationCLIPPEDRELU:
      return {0.75, 0, 0};
    case fuseplanActivationLEAKYRELU:
      return {0.1, 0, 0};
    case fuseplanActivationELU:
      return {1.1, 0, 0};
    case fuseplanActivationCLAMP:
      return {-0.4, 0.6, 0};
    case fuseplanActivationHARDSWISH:
    case fuseplanActivationHARDSIGMOID:
      return {1.0 / 6, 0.5, 0};
    case fuseplanActivationSOFTPLUS:
      return {1.5, 0, 0};
    default:
      return {1, 0, 1};
  }
}

Tf32 rounding_of(std::string_view solver) {
  if (solver == "gpu_tensor") return Tf32::half_away;
  return solver == "gpu_hopper" ? Tf32::half_to_even : Tf32::no;
}

Case::Case(ProblemSpec problem, const CaseOptions& options)
    : problem_(std::move(problem)),
      random_(options.stream),
      options_(options),
      scale_unit_(scale_unit(problem_)),
      placement_(options.device),
      input_(host_tensor(problem_.input, options_.misalign)),
      output_(host_tensor(problem_.result(), options_.misalign)),
      previous_(output_),
      input_desc_(describe(problem_.input)),
      output_desc_(describe(problem_.result())),
      plan_(make<Plan>(fuseplanCreatePlan, fuseplanVerticalFusion, input_desc_.get())),
      args_(make<Args>(fuseplanCreateOperatorArgs)) {
  random_.fill(input_);
  for (const OpSpec& op : problem_.ops) {
    Blend blend;
    const bool last = &op == &problem_.ops.back();
    if (options.blend) blend.alpha = static_cast<float>(random_.uniform(0.5, 1.5));
    if (options.blend && last) blend.beta = static_cast<float>(random_.uniform(-1, 1));
    append(op, blend);
  }
  check(fuseplanPlanSetOutputDescriptor(plan(), output_desc()));
  if (options.blend && !options.in_place) random_.fill(previous_);
  if (options.blend || options.in_place) reset_output();
}

void Case::compile(fuseplanHandle_t handle) {
  check(fuseplanCompilePlan(handle, plan()));
  if (problem_.conv() == nullptr || problem_.input.type != fuseplanFloat) return;
  fuseplanPlanInfo_t info{};
  info.structSize = sizeof info;
  check(fuseplanPlanGetInfo(handle, plan(), &info));
  expect_tf32(rounding_of(info.solver));
}

void Case::expect_tf32(Tf32 rounds) {
  if (auto* conv = std::get_if<test::Convolution>(&steps_.front().op)) conv->tf32 = rounds;
}

void Case::execute(fuseplanHandle_t handle) {
  for (Result& result : results_) {
    if (!result.running) continue;
    result.tensor.set_values(result.running->values());
    placement_.upload(result.tensor);
  }
  if (options_.in_place) reset_output();
  launch(handle);
  check(fuseplanSynchronize(handle));
}

void Case::reset_output() {
  output_.set_values(previous_.values());
  placement_.upload(output_);
}

void Case::fetch() {
  placement_.download(output_);
  for (Result& result : results_) placement_.download(result.tensor);
}

const test::ReferenceResult& Case::reference() {
  if (!reference_) reference_ = test::run_reference(input_, steps_, &previous_);
  return *reference_;
}

test::Comparison Case::compare_image(std::int64_t image) {
  fetch();
  const HostTensor input = image_of(input_, image);
  std::vector<test::Step> steps = steps_;
  std::deque<HostTensor> others;
  for (test::Step& step : steps) {
    auto* add = std::get_if<test::Add>(&step.op);
    if (add == nullptr || add->other->dims()[0] == 1) continue;
    add->other = &others.emplace_back(image_of(*add->other, image));
  }
  test::Comparison comparison =
      test::compare(image_of(output_, image), test::run_reference(input, steps));
  comparison.damage += output_.damage();
  return comparison;
}

HostTensor& Case::new_parameter(const TensorSpec& tensor, double low, double high) {
  parameters_.push_back(host_tensor(tensor, options_.misalign + options_.misalign_parameters));
  random_.fill(parameters_.back(), low, high);
  return parameters_.back();
}

void Case::add_step(test::Step step, const Blend& blend) {
  step.alpha = blend.alpha;
  step.beta = blend.beta;
  steps_.push_back(std::move(step));
}

void Case::append_conv(const OpSpec& op, const Blend& blend) {
  const double range = is_integer(op.tensor.type) ? 1 : weight_range(op.tensor);
  const HostTensor& weights = new_parameter(op.tensor, -range, range);
  fuseplanOp_t token = nullptr;
  check(fuseplanCreateOpConvForward(plan(), &token, describe_conv(op).get(),
                                    describe(op.tensor).get()));
  check(fuseplanSetOpArgsConvForward(args(), token, &blend.alpha, &blend.beta, at(weights)));
  add_step({test::Convolution{&weights, op.stride, op.dilation, op.pad_lo, op.pad_hi, op.groups}},
           blend);
}

void Case::append_norm(const OpSpec& op, const Blend& blend) {
  const HostTensor& scale = new_parameter(op.tensor, 0.5, 1.5);
  const HostTensor& bias = new_parameter(op.tensor, -1, 1);
  const HostTensor& mean = new_parameter(op.tensor, -1, 1);
  const HostTensor& variance = new_parameter(op.tensor, 0.25, 2);
  fuseplanOp_t token = nullptr;
  check(
      fuseplanCreateOpBatchNormInference(plan(), &token, op.norm_mode, describe(op.tensor).get()));
  check(fuseplanSetOpArgsBatchNormInference(args(), token, &blend.alpha, &blend.beta, at(scale),
                                            at(bias), at(mean), at(variance), kNormEpsilon));
  add_step({test::BatchNorm{&scale, &bias, &mean, &variance, kNormEpsilon}}, blend);
}

void Case::append_activation(const OpSpec& op, const Blend& blend) {
  const ActivationParameters p = op.parameters.value_or(usual_parameters(op.mode));
  fuseplanOp_t token = nullptr;
  check(fuseplanCreateOpActivationForward(plan(), &token, op.mode));
  check(fuseplanSetOpArgsActivForward(args(), token, &blend.alpha, &blend.beta, p.alpha, p.beta,
                                      p.gamma));
  add_step({test::Activation{static_cast<test::Mode>(op.mode), p.alpha, p.beta, p.gamma}}, blend);
}

void Case::append(const OpSpec& op, const Blend& blend) {
  fuseplanOp_t token = nullptr;
  switch (op.kind) {
    case OpKind::conv:
      return append_conv(op, blend);
    case OpKind::norm:
      return append_norm(op, blend);
    case OpKind::activation:
      return append_activation(op, blend);
    case OpKind::norm_training:
      return append_norm_training(op, blend);
    case OpKind::activation_backward:
      return append_activation_backward(op, blend);
    case OpKind::norm_backward:
      return append_norm_backward(op, blend);
    case OpKind::statistics:
      return append_statistics(op, blend);
    case OpKind::bias: {
      const HostTensor& bias = new_parameter(op.tensor, -1, 1);
      check(fuseplanCreateOpBiasForward(plan(), &token, describe(op.tensor).get()));
      check(fuseplanSetOpArgsBiasForward(args(), token, &blend.alpha, &blend.beta, at(bias)));
      return add_step({test::Bias{&bias}}, blend);
    }
    case OpKind::add: {
      const HostTensor& other = new_parameter(op.tensor, -1, 1);
      const bool in_place = options_.in_place && op.tensor == problem_.result();
      const double factor = add_factor(op.tensor.type);
      if (in_place) previous_.set_values(other.values());
      check(fuseplanCreateOpTensorAdd(plan(), &token, describe(op.tensor).get()));
      check(fuseplanSetOpArgsTensorAdd(args(), token, &blend.alpha, &blend.beta,
                                       in_place ? output_at() : at(other), factor));
      return add_step({test::Add{&other, factor}}, blend);
    }
    case OpKind::scale_shift: {
      const double range = 1.5 * std::exchange(scale_unit_, 1);
      const HostTensor& scale = new_parameter(op.tensor, -range, range);
      const HostTensor& shift = new_parameter(op.tensor, -1, 1);
      check(fuseplanCreateOpScaleShift(plan(), &token, describe(op.tensor).get()));
      check(fuseplanSetOpArgsScaleShift(args(), token, &blend.alpha, &blend.beta, at(scale),
                                        at(shift)));
      return add_step({test::ScaleShift{&scale, &shift}}, blend);
    }
  }
}

}  // namespace fuseplan::driver
