/* SPDX-License-Identifier: MIT */
/* Fusion plans. */
#ifndef FUSEPLAN_MIOPEN_FUSION_H
#define FUSEPLAN_MIOPEN_FUSION_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Plans ----------------------------------------------------------------------------------
 *
 * Creating a plan and its ops stores what was asked; descriptors are copied. Whether the sequence
 * can run as one kernel, and computes what it says, is decided by miopenCompileFusionPlan alone:
 * miopenStatusUnsupportedOp is the answer to everything that cannot, with the reasons in
 * fuseplanMiopenGetLastErrorMessage. After a successful compile, executing with the plan's own
 * descriptors and complete arguments does not fail.
 *
 * Any chain of fuseplan's is taken: convolution with groups, dilation and in three dimensions,
 * then bias, batch normalisation and activation in any order and number; the same without a
 * convolution; batch normalisation for training and backward sequences.
 *
 * Bias: a plan's only bias is C values, one after the other, in the type of its descriptor,
 * whatever its lengths say. Of two, one with the full lengths of what it is added to is a residual,
 * added element by element. */

/* inputDesc: what the first op reads. */
MIOPEN_EXPORT miopenStatus_t miopenCreateFusionPlan(miopenFusionPlanDescriptor_t* fusePlanDesc,
                                                    miopenFusionDirection_t fuseDirection,
                                                    miopenTensorDescriptor_t inputDesc);
/* Ends its ops as well. The plan's handles may be gone by then. */
MIOPEN_EXPORT miopenStatus_t miopenDestroyFusionPlan(miopenFusionPlanDescriptor_t fusePlanDesc);
MIOPEN_EXPORT miopenStatus_t
miopenDestroyFusionPlanDescriptor(miopenFusionPlanDescriptor_t fusePlanDesc);
/* For any number of handles; again for the same one is cheap. */
MIOPEN_EXPORT miopenStatus_t miopenCompileFusionPlan(miopenHandle_t handle,
                                                     miopenFusionPlanDescriptor_t fusePlanDesc);
/* Ops count from 0 in the order of their creation. */
MIOPEN_EXPORT miopenStatus_t miopenFusionPlanGetOp(miopenFusionPlanDescriptor_t fusePlanDesc,
                                                   int op_idx, miopenFusionOpDescriptor_t* op);
/* 0, before or after compiling: kernels keep what they need themselves. */
MIOPEN_EXPORT miopenStatus_t
miopenFusionPlanGetWorkSpaceSize(miopenHandle_t handle, miopenFusionPlanDescriptor_t fusePlanDesc,
                                 size_t* workSpaceSize, miopenConvFwdAlgorithm_t algo);
MIOPEN_EXPORT miopenStatus_t
miopenFusionPlanConvolutionGetAlgo(miopenFusionPlanDescriptor_t fusePlanDesc, int requestAlgoCount,
                                   int* returnedAlgoCount, miopenConvFwdAlgorithm_t* returnedAlgos);
/* Taken as the hint it is in MIOpen: without effect. */
MIOPEN_EXPORT miopenStatus_t miopenFusionPlanConvolutionSetAlgo(
    miopenFusionPlanDescriptor_t fusePlanDesc, miopenConvFwdAlgorithm_t algo);

/* ---- Ops ------------------------------------------------------------------------------------ */

/* BadParm: types or channels that no convolution can have. */
MIOPEN_EXPORT miopenStatus_t miopenCreateOpConvForward(miopenFusionPlanDescriptor_t fusePlanDesc,
                                                       miopenFusionOpDescriptor_t* convOp,
                                                       miopenConvolutionDescriptor_t convDesc,
                                                       miopenTensorDescriptor_t wDesc);
/* The spelling of 2018; algo is without effect. */
MIOPEN_EXPORT miopenStatus_t miopenCreateOpConvForwardAlgo(
    miopenFusionPlanDescriptor_t fusePlanDesc, miopenFusionOpDescriptor_t* convOp,
    miopenConvolutionDescriptor_t convDesc, miopenConvFwdAlgorithm_t algo,
    miopenTensorDescriptor_t wDesc);
MIOPEN_EXPORT miopenStatus_t miopenCreateOpBiasForward(miopenFusionPlanDescriptor_t fusePlanDesc,
                                                       miopenFusionOpDescriptor_t* biasOp,
                                                       miopenTensorDescriptor_t bDesc);
MIOPEN_EXPORT miopenStatus_t miopenCreateOpActivationForward(
    miopenFusionPlanDescriptor_t fusePlanDesc, miopenFusionOpDescriptor_t* activFwdOp,
    miopenActivationMode_t mode);
MIOPEN_EXPORT miopenStatus_t miopenCreateOpActivationBackward(
    miopenFusionPlanDescriptor_t fusePlanDesc, miopenFusionOpDescriptor_t* activBwdOp,
    miopenActivationMode_t mode);
MIOPEN_EXPORT miopenStatus_t miopenCreateOpBatchNormInference(
    miopenFusionPlanDescriptor_t fusePlanDesc, miopenFusionOpDescriptor_t* bnOp,
    miopenBatchNormMode_t bn_mode, miopenTensorDescriptor_t bnScaleBiasMeanVarDesc);
MIOPEN_EXPORT miopenStatus_t miopenCreateOpBatchNormForward(
    miopenFusionPlanDescriptor_t fusePlanDesc, miopenFusionOpDescriptor_t* bnFwdOp,
    miopenBatchNormMode_t bn_mode, bool runningMeanVariance);
MIOPEN_EXPORT miopenStatus_t
miopenCreateOpBatchNormBackward(miopenFusionPlanDescriptor_t fusePlanDesc,
                                miopenFusionOpDescriptor_t* bnBwdOp, miopenBatchNormMode_t bn_mode);

/* ---- Arguments ------------------------------------------------------------------------------
 *
 * Kept by op number, not bound to a plan: set before or after compiling, for one execution or many,
 * and usable with other plans. alpha and beta of every op are ignored and never read, as MIOpen
 * does. BadParm: an op of another kind than the function's. */

MIOPEN_EXPORT miopenStatus_t miopenCreateOperatorArgs(miopenOperatorArgs_t* args);
MIOPEN_EXPORT miopenStatus_t miopenDestroyOperatorArgs(miopenOperatorArgs_t args);
MIOPEN_EXPORT miopenStatus_t miopenSetOpArgsConvForward(miopenOperatorArgs_t args,
                                                        miopenFusionOpDescriptor_t convOp,
                                                        const void* alpha, const void* beta,
                                                        const void* w);
MIOPEN_EXPORT miopenStatus_t miopenSetOpArgsBiasForward(miopenOperatorArgs_t args,
                                                        miopenFusionOpDescriptor_t biasOp,
                                                        const void* alpha, const void* beta,
                                                        const void* bias);
MIOPEN_EXPORT miopenStatus_t miopenSetOpArgsActivForward(miopenOperatorArgs_t args,
                                                         miopenFusionOpDescriptor_t activFwdOp,
                                                         const void* alpha, const void* beta,
                                                         double activAlpha, double activBeta,
                                                         double activGamma);
/* y and reserved are not read: what the forward activation read follows from the batch
 * normalisation's arguments. */
MIOPEN_EXPORT miopenStatus_t miopenSetOpArgsActivBackward(miopenOperatorArgs_t args,
                                                          miopenFusionOpDescriptor_t activBwdOp,
                                                          const void* alpha, const void* beta,
                                                          const void* y, const void* reserved,
                                                          double activAlpha, double activBeta,
                                                          double activGamma);
MIOPEN_EXPORT miopenStatus_t miopenSetOpArgsBatchNormInference(
    miopenOperatorArgs_t args, miopenFusionOpDescriptor_t bnOp, const void* alpha, const void* beta,
    const void* bnScale, const void* bnBias, const void* estimatedMean,
    const void* estimatedVariance, double epsilon);
/* Saved before running: the discrete call has them the other way round. */
MIOPEN_EXPORT miopenStatus_t miopenSetOpArgsBatchNormForward(
    miopenOperatorArgs_t args, miopenFusionOpDescriptor_t bnFwdOp, const void* alpha,
    const void* beta, const void* bnScale, const void* bnBias, void* savedMean,
    void* savedInvVariance, void* runningMean, void* runningVariance, double expAvgFactor,
    double epsilon);
/* x: what the forward normalisation read. */
MIOPEN_EXPORT miopenStatus_t miopenSetOpArgsBatchNormBackward(
    miopenOperatorArgs_t args, miopenFusionOpDescriptor_t bnBwdOp, const void* alpha,
    const void* beta, const void* x, const void* bnScale, const void* bnBias,
    void* resultBnScaleDiff, void* resultBnBiasDiff, const void* savedMean,
    const void* savedInvVariance);

/* ---- Execution ------------------------------------------------------------------------------ */

/* BadParm: not compiled for this handle or changed since; a descriptor of another type, lengths or
 * strides than the plan's; arguments of an op that were never set, or set for another kind. */
MIOPEN_EXPORT miopenStatus_t miopenExecuteFusionPlan(miopenHandle_t handle,
                                                     miopenFusionPlanDescriptor_t fusePlanDesc,
                                                     miopenTensorDescriptor_t inputDesc,
                                                     const void* input,
                                                     miopenTensorDescriptor_t outputDesc,
                                                     void* output, miopenOperatorArgs_t args);
/* BadParm: workspace NULL with a size above 0. */
MIOPEN_EXPORT miopenStatus_t miopenExecuteFusionPlan_v2(
    miopenHandle_t handle, miopenFusionPlanDescriptor_t fusePlanDesc,
    miopenTensorDescriptor_t inputDesc, const void* input, miopenTensorDescriptor_t outputDesc,
    void* output, miopenOperatorArgs_t args, void* workspace, size_t workspaceSize);

/* y = act(alpha1 * conv(x, w) + alpha2 * z + bias), all activations. alpha1, alpha2: one float
 * each, NULL means 1. zDesc or z NULL: no residual. bias: K values one after the other. */
MIOPEN_EXPORT miopenStatus_t miopenConvolutionBiasActivationForward(
    miopenHandle_t handle, const void* alpha1, miopenTensorDescriptor_t xDesc, const void* x,
    miopenTensorDescriptor_t wDesc, const void* w, miopenConvolutionDescriptor_t convDesc,
    miopenConvFwdAlgorithm_t algo, void* workspace, size_t workspaceSizeInBytes, const void* alpha2,
    miopenTensorDescriptor_t zDesc, const void* z, miopenTensorDescriptor_t biasDesc,
    const void* bias, miopenActivationDescriptor_t activationDesc, miopenTensorDescriptor_t yDesc,
    void* y);

#ifdef __cplusplus
}
#endif

#endif /* FUSEPLAN_MIOPEN_FUSION_H */
