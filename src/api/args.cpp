// SPDX-License-Identifier: MIT
#include <cmath>

#include "api/guard.hpp"
#include "api/objects.hpp"
#include "fuseplan/args.h"

using namespace fuseplan;
using namespace fuseplan::api;

namespace {

struct NamedPointer {
  Role role;
  const void* value;
  const char* name;  ///< nullptr: may be left out
};

struct Setter {
  fuseplanOp_t op;
  const char* op_name;
  const char* kind;
  const void* alpha;
  const void* beta;
};

void set_args(fuseplanOperatorArgs_t args, const Setter& setter,
              std::initializer_list<NamedPointer> pointers,
              std::initializer_list<OpArgs::Scalar> scalars,
              std::initializer_list<OpArgs::Result> results = {}) {
  const auto object = pin(args, "args");
  const auto op = pin(setter.op, setter.op_name);
  require(std::string_view(op->kind) == setter.kind, Status::BadParm,
          "{} is of kind {}, expected {}", setter.op_name, op->kind, setter.kind);
  OpArgs values;
  values.kind = setter.kind;
  if (setter.alpha != nullptr) values.alpha = *static_cast<const float*>(setter.alpha);
  if (setter.beta != nullptr) values.beta = *static_cast<const float*>(setter.beta);
  for (const auto& [role, value, name] : pointers)
    values.pointers.push_back({role, name == nullptr ? value : required(value, name)});
  values.scalars.assign(scalars.begin(), scalars.end());
  values.results.assign(results.begin(), results.end());
  object->args.set(op->index, std::move(values));
}

void require_epsilon(double epsilon) {
  require(std::isfinite(epsilon) && epsilon >= 0, Status::InvalidValue,
          "epsilon is {}, expected a finite number that is not negative", epsilon);
}

void require_average(double epsilon, double factor, const void* mean, const void* variance) {
  require_epsilon(epsilon);
  require(std::isfinite(factor), Status::InvalidValue,
          "expAvgFactor is {}, expected a finite number", factor);
  require((mean == nullptr) == (variance == nullptr), Status::BadParm,
          "of runningMean and runningVariance one is NULL, expected both or none");
}

}  // namespace

fuseplanStatus_t fuseplanCreateOperatorArgs(fuseplanOperatorArgs_t* args) {
  return guard(__func__, [&] { *required(args, "args") = create<fuseplanOperatorArgs_t>(); });
}

fuseplanStatus_t fuseplanDestroyOperatorArgs(fuseplanOperatorArgs_t args) {
  return guard(__func__, [&] { destroy(args, "args"); });
}

fuseplanStatus_t fuseplanSetOpArgsConvForward(fuseplanOperatorArgs_t args, fuseplanOp_t convOp,
                                              const void* alpha, const void* beta, const void* w) {
  return guard(__func__, [&] {
    set_args(args, {convOp, "convOp", "conv", alpha, beta}, {{Role::weights, w, "w"}}, {});
  });
}

fuseplanStatus_t fuseplanSetOpArgsBiasForward(fuseplanOperatorArgs_t args, fuseplanOp_t biasOp,
                                              const void* alpha, const void* beta,
                                              const void* bias) {
  return guard(__func__, [&] {
    set_args(args, {biasOp, "biasOp", "bias", alpha, beta}, {{Role::bias, bias, "bias"}}, {});
  });
}

fuseplanStatus_t fuseplanSetOpArgsActivForward(fuseplanOperatorArgs_t args, fuseplanOp_t activFwdOp,
                                               const void* alpha, const void* beta,
                                               double activAlpha, double activBeta,
                                               double activGamma) {
  return guard(__func__, [&] {
    set_args(args, {activFwdOp, "activFwdOp", "activation", alpha, beta}, {},
             {{Role::activ_alpha, activAlpha},
              {Role::activ_beta, activBeta},
              {Role::activ_gamma, activGamma}});
  });
}

fuseplanStatus_t fuseplanSetOpArgsBatchNormInference(fuseplanOperatorArgs_t args, fuseplanOp_t bnOp,
                                                     const void* alpha, const void* beta,
                                                     const void* bnScale, const void* bnBias,
                                                     const void* estimatedMean,
                                                     const void* estimatedVariance,
                                                     double epsilon) {
  return guard(__func__, [&] {
    require_epsilon(epsilon);
    set_args(args, {bnOp, "bnOp", "norm", alpha, beta},
             {{Role::norm_scale, bnScale, "bnScale"},
              {Role::norm_bias, bnBias, "bnBias"},
              {Role::norm_mean, estimatedMean, "estimatedMean"},
              {Role::norm_variance, estimatedVariance, "estimatedVariance"}},
             {{Role::epsilon, epsilon}});
  });
}

fuseplanStatus_t fuseplanSetOpArgsTensorAdd(fuseplanOperatorArgs_t args, fuseplanOp_t addOp,
                                            const void* alpha, const void* beta, const void* other,
                                            double scale) {
  return guard(__func__, [&] {
    set_args(args, {addOp, "addOp", "add", alpha, beta}, {{Role::other, other, "other"}},
             {{Role::add_scale, scale}});
  });
}

fuseplanStatus_t fuseplanSetOpArgsScaleShift(fuseplanOperatorArgs_t args, fuseplanOp_t scaleOp,
                                             const void* alpha, const void* beta, const void* scale,
                                             const void* shift) {
  return guard(__func__, [&] {
    set_args(args, {scaleOp, "scaleOp", "scale_shift", alpha, beta},
             {{Role::scale, scale, "scale"}, {Role::shift, shift, "shift"}}, {});
  });
}

fuseplanStatus_t fuseplanSetOpArgsBatchNormForward(
    fuseplanOperatorArgs_t args, fuseplanOp_t bnFwdOp, const void* alpha, const void* beta,
    const void* bnScale, const void* bnBias, void* savedMean, void* savedInvVariance,
    void* runningMean, void* runningVariance, double expAvgFactor, double epsilon) {
  return guard(__func__, [&] {
    require_average(epsilon, expAvgFactor, runningMean, runningVariance);
    require(runningMean != nullptr || !pin(bnFwdOp, "bnFwdOp")->needs_running, Status::BadParm,
            "bnFwdOp was created with running statistics, but runningMean and runningVariance are "
            "NULL");
    set_args(args, {bnFwdOp, "bnFwdOp", "norm_training", alpha, beta},
             {{Role::norm_scale, bnScale, "bnScale"}, {Role::norm_bias, bnBias, "bnBias"}},
             {{Role::epsilon, epsilon}, {Role::average_factor, expAvgFactor}},
             {{Role::saved_mean, savedMean},
              {Role::saved_inv_variance, savedInvVariance},
              {Role::running_mean, runningMean},
              {Role::running_variance, runningVariance}});
  });
}

fuseplanStatus_t fuseplanSetOpArgsStatistics(fuseplanOperatorArgs_t args, fuseplanOp_t statisticsOp,
                                             const void* alpha, const void* beta, void* mean,
                                             void* variance, void* invVariance, void* runningMean,
                                             void* runningVariance, double expAvgFactor,
                                             double epsilon) {
  return guard(__func__, [&] {
    require_average(epsilon, expAvgFactor, runningMean, runningVariance);
    set_args(args, {statisticsOp, "statisticsOp", "statistics", alpha, beta}, {},
             {{Role::epsilon, epsilon}, {Role::average_factor, expAvgFactor}},
             {{Role::saved_mean, mean},
              {Role::saved_variance, variance},
              {Role::saved_inv_variance, invVariance},
              {Role::running_mean, runningMean},
              {Role::running_variance, runningVariance}});
  });
}

fuseplanStatus_t fuseplanSetOpArgsBatchNormBackward(
    fuseplanOperatorArgs_t args, fuseplanOp_t bnBwdOp, const void* alpha, const void* beta,
    const void* x, const void* bnScale, const void* bnBias, void* resultBnScaleDiff,
    void* resultBnBiasDiff, const void* savedMean, const void* savedInvVariance) {
  return guard(__func__, [&] {
    set_args(args, {bnBwdOp, "bnBwdOp", "norm_backward", alpha, beta},
             {{Role::source, x, "x"},
              {Role::norm_scale, bnScale, "bnScale"},
              {Role::norm_bias, bnBias, nullptr},
              {Role::saved_mean, savedMean, "savedMean"},
              {Role::saved_inv_variance, savedInvVariance, "savedInvVariance"}},
             {},
             {{Role::scale_gradient, resultBnScaleDiff}, {Role::bias_gradient, resultBnBiasDiff}});
  });
}

fuseplanStatus_t fuseplanSetOpArgsActivBackward(fuseplanOperatorArgs_t args,
                                                fuseplanOp_t activBwdOp, const void* alpha,
                                                const void* beta, const void* /*y*/, const void* x,
                                                double activAlpha, double activBeta,
                                                double activGamma) {
  return guard(__func__, [&] {
    set_args(args, {activBwdOp, "activBwdOp", "activation_backward", alpha, beta},
             {{Role::source, x, nullptr}},
             {{Role::activ_alpha, activAlpha},
              {Role::activ_beta, activBeta},
              {Role::activ_gamma, activGamma}});
  });
}

fuseplanStatus_t fuseplanSetArgsFlags(fuseplanOperatorArgs_t args, int flags) {
  return guard(__func__, [&] {
    const auto object = pin(args, "args");
    require((flags & ~fuseplanArgsConstantWeights) == 0, Status::InvalidValue,
            "flags is {:#x}, expected fuseplanArgsFlag_t bits only", flags);
    object->args.set_constant_weights((flags & fuseplanArgsConstantWeights) != 0);
  });
}
