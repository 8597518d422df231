// SPDX-License-Identifier: MIT
#include "miopen/loops.hpp"
#include "miopen/norm.hpp"

using namespace fuseplan::miopen;

namespace {

struct Descriptors {
  miopenBatchNormMode_t mode;
  miopenTensorDescriptor_t x, y, parameters;
};

/// y from x with the batch's own statistics.
Chain training_chain(const Descriptors& of) {
  const Shape parameters = shape_of(of.parameters, "bnScaleBiasMeanVarDesc");
  return {shape_of(of.x, "xDesc"),
          {fmt::format("norm_training({},{})", norm_text(of.mode), text_of(parameters))},
          shape_of(of.y, "yDesc")};
}

OpArguments training_arguments(const void* scale, const void* bias, double epsilon) {
  return {.kind = OpKind::norm_training,
          .pointers = {required(scale, "bnScale"), required(bias, "bnBias")},
          .scalars = {0, epsilon}};
}

/// Memory of the handle's device for a tensor that the caller has none for.
class Scratch {
 public:
  Scratch() = default;
  Scratch(const Handle& handle, miopenTensorDescriptor_t descriptor)
      : handle_(handle.handle.get()) {
    std::size_t bytes = 0;
    check(fuseplanGetTensorNumBytes(fuseplan_of(descriptor), &bytes));
    check(fuseplanMalloc(handle_, bytes, &memory_));
  }
  ~Scratch() {
    if (memory_ != nullptr) static_cast<void>(fuseplanFree(handle_, memory_));
  }
  Scratch(Scratch&& other) noexcept
      : handle_(other.handle_), memory_(std::exchange(other.memory_, nullptr)) {}
  Scratch& operator=(Scratch&& other) noexcept {
    handle_ = other.handle_;
    std::swap(memory_, other.memory_);
    return *this;
  }
  void* data() const { return memory_; }

 private:
  fuseplanHandle_t handle_ = nullptr;
  void* memory_ = nullptr;
};

/// Mean and inverse deviation, where the caller did not save them.
struct Statistics {
  Scratch mean, inverse;
};
Statistics compute_statistics(Handle& handle, const Descriptors& of, const void* x,
                              const void* scale, double epsilon) {
  Statistics found{{handle, of.parameters}, {handle, of.parameters}};
  const Scratch y(handle, of.x);
  OpArguments arguments[] = {training_arguments(scale, scale, epsilon)};
  arguments[0].pointers[2] = found.mean.data();
  arguments[0].pointers[3] = found.inverse.data();
  handle.run(training_chain(of), x, y.data(), arguments);
  return found;
}

}  // namespace

miopenStatus_t miopenBatchNormalizationForwardInference(
    miopenHandle_t handle, miopenBatchNormMode_t bn_mode, void* alpha, void* beta,
    miopenTensorDescriptor_t xDesc, const void* x, miopenTensorDescriptor_t yDesc, void* y,
    miopenTensorDescriptor_t bnScaleBiasMeanVarDesc, void* bnScale, void* bnBias,
    void* estimatedMean, void* estimatedVariance, double epsilon) {
  return guard(__func__, [&] {
    const auto object = find(handle, "handle");
    Chain chain = training_chain({bn_mode, xDesc, yDesc, bnScaleBiasMeanVarDesc});
    OpArguments arguments[] = {training_arguments(bnScale, bnBias, epsilon)};
    if (estimatedMean != nullptr && estimatedVariance != nullptr) {
      chain.ops = {
          fmt::format("norm({},{})", norm_text(bn_mode),
                      text_of(shape_of(bnScaleBiasMeanVarDesc, "bnScaleBiasMeanVarDesc")))};
      arguments[0] = {.kind = OpKind::norm,
                      .pointers = {bnScale, bnBias, estimatedMean, estimatedVariance},
                      .scalars = {epsilon}};
    }
    arguments[0].alpha = scalar(alpha, 1);
    arguments[0].beta = scalar(beta, 0);
    object->run(chain, required(x, "x"), required(y, "y"), arguments);
  });
}

miopenStatus_t miopenBatchNormalizationForwardTraining(
    miopenHandle_t handle, miopenBatchNormMode_t bn_mode, void* alpha, void* beta,
    miopenTensorDescriptor_t xDesc, const void* x, miopenTensorDescriptor_t yDesc, void* y,
    miopenTensorDescriptor_t bnScaleBiasMeanVarDesc, void* bnScale, void* bnBias,
    double expAvgFactor, void* resultRunningMean, void* resultRunningVariance, double epsilon,
    void* resultSaveMean, void* resultSaveInvVariance) {
  return guard(__func__, [&] {
    const auto object = find(handle, "handle");
    OpArguments arguments[] = {training_arguments(bnScale, bnBias, epsilon)};
    auto& values = arguments[0];
    values.alpha = scalar(alpha, 1);
    values.beta = scalar(beta, 0);
    values.scalars[0] = expAvgFactor;
    values.pointers[2] = resultSaveMean;
    values.pointers[3] = resultSaveInvVariance;
    values.pointers[4] = resultRunningMean;
    values.pointers[5] = resultRunningVariance;
    Scratch other;  // for one without the other, which fuseplan does not do
    if ((resultRunningMean == nullptr) != (resultRunningVariance == nullptr)) {
      other = Scratch(*object, bnScaleBiasMeanVarDesc);
      values.pointers[resultRunningMean == nullptr ? 4 : 5] = other.data();
    }
    object->run(training_chain({bn_mode, xDesc, yDesc, bnScaleBiasMeanVarDesc}), required(x, "x"),
                required(y, "y"), arguments);
  });
}

miopenStatus_t miopenBatchNormalizationBackward(
    miopenHandle_t handle, miopenBatchNormMode_t bn_mode, const void* alphaDataDiff,
    const void* betaDataDiff, const void* alphaParamDiff, const void* betaParamDiff,
    miopenTensorDescriptor_t xDesc, const void* x, miopenTensorDescriptor_t dyDesc, const void* dy,
    miopenTensorDescriptor_t dxDesc, void* dx, miopenTensorDescriptor_t bnScaleBiasDiffDesc,
    const void* bnScale, void* resultBnScaleDiff, void* resultBnBiasDiff, double epsilon,
    const void* savedMean, const void* savedInvVariance) {
  return guard(__func__, [&] {
    const auto object = find(handle, "handle");
    require(scalar(alphaParamDiff, 1) == 1 && scalar(betaParamDiff, 0) == 0, miopenStatusBadParm,
            "alphaParamDiff and betaParamDiff are {} and {}, expected 1 and 0",
            scalar(alphaParamDiff, 1), scalar(betaParamDiff, 0));
    required(x, "x");
    required(bnScale, "bnScale");
    Statistics computed;
    if (savedMean == nullptr || savedInvVariance == nullptr) {
      computed = compute_statistics(*object, {bn_mode, xDesc, xDesc, bnScaleBiasDiffDesc}, x,
                                    bnScale, epsilon);
      savedMean = computed.mean.data();
      savedInvVariance = computed.inverse.data();
    }
    const Shape parameters = shape_of(bnScaleBiasDiffDesc, "bnScaleBiasDiffDesc");
    const Chain chain{shape_of(dyDesc, "dyDesc"),
                      {fmt::format("norm_backward({},{},{})", norm_text(bn_mode),
                                   text_of(parameters), text_of(shape_of(xDesc, "xDesc")))},
                      shape_of(dxDesc, "dxDesc")};
    const OpArguments arguments[] = {{.kind = OpKind::norm_backward,
                                      .alpha = scalar(alphaDataDiff, 1),
                                      .beta = scalar(betaDataDiff, 0),
                                      .pointers = {x, bnScale, nullptr, resultBnScaleDiff,
                                                   resultBnBiasDiff, savedMean, savedInvVariance}}};
    object->run(chain, required(dy, "dy"), required(dx, "dx"), arguments);
  });
}
