/* SPDX-License-Identifier: MIT */
/* Objects, enumerations and structs of MIOpen's interface, with its values and sizes. */
#ifndef FUSEPLAN_MIOPEN_TYPES_H
#define FUSEPLAN_MIOPEN_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config.h"
#include "export.h"
#include "version.h"

/* A program that includes HIP's headers has hipStream_t from there; for all others it is a pointer
 * they need not look behind. */
#if !defined(HIP_INCLUDE_HIP_HIP_RUNTIME_API_H) && !defined(FUSEPLAN_HAS_HIP_STREAM)
#define FUSEPLAN_HAS_HIP_STREAM
typedef struct ihipStream_t* hipStream_t;
#endif
typedef hipStream_t miopenAcceleratorQueue_t;

/* Enumerations are ints in C++ too, so that a number that is none of theirs can be passed and
 * refused. */
#if defined(__cplusplus) && __cplusplus >= 201103L
#define FUSEPLAN_MIOPEN_INT : int
#else
#define FUSEPLAN_MIOPEN_INT
#endif

/* ---- Objects -------------------------------------------------------------------------------
 *
 * Checked tokens, not addresses: NULL, a destroyed object or one of another type gives
 * miopenStatusBadParm. */

#define MIOPEN_DECLARE_OBJECT(name) typedef struct name* name##_t

MIOPEN_DECLARE_OBJECT(miopenHandle);
MIOPEN_DECLARE_OBJECT(miopenTensorDescriptor);
MIOPEN_DECLARE_OBJECT(miopenConvolutionDescriptor);
MIOPEN_DECLARE_OBJECT(miopenActivationDescriptor);
MIOPEN_DECLARE_OBJECT(miopenPoolingDescriptor);
MIOPEN_DECLARE_OBJECT(miopenFusionPlanDescriptor);
MIOPEN_DECLARE_OBJECT(miopenFusionOpDescriptor);
MIOPEN_DECLARE_OBJECT(miopenOperatorArgs);
/* Named for programs that mention them; no function here makes one. */
MIOPEN_DECLARE_OBJECT(miopenOperatorDescriptor);
MIOPEN_DECLARE_OBJECT(miopenLRNDescriptor);
MIOPEN_DECLARE_OBJECT(miopenRNNDescriptor);
MIOPEN_DECLARE_OBJECT(miopenProblem);
MIOPEN_DECLARE_OBJECT(miopenSolution);
MIOPEN_DECLARE_OBJECT(miopenFindOptions);

typedef void* (*miopenAllocatorFunction)(void* context, size_t sizeBytes);
typedef void (*miopenDeallocatorFunction)(void* context, void* memory);

/* ---- Status -------------------------------------------------------------------------------- */

typedef enum FUSEPLAN_MIOPEN_INT {
  miopenStatusSuccess = 0,
  miopenStatusNotInitialized = 1,
  miopenStatusInvalidValue = 2,
  miopenStatusBadParm = 3,
  miopenStatusAllocFailed = 4,
  miopenStatusInternalError = 5,
  miopenStatusNotImplemented = 6,
  miopenStatusUnknownError = 7,
  miopenStatusUnsupportedOp = 8, /* a plan that cannot run as it stands: call op by op instead */
  miopenStatusGpuOperationsSkipped = 9,
  miopenStatusVersionMismatch = 10
} miopenStatus_t;

/* ---- Tensors ------------------------------------------------------------------------------- */

typedef enum FUSEPLAN_MIOPEN_INT {
  miopenHalf = 0,
  miopenFloat = 1,
  miopenInt32 = 2,
  miopenInt8 = 3,
  miopenBFloat16 = 5,
  miopenDouble = 6,
  miopenFloat8 = 7,
  miopenBFloat8 = 8,
  miopenInt64 = 9
} miopenDataType_t;

/* Order in memory, outermost first; lengths are always given in N, C, [D,] H, W order. */
typedef enum FUSEPLAN_MIOPEN_INT {
  miopenTensorNCHW = 0,
  miopenTensorNHWC = 1,
  miopenTensorCHWN = 2,
  miopenTensorNCHWc4 = 3,
  miopenTensorNCHWc8 = 4,
  miopenTensorCHWNc4 = 5,
  miopenTensorCHWNc8 = 6,
  miopenTensorNCDHW = 7,
  miopenTensorNDHWC = 8
} miopenTensorLayout_t;

typedef enum FUSEPLAN_MIOPEN_INT {
  miopenTensorOpAdd = 0,
  miopenTensorOpMul = 1,
  miopenTensorOpMin = 2,
  miopenTensorOpMax = 3
} miopenTensorOp_t;

/* ---- Convolutions -------------------------------------------------------------------------- */

typedef enum FUSEPLAN_MIOPEN_INT {
  miopenConvolution = 0, /* cross-correlation */
  miopenTranspose = 1,
  miopenGroupConv = 2, /* kept as miopenConvolution: the group count decides */
  miopenDepthwise = 3  /* the same */
} miopenConvolutionMode_t;

typedef enum FUSEPLAN_MIOPEN_INT {
  miopenPaddingDefault = 0,
  miopenPaddingSame = 1,
  miopenPaddingValid = 2
} miopenPaddingMode_t;

typedef enum FUSEPLAN_MIOPEN_INT {
  MIOPEN_CONVOLUTION_ATTRIB_FP16_ALT_IMPL = 0, /* kept, without effect */
  MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC = 1,
  MIOPEN_CONVOLUTION_ATTRIB_FP8_ROUNDING_MODE = 2 /* kept, without effect */
} miopenConvolutionAttrib_t;

typedef enum FUSEPLAN_MIOPEN_INT {
  miopenConvolutionFwdAlgoGEMM = 0,
  miopenConvolutionFwdAlgoDirect = 1,
  miopenConvolutionFwdAlgoFFT = 2,
  miopenConvolutionFwdAlgoWinograd = 3,
  miopenConvolutionFwdAlgoImplicitGEMM = 5
} miopenConvFwdAlgorithm_t;

typedef enum FUSEPLAN_MIOPEN_INT {
  miopenConvolutionBwdWeightsAlgoGEMM = 0,
  miopenConvolutionBwdWeightsAlgoDirect = 1,
  miopenConvolutionBwdWeightsAlgoWinograd = 3,
  miopenConvolutionBwdWeightsAlgoImplicitGEMM = 5
} miopenConvBwdWeightsAlgorithm_t;

typedef enum FUSEPLAN_MIOPEN_INT {
  miopenConvolutionBwdDataAlgoGEMM = 0,
  miopenConvolutionBwdDataAlgoDirect = 1,
  miopenConvolutionBwdDataAlgoFFT = 2,
  miopenConvolutionBwdDataAlgoWinograd = 3,
  miopenTransposeBwdDataAlgoGEMM = 4, /* deprecated */
  miopenConvolutionBwdDataAlgoImplicitGEMM = 5
} miopenConvBwdDataAlgorithm_t;

typedef enum FUSEPLAN_MIOPEN_INT {
  miopenConvolutionAlgoGEMM = 0,
  miopenConvolutionAlgoDirect = 1,
  miopenConvolutionAlgoFFT = 2,
  miopenConvolutionAlgoWinograd = 3,
  miopenConvolutionAlgoImplicitGEMM = 5
} miopenConvAlgorithm_t;

/* What a Find call measured. */
typedef struct {
#if defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L)
  union {
    miopenConvFwdAlgorithm_t fwd_algo;
    miopenConvBwdWeightsAlgorithm_t bwd_weights_algo;
    miopenConvBwdDataAlgorithm_t bwd_data_algo;
  };
#else
  miopenConvFwdAlgorithm_t fwd_algo; /* C99 has no union without a name */
#endif
  float time; /* milliseconds */
  size_t memory;
} miopenConvAlgoPerf_t;

typedef struct {
  float time; /* milliseconds, modelled: negative when nothing is known */
  size_t workspace_size;
  uint64_t solution_id;
  miopenConvAlgorithm_t algorithm;
} miopenConvSolution_t;

/* ---- Pointwise operations, normalisation, pooling ------------------------------------------ */

/* y for x with parameters a, b, g (activAlpha, activBeta, activGamma). */
typedef enum FUSEPLAN_MIOPEN_INT {
  miopenActivationPASTHRU = 0,     /* x */
  miopenActivationLOGISTIC = 1,    /* 1 / (1 + exp(-x)) */
  miopenActivationTANH = 2,        /* b * tanh(a * x) */
  miopenActivationRELU = 3,        /* x <= 0 ? 0 : x */
  miopenActivationSOFTRELU = 4,    /* log(1 + exp(x)) */
  miopenActivationABS = 5,         /* |x| */
  miopenActivationPOWER = 6,       /* v <= 1e-6 ? 0 : v ^ g with v = a + b * x */
  miopenActivationCLIPPEDRELU = 7, /* min(a, max(0, x)) */
  miopenActivationLEAKYRELU = 8,   /* x > 0 ? x : a * x */
  miopenActivationELU = 9,         /* x > 0 ? x : a * (exp(x) - 1) */
  miopenActivationCLAMP = 10       /* min(b, max(a, x)) */
} miopenActivationMode_t;

typedef enum FUSEPLAN_MIOPEN_INT {
  miopenBNPerActivation = 0,
  miopenBNSpatial = 1
} miopenBatchNormMode_t;

typedef enum FUSEPLAN_MIOPEN_INT {
  miopenPoolingMax = 0,
  miopenPoolingAverage = 1,         /* over the elements inside the image */
  miopenPoolingAverageInclusive = 2 /* over the whole window, padding counting as 0 */
} miopenPoolingMode_t;

typedef enum FUSEPLAN_MIOPEN_INT {
  MIOPEN_SOFTMAX_FAST = 0,
  MIOPEN_SOFTMAX_ACCURATE = 1,
  MIOPEN_SOFTMAX_LOG = 2
} miopenSoftmaxAlgorithm_t;

typedef enum FUSEPLAN_MIOPEN_INT {
  MIOPEN_SOFTMAX_MODE_INSTANCE = 0, /* over C, H and W */
  MIOPEN_SOFTMAX_MODE_CHANNEL = 1   /* over C */
} miopenSoftmaxMode_t;

/* ---- Fusion -------------------------------------------------------------------------------- */

typedef enum FUSEPLAN_MIOPEN_INT {
  miopenVerticalFusion = 0,
  miopenHorizontalFusion = 1 /* accepted; such a plan does not compile */
} miopenFusionDirection_t;

#endif /* FUSEPLAN_MIOPEN_TYPES_H */
