/* SPDX-License-Identifier: MIT */
/* Status text, handles, and the descriptors of tensors, convolutions, activations and poolings. */
#ifndef FUSEPLAN_MIOPEN_DESCRIPTORS_H
#define FUSEPLAN_MIOPEN_DESCRIPTORS_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Errors and version --------------------------------------------------------------------- */

/* The enumerator's own name, or "Unknown error status". */
MIOPEN_EXPORT const char* miopenGetErrorString(miopenStatus_t error);
/* MIOPEN_VERSION_*; NULLs are skipped. */
MIOPEN_EXPORT miopenStatus_t miopenGetVersion(size_t* major, size_t* minor, size_t* patch);

/* Beyond MIOpen: what the last call in this thread that failed found wrong, such as the reason of
 * each solver for miopenStatusUnsupportedOp. Never NULL; overwritten by the next failure. */
MIOPEN_EXPORT const char* fuseplanMiopenGetLastErrorMessage(void);

/* ---- Handles --------------------------------------------------------------------------------
 *
 * A handle is a device with what was compiled for it. The environment variable FUSEPLAN_DEVICE
 * names the device ("cpu", "cuda:0"); the CPU is the default. On the CPU all pointers are host
 * pointers, calls return when their work is done, and a stream is kept but not used. */

MIOPEN_EXPORT miopenStatus_t miopenCreate(miopenHandle_t* handle);
MIOPEN_EXPORT miopenStatus_t miopenCreateWithStream(miopenHandle_t* handle,
                                                    miopenAcceleratorQueue_t stream);
/* Plans compiled for the handle stay valid, and can be compiled for others. */
MIOPEN_EXPORT miopenStatus_t miopenDestroy(miopenHandle_t handle);
MIOPEN_EXPORT miopenStatus_t miopenSetStream(miopenHandle_t handle,
                                             miopenAcceleratorQueue_t streamID);
MIOPEN_EXPORT miopenStatus_t miopenGetStream(miopenHandle_t handle,
                                             miopenAcceleratorQueue_t* streamID);
/* Both functions NULL: the library's own. */
MIOPEN_EXPORT miopenStatus_t miopenSetAllocator(miopenHandle_t handle,
                                                miopenAllocatorFunction allocator,
                                                miopenDeallocatorFunction deallocator,
                                                void* allocatorContext);
MIOPEN_EXPORT miopenStatus_t miopenEnableProfiling(miopenHandle_t handle, bool enable);
/* Milliseconds of the last plan or discrete call; 0 while profiling is off. */
MIOPEN_EXPORT miopenStatus_t miopenGetKernelTime(miopenHandle_t handle, float* time);

/* ---- Tensors --------------------------------------------------------------------------------
 *
 * 1 to 5 dimensions; lengths and strides (in elements) in N, C, [D,] H, W order.
 * BadParm: a length or stride below 1, no such type. InvalidValue: no dimensions. */

MIOPEN_EXPORT miopenStatus_t miopenCreateTensorDescriptor(miopenTensorDescriptor_t* tensorDesc);
MIOPEN_EXPORT miopenStatus_t miopenDestroyTensorDescriptor(miopenTensorDescriptor_t tensorDesc);
MIOPEN_EXPORT miopenStatus_t miopenSet4dTensorDescriptor(miopenTensorDescriptor_t tensorDesc,
                                                         miopenDataType_t dataType, int n, int c,
                                                         int h, int w);
MIOPEN_EXPORT miopenStatus_t miopenSet4dTensorDescriptorEx(miopenTensorDescriptor_t tensorDesc,
                                                           miopenDataType_t dataType, int n, int c,
                                                           int h, int w, int nStride, int cStride,
                                                           int hStride, int wStride);
/* All pointers are required. */
MIOPEN_EXPORT miopenStatus_t miopenGet4dTensorDescriptor(miopenTensorDescriptor_t tensorDesc,
                                                         miopenDataType_t* dataType, int* n, int* c,
                                                         int* h, int* w, int* nStride, int* cStride,
                                                         int* hStride, int* wStride);
/* stridesA NULL: packed, the last dimension innermost. */
MIOPEN_EXPORT miopenStatus_t miopenSetTensorDescriptor(miopenTensorDescriptor_t tensorDesc,
                                                       miopenDataType_t dataType, int nbDims,
                                                       const int* dimsA, const int* stridesA);
MIOPEN_EXPORT miopenStatus_t miopenSetTensorDescriptorV2(miopenTensorDescriptor_t tensorDesc,
                                                         miopenDataType_t dataType, int nbDims,
                                                         const size_t* dimsA,
                                                         const size_t* stridesA);
MIOPEN_EXPORT miopenStatus_t miopenSetNdTensorDescriptorWithLayout(
    miopenTensorDescriptor_t tensorDesc, miopenDataType_t dataType,
    miopenTensorLayout_t tensorLayout, const int* lens, int num_lens);
/* NULLs are skipped. */
MIOPEN_EXPORT miopenStatus_t miopenGetTensorDescriptor(miopenTensorDescriptor_t tensorDesc,
                                                       miopenDataType_t* dataType, int* dimsA,
                                                       int* stridesA);
/* The number of dimensions. */
MIOPEN_EXPORT miopenStatus_t miopenGetTensorDescriptorSize(miopenTensorDescriptor_t tensorDesc,
                                                           int* size);
MIOPEN_EXPORT miopenStatus_t miopenGetTensorNumBytes(miopenTensorDescriptor_t tensorDesc,
                                                     size_t* numBytes);

/* ---- Convolutions ---------------------------------------------------------------------------
 *
 * Formula: fuseplan/convolution.h. A new descriptor is 2-dimensional: padding 0, stride 1, dilation
 * 1, 1 group. BadParm: a padding below 0, a stride or dilation below 1, no such mode. */

MIOPEN_EXPORT miopenStatus_t
miopenCreateConvolutionDescriptor(miopenConvolutionDescriptor_t* convDesc);
MIOPEN_EXPORT miopenStatus_t
miopenDestroyConvolutionDescriptor(miopenConvolutionDescriptor_t convDesc);
MIOPEN_EXPORT miopenStatus_t miopenInitConvolutionDescriptor(miopenConvolutionDescriptor_t convDesc,
                                                             miopenConvolutionMode_t c_mode,
                                                             int pad_h, int pad_w, int stride_h,
                                                             int stride_w, int dilation_h,
                                                             int dilation_w);
MIOPEN_EXPORT miopenStatus_t miopenInitConvolutionNdDescriptor(
    miopenConvolutionDescriptor_t convDesc, int spatialDim, const int* padA, const int* strideA,
    const int* dilationA, miopenConvolutionMode_t c_mode);
/* Two dimensions only; NULLs are skipped. */
MIOPEN_EXPORT miopenStatus_t miopenGetConvolutionDescriptor(miopenConvolutionDescriptor_t convDesc,
                                                            miopenConvolutionMode_t* c_mode,
                                                            int* pad_h, int* pad_w, int* stride_h,
                                                            int* stride_w, int* dilation_h,
                                                            int* dilation_w);
/* Writes requestedSpatialDim numbers to each array and the true count to *spatialDim; NULLs are
 * skipped. BadParm: more are asked for than there are. */
MIOPEN_EXPORT miopenStatus_t miopenGetConvolutionNdDescriptor(
    miopenConvolutionDescriptor_t convDesc, int requestedSpatialDim, int* spatialDim, int* padA,
    int* strideA, int* dilationA, miopenConvolutionMode_t* c_mode);
MIOPEN_EXPORT miopenStatus_t miopenGetConvolutionSpatialDim(miopenConvolutionDescriptor_t convDesc,
                                                            int* spatialDim);
MIOPEN_EXPORT miopenStatus_t miopenGetConvolutionGroupCount(miopenConvolutionDescriptor_t convDesc,
                                                            int* groupCount);
MIOPEN_EXPORT miopenStatus_t miopenSetConvolutionGroupCount(miopenConvolutionDescriptor_t convDesc,
                                                            int groupCount);
MIOPEN_EXPORT miopenStatus_t
miopenSetTransposeConvOutputPadding(miopenConvolutionDescriptor_t convDesc, int adj_h, int adj_w);
MIOPEN_EXPORT miopenStatus_t miopenSetTransposeConvNdOutputPadding(
    miopenConvolutionDescriptor_t convDesc, int spatialDim, const int* adjA);
/* At least 1 in each dimension, also where the filter does not fit. */
MIOPEN_EXPORT miopenStatus_t miopenGetConvolutionForwardOutputDim(
    miopenConvolutionDescriptor_t convDesc, miopenTensorDescriptor_t inputTensorDesc,
    miopenTensorDescriptor_t filterDesc, int* n, int* c, int* h, int* w);
MIOPEN_EXPORT miopenStatus_t miopenGetConvolutionNdForwardOutputDim(
    miopenConvolutionDescriptor_t convDesc, miopenTensorDescriptor_t inputTensorDesc,
    miopenTensorDescriptor_t filterDesc, int* nDim, int* outputTensorDimA);
MIOPEN_EXPORT miopenStatus_t miopenSetConvolutionAttribute(miopenConvolutionDescriptor_t convDesc,
                                                           miopenConvolutionAttrib_t attr,
                                                           int value);
MIOPEN_EXPORT miopenStatus_t miopenGetConvolutionAttribute(miopenConvolutionDescriptor_t convDesc,
                                                           miopenConvolutionAttrib_t attr,
                                                           int* value);

/* ---- Activations, normalisation, pooling ---------------------------------------------------- */

MIOPEN_EXPORT miopenStatus_t
miopenCreateActivationDescriptor(miopenActivationDescriptor_t* activDesc);
MIOPEN_EXPORT miopenStatus_t
miopenDestroyActivationDescriptor(miopenActivationDescriptor_t activDesc);
MIOPEN_EXPORT miopenStatus_t miopenSetActivationDescriptor(miopenActivationDescriptor_t activDesc,
                                                           miopenActivationMode_t mode,
                                                           double activAlpha, double activBeta,
                                                           double activGamma);
/* NULLs are skipped. */
MIOPEN_EXPORT miopenStatus_t miopenGetActivationDescriptor(miopenActivationDescriptor_t activDesc,
                                                           miopenActivationMode_t* mode,
                                                           double* activAlpha, double* activBeta,
                                                           double* activGamma);

/* The parameters of a batch normalisation of xDesc's tensor: always miopenFloat; 1 x C x 1 x 1 [x
 * 1] for miopenBNSpatial, 1 x C x [D x] H x W for miopenBNPerActivation. */
MIOPEN_EXPORT miopenStatus_t miopenDeriveBNTensorDescriptor(miopenTensorDescriptor_t derivedBnDesc,
                                                            miopenTensorDescriptor_t xDesc,
                                                            miopenBatchNormMode_t bn_mode);

MIOPEN_EXPORT miopenStatus_t miopenCreatePoolingDescriptor(miopenPoolingDescriptor_t* poolDesc);
MIOPEN_EXPORT miopenStatus_t miopenDestroyPoolingDescriptor(miopenPoolingDescriptor_t poolDesc);
MIOPEN_EXPORT miopenStatus_t miopenSet2dPoolingDescriptor(miopenPoolingDescriptor_t poolDesc,
                                                          miopenPoolingMode_t mode,
                                                          int windowHeight, int windowWidth,
                                                          int pad_h, int pad_w, int stride_h,
                                                          int stride_w);
/* NULLs are skipped. */
MIOPEN_EXPORT miopenStatus_t miopenGet2dPoolingDescriptor(miopenPoolingDescriptor_t poolDesc,
                                                          miopenPoolingMode_t* mode,
                                                          int* windowHeight, int* windowWidth,
                                                          int* pad_h, int* pad_w, int* stride_h,
                                                          int* stride_w);
MIOPEN_EXPORT miopenStatus_t miopenGetPoolingForwardOutputDim(miopenPoolingDescriptor_t poolDesc,
                                                              miopenTensorDescriptor_t tensorDesc,
                                                              int* n, int* c, int* h, int* w);

#ifdef __cplusplus
}
#endif

#endif /* FUSEPLAN_MIOPEN_DESCRIPTORS_H */
