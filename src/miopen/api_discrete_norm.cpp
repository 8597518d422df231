// SPDX-License-Identifier: MIT
#include "miopen/loops.hpp"
#include "miopen/norm.hpp"

using namespace fuseplan::miopen;

miopenStatus_t miopenBatchNormalizationForwardInference(
    miopenHandle_t handle, miopenBatchNormMode_t bn_mode, void* alpha, void* beta,
    miopenTensorDescriptor_t xDesc, const void* x, miopenTensorDescriptor_t yDesc, void* y,
    miopenTensorDescriptor_t bnScaleBiasMeanVarDesc, void* bnScale, void* bnBias,
    void* estimatedMean, void* estimatedVariance, double epsilon) {
  return guard(__func__, [&] {
    const auto object = find(handle, "handle");
    const Shape params = shape_of(bnScaleBiasMeanVarDesc, "bnScaleBiasMeanVarDesc");
    const Chain chain{shape_of(xDesc, "xDesc"),
                      {fmt::format("norm({},{})", norm_text(bn_mode), text_of(params))},
                      shape_of(yDesc, "yDesc")};
    const OpArguments arguments[] = {
        {.kind = OpKind::norm,
         .alpha = scalar(alpha, 1),
         .beta = scalar(beta, 0),
         .pointers = {required(bnScale, "bnScale"), required(bnBias, "bnBias"),
                      required(estimatedMean, "estimatedMean"),
                      required(estimatedVariance, "estimatedVariance")},
         .scalars = {epsilon}}};
    object->run(chain, required(x, "x"), required(y, "y"), arguments);
  });
}

miopenStatus_t miopenBatchNormalizationForwardTraining(miopenHandle_t, miopenBatchNormMode_t, void*,
                                                       void*, miopenTensorDescriptor_t, const void*,
                                                       miopenTensorDescriptor_t, void*,
                                                       miopenTensorDescriptor_t, void*, void*,
                                                       double, void*, void*, double, void*, void*) {
  return guard(__func__, [&] { fail(miopenStatusNotImplemented, "training is not available"); });
}

miopenStatus_t miopenBatchNormalizationBackward(miopenHandle_t, miopenBatchNormMode_t, const void*,
                                                const void*, const void*, const void*,
                                                miopenTensorDescriptor_t, const void*,
                                                miopenTensorDescriptor_t, const void*,
                                                miopenTensorDescriptor_t, void*,
                                                miopenTensorDescriptor_t, const void*, void*, void*,
                                                double, const void*, const void*) {
  return guard(__func__, [&] { fail(miopenStatusNotImplemented, "training is not available"); });
}

miopenStatus_t miopenActivationBackward(miopenHandle_t, miopenActivationDescriptor_t, const void*,
                                        miopenTensorDescriptor_t, const void*,
                                        miopenTensorDescriptor_t, const void*,
                                        miopenTensorDescriptor_t, const void*, const void*,
                                        miopenTensorDescriptor_t, void*) {
  return guard(__func__, [&] { fail(miopenStatusNotImplemented, "training is not available"); });
}
