// SPDX-License-Identifier: MIT
#include "miopen/objects.hpp"

using namespace fuseplan::miopen;

// Tensor and activation descriptors are fuseplan's own: its functions check and store.

namespace {

fuseplanDataType_t type_of(miopenDataType_t type) { return static_cast<fuseplanDataType_t>(type); }
fuseplanDataType_t* type_of(miopenDataType_t* type) {
  return reinterpret_cast<fuseplanDataType_t*>(type);
}
static_assert(sizeof(miopenDataType_t) == sizeof(fuseplanDataType_t));
static_assert(sizeof(miopenActivationMode_t) == sizeof(fuseplanActivationMode_t));

}  // namespace

miopenStatus_t miopenCreateTensorDescriptor(miopenTensorDescriptor_t* tensorDesc) {
  return guard(__func__, [&] {
    fuseplanTensorDescriptor_t tensor;
    required(tensorDesc, "tensorDesc");
    check(fuseplanCreateTensorDescriptor(&tensor));
    *tensorDesc = reinterpret_cast<miopenTensorDescriptor_t>(tensor);
  });
}

miopenStatus_t miopenDestroyTensorDescriptor(miopenTensorDescriptor_t tensorDesc) {
  return guard(__func__, [&] {
    if (tensorDesc != nullptr) check(fuseplanDestroyTensorDescriptor(fuseplan_of(tensorDesc)));
  });
}

miopenStatus_t miopenSet4dTensorDescriptor(miopenTensorDescriptor_t tensorDesc,
                                           miopenDataType_t dataType, int n, int c, int h, int w) {
  return guard(__func__, [&] {
    check(fuseplanSet4dTensorDescriptor(fuseplan_of(tensorDesc), type_of(dataType), n, c, h, w));
  });
}

miopenStatus_t miopenSet4dTensorDescriptorEx(miopenTensorDescriptor_t tensorDesc,
                                             miopenDataType_t dataType, int n, int c, int h, int w,
                                             int nStride, int cStride, int hStride, int wStride) {
  return guard(__func__, [&] {
    check(fuseplanSet4dTensorDescriptorEx(fuseplan_of(tensorDesc), type_of(dataType), n, c, h, w,
                                          nStride, cStride, hStride, wStride));
  });
}

miopenStatus_t miopenGet4dTensorDescriptor(miopenTensorDescriptor_t tensorDesc,
                                           miopenDataType_t* dataType, int* n, int* c, int* h,
                                           int* w, int* nStride, int* cStride, int* hStride,
                                           int* wStride) {
  return guard(__func__, [&] {
    check(fuseplanGet4dTensorDescriptor(fuseplan_of(tensorDesc), type_of(dataType), n, c, h, w,
                                        nStride, cStride, hStride, wStride));
  });
}

miopenStatus_t miopenSetTensorDescriptor(miopenTensorDescriptor_t tensorDesc,
                                         miopenDataType_t dataType, int nbDims, const int* dimsA,
                                         const int* stridesA) {
  return guard(__func__, [&] {
    check(fuseplanSetTensorDescriptor(fuseplan_of(tensorDesc), type_of(dataType), nbDims, dimsA,
                                      stridesA));
  });
}

miopenStatus_t miopenSetTensorDescriptorV2(miopenTensorDescriptor_t tensorDesc,
                                           miopenDataType_t dataType, int nbDims,
                                           const size_t* dimsA, const size_t* stridesA) {
  return guard(__func__, [&] {
    check(fuseplanSetTensorDescriptorV2(fuseplan_of(tensorDesc), type_of(dataType), nbDims, dimsA,
                                        stridesA));
  });
}

miopenStatus_t miopenSetNdTensorDescriptorWithLayout(miopenTensorDescriptor_t tensorDesc,
                                                     miopenDataType_t dataType,
                                                     miopenTensorLayout_t tensorLayout,
                                                     const int* lens, int num_lens) {
  return guard(__func__, [&] {
    check(fuseplanSetNdTensorDescriptorWithLayout(fuseplan_of(tensorDesc), type_of(dataType),
                                                  static_cast<fuseplanTensorLayout_t>(tensorLayout),
                                                  lens, num_lens));
  });
}

miopenStatus_t miopenGetTensorDescriptor(miopenTensorDescriptor_t tensorDesc,
                                         miopenDataType_t* dataType, int* dimsA, int* stridesA) {
  return guard(__func__, [&] {
    check(fuseplanGetTensorDescriptor(fuseplan_of(tensorDesc), type_of(dataType), dimsA, stridesA));
  });
}

miopenStatus_t miopenGetTensorDescriptorSize(miopenTensorDescriptor_t tensorDesc, int* size) {
  return guard(__func__,
               [&] { check(fuseplanGetTensorDescriptorSize(fuseplan_of(tensorDesc), size)); });
}

miopenStatus_t miopenGetTensorNumBytes(miopenTensorDescriptor_t tensorDesc, size_t* numBytes) {
  return guard(__func__,
               [&] { check(fuseplanGetTensorNumBytes(fuseplan_of(tensorDesc), numBytes)); });
}

miopenStatus_t miopenDeriveBNTensorDescriptor(miopenTensorDescriptor_t derivedBnDesc,
                                              miopenTensorDescriptor_t xDesc,
                                              miopenBatchNormMode_t bn_mode) {
  return guard(__func__, [&] {
    check(fuseplanDeriveBNTensorDescriptor(fuseplan_of(derivedBnDesc), fuseplan_of(xDesc),
                                           static_cast<fuseplanBatchNormMode_t>(bn_mode)));
  });
}

miopenStatus_t miopenCreateActivationDescriptor(miopenActivationDescriptor_t* activDesc) {
  return guard(__func__, [&] {
    fuseplanActivationDescriptor_t activation;
    required(activDesc, "activDesc");
    check(fuseplanCreateActivationDescriptor(&activation));
    *activDesc = reinterpret_cast<miopenActivationDescriptor_t>(activation);
  });
}

miopenStatus_t miopenDestroyActivationDescriptor(miopenActivationDescriptor_t activDesc) {
  return guard(__func__, [&] {
    if (activDesc != nullptr) check(fuseplanDestroyActivationDescriptor(fuseplan_of(activDesc)));
  });
}

miopenStatus_t miopenSetActivationDescriptor(miopenActivationDescriptor_t activDesc,
                                             miopenActivationMode_t mode, double activAlpha,
                                             double activBeta, double activGamma) {
  return guard(__func__, [&] {
    check(fuseplanSetActivationDescriptor(fuseplan_of(activDesc),
                                          static_cast<fuseplanActivationMode_t>(mode), activAlpha,
                                          activBeta, activGamma));
  });
}

miopenStatus_t miopenGetActivationDescriptor(miopenActivationDescriptor_t activDesc,
                                             miopenActivationMode_t* mode, double* activAlpha,
                                             double* activBeta, double* activGamma) {
  return guard(__func__, [&] {
    check(fuseplanGetActivationDescriptor(fuseplan_of(activDesc),
                                          reinterpret_cast<fuseplanActivationMode_t*>(mode),
                                          activAlpha, activBeta, activGamma));
  });
}
