/* SPDX-License-Identifier: MIT */
/* Arguments of ops, and execution. */
#ifndef FUSEPLAN_ARGS_H
#define FUSEPLAN_ARGS_H

#include "fuseplan/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Arguments ------------------------------------------------------------------------------
 *
 * An args object holds, by op number, what each execution may change: pointers and scalars. It is
 * not bound to a plan: it may be set before or after compiling, in any order, once for many
 * executions, and be used with another plan whose ops of the same numbers are of the same kinds.
 * Setting an op's arguments again replaces all of them.
 *
 * alpha and beta point to one float (host memory, read during the call); NULL means 1 and 0. The
 * op's result is multiplied by alpha. beta blends: y = alpha * op(x) + beta * (what the output held
 * before), and may differ from 0 only for the last op of the plan; fuseplanExecutePlan answers
 * BadParm otherwise, naming the op. With beta 0 the output's previous content is never read.
 *
 * Tensor pointers are device pointers, described by the descriptor given to the op's creation. They
 * are read in fuseplanExecutePlan (on a GPU: until its work on the stream is done), and must be
 * valid then. No alignment is required beyond the element's own.
 *
 * BadParm throughout: an op of another kind than the function's, or a required pointer that is
 * NULL. */

FUSEPLAN_API fuseplanStatus_t fuseplanCreateOperatorArgs(fuseplanOperatorArgs_t* args);
FUSEPLAN_API fuseplanStatus_t fuseplanDestroyOperatorArgs(fuseplanOperatorArgs_t args);

/* w: the filters. Kernels want them in another order: the args object keeps that form, and makes it
 * anew when the pointer or what it shows has changed (which is checked at every execution, at the
 * cost of reading the weights once; see fuseplanSetArgsFlags). */
FUSEPLAN_API fuseplanStatus_t fuseplanSetOpArgsConvForward(fuseplanOperatorArgs_t args,
                                                           fuseplanOp_t convOp, const void* alpha,
                                                           const void* beta, const void* w);

/* bias: C values. */
FUSEPLAN_API fuseplanStatus_t fuseplanSetOpArgsBiasForward(fuseplanOperatorArgs_t args,
                                                           fuseplanOp_t biasOp, const void* alpha,
                                                           const void* beta, const void* bias);

/* activAlpha, activBeta, activGamma: the formula's a, b, g; rounded to 32 bits. */
FUSEPLAN_API fuseplanStatus_t fuseplanSetOpArgsActivForward(fuseplanOperatorArgs_t args,
                                                            fuseplanOp_t activFwdOp,
                                                            const void* alpha, const void* beta,
                                                            double activAlpha, double activBeta,
                                                            double activGamma);

/* Four tensors of the op's descriptor. InvalidValue: epsilon is negative or not finite. */
FUSEPLAN_API fuseplanStatus_t fuseplanSetOpArgsBatchNormInference(
    fuseplanOperatorArgs_t args, fuseplanOp_t bnOp, const void* alpha, const void* beta,
    const void* bnScale, const void* bnBias, const void* estimatedMean,
    const void* estimatedVariance, double epsilon);

/* other: a tensor of the op's descriptor, multiplied by scale. It may be the output, see
 * fuseplanExecutePlan. */
FUSEPLAN_API fuseplanStatus_t fuseplanSetOpArgsTensorAdd(fuseplanOperatorArgs_t args,
                                                         fuseplanOp_t addOp, const void* alpha,
                                                         const void* beta, const void* other,
                                                         double scale);

/* scale and shift: C values each. */
FUSEPLAN_API fuseplanStatus_t fuseplanSetOpArgsScaleShift(fuseplanOperatorArgs_t args,
                                                          fuseplanOp_t scaleOp, const void* alpha,
                                                          const void* beta, const void* scale,
                                                          const void* shift);

/* Training; formulas in plan.h. All tensors are of the op's bnScaleBiasDesc. savedMean and
 * savedInvVariance receive the batch's mean and 1 / sqrt(variance + epsilon), for the backward op.
 * runningMean and runningVariance are updated, running = (1 - expAvgFactor) * running +
 * expAvgFactor * new, with the batch's mean and its unbiased variance, sum((x - mean)^2) / (M - 1)
 * (of a single value: 0). NULL: not written; the running ones both or none, and both given if the
 * op was created with runningMeanVariance (BadParm). alpha and beta do not touch them.
 * InvalidValue: epsilon is negative or not finite, or expAvgFactor is not finite. */
FUSEPLAN_API fuseplanStatus_t fuseplanSetOpArgsBatchNormForward(
    fuseplanOperatorArgs_t args, fuseplanOp_t bnFwdOp, const void* alpha, const void* beta,
    const void* bnScale, const void* bnBias, void* savedMean, void* savedInvVariance,
    void* runningMean, void* runningVariance, double expAvgFactor, double epsilon);

/* mean, variance (biased: of M values), invVariance (1 / sqrt(variance + epsilon)): written; the
 * running ones updated as above. Each may be NULL, the running ones both or none. alpha and beta
 * make y, of which the statistics are. InvalidValue: as above. */
FUSEPLAN_API fuseplanStatus_t fuseplanSetOpArgsStatistics(
    fuseplanOperatorArgs_t args, fuseplanOp_t statisticsOp, const void* alpha, const void* beta,
    void* mean, void* variance, void* invVariance, void* runningMean, void* runningVariance,
    double expAvgFactor, double epsilon);

/* x: what the forward op read, of the op's xDesc; the others of its bnScaleBiasDesc.
 * resultBnScaleDiff and resultBnBiasDiff receive dscale and dbias; NULL: not written. alpha scales
 * dx only. bnBias is read only by an activation's backward op in front, and may otherwise be NULL.
 */
FUSEPLAN_API fuseplanStatus_t fuseplanSetOpArgsBatchNormBackward(
    fuseplanOperatorArgs_t args, fuseplanOp_t bnBwdOp, const void* alpha, const void* beta,
    const void* x, const void* bnScale, const void* bnBias, void* resultBnScaleDiff,
    void* resultBnBiasDiff, const void* savedMean, const void* savedInvVariance);

/* x: what the forward activation read, of the op's xDesc; NULL if a batch normalisation's backward
 * op follows. y stands for MIOpen's order of arguments and is not needed: the derivative is
 * computed from x. The rest as in fuseplanSetOpArgsActivForward. */
FUSEPLAN_API fuseplanStatus_t fuseplanSetOpArgsActivBackward(
    fuseplanOperatorArgs_t args, fuseplanOp_t activBwdOp, const void* alpha, const void* beta,
    const void* y, const void* x, double activAlpha, double activBeta, double activGamma);

/* Promises of the caller, fuseplanArgsFlag_t bits; 0 at the start. fuseplanArgsConstantWeights:
 * what a weight pointer shows changes only together with a call of fuseplanSetOpArgsConvForward.
 * InvalidValue: an unknown bit. */
FUSEPLAN_API fuseplanStatus_t fuseplanSetArgsFlags(fuseplanOperatorArgs_t args, int flags);

/* ---- Execution ------------------------------------------------------------------------------
 *
 * Runs the plan: reads `input`, writes all of `output`. On the CPU the output is there on return;
 * on a GPU the work is queued on the handle's stream. Many threads may execute one plan at once;
 * with one args object too, as long as none sets it.
 *
 * inputDesc and outputDesc must equal the plan's in type, lengths and strides. Lengths of dynamic
 * dimensions may differ: the strides must then be of the same layout, packed, and the output's
 * lengths those that follow (those of other tensors: fuseplanPlanSetDynamicDims). Elements of
 * output that no index reaches (between strides) are not written.
 *
 * input and output: device pointers. output may be the same pointer as other of a TensorAdd, x of a
 * backward op or, if the plan has no convolution, input, with equal descriptors: that is
 * overwritten in place. Otherwise no element of it may lie where one of input or of an argument
 * does. Some channels of a buffer may be read and others of it written.
 *
 * Arithmetic takes subnormal numbers of 32 bits for 0 and gives 0 in their place; what computes
 * nothing, such as PASTHRU and ABS, may pass them on. It rounds to nearest and traps nothing
 * whatever the caller's floating-point state is, which is as it was on return.
 *
 * NotCompiled: the plan is not compiled for this handle, or was edited since. BadParm: a descriptor
 * that differs (the message says where), a NULL pointer, an output that lies where it must not,
 * arguments of an op that were never set or were set for another kind of op, or beta on an op that
 * is not the last. */

FUSEPLAN_API fuseplanStatus_t fuseplanExecutePlan(fuseplanHandle_t handle, fuseplanPlan_t plan,
                                                  fuseplanTensorDescriptor_t inputDesc,
                                                  const void* input,
                                                  fuseplanTensorDescriptor_t outputDesc,
                                                  void* output, fuseplanOperatorArgs_t args);

/* The same with a workspace of fuseplanPlanGetWorkSpaceSize bytes or more. As that is 0,
 * `workspace` is not touched. BadParm: workspace NULL with a workspaceSize above 0. */
FUSEPLAN_API fuseplanStatus_t fuseplanExecutePlan_v2(fuseplanHandle_t handle, fuseplanPlan_t plan,
                                                     fuseplanTensorDescriptor_t inputDesc,
                                                     const void* input,
                                                     fuseplanTensorDescriptor_t outputDesc,
                                                     void* output, fuseplanOperatorArgs_t args,
                                                     void* workspace, size_t workspaceSize);

/* ---- One call for all -----------------------------------------------------------------------
 *
 * y = act(alpha1 * conv(x, w) + alpha2 * z + bias), without a plan: it is made, compiled and kept
 * inside the handle at the first call, and found again at the next with equal descriptors.
 *
 * alpha1, alpha2: one float each (host memory), NULL means 1. zDesc or z NULL: no residual; z may
 * be y, with equal descriptors. biasDesc or bias NULL: no bias. activationDesc: any mode. algo: as
 * fuseplanPlanConvolutionSetAlgo, or -1 for any. workspace: as in fuseplanExecutePlan_v2. Statuses:
 * those of creating the ops, compiling and executing. */
FUSEPLAN_API fuseplanStatus_t fuseplanConvolutionBiasActivationForward(
    fuseplanHandle_t handle, const void* alpha1, fuseplanTensorDescriptor_t xDesc, const void* x,
    fuseplanTensorDescriptor_t wDesc, const void* w, fuseplanConvolutionDescriptor_t convDesc,
    fuseplanConvFwdAlgorithm_t algo, void* workspace, size_t workspaceSizeInBytes,
    const void* alpha2, fuseplanTensorDescriptor_t zDesc, const void* z,
    fuseplanTensorDescriptor_t biasDesc, const void* bias,
    fuseplanActivationDescriptor_t activationDesc, fuseplanTensorDescriptor_t yDesc, void* y);

#ifdef __cplusplus
}
#endif

#endif /* FUSEPLAN_ARGS_H */
