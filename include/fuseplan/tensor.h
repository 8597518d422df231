/* SPDX-License-Identifier: MIT */
/* Tensor descriptors: type, lengths and strides of memory that belongs to somebody else. */
#ifndef FUSEPLAN_TENSOR_H
#define FUSEPLAN_TENSOR_H

#include "fuseplan/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A descriptor has 1 to 5 dimensions. Lengths and strides are in N, C, [D,] H, W order, whatever
 * the order in memory; strides are in elements, and the element (n, c, h, w) lies at n * strideN +
 * c * strideC + h * strideH + w * strideW. Every length and stride is at least 1; the number of
 * elements, and the bytes they span as 8-byte elements, must fit in 63 bits: anything else is
 * BadParm, naming the dimension.
 *
 * A descriptor that was created but never set can be set, destroyed, and nothing else:
 * fuseplanStatusNotInitialized. A failed setter leaves the descriptor as it was. */

FUSEPLAN_API fuseplanStatus_t
fuseplanCreateTensorDescriptor(fuseplanTensorDescriptor_t* tensorDesc);
FUSEPLAN_API fuseplanStatus_t
fuseplanDestroyTensorDescriptor(fuseplanTensorDescriptor_t tensorDesc);

/* ---- Setting ----------------------------------------------------------------------------- */

/* Packed NCHW: strides c*h*w, h*w, w, 1. */
FUSEPLAN_API fuseplanStatus_t fuseplanSet4dTensorDescriptor(fuseplanTensorDescriptor_t tensorDesc,
                                                            fuseplanDataType_t dataType, int n,
                                                            int c, int h, int w);

/* Any strides; NHWC has strides h*w*c, 1, w*c, c. */
FUSEPLAN_API fuseplanStatus_t fuseplanSet4dTensorDescriptorEx(fuseplanTensorDescriptor_t tensorDesc,
                                                              fuseplanDataType_t dataType, int n,
                                                              int c, int h, int w, int nStride,
                                                              int cStride, int hStride,
                                                              int wStride);

/* nbDims lengths and strides; stridesA NULL means packed, the last dimension innermost.
 * InvalidValue: nbDims outside 1 to 5, or dimsA NULL. */
FUSEPLAN_API fuseplanStatus_t fuseplanSetTensorDescriptor(fuseplanTensorDescriptor_t tensorDesc,
                                                          fuseplanDataType_t dataType, int nbDims,
                                                          const int* dimsA, const int* stridesA);
/* The same for lengths and strides above 2^31. */
FUSEPLAN_API fuseplanStatus_t fuseplanSetTensorDescriptorV2(fuseplanTensorDescriptor_t tensorDesc,
                                                            fuseplanDataType_t dataType, int nbDims,
                                                            const size_t* dimsA,
                                                            const size_t* stridesA);

/* Packed in the given layout; lens are in N, C, [D,] H, W order for every layout.
 * BadParm: a layout of another rank. InvalidValue: lens NULL or num_lens outside 1 to 5.
 * NotImplemented: a layout of MIOpen's that fuseplan does not have. */
FUSEPLAN_API fuseplanStatus_t fuseplanSetNdTensorDescriptorWithLayout(
    fuseplanTensorDescriptor_t tensorDesc, fuseplanDataType_t dataType,
    fuseplanTensorLayout_t tensorLayout, const int* lens, int num_lens);

/* ---- Reading ----------------------------------------------------------------------------- */

/* All pointers are required. BadParm: the tensor is not 4-dimensional, or a number exceeds an int.
 */
FUSEPLAN_API fuseplanStatus_t fuseplanGet4dTensorDescriptor(fuseplanTensorDescriptor_t tensorDesc,
                                                            fuseplanDataType_t* dataType, int* n,
                                                            int* c, int* h, int* w, int* nStride,
                                                            int* cStride, int* hStride,
                                                            int* wStride);

/* Writes as many lengths and strides as fuseplanGetTensorDescriptorSize says. NULLs are skipped.
 * BadParm: a number exceeds an int; use the V2 form. */
FUSEPLAN_API fuseplanStatus_t fuseplanGetTensorDescriptor(fuseplanTensorDescriptor_t tensorDesc,
                                                          fuseplanDataType_t* dataType, int* dimsA,
                                                          int* stridesA);
FUSEPLAN_API fuseplanStatus_t fuseplanGetTensorDescriptorV2(fuseplanTensorDescriptor_t tensorDesc,
                                                            fuseplanDataType_t* dataType,
                                                            size_t* dimsA, size_t* stridesA);

/* The number of dimensions. */
FUSEPLAN_API fuseplanStatus_t fuseplanGetTensorDescriptorSize(fuseplanTensorDescriptor_t tensorDesc,
                                                              int* size);

/* Bytes from the first to one past the last element: size * (1 + sum of (length - 1) * stride). */
FUSEPLAN_API fuseplanStatus_t fuseplanGetTensorNumBytes(fuseplanTensorDescriptor_t tensorDesc,
                                                        size_t* numBytes);

/* The layout that the strides spell: NCHW or NHWC for rank 4, NCDHW or NDHWC for rank 5 (where both
 * fit, as with one channel, the one whose strides it has to the letter), else Strided. */
FUSEPLAN_API fuseplanStatus_t fuseplanGetTensorDescriptorLayout(
    fuseplanTensorDescriptor_t tensorDesc, fuseplanTensorLayout_t* tensorLayout);

/* Makes derivedBnDesc describe the parameters of a batch normalisation of xDesc's tensor (rank 2
 * to 5): fuseplanFloat, packed in xDesc's layout; 1 x C x 1 ... for fuseplanBNSpatial, 1 x C and
 * xDesc's spatial lengths for fuseplanBNPerActivation. */
FUSEPLAN_API fuseplanStatus_t
fuseplanDeriveBNTensorDescriptor(fuseplanTensorDescriptor_t derivedBnDesc,
                                 fuseplanTensorDescriptor_t xDesc, fuseplanBatchNormMode_t bn_mode);

#ifdef __cplusplus
}
#endif

#endif /* FUSEPLAN_TENSOR_H */
