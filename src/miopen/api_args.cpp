// SPDX-License-Identifier: MIT
#include "miopen/plan.hpp"

using namespace fuseplan::miopen;

namespace {

// alpha and beta of the setters are dropped unread: MIOpen ignores them, so programs pass what they
// like, pointers to locals that are gone among it.
void set(miopenOperatorArgs_t args, miopenFusionOpDescriptor_t op, const StoredArguments& values) {
  const auto object = find(args, "args");
  const auto op_object = find(op, "op");
  require(op_object->kind == values.kind, miopenStatusBadParm, "op {} is {}, expected {}",
          op_object->index, name_of(op_object->kind), name_of(values.kind));
  const auto index = static_cast<std::size_t>(op_object->index);
  const std::lock_guard lock(object->mutex);
  if (object->ops.size() <= index) object->ops.resize(index + 1);
  object->ops[index] = values;
}

}  // namespace

miopenStatus_t miopenCreateOperatorArgs(miopenOperatorArgs_t* args) {
  return guard(__func__, [&] {
    *required(args, "args") = publish<miopenOperatorArgs_t>(std::make_shared<Args>());
  });
}

miopenStatus_t miopenDestroyOperatorArgs(miopenOperatorArgs_t args) {
  return guard(__func__, [&] { destroy(args, "args"); });
}

miopenStatus_t miopenSetOpArgsConvForward(miopenOperatorArgs_t args,
                                          miopenFusionOpDescriptor_t convOp, const void*,
                                          const void*, const void* w) {
  return guard(__func__, [&] { set(args, convOp, {FusionOp::conv, {w}}); });
}

miopenStatus_t miopenSetOpArgsBiasForward(miopenOperatorArgs_t args,
                                          miopenFusionOpDescriptor_t biasOp, const void*,
                                          const void*, const void* bias) {
  return guard(__func__, [&] { set(args, biasOp, {FusionOp::bias, {bias}}); });
}

miopenStatus_t miopenSetOpArgsActivForward(miopenOperatorArgs_t args,
                                           miopenFusionOpDescriptor_t activFwdOp, const void*,
                                           const void*, double activAlpha, double activBeta,
                                           double activGamma) {
  return guard(__func__, [&] {
    set(args, activFwdOp, {FusionOp::activation, {}, {activAlpha, activBeta, activGamma}});
  });
}

miopenStatus_t miopenSetOpArgsActivBackward(miopenOperatorArgs_t args,
                                            miopenFusionOpDescriptor_t activBwdOp, const void*,
                                            const void*, const void* y, const void*,
                                            double activAlpha, double activBeta,
                                            double activGamma) {
  return guard(__func__, [&] {
    set(args, activBwdOp,
        {FusionOp::activation_backward, {y}, {activAlpha, activBeta, activGamma}});
  });
}

miopenStatus_t miopenSetOpArgsBatchNormInference(miopenOperatorArgs_t args,
                                                 miopenFusionOpDescriptor_t bnOp, const void*,
                                                 const void*, const void* bnScale,
                                                 const void* bnBias, const void* estimatedMean,
                                                 const void* estimatedVariance, double epsilon) {
  return guard(__func__, [&] {
    set(args, bnOp,
        {FusionOp::norm_inference, {bnScale, bnBias, estimatedMean, estimatedVariance}, {epsilon}});
  });
}

miopenStatus_t miopenSetOpArgsBatchNormForward(miopenOperatorArgs_t args,
                                               miopenFusionOpDescriptor_t bnFwdOp, const void*,
                                               const void*, const void* bnScale, const void* bnBias,
                                               void* savedMean, void* savedInvVariance,
                                               void* runningMean, void* runningVariance,
                                               double expAvgFactor, double epsilon) {
  return guard(__func__, [&] {
    // What was not asked for at creation is not written.
    const bool running = find(bnFwdOp, "bnFwdOp")->running;
    require(!running || (runningMean != nullptr && runningVariance != nullptr), miopenStatusBadParm,
            "runningMean or runningVariance is NULL, but the op was created with them");
    set(args, bnFwdOp,
        {FusionOp::norm_forward,
         {bnScale, bnBias, savedMean, savedInvVariance, running ? runningMean : nullptr,
          running ? runningVariance : nullptr},
         {expAvgFactor, epsilon}});
  });
}

miopenStatus_t miopenSetOpArgsBatchNormBackward(miopenOperatorArgs_t args,
                                                miopenFusionOpDescriptor_t bnBwdOp, const void*,
                                                const void*, const void* x, const void* bnScale,
                                                const void* bnBias, void* resultBnScaleDiff,
                                                void* resultBnBiasDiff, const void* savedMean,
                                                const void* savedInvVariance) {
  return guard(__func__, [&] {
    set(args, bnBwdOp,
        {FusionOp::norm_backward,
         {x, bnScale, bnBias, resultBnScaleDiff, resultBnBiasDiff, savedMean, savedInvVariance}});
  });
}
