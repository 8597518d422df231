// SPDX-License-Identifier: MIT
// Numbers and sizes that compiled programs rely on.
#include <cstddef>

#include <miopen/miopen.h>

namespace {

template <typename... Enumerators>
constexpr bool all_are(int value, Enumerators... enumerators) {
  return ((static_cast<int>(enumerators) == value) && ...);
}
static_assert(all_are(0, miopenStatusSuccess, miopenVerticalFusion, miopenHalf, miopenTensorNCHW,
                      miopenConvolution, miopenPaddingDefault, miopenTensorOpAdd,
                      MIOPEN_CONVOLUTION_ATTRIB_FP16_ALT_IMPL, miopenConvolutionFwdAlgoGEMM,
                      miopenConvolutionAlgoGEMM, miopenActivationPASTHRU, miopenBNPerActivation,
                      miopenPoolingMax));
static_assert(all_are(1, miopenStatusNotInitialized, miopenHorizontalFusion, miopenFloat,
                      miopenTensorNHWC, miopenTranspose, miopenPaddingSame, miopenTensorOpMul,
                      MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC, miopenConvolutionFwdAlgoDirect,
                      miopenConvolutionAlgoDirect, miopenActivationLOGISTIC, miopenBNSpatial,
                      miopenPoolingAverage));
static_assert(all_are(2, miopenStatusInvalidValue, miopenInt32, miopenTensorCHWN, miopenGroupConv,
                      miopenPaddingValid, miopenTensorOpMin, miopenConvolutionFwdAlgoFFT,
                      miopenConvolutionAlgoFFT, miopenActivationTANH, miopenPoolingAverageInclusive,
                      MIOPEN_CONVOLUTION_ATTRIB_FP8_ROUNDING_MODE));
static_assert(all_are(3, miopenStatusBadParm, miopenInt8, miopenTensorNCHWc4, miopenDepthwise,
                      miopenTensorOpMax, miopenConvolutionFwdAlgoWinograd,
                      miopenConvolutionAlgoWinograd, miopenActivationRELU));
static_assert(all_are(4, miopenStatusAllocFailed, miopenTensorNCHWc8, miopenActivationSOFTRELU));
static_assert(all_are(5, miopenStatusInternalError, miopenBFloat16, miopenTensorCHWNc4,
                      miopenConvolutionFwdAlgoImplicitGEMM, miopenConvolutionAlgoImplicitGEMM,
                      miopenActivationABS));
static_assert(all_are(6, miopenStatusNotImplemented, miopenDouble, miopenTensorCHWNc8,
                      miopenActivationPOWER));
static_assert(all_are(7, miopenStatusUnknownError, miopenFloat8, miopenTensorNCDHW,
                      miopenActivationCLIPPEDRELU));
static_assert(all_are(8, miopenStatusUnsupportedOp, miopenBFloat8, miopenTensorNDHWC,
                      miopenActivationLEAKYRELU));
static_assert(all_are(9, miopenStatusGpuOperationsSkipped, miopenInt64, miopenActivationELU));
static_assert(all_are(10, miopenStatusVersionMismatch, miopenActivationCLAMP));

static_assert(sizeof(miopenConvAlgoPerf_t) == 16);
static_assert(offsetof(miopenConvAlgoPerf_t, fwd_algo) == 0);
static_assert(offsetof(miopenConvAlgoPerf_t, bwd_weights_algo) == 0);
static_assert(offsetof(miopenConvAlgoPerf_t, bwd_data_algo) == 0);
static_assert(offsetof(miopenConvAlgoPerf_t, time) == 4);
static_assert(offsetof(miopenConvAlgoPerf_t, memory) == 8);
static_assert(sizeof(miopenConvSolution_t) == 32);
static_assert(offsetof(miopenConvSolution_t, time) == 0);
static_assert(offsetof(miopenConvSolution_t, workspace_size) == 8);
static_assert(offsetof(miopenConvSolution_t, solution_id) == 16);
static_assert(offsetof(miopenConvSolution_t, algorithm) == 24);
static_assert(sizeof(miopenStatus_t) == 4 && sizeof(miopenDataType_t) == 4 && sizeof(bool) == 1);
static_assert(sizeof(miopenAcceleratorQueue_t) == sizeof(void*));
static_assert(MIOPEN_BACKEND_HIP == 1 && MIOPEN_BACKEND_OPENCL == 0 && MIOPEN_VERSION_MAJOR == 3);

}  // namespace
