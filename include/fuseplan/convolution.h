/* SPDX-License-Identifier: MIT */
/* Convolution and activation descriptors. */
#ifndef FUSEPLAN_CONVOLUTION_H
#define FUSEPLAN_CONVOLUTION_H

#include "fuseplan/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Convolutions ---------------------------------------------------------------------------
 *
 * With strides (u, v), dilations (e, f), low paddings (ph, pw) and G groups, x of N x C x H x W, w
 * of K x C/G x R x S and y of N x K x P x Q:
 *
 *   y[n,k,p,q] = sum over c < C/G, r < R, s < S of
 *                x[n, (k / (K/G)) * (C/G) + c, p*u - ph + r*e, q*v - pw + s*f] * w[k,c,r,s]
 *
 * where x is 0 outside its bounds. Per axis the output length is
 * (in + padLow + padHigh - (1 + dilation * (filter - 1))) / stride + 1. A filter that does not fit
 * is refused (MIOpen answers length 1). In three dimensions D stands before H. Sums are in 32 bits:
 * floating point, or integer for 8-bit x (plan.h tells more).
 *
 * A new descriptor is 2-dimensional: padding 0, stride 1, dilation 1, 1 group, no attribute.
 * BadParm throughout: padding < 0, stride, dilation or group count < 1, a number above 2^30. */

FUSEPLAN_API fuseplanStatus_t
fuseplanCreateConvolutionDescriptor(fuseplanConvolutionDescriptor_t* convDesc);
FUSEPLAN_API fuseplanStatus_t
fuseplanDestroyConvolutionDescriptor(fuseplanConvolutionDescriptor_t convDesc);

/* Two dimensions. Groups and attributes are kept.
 * NotImplemented: c_mode is fuseplanTranspose. BadParm: c_mode is no mode. */
FUSEPLAN_API fuseplanStatus_t fuseplanInitConvolutionDescriptor(
    fuseplanConvolutionDescriptor_t convDesc, fuseplanConvolutionMode_t c_mode, int pad_h,
    int pad_w, int stride_h, int stride_w, int dilation_h, int dilation_w);

/* spatialDim (1, 2 or 3) numbers in each array, outermost axis first. */
FUSEPLAN_API fuseplanStatus_t fuseplanInitConvolutionNdDescriptor(
    fuseplanConvolutionDescriptor_t convDesc, int spatialDim, const int* padA, const int* strideA,
    const int* dilationA, fuseplanConvolutionMode_t c_mode);

/* Padding that differs at the two ends of an axis; Init* sets both ends to the same. spatialDim
 * must be the descriptor's. */
FUSEPLAN_API fuseplanStatus_t
fuseplanSetConvolutionPadding(fuseplanConvolutionDescriptor_t convDesc, int spatialDim,
                              const int* padLow, const int* padHigh);
/* Writes requestedSpatialDim numbers into each array. NULLs are skipped. BadParm:
 * requestedSpatialDim below 0 or more than there are. */
FUSEPLAN_API fuseplanStatus_t fuseplanGetConvolutionPadding(
    fuseplanConvolutionDescriptor_t convDesc, int requestedSpatialDim, int* padLow, int* padHigh);

/* Two-dimensional only (BadParm otherwise). Paddings are the low ones. NULLs are skipped. */
FUSEPLAN_API fuseplanStatus_t fuseplanGetConvolutionDescriptor(
    fuseplanConvolutionDescriptor_t convDesc, fuseplanConvolutionMode_t* c_mode, int* pad_h,
    int* pad_w, int* stride_h, int* stride_w, int* dilation_h, int* dilation_w);

/* Writes requestedSpatialDim numbers into each array and the true count into *spatialDim. NULLs are
 * skipped. BadParm: requestedSpatialDim below 0 or more than there are. */
FUSEPLAN_API fuseplanStatus_t fuseplanGetConvolutionNdDescriptor(
    fuseplanConvolutionDescriptor_t convDesc, int requestedSpatialDim, int* spatialDim, int* padA,
    int* strideA, int* dilationA, fuseplanConvolutionMode_t* c_mode);

FUSEPLAN_API fuseplanStatus_t
fuseplanGetConvolutionSpatialDim(fuseplanConvolutionDescriptor_t convDesc, int* spatialDim);

FUSEPLAN_API fuseplanStatus_t
fuseplanGetConvolutionGroupCount(fuseplanConvolutionDescriptor_t convDesc, int* groupCount);
/* G above; C for a depthwise convolution. Kept by Init*. */
FUSEPLAN_API fuseplanStatus_t
fuseplanSetConvolutionGroupCount(fuseplanConvolutionDescriptor_t convDesc, int groupCount);

/* InvalidValue: no such attribute, or a value other than 0 and 1. */
FUSEPLAN_API fuseplanStatus_t fuseplanSetConvolutionAttribute(
    fuseplanConvolutionDescriptor_t convDesc, fuseplanConvolutionAttrib_t attr, int value);
FUSEPLAN_API fuseplanStatus_t fuseplanGetConvolutionAttribute(
    fuseplanConvolutionDescriptor_t convDesc, fuseplanConvolutionAttrib_t attr, int* value);

/* Lengths of y for these x and w. BadParm: they do not fit together; the message says how. The
 * first form is for two dimensions; the second writes *nDim = 2 + spatial dimensions numbers. */
FUSEPLAN_API fuseplanStatus_t fuseplanGetConvolutionForwardOutputDim(
    fuseplanConvolutionDescriptor_t convDesc, fuseplanTensorDescriptor_t inputTensorDesc,
    fuseplanTensorDescriptor_t filterDesc, int* n, int* c, int* h, int* w);
FUSEPLAN_API fuseplanStatus_t fuseplanGetConvolutionNdForwardOutputDim(
    fuseplanConvolutionDescriptor_t convDesc, fuseplanTensorDescriptor_t inputTensorDesc,
    fuseplanTensorDescriptor_t filterDesc, int* nDim, int* outputTensorDimA);

/* ---- Activations ----------------------------------------------------------------------------
 *
 * Formulas are beside fuseplanActivationMode_t. A new descriptor is PASTHRU with parameters 0. */

FUSEPLAN_API fuseplanStatus_t
fuseplanCreateActivationDescriptor(fuseplanActivationDescriptor_t* activDesc);
FUSEPLAN_API fuseplanStatus_t
fuseplanDestroyActivationDescriptor(fuseplanActivationDescriptor_t activDesc);

/* BadParm: no such mode. */
FUSEPLAN_API fuseplanStatus_t fuseplanSetActivationDescriptor(
    fuseplanActivationDescriptor_t activDesc, fuseplanActivationMode_t mode, double activAlpha,
    double activBeta, double activGamma);
/* NULLs are skipped. */
FUSEPLAN_API fuseplanStatus_t fuseplanGetActivationDescriptor(
    fuseplanActivationDescriptor_t activDesc, fuseplanActivationMode_t* mode, double* activAlpha,
    double* activBeta, double* activGamma);

#ifdef __cplusplus
}
#endif

#endif /* FUSEPLAN_CONVOLUTION_H */
