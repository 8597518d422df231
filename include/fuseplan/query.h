/* SPDX-License-Identifier: MIT */
/* Questions about plans: does it fuse, by what, why not, and what was made of it. */
#ifndef FUSEPLAN_QUERY_H
#define FUSEPLAN_QUERY_H

#include "fuseplan/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Strings in the structs below are static, or owned by the plan and valid until it is destroyed.
 * Functions of the first two sections compile nothing, and answer for the handle's device and its
 * options of this moment. UnsupportedOp: the plan has no op. */

/* ---- Does it fuse ------------------------------------------------------------------------ */

typedef struct {
  size_t structSize;
  int fused;       /* 1: fuseplanCompilePlan will find a kernel; 0: it will answer UnsupportedOp */
  int kernelCount; /* kernels one execution runs: 1, or 0 if not fused */
  const char* solver;   /* who makes the kernel; NULL if not fused */
  size_t workSpaceSize; /* bytes, as fuseplanPlanGetWorkSpaceSize */
} fuseplanFusionSupport_t;

FUSEPLAN_API fuseplanStatus_t fuseplanQueryFusionSupport(fuseplanHandle_t handle,
                                                         fuseplanPlan_t plan,
                                                         fuseplanFusionSupport_t* support);

typedef struct {
  size_t structSize;
  const char* name;        /* for fuseplanPlanSetSolver */
  const char* description; /* one sentence */
  int algorithm;           /* a fuseplanConvFwdAlgorithm_t, or -1 if it runs no convolution */
  int accepted;            /* 1: it can run the plan; 0: fuseplanPlanGetRejections tells why not */
  size_t workSpaceSize;    /* bytes */
} fuseplanSolverInfo_t;

/* All solvers for the handle's kind of device, those that accept the plan first, best first. */
FUSEPLAN_API fuseplanStatus_t fuseplanPlanGetSolvers(fuseplanHandle_t handle, fuseplanPlan_t plan,
                                                     int requestCount, int* returnedCount,
                                                     fuseplanSolverInfo_t* solvers);

typedef struct {
  size_t structSize;
  const char* solver;
  const char* config;       /* one of the solver's tuning parameters for this plan */
  int chosen;               /* 1: the one that fuseplanCompilePlan takes if it times nothing */
  const char* configSource; /* why it is chosen; "" for all others:
                               "model"    what the solvers expect to be best
                               "shipped"  the library's table of measured winners for this line of
                                          processors
                               "tuned"    a stored winner, timed on this machine
                               "pinned"   the pin option */
} fuseplanCandidate_t;

/* What the find_mode option lets fuseplanCompilePlan choose from: the default of every solver that
 * accepts the plan, best first, then their other tuning parameters; the portable solver's only
 * where no other does. */
FUSEPLAN_API fuseplanStatus_t fuseplanPlanGetCandidates(fuseplanHandle_t handle,
                                                        fuseplanPlan_t plan, int requestCount,
                                                        int* returnedCount,
                                                        fuseplanCandidate_t* candidates);

/* Stores a candidate as the plan's winner, as if a search had found it: for tuning results that
 * were made elsewhere. It counts for this thread count and these options, for as long as the cache
 * keeps it. InvalidValue: not the "solver:config" of any candidate. InternalError: it could not be
 * stored on disk, and the message says why: the cache is off, read-only, locked, full or in no safe
 * place. Unless the cache is off, this process uses it all the same. */
FUSEPLAN_API fuseplanStatus_t fuseplanPlanStoreWinner(fuseplanHandle_t handle, fuseplanPlan_t plan,
                                                      const char* candidate);

/* ---- Why not ----------------------------------------------------------------------------- */

/* Values are never reused. */
typedef enum FUSEPLAN_INT {
  fuseplanRejectDevice = 1,      /* the device has not what the solver needs */
  fuseplanRejectSequence = 2,    /* the sequence of ops is not one the solver runs */
  fuseplanRejectDataType = 3,    /* a tensor's data type is not supported */
  fuseplanRejectLayout = 4,      /* a tensor's strides are not supported */
  fuseplanRejectConvolution = 5, /* filter, stride, padding, dilation or groups are not supported */
  fuseplanRejectSize = 6,        /* a length is outside what the solver handles */
  fuseplanRejectAttribute = 7,   /* an attribute (strict, deterministic) excludes the solver */
  fuseplanRejectSwitchedOff = 8, /* an option or the plan's solver choice excludes the solver */
  fuseplanRejectCompile = 9      /* the kernel could not be compiled or loaded */
} fuseplanRejectCode_t;

typedef struct {
  size_t structSize;
  fuseplanRejectCode_t code;
  const char* stage;  /* where it was seen: "solver" or "compile" */
  const char* solver; /* who declined */
  int opIndex;        /* the op it is about; -1: the plan as a whole */
  const char* field;  /* such as "weights.layout" */
  const char* got;    /* such as "NHWC" */
  const char* need;   /* such as "NCHW" */
  const char* hint;   /* what could be changed; "" if nothing */
} fuseplanRejection_t;

/* Every condition that every solver which declined did not find met. Solvers that accept the plan
 * have none, so a plan that fuses may have some. A solver whose kernel could not be compiled or
 * loaded when the plan was last compiled for this handle has declined as well, with
 * fuseplanRejectCompile and what went wrong as `got`, until the plan is edited or compiled anew. */
FUSEPLAN_API fuseplanStatus_t fuseplanPlanGetRejections(fuseplanHandle_t handle,
                                                        fuseplanPlan_t plan, int requestCount,
                                                        int* returnedCount,
                                                        fuseplanRejection_t* rejections);

/* The same for people: a line for each solver, accepted ones first. */
FUSEPLAN_API fuseplanStatus_t fuseplanPlanExplain(fuseplanHandle_t handle, fuseplanPlan_t plan,
                                                  char* text, size_t* size);

/* ---- What is supported ------------------------------------------------------------------- */

typedef struct {
  size_t structSize;
  const char* solver;
  const char* description;       /* one sentence */
  int algorithm;                 /* a fuseplanConvFwdAlgorithm_t, or -1 */
  fuseplanDataType_t dataType;   /* of input, weights (Uint8: Int8) and output (8 bits: Float) */
  fuseplanTensorLayout_t layout; /* of input and output */
  const char* operations; /* what it was seen to accept in this type and layout: words such as
                             "conv groups depthwise dilation ... bias norm activation add" */
} fuseplanSupportEntry_t;

/* One entry for each solver of the handle's device, data type and layout, found by asking the
 * solvers about small plans that show one feature each, never written by hand. Static strings. */
FUSEPLAN_API fuseplanStatus_t fuseplanGetSupportTable(fuseplanHandle_t handle, int requestCount,
                                                      int* returnedCount,
                                                      fuseplanSupportEntry_t* entries);

typedef struct {
  size_t structSize;
  const char* name;        /* for --disable_pass */
  const char* description; /* one sentence */
  int switchable;          /* 0: it always runs */
} fuseplanPassInfo_t;

/* The rewriting passes over a plan's pointwise expression, in the order they run. Static strings.
 */
FUSEPLAN_API fuseplanStatus_t fuseplanGetPasses(int requestCount, int* returnedCount,
                                                fuseplanPassInfo_t* passes);

typedef struct {
  size_t structSize;
  const char* key;         /* written --key=value */
  const char* values;      /* what it takes: names, a range, or "" for any text */
  const char* description; /* one sentence */
} fuseplanOptionInfo_t;

/* The options that fuseplanSetOptions and the environment understand. Static strings. */
FUSEPLAN_API fuseplanStatus_t fuseplanGetOptionTable(int requestCount, int* returnedCount,
                                                     fuseplanOptionInfo_t* options);

/* ---- What became of it ------------------------------------------------------------------- */

typedef struct {
  size_t structSize;
  const char* name;
  int enabled;                 /* under the handle's options */
  int applied;                 /* rewrites made */
  int nodesBefore, nodesAfter; /* size of the expression */
  const char *before, *after;  /* the expression as text */
} fuseplanPassReport_t;

/* What each pass does to the plan's expression with the handle's options. Compiles nothing. */
FUSEPLAN_API fuseplanStatus_t fuseplanPlanGetPassReport(fuseplanHandle_t handle,
                                                        fuseplanPlan_t plan, int requestCount,
                                                        int* returnedCount,
                                                        fuseplanPassReport_t* passes);

typedef enum FUSEPLAN_INT {
  fuseplanExpressionLowered = 0,  /* as the ops define it */
  fuseplanExpressionOptimized = 1 /* after the passes, cut by how often each part is computed */
} fuseplanExpressionStage_t;

/* The plan's pointwise expression, for people. Compiles nothing. InvalidValue: no such stage. */
FUSEPLAN_API fuseplanStatus_t fuseplanPlanGetExpression(fuseplanHandle_t handle,
                                                        fuseplanPlan_t plan,
                                                        fuseplanExpressionStage_t stage, char* text,
                                                        size_t* size);

typedef struct {
  size_t structSize;
  const char* solver; /* who made the kernel */
  const char* config; /* and with which tuning parameters */
  int kernelCount;    /* kernels one execution runs */
  int variantCount;   /* kernels so far: one, and one for each dynamic size that needed its own */
  int cacheHit;       /* 1: the code came from the cache; 0: it was generated */
  double compileMicroseconds; /* selecting, generating or fetching, and loading */
  size_t binaryBytes;         /* size of the kernel's object file */
  size_t preparedWeightBytes; /* memory for weights in the kernel's order */
  const char* configSource;   /* who chose solver and config: "model", "shipped", "tuned" or
                                 "pinned", see fuseplanPlanGetCandidates */
  /* Of the search that found a tuned config, now or earlier; 0 if there was none: */
  double tunedMicroseconds;   /* one execution of it */
  double untunedMicroseconds; /* one execution of what would have been chosen without */
  int candidatesTimed;
} fuseplanPlanInfo_t;

/* What fuseplanCompilePlan made for this handle. NotCompiled: nothing, or the plan was edited
 * since. */
FUSEPLAN_API fuseplanStatus_t fuseplanPlanGetInfo(fuseplanHandle_t handle, fuseplanPlan_t plan,
                                                  fuseplanPlanInfo_t* info);

/* The kernel's object file (ELF on a CPU: objdump and gdb read it); size as for text.
 * NotCompiled as above. */
FUSEPLAN_API fuseplanStatus_t fuseplanPlanGetBinary(fuseplanHandle_t handle, fuseplanPlan_t plan,
                                                    void* buffer, size_t* size);

#ifdef __cplusplus
}
#endif

#endif /* FUSEPLAN_QUERY_H */
