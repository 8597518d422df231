// SPDX-License-Identifier: MIT
#include <fmt/ranges.h>

#include <algorithm>
#include <climits>

#include "miopen/convolution.hpp"

using namespace fuseplan::miopen;

namespace {

// What InitNd and Init store; groups and attributes are kept.
void init(Convolution& convolution, int spatial, const int* pad, const int* stride,
          const int* dilation, miopenConvolutionMode_t mode) {
  require(spatial >= 1 && spatial <= Convolution::kMaxSpatial, miopenStatusBadParm,
          "spatialDim is {}, expected 1 to {}", spatial, Convolution::kMaxSpatial);
  require(mode >= miopenConvolution && mode <= miopenDepthwise, miopenStatusBadParm,
          "{} is no convolution mode", static_cast<int>(mode));
  required(pad, "padA");
  required(stride, "strideA");
  required(dilation, "dilationA");
  Convolution next = convolution;
  next.spatial = spatial;
  next.mode = mode == miopenTranspose ? miopenTranspose : miopenConvolution;
  for (int axis = 0; axis < spatial; ++axis) {
    require(pad[axis] >= 0 && stride[axis] >= 1 && dilation[axis] >= 1, miopenStatusBadParm,
            "axis {} has padding {}, stride {}, dilation {}", axis, pad[axis], stride[axis],
            dilation[axis]);
    const auto i = static_cast<std::size_t>(axis);
    next.pad[i] = pad[axis];
    next.stride[i] = stride[axis];
    next.dilation[i] = dilation[axis];
  }
  convolution = next;
}

void copy(const Convolution::Numbers& from, int count, int* to) {
  if (to != nullptr) std::copy_n(from.begin(), count, to);
}

void set_output_padding(const Convolution& convolution, int spatial, const int* adjust,
                        Convolution::Numbers& to) {
  require(spatial == convolution.spatial, miopenStatusBadParm,
          "the convolution has {} dimensions, not {}", convolution.spatial, spatial);
  required(adjust, "adjA");
  for (int axis = 0; axis < spatial; ++axis)
    require(adjust[axis] >= 0, miopenStatusBadParm, "output padding {} is negative", adjust[axis]);
  std::copy_n(adjust, spatial, to.begin());
}

std::vector<std::size_t> output_lens(miopenConvolutionDescriptor_t convolution,
                                     miopenTensorDescriptor_t x, miopenTensorDescriptor_t w) {
  const auto object = find(convolution, "convDesc");
  const Shape input = shape_of(x, "inputTensorDesc"), filter = shape_of(w, "filterDesc");
  object->check_operands(input, filter);
  const std::vector<std::size_t> lens = object->output_lens(input, filter);
  for (const std::size_t length : lens)
    require(length <= INT_MAX, miopenStatusBadParm, "the output is {}, which exceeds an int",
            fmt::join(lens, "x"));
  return lens;
}

std::size_t attribute_index(miopenConvolutionAttrib_t attribute) {
  require(attribute >= MIOPEN_CONVOLUTION_ATTRIB_FP16_ALT_IMPL &&
              attribute <= MIOPEN_CONVOLUTION_ATTRIB_FP8_ROUNDING_MODE,
          miopenStatusBadParm, "{} is no convolution attribute", static_cast<int>(attribute));
  return static_cast<std::size_t>(attribute);
}

}  // namespace

miopenStatus_t miopenCreateConvolutionDescriptor(miopenConvolutionDescriptor_t* convDesc) {
  return guard(__func__, [&] {
    *required(convDesc, "convDesc") =
        publish<miopenConvolutionDescriptor_t>(std::make_shared<Convolution>());
  });
}

miopenStatus_t miopenDestroyConvolutionDescriptor(miopenConvolutionDescriptor_t convDesc) {
  return guard(__func__, [&] { destroy(convDesc, "convDesc"); });
}

miopenStatus_t miopenInitConvolutionDescriptor(miopenConvolutionDescriptor_t convDesc,
                                               miopenConvolutionMode_t c_mode, int pad_h, int pad_w,
                                               int stride_h, int stride_w, int dilation_h,
                                               int dilation_w) {
  return guard(__func__, [&] {
    const int pad[] = {pad_h, pad_w}, stride[] = {stride_h, stride_w},
              dilation[] = {dilation_h, dilation_w};
    init(*find(convDesc, "convDesc"), 2, pad, stride, dilation, c_mode);
  });
}

miopenStatus_t miopenInitConvolutionNdDescriptor(miopenConvolutionDescriptor_t convDesc,
                                                 int spatialDim, const int* padA,
                                                 const int* strideA, const int* dilationA,
                                                 miopenConvolutionMode_t c_mode) {
  return guard(__func__, [&] {
    init(*find(convDesc, "convDesc"), spatialDim, padA, strideA, dilationA, c_mode);
  });
}

miopenStatus_t miopenGetConvolutionDescriptor(miopenConvolutionDescriptor_t convDesc,
                                              miopenConvolutionMode_t* c_mode, int* pad_h,
                                              int* pad_w, int* stride_h, int* stride_w,
                                              int* dilation_h, int* dilation_w) {
  return guard(__func__, [&] {
    const auto object = find(convDesc, "convDesc");
    require(object->spatial == 2, miopenStatusBadParm,
            "the convolution has {} dimensions: use the Nd form", object->spatial);
    store(c_mode, object->mode);
    store(pad_h, object->pad[0]);
    store(pad_w, object->pad[1]);
    store(stride_h, object->stride[0]);
    store(stride_w, object->stride[1]);
    store(dilation_h, object->dilation[0]);
    store(dilation_w, object->dilation[1]);
  });
}

miopenStatus_t miopenGetConvolutionNdDescriptor(miopenConvolutionDescriptor_t convDesc,
                                                int requestedSpatialDim, int* spatialDim, int* padA,
                                                int* strideA, int* dilationA,
                                                miopenConvolutionMode_t* c_mode) {
  return guard(__func__, [&] {
    const auto object = find(convDesc, "convDesc");
    require(requestedSpatialDim >= 0 && requestedSpatialDim <= object->spatial, miopenStatusBadParm,
            "{} dimensions asked for, there are {}", requestedSpatialDim, object->spatial);
    store(spatialDim, object->spatial);
    copy(object->pad, requestedSpatialDim, padA);
    copy(object->stride, requestedSpatialDim, strideA);
    copy(object->dilation, requestedSpatialDim, dilationA);
    store(c_mode, object->mode);
  });
}

miopenStatus_t miopenGetConvolutionSpatialDim(miopenConvolutionDescriptor_t convDesc,
                                              int* spatialDim) {
  return guard(__func__,
               [&] { *required(spatialDim, "spatialDim") = find(convDesc, "convDesc")->spatial; });
}

miopenStatus_t miopenGetConvolutionGroupCount(miopenConvolutionDescriptor_t convDesc,
                                              int* groupCount) {
  return guard(__func__,
               [&] { *required(groupCount, "groupCount") = find(convDesc, "convDesc")->groups; });
}

miopenStatus_t miopenSetConvolutionGroupCount(miopenConvolutionDescriptor_t convDesc,
                                              int groupCount) {
  return guard(__func__, [&] {
    const auto object = find(convDesc, "convDesc");
    require(groupCount >= 1, miopenStatusBadParm, "groupCount is {}, expected 1 or more",
            groupCount);
    object->groups = groupCount;
  });
}

miopenStatus_t miopenSetTransposeConvOutputPadding(miopenConvolutionDescriptor_t convDesc,
                                                   int adj_h, int adj_w) {
  return guard(__func__, [&] {
    const auto object = find(convDesc, "convDesc");
    const int adjust[] = {adj_h, adj_w};
    set_output_padding(*object, 2, adjust, object->output_padding);
  });
}

miopenStatus_t miopenSetTransposeConvNdOutputPadding(miopenConvolutionDescriptor_t convDesc,
                                                     int spatialDim, const int* adjA) {
  return guard(__func__, [&] {
    const auto object = find(convDesc, "convDesc");
    set_output_padding(*object, spatialDim, adjA, object->output_padding);
  });
}

miopenStatus_t miopenGetConvolutionForwardOutputDim(miopenConvolutionDescriptor_t convDesc,
                                                    miopenTensorDescriptor_t inputTensorDesc,
                                                    miopenTensorDescriptor_t filterDesc, int* n,
                                                    int* c, int* h, int* w) {
  return guard(__func__, [&] {
    const auto lens = output_lens(convDesc, inputTensorDesc, filterDesc);
    require(lens.size() == 4, miopenStatusBadParm, "the output has {} dimensions: use the Nd form",
            lens.size());
    store(n, lens[0]);
    store(c, lens[1]);
    store(h, lens[2]);
    store(w, lens[3]);
  });
}

miopenStatus_t miopenGetConvolutionNdForwardOutputDim(miopenConvolutionDescriptor_t convDesc,
                                                      miopenTensorDescriptor_t inputTensorDesc,
                                                      miopenTensorDescriptor_t filterDesc,
                                                      int* nDim, int* outputTensorDimA) {
  return guard(__func__, [&] {
    const auto lens = output_lens(convDesc, inputTensorDesc, filterDesc);
    store(nDim, lens.size());
    for (std::size_t i = 0; outputTensorDimA != nullptr && i < lens.size(); ++i)
      outputTensorDimA[i] = static_cast<int>(lens[i]);
  });
}

miopenStatus_t miopenSetConvolutionAttribute(miopenConvolutionDescriptor_t convDesc,
                                             miopenConvolutionAttrib_t attr, int value) {
  return guard(__func__,
               [&] { find(convDesc, "convDesc")->attributes[attribute_index(attr)] = value; });
}

miopenStatus_t miopenGetConvolutionAttribute(miopenConvolutionDescriptor_t convDesc,
                                             miopenConvolutionAttrib_t attr, int* value) {
  return guard(__func__, [&] {
    const auto object = find(convDesc, "convDesc");
    *required(value, "value") = object->attributes[attribute_index(attr)];
  });
}
