// SPDX-License-Identifier: MIT
#include "miopen/activation.hpp"
#include "miopen/convolution.hpp"
#include "miopen/loops.hpp"

using namespace fuseplan::miopen;

miopenStatus_t miopenConvolutionBiasActivationForward(
    miopenHandle_t handle, const void* alpha1, miopenTensorDescriptor_t xDesc, const void* x,
    miopenTensorDescriptor_t wDesc, const void* w, miopenConvolutionDescriptor_t convDesc,
    miopenConvFwdAlgorithm_t, void*, size_t, const void* alpha2, miopenTensorDescriptor_t zDesc,
    const void* z, miopenTensorDescriptor_t biasDesc, const void* bias,
    miopenActivationDescriptor_t activationDesc, miopenTensorDescriptor_t yDesc, void* y) {
  return guard(__func__, [&] {
    const auto object = find(handle, "handle");
    const auto convolution = find(convDesc, "convDesc");
    const Activation activation = activation_of(activationDesc);
    const Shape weights = shape_of(wDesc, "wDesc");
    Chain chain{shape_of(xDesc, "xDesc"), {}, shape_of(yDesc, "yDesc")};
    std::vector<OpArguments> arguments;
    const auto step = [&](std::string text, OpArguments values) {
      chain.ops.push_back(std::move(text));
      arguments.push_back(values);
    };
    convolution->check_operands(chain.input, weights);
    step(convolution->op_text(weights),
         {.kind = OpKind::conv, .alpha = scalar(alpha1, 1), .pointers = {required(w, "w")}});
    if (zDesc != nullptr && z != nullptr)
      step(fmt::format("add({})", text_of(shape_of(zDesc, "zDesc"))),
           {.kind = OpKind::add, .pointers = {z}, .scalars = {scalar(alpha2, 1)}});
    if (biasDesc != nullptr && bias != nullptr)
      step(fmt::format("bias({})", text_of(channel_vector(shape_of(biasDesc, "biasDesc").type,
                                                          weights.lens[0], weights.rank()))),
           {.kind = OpKind::bias, .pointers = {bias}});
    step(fmt::format("activation({})", activation_text(activation.mode)),
         {.kind = OpKind::activation, .scalars = activation.parameters});
    object->run(chain, required(x, "x"), required(y, "y"), arguments);
  });
}
