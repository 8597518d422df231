/* SPDX-License-Identifier: MIT */
/* Single operations, for where a plan does not compile and for what lies between plans. */
#ifndef FUSEPLAN_MIOPEN_DISCRETE_H
#define FUSEPLAN_MIOPEN_DISCRETE_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* alpha and beta throughout: one float each in host memory, NULL for 1 and 0. The result is
 * multiplied by alpha, and beta times what the output held is added; with beta 0 that is not read.
 * Each call is a plan of one op that the handle keeps for the next call with equal descriptors. */

/* ---- Convolutions ---------------------------------------------------------------------------
 *
 * Workspaces are never needed. Mind the order: queries take w before x, Find and Forward x before
 * w.
 */

MIOPEN_EXPORT miopenStatus_t miopenConvolutionForwardGetWorkSpaceSize(
    miopenHandle_t handle, miopenTensorDescriptor_t wDesc, miopenTensorDescriptor_t xDesc,
    miopenConvolutionDescriptor_t convDesc, miopenTensorDescriptor_t yDesc, size_t* workSpaceSize);
/* Runs and times the solvers on the given memory, fastest first, one entry for each algorithm; y is
 * overwritten. */
MIOPEN_EXPORT miopenStatus_t miopenFindConvolutionForwardAlgorithm(
    miopenHandle_t handle, miopenTensorDescriptor_t xDesc, const void* x,
    miopenTensorDescriptor_t wDesc, const void* w, miopenConvolutionDescriptor_t convDesc,
    miopenTensorDescriptor_t yDesc, void* y, int requestAlgoCount, int* returnedAlgoCount,
    miopenConvAlgoPerf_t* perfResults, void* workSpace, size_t workSpaceSize,
    bool exhaustiveSearch);
/* No Find is needed before. An algo that has no solver for the shape means any. */
MIOPEN_EXPORT miopenStatus_t miopenConvolutionForward(
    miopenHandle_t handle, const void* alpha, miopenTensorDescriptor_t xDesc, const void* x,
    miopenTensorDescriptor_t wDesc, const void* w, miopenConvolutionDescriptor_t convDesc,
    miopenConvFwdAlgorithm_t algo, const void* beta, miopenTensorDescriptor_t yDesc, void* y,
    void* workSpace, size_t workSpaceSize);
/* y = alpha * (y + b) + beta * y */
MIOPEN_EXPORT miopenStatus_t miopenConvolutionForwardBias(miopenHandle_t handle, const void* alpha,
                                                          miopenTensorDescriptor_t bDesc,
                                                          const void* b, const void* beta,
                                                          miopenTensorDescriptor_t yDesc, void* y);

/* Immediate mode: solutions are the solvers that take the shape, best first by what they expect; an
 * id stays the same in every process. */
MIOPEN_EXPORT miopenStatus_t miopenConvolutionForwardGetSolutionCount(
    miopenHandle_t handle, miopenTensorDescriptor_t wDesc, miopenTensorDescriptor_t xDesc,
    miopenConvolutionDescriptor_t convDesc, miopenTensorDescriptor_t yDesc, size_t* solutionCount);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionForwardGetSolution(
    miopenHandle_t handle, miopenTensorDescriptor_t wDesc, miopenTensorDescriptor_t xDesc,
    miopenConvolutionDescriptor_t convDesc, miopenTensorDescriptor_t yDesc, size_t maxSolutionCount,
    size_t* solutionCount, miopenConvSolution_t* solutions);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionForwardGetSolutionWorkspaceSize(
    miopenHandle_t handle, miopenTensorDescriptor_t wDesc, miopenTensorDescriptor_t xDesc,
    miopenConvolutionDescriptor_t convDesc, miopenTensorDescriptor_t yDesc, uint64_t solution_id,
    size_t* workSpaceSize);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionForwardCompileSolution(
    miopenHandle_t handle, miopenTensorDescriptor_t wDesc, miopenTensorDescriptor_t xDesc,
    miopenConvolutionDescriptor_t convDesc, miopenTensorDescriptor_t yDesc, uint64_t solution_id);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionForwardImmediate(
    miopenHandle_t handle, miopenTensorDescriptor_t wDesc, const void* w,
    miopenTensorDescriptor_t xDesc, const void* x, miopenConvolutionDescriptor_t convDesc,
    miopenTensorDescriptor_t yDesc, void* y, void* workSpace, size_t workSpaceSize,
    uint64_t solution_id);

/* ---- Pointwise ------------------------------------------------------------------------------ */

MIOPEN_EXPORT miopenStatus_t miopenActivationForward(miopenHandle_t handle,
                                                     miopenActivationDescriptor_t activDesc,
                                                     const void* alpha,
                                                     miopenTensorDescriptor_t xDesc, const void* x,
                                                     const void* beta,
                                                     miopenTensorDescriptor_t yDesc, void* y);
MIOPEN_EXPORT miopenStatus_t miopenActivationBackward(
    miopenHandle_t handle, miopenActivationDescriptor_t activDesc, const void* alpha,
    miopenTensorDescriptor_t yDesc, const void* y, miopenTensorDescriptor_t dyDesc, const void* dy,
    miopenTensorDescriptor_t xDesc, const void* x, const void* beta,
    miopenTensorDescriptor_t dxDesc, void* dx);
/* C = op(alpha1 * A, alpha2 * B) + beta * C; every length of B is 1 or C's. */
MIOPEN_EXPORT miopenStatus_t miopenOpTensor(miopenHandle_t handle, miopenTensorOp_t tensorOp,
                                            const void* alpha1, miopenTensorDescriptor_t aDesc,
                                            const void* A, const void* alpha2,
                                            miopenTensorDescriptor_t bDesc, const void* B,
                                            const void* beta, miopenTensorDescriptor_t cDesc,
                                            void* C);
/* alpha: one value of y's type. */
MIOPEN_EXPORT miopenStatus_t miopenSetTensor(miopenHandle_t handle, miopenTensorDescriptor_t yDesc,
                                             void* y, const void* alpha);
MIOPEN_EXPORT miopenStatus_t miopenScaleTensor(miopenHandle_t handle,
                                               miopenTensorDescriptor_t yDesc, void* y,
                                               const void* alpha);

/* ---- Batch normalisation -------------------------------------------------------------------- */

/* estimatedMean or estimatedVariance NULL: normalises with the batch's own statistics. */
MIOPEN_EXPORT miopenStatus_t miopenBatchNormalizationForwardInference(
    miopenHandle_t handle, miopenBatchNormMode_t bn_mode, void* alpha, void* beta,
    miopenTensorDescriptor_t xDesc, const void* x, miopenTensorDescriptor_t yDesc, void* y,
    miopenTensorDescriptor_t bnScaleBiasMeanVarDesc, void* bnScale, void* bnBias,
    void* estimatedMean, void* estimatedVariance, double epsilon);
/* Running and saved statistics are written where their pointers are not NULL. */
MIOPEN_EXPORT miopenStatus_t miopenBatchNormalizationForwardTraining(
    miopenHandle_t handle, miopenBatchNormMode_t bn_mode, void* alpha, void* beta,
    miopenTensorDescriptor_t xDesc, const void* x, miopenTensorDescriptor_t yDesc, void* y,
    miopenTensorDescriptor_t bnScaleBiasMeanVarDesc, void* bnScale, void* bnBias,
    double expAvgFactor, void* resultRunningMean, void* resultRunningVariance, double epsilon,
    void* resultSaveMean, void* resultSaveInvVariance);
/* savedMean or savedInvVariance NULL: computed again. The differences are overwritten. */
MIOPEN_EXPORT miopenStatus_t miopenBatchNormalizationBackward(
    miopenHandle_t handle, miopenBatchNormMode_t bn_mode, const void* alphaDataDiff,
    const void* betaDataDiff, const void* alphaParamDiff, const void* betaParamDiff,
    miopenTensorDescriptor_t xDesc, const void* x, miopenTensorDescriptor_t dyDesc, const void* dy,
    miopenTensorDescriptor_t dxDesc, void* dx, miopenTensorDescriptor_t bnScaleBiasDiffDesc,
    const void* bnScale, void* resultBnScaleDiff, void* resultBnBiasDiff, double epsilon,
    const void* savedMean, const void* savedInvVariance);

/* ---- Whole networks ------------------------------------------------------------------------- */

/* 0: the indices that a backward pass would want are not kept, as there is no backward pass. */
MIOPEN_EXPORT miopenStatus_t miopenPoolingGetWorkSpaceSize(miopenTensorDescriptor_t yDesc,
                                                           size_t* workSpaceSize);
MIOPEN_EXPORT miopenStatus_t miopenPoolingForward(
    miopenHandle_t handle, miopenPoolingDescriptor_t poolDesc, const void* alpha,
    miopenTensorDescriptor_t xDesc, const void* x, const void* beta, miopenTensorDescriptor_t yDesc,
    void* y, bool do_backward, void* workSpace, size_t workSpaceSize);

/* Over the channels of each pixel. */
MIOPEN_EXPORT miopenStatus_t miopenSoftmaxForward(miopenHandle_t handle, const void* alpha,
                                                  miopenTensorDescriptor_t xDesc, const void* x,
                                                  const void* beta, miopenTensorDescriptor_t yDesc,
                                                  void* y);
MIOPEN_EXPORT miopenStatus_t miopenSoftmaxForward_V2(miopenHandle_t handle, const void* alpha,
                                                     miopenTensorDescriptor_t xDesc, const void* x,
                                                     const void* beta,
                                                     miopenTensorDescriptor_t yDesc, void* y,
                                                     miopenSoftmaxAlgorithm_t algorithm,
                                                     miopenSoftmaxMode_t mode);

#ifdef __cplusplus
}
#endif

#endif /* FUSEPLAN_MIOPEN_DISCRETE_H */
