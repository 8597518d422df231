/* SPDX-License-Identifier: MIT */
/* Plans: a chain of ops over one input, compiled for handles. */
#ifndef FUSEPLAN_PLAN_H
#define FUSEPLAN_PLAN_H

#include "fuseplan/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Plans and their ops --------------------------------------------------------------------
 *
 * A plan starts from the input's descriptor. Each fuseplanCreateOp* appends one op, which reads
 * what the op before it wrote; shapes and types are checked there and then, and a refused op leaves
 * the plan as it was. Ops are numbered from 0 in the order of their creation. A convolution can
 * only be the first; any number of the others may follow, or stand alone, in any order. One op is
 * enough.
 *
 * The input is fuseplanFloat, fuseplanHalf, fuseplanBFloat16, fuseplanInt8 or fuseplanUint8, of N x
 * C followed by up to three spatial dimensions, with any strides. A value between two ops is not
 * stored in memory: it is kept in 32 bits. The output has by default the input's type
 * (fuseplanFloat for 8-bit input) and layout, packed; fuseplanPlanSetOutputDescriptor chooses any
 * of the five.
 *
 * Quantised plans: a convolution of Int8 or Uint8 input takes Int8 weights, and its sums are exact
 * integers, rounded to 32-bit floating point where the next op reads them (sums up to 2^24 stay
 * exact). The zero point is 0, so padding is 0. Scales are what a fuseplanCreateOpScaleShift after
 * it multiplies by (input's times weights' over output's scale, for each channel or the same for
 * all); the other ops work as on any value. An 8-bit output is rounded to nearest, ties to even,
 * and saturates to -128..127 or 0..255; NaN becomes the lowest of these. So i8 or u8 convolution;
 * scale_shift; activation -> u8 is one plan with the shift as bias in units of the output. Results
 * do not depend on the kernel.
 *
 * Any edit (another op, another output, solver, algorithm or dynamic dimension) makes what was
 * compiled unreachable: fuseplanExecutePlan answers NotCompiled until the plan is compiled again.
 */

/* BadParm: inputDesc's type or rank cannot be the input of a plan. UnsupportedOp: horizontal
 * fusion. */
FUSEPLAN_API fuseplanStatus_t fuseplanCreatePlan(fuseplanPlan_t* plan,
                                                 fuseplanFusionDirection_t fuseDirection,
                                                 fuseplanTensorDescriptor_t inputDesc);
/* Ends the plan's ops as well; an args object that was set for them stays usable with other plans.
 */
FUSEPLAN_API fuseplanStatus_t fuseplanDestroyPlan(fuseplanPlan_t plan);

/* y = conv(x, w), formula in convolution.h. wDesc: K x C/G x [filter lengths], the input's type
 * (Int8 for Uint8 input), any strides. y has K channels. BadParm: lengths, types or ranks that do
 * not fit, or 8-bit input and more than 65793 weights a channel, whose sum 32 bits may not hold.
 * UnsupportedOp: not the first op. */
FUSEPLAN_API fuseplanStatus_t fuseplanCreateOpConvForward(fuseplanPlan_t plan, fuseplanOp_t* convOp,
                                                          fuseplanConvolutionDescriptor_t convDesc,
                                                          fuseplanTensorDescriptor_t wDesc);

/* y = x + bias[c]. bDesc: 1 x C x 1 ..., or rank 1 of length C; Float, Half or BFloat16. */
FUSEPLAN_API fuseplanStatus_t fuseplanCreateOpBiasForward(fuseplanPlan_t plan, fuseplanOp_t* biasOp,
                                                          fuseplanTensorDescriptor_t bDesc);

/* y = scale * (x - mean) / sqrt(variance + epsilon) + bias, each parameter one value per channel or
 * per element of C x [D x] H x W. bnScaleBiasMeanVarDesc describes all four parameters: see
 * fuseplanDeriveBNTensorDescriptor. Ioffe and Szegedy 2015 (arXiv:1502.03167). Computed in 32 bits
 * as k * x + (bias - k * mean) with k = scale / sqrt(variance + epsilon). Rounding adds what x and
 * mean that are off by a unit of their last places would; variance = epsilon = 0 may give NaN where
 * the formula has an infinity. --disable_pass=fold_batchnorm subtracts first. */
FUSEPLAN_API fuseplanStatus_t fuseplanCreateOpBatchNormInference(
    fuseplanPlan_t plan, fuseplanOp_t* bnOp, fuseplanBatchNormMode_t bn_mode,
    fuseplanTensorDescriptor_t bnScaleBiasMeanVarDesc);

/* y = mode(x), formulas beside fuseplanActivationMode_t. Its parameters come with the args. */
FUSEPLAN_API fuseplanStatus_t fuseplanCreateOpActivationForward(fuseplanPlan_t plan,
                                                                fuseplanOp_t* activFwdOp,
                                                                fuseplanActivationMode_t mode);

/* y = x + scale * other, a residual connection. Every length of otherDesc is 1 or x's (a length of
 * 1 is repeated); any type an input may have, any strides. */
FUSEPLAN_API fuseplanStatus_t fuseplanCreateOpTensorAdd(fuseplanPlan_t plan, fuseplanOp_t* addOp,
                                                        fuseplanTensorDescriptor_t otherDesc);

/* y = scale[c] * x + shift[c]. scaleShiftDesc describes both: 1 x C x 1 ..., or rank 1 of length C.
 */
FUSEPLAN_API fuseplanStatus_t fuseplanCreateOpScaleShift(fuseplanPlan_t plan, fuseplanOp_t* scaleOp,
                                                         fuseplanTensorDescriptor_t scaleShiftDesc);

/* ---- Training ---------------------------------------------------------------------------------
 *
 * With M = N * D * H * W values per channel (fuseplanBNSpatial) or M = N per place of C x [D x] H x
 * W (fuseplanBNPerActivation), sums over these values, xhat = (x - mean) * invVariance:
 *
 *   forward    mean = sum(x) / M, variance = sum((x - mean)^2) / M,
 *              invVariance = 1 / sqrt(variance + epsilon), y = scale * xhat + bias
 *   backward   dbias = sum(dy), dscale = sum(dy * xhat),
 *              dx = scale * invVariance * (dy - dbias / M - xhat * dscale / M)
 *
 * (Ioffe and Szegedy 2015, arXiv:1502.03167.) Variances are computed from differences from the
 * mean, block by block, and joined by the formula of Chan, Golub and LeVeque 1983 (The American
 * Statistician 37:3), so they do not cancel however far the mean is from 0; results are the same
 * for any number of threads.
 *
 * One plan for each direction. Forward: the batch normalisation, then any pointwise ops. Backward:
 * the plan's input is the gradient dy, its output dx; ops stand in the order in which the gradient
 * passes them, so the backward op of what came last in forward stands first:
 * fuseplanCreateOpActivationBackward, then fuseplanCreateOpBatchNormBackward, which is the last op
 * of its plan. Pointwise ops may stand in front (a bias of zeros, another gradient added), not a
 * convolution.
 *
 * bnScaleBiasDesc: type Float; lengths as for inference; describes scale, bias and all statistics
 * and gradients of them. NULL: derived from what the op reads (fuseplanDeriveBNTensorDescriptor),
 * in its layout. xDesc: what the op's forward read, of dy's lengths and any floating type and
 * strides; NULL: described as dy is.
 *
 * UnsupportedOp: the op cannot stand at this place of a plan; the message says why. */

/* y = scale * xhat + bias. The first op of a plan. runningMeanVariance: arguments must have a
 * running mean and variance, which are updated. Behind a convolution it is refused, as the
 * gradients need the convolution's output: make that the output of a plan of its own. */
FUSEPLAN_API fuseplanStatus_t fuseplanCreateOpBatchNormForward(
    fuseplanPlan_t plan, fuseplanOp_t* bnFwdOp, fuseplanBatchNormMode_t bn_mode,
    bool runningMeanVariance, fuseplanTensorDescriptor_t bnScaleBiasDesc);

/* y = x, and the mean and variance of each channel of y, taken while y is in the cache: for
 * training of a convolution with batch normalisation, whose normalising plan
 * (fuseplanCreateOpBatchNormInference with the mean and variance, then an activation) so reads y
 * once instead of twice. The last op of a plan, behind any others. Statistics are those of the
 * values as stored. statisticsDesc: Float, 1 x C x 1 ..., or NULL. */
FUSEPLAN_API fuseplanStatus_t fuseplanCreateOpStatistics(fuseplanPlan_t plan,
                                                         fuseplanOp_t* statisticsOp,
                                                         fuseplanTensorDescriptor_t statisticsDesc);

/* dx of batch normalisation, the last op of its plan. */
FUSEPLAN_API fuseplanStatus_t fuseplanCreateOpBatchNormBackward(
    fuseplanPlan_t plan, fuseplanOp_t* bnBwdOp, fuseplanBatchNormMode_t bn_mode,
    fuseplanTensorDescriptor_t xDesc, fuseplanTensorDescriptor_t bnScaleBiasDesc);

/* dx = dy * mode'(x). Where the derivative does not exist: RELU'(0) = 0, ABS'(0) = 0, LEAKYRELU'(0)
 * and ELU'(0) are those of the negative side, clamps follow x for low < x <= high. A factor of 0
 * gives 0 whatever dy. Directly in front of fuseplanCreateOpBatchNormBackward x is not read but
 * computed again, as scale * xhat + bias of that op's arguments. */
FUSEPLAN_API fuseplanStatus_t fuseplanCreateOpActivationBackward(fuseplanPlan_t plan,
                                                                 fuseplanOp_t* activBwdOp,
                                                                 fuseplanActivationMode_t mode,
                                                                 fuseplanTensorDescriptor_t xDesc);

/* The op of that number: the same fuseplanOp_t that its creation gave. BadParm: there is none. */
FUSEPLAN_API fuseplanStatus_t fuseplanPlanGetOp(fuseplanPlan_t plan, int op_idx, fuseplanOp_t* op);
FUSEPLAN_API fuseplanStatus_t fuseplanPlanGetOpCount(fuseplanPlan_t plan, int* opCount);

/* Sets outputDesc to what op number op_idx writes (the last op: what the plan writes by default).
 */
FUSEPLAN_API fuseplanStatus_t fuseplanPlanGetOpOutputDescriptor(
    fuseplanPlan_t plan, int op_idx, fuseplanTensorDescriptor_t outputDesc);

/* ---- Choices before compiling ------------------------------------------------------------ */

/* What the plan writes. Set: other strides (no two elements at one place) or another of the types
 * an input may have, with the lengths of the last op's output (BadParm otherwise). It stays when
 * ops are appended. Get: sets outputDesc. Both: BadParm for a plan without ops. */
FUSEPLAN_API fuseplanStatus_t
fuseplanPlanSetOutputDescriptor(fuseplanPlan_t plan, fuseplanTensorDescriptor_t outputDesc);
FUSEPLAN_API fuseplanStatus_t
fuseplanPlanGetOutputDescriptor(fuseplanPlan_t plan, fuseplanTensorDescriptor_t outputDesc);

/* Which lengths of the input may differ from one execution to the next: fuseplanDynamicDim_t bits,
 * none at the start. The library compiles what another size needs when it first appears.
 *
 * Other tensors follow: an xDesc has dy's lengths always, an otherDesc those where its length was
 * x's when the plan was made, and where it was 1 over more than 1 it stays 1. Where both were 1, a
 * tensor with all of x's lengths follows, so make a plan for an image that is to be added to every
 * image of a batch with a batch above 1; with some of x's lengths, fuseplanExecutePlan answers
 * BadParm, as the plan does not tell. What follows is packed, in its layout (BadParm if it was
 * not).
 *
 * InvalidValue: an unknown bit. BadParm: a dimension the input does not have. */
FUSEPLAN_API fuseplanStatus_t fuseplanPlanSetDynamicDims(fuseplanPlan_t plan, int dims);

/* Allows only the solver of that name (fuseplanPlanGetSolvers, in query.h, lists them); NULL or "":
 * any. InvalidValue: no solver has that name. That it can run the plan is seen at compile. */
FUSEPLAN_API fuseplanStatus_t fuseplanPlanSetSolver(fuseplanPlan_t plan, const char* solver);

/* Algorithms of the convolution that solvers can run this plan with on a CPU, best first.
 * BadParm: the plan has no convolution. */
FUSEPLAN_API fuseplanStatus_t
fuseplanPlanConvolutionGetAlgo(fuseplanPlan_t plan, int requestAlgoCount, int* returnedAlgoCount,
                               fuseplanConvFwdAlgorithm_t* returnedAlgos);
/* Allows only solvers of that algorithm; -1: any. That one can run the plan is seen at compile.
 * BadParm: the plan has no convolution. InvalidValue: no such algorithm. */
FUSEPLAN_API fuseplanStatus_t fuseplanPlanConvolutionSetAlgo(fuseplanPlan_t plan,
                                                             fuseplanConvFwdAlgorithm_t algo);

/* Bytes to pass to fuseplanExecutePlan_v2, before or after compiling. It is 0: what kernels need
 * is the library's own and kept from one execution to the next.
 * InvalidValue: algo is neither an algorithm nor -1. */
FUSEPLAN_API fuseplanStatus_t fuseplanPlanGetWorkSpaceSize(fuseplanHandle_t handle,
                                                           fuseplanPlan_t plan,
                                                           size_t* workSpaceSize,
                                                           fuseplanConvFwdAlgorithm_t algo);

/* ---- Compiling --------------------------------------------------------------------------- */

/* Makes the plan ready to run with this handle, or tells why it cannot be: selects a solver,
 * fetches its kernel from the cache or generates it, and loads it. Everything that can fail is done
 * here. Again with the same handle and no edit between: nothing to do. For several handles, from
 * several threads: allowed, each has its own. Options of the handle are those of this moment.
 * UnsupportedOp: no solver takes the plan (reasons in the message and by
 * fuseplanPlanGetRejections), or the plan has no op. */
FUSEPLAN_API fuseplanStatus_t fuseplanCompilePlan(fuseplanHandle_t handle, fuseplanPlan_t plan);

/* ---- Plans as text ----------------------------------------------------------------------- */

/* The plan as one line of text, such as
 *   f32:1x64x56x56:nchw;conv(f32:64x64x3x3:nchw,pad=1x1,stride=1x1,dilation=1x1,groups=1);
 *   bias(f32:1x64x1x1:nchw);activation(relu)->f32:1x64x56x56:nchw
 * BadParm: the plan has no op. */
FUSEPLAN_API fuseplanStatus_t fuseplanPlanToString(fuseplanPlan_t plan, char* text, size_t* size);

/* A plan from such text. The marks `alpha` and `beta`, which logs add to kernels that blend, are
 * accepted and dropped: in a plan, blending comes with the arguments of each execution.
 * InvalidValue: text that cannot be read; the message quotes the piece. BadParm, UnsupportedOp: ops
 * that could not have been appended. BadParm: an output without an op. */
FUSEPLAN_API fuseplanStatus_t fuseplanCreatePlanFromString(fuseplanPlan_t* plan, const char* text);

#ifdef __cplusplus
}
#endif

#endif /* FUSEPLAN_PLAN_H */
