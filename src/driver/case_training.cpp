// SPDX-License-Identifier: MIT
// The parts of a Case for the operators of training.
#include "driver/case.hpp"

namespace fuseplan::driver {
namespace {

using test::HostTensor;

constexpr double kAverageFactor = 0.3;

/// Places in the statistics of test::BatchNormTraining.
constexpr std::size_t kMean = 0, kInverse = 1, kVariance = 2, kUnbiased = 3;

/// (1 - f) * before + f * value
test::ReferenceResult averaged(test::ReferenceResult values, const HostTensor& before) {
  test::Dims index(values.dims.size(), 0);
  for (test::Bounded& value : values.values) {
    value = test::Bounded{1 - kAverageFactor} * test::Bounded{before.get(index)} +
            test::Bounded{kAverageFactor} * value;
    test::advance(index, values.dims);
  }
  return values;
}

void add(test::Comparison& all, const test::Comparison& one) {
  all.elements += one.elements;
  all.mismatches += one.mismatches;
  all.undetermined += one.undetermined;
  all.damage += one.damage;
  all.max_relative_error = std::max(all.max_relative_error, one.max_relative_error);
  if (one.worst_ratio <= all.worst_ratio) return;
  all.worst_ratio = one.worst_ratio;
  all.worst_index = one.worst_index;
  all.worst_actual = one.worst_actual;
  all.worst_expected = one.worst_expected;
  all.worst_tolerance = one.worst_tolerance;
}

}  // namespace

test::Comparison Case::compare() {
  fetch();
  test::Comparison all = test::compare(output_, reference());
  // Statistics behind a chain are those of what was stored, whose rounding is the library's choice.
  std::vector<test::ReferenceResult> statistics = reference().statistics;
  if (stored_)
    statistics = test::run_reference(output_, std::vector<test::Step>{{*stored_}}).statistics;
  for (const Result& result : results_) {
    const test::ReferenceResult& statistic = statistics.at(result.statistic);
    add(all, test::compare(result.tensor,
                           result.running ? averaged(statistic, *result.running) : statistic));
  }
  return all;
}

void Case::add_results(const HostTensor& like, std::initializer_list<std::size_t> statistics) {
  for (std::size_t statistic : statistics) results_.push_back({like.like(), statistic, {}});
}

void Case::add_running(const HostTensor& like) {
  for (std::size_t statistic : {kMean, kUnbiased}) {
    HostTensor before = like.like();
    random_.fill(before, 0.25, 2);
    results_.push_back({before, statistic, before});
  }
}

void Case::append_statistics(const OpSpec& op, const Blend& blend) {
  HostTensor form(test::Element::f32, op.tensor.lens, op.tensor.strides);
  add_results(form, {kMean, kVariance, kInverse});
  add_running(form);
  form.fill(1);
  statistics_form_.emplace(std::move(form));
  stored_ = test::BatchNormTraining{&*statistics_form_, &*statistics_form_, kNormEpsilon};
  fuseplanOp_t token = nullptr;
  check(fuseplanCreateOpStatistics(plan(), &token, describe(op.tensor).get()));
  const auto result = [&](std::size_t i) { return result_at(i); };
  check(fuseplanSetOpArgsStatistics(args(), token, &blend.alpha, &blend.beta, result(0), result(1),
                                    result(2), result(3), result(4), kAverageFactor, kNormEpsilon));
  add_step({test::Activation{test::Mode::PASTHRU}}, blend);
}

void Case::append_norm_training(const OpSpec& op, const Blend& blend) {
  const HostTensor& scale = new_parameter(op.tensor, 0.5, 1.5);
  const HostTensor& bias = new_parameter(op.tensor, -1, 1);
  add_results(scale, {kMean, kInverse});
  add_running(scale);
  fuseplanOp_t token = nullptr;
  check(fuseplanCreateOpBatchNormForward(plan(), &token, op.norm_mode, op.running,
                                         describe(op.tensor).get()));
  const auto result = [&](std::size_t i) { return result_at(i); };
  check(fuseplanSetOpArgsBatchNormForward(args(), token, &blend.alpha, &blend.beta, at(scale),
                                          at(bias), result(0), result(1), result(2), result(3),
                                          kAverageFactor, kNormEpsilon));
  add_step({test::BatchNormTraining{&scale, &bias, kNormEpsilon}}, blend);
}

void Case::append_activation_backward(const OpSpec& op, const Blend& blend) {
  const OpSpec* next = &op == &problem_.ops.back() ? nullptr : &op + 1;
  const bool recomputed = next != nullptr && next->kind == OpKind::norm_backward;
  const HostTensor* source = recomputed ? nullptr : &new_parameter(op.source, -1, 1);
  const ActivationParameters p = op.parameters.value_or(usual_parameters(op.mode));
  fuseplanOp_t token = nullptr;
  check(fuseplanCreateOpActivationBackward(plan(), &token, op.mode, describe(op.source).get()));
  check(fuseplanSetOpArgsActivBackward(args(), token, &blend.alpha, &blend.beta, nullptr,
                                       recomputed ? nullptr : at(*source), p.alpha, p.beta,
                                       p.gamma));
  const test::Activation forward{static_cast<test::Mode>(op.mode), p.alpha, p.beta, p.gamma};
  add_step({test::ActivationBackward{forward, source}}, blend);
}

void Case::append_norm_backward(const OpSpec& op, const Blend& blend) {
  const HostTensor& source = new_parameter(op.source, -1, 1);
  const HostTensor& scale = new_parameter(op.tensor, 0.5, 1.5);
  const HostTensor& bias = new_parameter(op.tensor, -1, 1);
  const HostTensor& mean = new_parameter(op.tensor, -0.5, 0.5);
  const HostTensor& inverse = new_parameter(op.tensor, 0.5, 2);
  constexpr std::size_t kScale = 0, kBias = 1;
  add_results(scale, {kScale, kBias});
  fuseplanOp_t token = nullptr;
  check(fuseplanCreateOpBatchNormBackward(plan(), &token, op.norm_mode, describe(op.source).get(),
                                          describe(op.tensor).get()));
  check(fuseplanSetOpArgsBatchNormBackward(args(), token, &blend.alpha, &blend.beta, at(source),
                                           at(scale), at(bias), result_at(0), result_at(1),
                                           at(mean), at(inverse)));
  const test::BatchNormBackward step{&source, &scale, &bias, &mean, &inverse};
  recompute_source(step);
  add_step({step}, blend);
}

void Case::recompute_source(const test::BatchNormBackward& norm) {
  const test::Dims& lens = norm.source->dims();
  recomputed_.emplace(test::Element::f32, lens);
  const test::Dims params = test::over_axes(norm.scale->dims(), lens.size());
  test::Dims index(lens.size(), 0);
  do {
    test::Dims at = index;
    for (std::size_t axis = 0; axis < lens.size(); ++axis)
      if (params[axis] == 1) at[axis] = 0;
    if (norm.scale->dims().size() == 1) at = {index[1]};
    const double xhat = (norm.source->get(index) - norm.mean->get(at)) * norm.inverse->get(at);
    recomputed_->set(index, norm.scale->get(at) * xhat + norm.bias->get(at));
  } while (test::advance(index, lens));
}

}  // namespace fuseplan::driver
