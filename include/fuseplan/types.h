/* SPDX-License-Identifier: MIT */
/* Types, enumerations and status codes. Values up to the gap before ours equal MIOpen's. */
#ifndef FUSEPLAN_TYPES_H
#define FUSEPLAN_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FUSEPLAN_VERSION_MAJOR 0
#define FUSEPLAN_VERSION_MINOR 1
#define FUSEPLAN_VERSION_PATCH 0

#if defined(__GNUC__)
#define FUSEPLAN_API __attribute__((visibility("default")))
#else
#define FUSEPLAN_API
#endif

/* Enumerations are ints in C++ too, so that a number that is none of theirs can be passed and
 * refused. */
#if defined(__cplusplus) && __cplusplus >= 201103L
#define FUSEPLAN_INT : int
#else
#define FUSEPLAN_INT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Objects ----------------------------------------------------------------------------- */

typedef struct fuseplanHandle* fuseplanHandle_t;                               /* handle.h */
typedef struct fuseplanTensorDescriptor* fuseplanTensorDescriptor_t;           /* tensor.h */
typedef struct fuseplanConvolutionDescriptor* fuseplanConvolutionDescriptor_t; /* convolution.h */
typedef struct fuseplanActivationDescriptor* fuseplanActivationDescriptor_t;   /* convolution.h */
typedef struct fuseplanPlan* fuseplanPlan_t;                                   /* plan.h */
typedef struct fuseplanOp* fuseplanOp_t;                     /* plan.h; belongs to its plan */
typedef struct fuseplanOperatorArgs* fuseplanOperatorArgs_t; /* args.h */

/* A queue of device work: a CUstream on a CUDA handle. A CPU handle has none (NULL). */
typedef void* fuseplanAcceleratorQueue_t;

/* ---- Status ------------------------------------------------------------------------------ */

typedef enum FUSEPLAN_INT {
  fuseplanStatusSuccess = 0,
  fuseplanStatusNotInitialized = 1,       /* a descriptor or an op's arguments were never set */
  fuseplanStatusInvalidValue = 2,         /* a number, text or size outside its range */
  fuseplanStatusBadParm = 3,              /* an argument that cannot be used: NULL, no such object,
                                             a shape or type that does not fit the others */
  fuseplanStatusAllocFailed = 4,          /* no memory */
  fuseplanStatusInternalError = 5,        /* a defect of the library, a device or the system */
  fuseplanStatusNotImplemented = 6,       /* valid, named in this API, and not done yet */
  fuseplanStatusUnknownError = 7,         /* a failure that gave no account of itself */
  fuseplanStatusUnsupportedOp = 8,        /* no solver takes this plan on this device; query.h
                                             tells the reason of each */
  fuseplanStatusGpuOperationsSkipped = 9, /* compiled only, as asked */
  fuseplanStatusVersionMismatch = 10,     /* made by another version */
  fuseplanStatusBadOption = 32,           /* unknown option, or an option's value out of range */
  fuseplanStatusNotCompiled = 33,         /* plan not compiled for this handle, or edited since */
  fuseplanStatusForked = 34               /* a GPU handle made before fork() */
} fuseplanStatus_t;

/* ---- Tensors ----------------------------------------------------------------------------- */

typedef enum FUSEPLAN_INT {
  fuseplanHalf = 0,     /* IEEE binary16; arithmetic is done in 32 bits */
  fuseplanFloat = 1,    /* IEEE binary32 */
  fuseplanInt32 = 2,    /* describable, no kernel yet */
  fuseplanInt8 = 3,     /* 8 bits, signed: quantised data and weights, see plan.h */
  fuseplanBFloat16 = 5, /* upper half of binary32; arithmetic is done in 32 bits */
  fuseplanDouble = 6,   /* describable, no kernel yet */
  fuseplanInt64 = 9,    /* describable, no kernel yet */
  fuseplanUint8 = 64    /* 8 bits, unsigned: quantised data */
} fuseplanDataType_t;

/* Order in memory, outermost first. Lengths are always given in N, C, [D,] H, W order: a layout
 * only decides strides. MIOpen's values 3 to 6 (vectors of channels) are answered NotImplemented.
 */
typedef enum FUSEPLAN_INT {
  fuseplanTensorNCHW = 0,
  fuseplanTensorNHWC = 1,
  fuseplanTensorCHWN = 2,
  fuseplanTensorNCDHW = 7,
  fuseplanTensorNDHWC = 8,
  fuseplanTensorStrided = 64 /* any other strides; only ever an answer */
} fuseplanTensorLayout_t;

/* ---- Convolutions ------------------------------------------------------------------------ */

typedef enum FUSEPLAN_INT {
  fuseplanConvolution = 0, /* cross-correlation, as everywhere in neural networks */
  fuseplanTranspose = 1,   /* refused with NotImplemented */
  fuseplanGroupConv = 2,   /* the same as fuseplanConvolution; the group count decides */
  fuseplanDepthwise = 3    /* the same as fuseplanConvolution; the group count decides */
} fuseplanConvolutionMode_t;

typedef enum FUSEPLAN_INT {
  FUSEPLAN_CONVOLUTION_ATTRIB_FP16_ALT_IMPL = 0, /* 0 or 1. A hint to AMD GPUs; kept, and without
                                                    effect on the CPU, where f16 has one form */
  FUSEPLAN_CONVOLUTION_ATTRIB_DETERMINISTIC = 1, /* 0 or 1. Only kernels whose result is the same in
                                                    every run */
  FUSEPLAN_CONVOLUTION_ATTRIB_STRICT = 32 /* 0 or 1. Only kernels that multiply and add what the
                                             definition does; no Winograd, no Strassen, no FFT,
                                             no f32 as sums of bf16, no groups multiplied as one.
                                             Without it an infinity or NaN in x may also make NaN
                                             of outputs which do not read it: up to 4 pixels of y
                                             away from it, or with 1x1 filters of one other pixel
                                             of the batch, or of up to 62 channels of other
                                             groups; one in w, with 1x1 filters, one other channel
                                             of y; and an infinity in x or w may give NaN */
} fuseplanConvolutionAttrib_t;

typedef enum FUSEPLAN_INT {
  fuseplanConvolutionFwdAlgoGEMM = 0,
  fuseplanConvolutionFwdAlgoDirect = 1,
  fuseplanConvolutionFwdAlgoFFT = 2,
  fuseplanConvolutionFwdAlgoWinograd = 3,
  fuseplanConvolutionFwdAlgoImplicitGEMM = 5
} fuseplanConvFwdAlgorithm_t;

/* ---- Pointwise ops ----------------------------------------------------------------------- */

/* What y is for x, with the run-time parameters a, b, g (activAlpha, activBeta, activGamma). All
 * arithmetic is in 32 bits. NaN stays NaN (but NaN ^ 0 is 1), and infinities give the limit, unless
 * a parameter makes it 0 times infinity, which is NaN: TANH, HARDSIGMOID and HARDSWISH with a = 0,
 * POWER with b = 0. The first eleven are MIOpen's. Sources: ELU Clevert 2015 (arXiv:1511.07289),
 * GELU Hendrycks 2016 (arXiv:1606.08415), SiLU Elfwing 2017 (arXiv:1702.03118), Mish Misra 2019
 * (arXiv:1908.08681), hard variants Howard 2019 (arXiv:1905.02244). */
typedef enum FUSEPLAN_INT {
  fuseplanActivationPASTHRU = 0,      /* x */
  fuseplanActivationLOGISTIC = 1,     /* 1 / (1 + exp(-x)) */
  fuseplanActivationTANH = 2,         /* b * tanh(a * x) */
  fuseplanActivationRELU = 3,         /* x <= 0 ? 0 : x */
  fuseplanActivationSOFTRELU = 4,     /* log(1 + exp(x)) */
  fuseplanActivationABS = 5,          /* |x| */
  fuseplanActivationPOWER = 6,        /* (a + b * x) ^ g */
  fuseplanActivationCLIPPEDRELU = 7,  /* min(a, max(0, x)) */
  fuseplanActivationLEAKYRELU = 8,    /* x > 0 ? x : a * x */
  fuseplanActivationELU = 9,          /* x > 0 ? x : a * (exp(x) - 1) */
  fuseplanActivationCLAMP = 10,       /* min(b, max(a, x)) */
  fuseplanActivationGELU_ERF = 64,    /* x / 2 * (1 + erf(x / sqrt(2))) */
  fuseplanActivationGELU_TANH = 65,   /* x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) */
  fuseplanActivationSILU = 66,        /* x / (1 + exp(-x)) */
  fuseplanActivationMISH = 67,        /* x * tanh(log(1 + exp(x))) */
  fuseplanActivationHARDSWISH = 68,   /* x * min(1, max(0, a * x + b)); usually a = 1/6, b = 1/2 */
  fuseplanActivationHARDSIGMOID = 69, /* min(1, max(0, a * x + b)); usually a = 1/6, b = 1/2 */
  fuseplanActivationSOFTPLUS = 70,    /* log(1 + exp(a * x)) / a */
  fuseplanActivationTRUNCATEDPOWER = 71 /* v <= 1e-6 ? 0 : v ^ g with v = a + b * x: what MIOpen
                                           computes for POWER */
} fuseplanActivationMode_t;

typedef enum FUSEPLAN_INT {
  fuseplanBNPerActivation = 0, /* one parameter for each of C x [D x] H x W */
  fuseplanBNSpatial = 1        /* one parameter for each channel */
} fuseplanBatchNormMode_t;

/* ---- Plans ------------------------------------------------------------------------------- */

typedef enum FUSEPLAN_INT {
  fuseplanVerticalFusion = 0,  /* each op reads what the op before it wrote */
  fuseplanHorizontalFusion = 1 /* refused with UnsupportedOp */
} fuseplanFusionDirection_t;

/* Bits for fuseplanPlanSetDynamicDims. */
typedef enum FUSEPLAN_INT {
  fuseplanDimBatch = 1,
  fuseplanDimDepth = 2,
  fuseplanDimHeight = 4,
  fuseplanDimWidth = 8
} fuseplanDynamicDim_t;

/* Bits for fuseplanSetArgsFlags. */
typedef enum FUSEPLAN_INT {
  fuseplanArgsConstantWeights = 1 /* what the convolution's weight pointer shows never changes */
} fuseplanArgsFlag_t;

/* Directions of fuseplanCopy. On a CPU handle they are all the same. */
typedef enum FUSEPLAN_INT {
  fuseplanCopyToDevice = 0,
  fuseplanCopyToHost = 1,
  fuseplanCopyOnDevice = 2
} fuseplanCopyDirection_t;

/* ---- Callbacks --------------------------------------------------------------------------- */

typedef void* (*fuseplanAllocatorFunction)(void* context, size_t sizeBytes);
typedef void (*fuseplanDeallocatorFunction)(void* context, void* memory);

/* A caller's own parallel loop: calls task(argument, i) exactly once for every i in [0, count),
 * from any threads and in any order, and returns when all calls have returned. Meanwhile its
 * threads may do other work, such as executing the same plan with the same arguments. */
typedef void (*fuseplanParallelTask_t)(void* argument, int index);
typedef void (*fuseplanParallelFor_t)(void* context, int count, fuseplanParallelTask_t task,
                                      void* argument);

typedef enum FUSEPLAN_INT {
  fuseplanLogDefault = 0, /* the same as fuseplanLogWarning */
  fuseplanLogQuiet = 1,
  fuseplanLogFatal = 2,
  fuseplanLogError = 3,
  fuseplanLogWarning = 4,
  fuseplanLogInfo = 5,
  fuseplanLogInfo2 = 6,
  fuseplanLogTrace = 7
} fuseplanLogLevel_t;

/* One event, one line without newline: "fuseplan_<category>,<text>", where text is a sentence or
 * "key=value,..." whose values may hold commas. Called from the thread in which it happened, never
 * from two threads at once. Must not call fuseplan. */
typedef void (*fuseplanLogCallback_t)(void* context, fuseplanLogLevel_t level, const char* line);

#ifdef __cplusplus
}
#endif

#endif /* FUSEPLAN_TYPES_H */
