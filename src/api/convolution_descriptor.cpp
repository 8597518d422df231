// SPDX-License-Identifier: MIT
#include <algorithm>
#include <span>

#include "api/guard.hpp"
#include "api/objects.hpp"
#include "fuseplan/convolution.h"

using namespace fuseplan;
using namespace fuseplan::api;

namespace {

void check_mode(fuseplanConvolutionMode_t mode) {
  require(mode != fuseplanTranspose, Status::NotImplemented,
          "c_mode is fuseplanTranspose; transposed convolutions are not implemented");
  require(mode == fuseplanConvolution || mode == fuseplanGroupConv || mode == fuseplanDepthwise,
          Status::BadParm, "c_mode is {}, expected a fuseplanConvolutionMode_t",
          static_cast<int>(mode));
}

Dims dims_of(const int* values, int count, const char* name) {
  return Dims(required(values, name), values + count);
}

void init_convolution(fuseplanConvolutionDescriptor_t descriptor, int axes, const int* pad,
                      const int* stride, const int* dilation, fuseplanConvolutionMode_t mode) {
  const auto object = pin(descriptor, "convDesc");
  check_mode(mode);
  require(axes >= 1 && axes <= 3, Status::BadParm, "spatialDim is {}, expected 1 to 3", axes);
  Conv conv = object->conv;
  conv.pad_lo = conv.pad_hi = dims_of(pad, axes, "padA");
  conv.stride = dims_of(stride, axes, "strideA");
  conv.dilation = dims_of(dilation, axes, "dilationA");
  validate(conv);
  object->conv = conv;
}

void check_request(int requested, const Conv& conv) {
  require(requested >= 0 && requested <= conv.spatial(), Status::BadParm,
          "requestedSpatialDim is {}, the descriptor has {}", requested, conv.spatial());
}

void copy_dims(int* to, const Dims& dims, int count) {
  if (to != nullptr)
    std::transform(dims.begin(), dims.begin() + count, to,
                   [](std::int64_t value) { return static_cast<int>(value); });
}

Dims output_lens(fuseplanConvolutionDescriptor_t convolution, fuseplanTensorDescriptor_t input,
                 fuseplanTensorDescriptor_t filter) {
  const Conv conv = pin(convolution, "convDesc")->conv;
  const Dims lens =
      conv_output(conv, tensor_of(input, "inputTensorDesc"), tensor_of(filter, "filterDesc")).lens;
  for (const std::int64_t length : lens)
    require(length <= INT32_MAX, Status::BadParm, "the output is {}, which exceeds an int",
            dims_text(lens));
  return lens;
}

// Where a descriptor keeps an attribute: three kinds of storage behind one number.
int attribute_of(const ConvolutionObject& object, fuseplanConvolutionAttrib_t attribute) {
  switch (attribute) {
    case FUSEPLAN_CONVOLUTION_ATTRIB_FP16_ALT_IMPL:
      return object.fp16_alternative;
    case FUSEPLAN_CONVOLUTION_ATTRIB_DETERMINISTIC:
      return object.conv.deterministic;
    case FUSEPLAN_CONVOLUTION_ATTRIB_STRICT:
      return object.conv.strict;
  }
  fail(Status::InvalidValue, "attr is {}, expected a fuseplanConvolutionAttrib_t",
       static_cast<int>(attribute));
}

}  // namespace

fuseplanStatus_t fuseplanCreateConvolutionDescriptor(fuseplanConvolutionDescriptor_t* convDesc) {
  return guard(__func__, [&] {
    *required(convDesc, "convDesc") = create<fuseplanConvolutionDescriptor_t>();
  });
}

fuseplanStatus_t fuseplanDestroyConvolutionDescriptor(fuseplanConvolutionDescriptor_t convDesc) {
  return guard(__func__, [&] { destroy(convDesc, "convDesc"); });
}

fuseplanStatus_t fuseplanInitConvolutionDescriptor(fuseplanConvolutionDescriptor_t convDesc,
                                                   fuseplanConvolutionMode_t c_mode, int pad_h,
                                                   int pad_w, int stride_h, int stride_w,
                                                   int dilation_h, int dilation_w) {
  return guard(__func__, [&] {
    const int pad[] = {pad_h, pad_w}, stride[] = {stride_h, stride_w};
    const int dilation[] = {dilation_h, dilation_w};
    init_convolution(convDesc, 2, pad, stride, dilation, c_mode);
  });
}

fuseplanStatus_t fuseplanInitConvolutionNdDescriptor(fuseplanConvolutionDescriptor_t convDesc,
                                                     int spatialDim, const int* padA,
                                                     const int* strideA, const int* dilationA,
                                                     fuseplanConvolutionMode_t c_mode) {
  return guard(__func__,
               [&] { init_convolution(convDesc, spatialDim, padA, strideA, dilationA, c_mode); });
}

fuseplanStatus_t fuseplanSetConvolutionPadding(fuseplanConvolutionDescriptor_t convDesc,
                                               int spatialDim, const int* padLow,
                                               const int* padHigh) {
  return guard(__func__, [&] {
    const auto object = pin(convDesc, "convDesc");
    Conv conv = object->conv;
    require(spatialDim == conv.spatial(), Status::BadParm,
            "spatialDim is {}, the descriptor has {}", spatialDim, conv.spatial());
    conv.pad_lo = dims_of(padLow, spatialDim, "padLow");
    conv.pad_hi = dims_of(padHigh, spatialDim, "padHigh");
    validate(conv);
    object->conv = conv;
  });
}

fuseplanStatus_t fuseplanGetConvolutionPadding(fuseplanConvolutionDescriptor_t convDesc,
                                               int requestedSpatialDim, int* padLow, int* padHigh) {
  return guard(__func__, [&] {
    const Conv conv = pin(convDesc, "convDesc")->conv;
    check_request(requestedSpatialDim, conv);
    copy_dims(padLow, conv.pad_lo, requestedSpatialDim);
    copy_dims(padHigh, conv.pad_hi, requestedSpatialDim);
  });
}

fuseplanStatus_t fuseplanGetConvolutionDescriptor(fuseplanConvolutionDescriptor_t convDesc,
                                                  fuseplanConvolutionMode_t* c_mode, int* pad_h,
                                                  int* pad_w, int* stride_h, int* stride_w,
                                                  int* dilation_h, int* dilation_w) {
  return guard(__func__, [&] {
    const Conv conv = pin(convDesc, "convDesc")->conv;
    require(conv.spatial() == 2, Status::BadParm, "convDesc has {} spatial dimensions, expected 2",
            conv.spatial());
    store(c_mode, fuseplanConvolution);
    store(pad_h, conv.pad_lo[0]);
    store(pad_w, conv.pad_lo[1]);
    store(stride_h, conv.stride[0]);
    store(stride_w, conv.stride[1]);
    store(dilation_h, conv.dilation[0]);
    store(dilation_w, conv.dilation[1]);
  });
}

fuseplanStatus_t fuseplanGetConvolutionNdDescriptor(fuseplanConvolutionDescriptor_t convDesc,
                                                    int requestedSpatialDim, int* spatialDim,
                                                    int* padA, int* strideA, int* dilationA,
                                                    fuseplanConvolutionMode_t* c_mode) {
  return guard(__func__, [&] {
    const Conv conv = pin(convDesc, "convDesc")->conv;
    check_request(requestedSpatialDim, conv);
    store(spatialDim, conv.spatial());
    copy_dims(padA, conv.pad_lo, requestedSpatialDim);
    copy_dims(strideA, conv.stride, requestedSpatialDim);
    copy_dims(dilationA, conv.dilation, requestedSpatialDim);
    store(c_mode, fuseplanConvolution);
  });
}

fuseplanStatus_t fuseplanGetConvolutionSpatialDim(fuseplanConvolutionDescriptor_t convDesc,
                                                  int* spatialDim) {
  return guard(__func__, [&] {
    const auto object = pin(convDesc, "convDesc");
    *required(spatialDim, "spatialDim") = object->conv.spatial();
  });
}

fuseplanStatus_t fuseplanGetConvolutionGroupCount(fuseplanConvolutionDescriptor_t convDesc,
                                                  int* groupCount) {
  return guard(__func__, [&] {
    const auto object = pin(convDesc, "convDesc");
    *required(groupCount, "groupCount") = static_cast<int>(object->conv.groups);
  });
}

fuseplanStatus_t fuseplanSetConvolutionGroupCount(fuseplanConvolutionDescriptor_t convDesc,
                                                  int groupCount) {
  return guard(__func__, [&] {
    const auto object = pin(convDesc, "convDesc");
    require(groupCount >= 1 && groupCount <= 1 << 30, Status::BadParm,
            "groupCount is {}, expected 1 to 2^30", groupCount);
    object->conv.groups = groupCount;
  });
}

fuseplanStatus_t fuseplanSetConvolutionAttribute(fuseplanConvolutionDescriptor_t convDesc,
                                                 fuseplanConvolutionAttrib_t attr, int value) {
  return guard(__func__, [&] {
    const auto object = pin(convDesc, "convDesc");
    (void)attribute_of(*object, attr);
    require(value == 0 || value == 1, Status::InvalidValue, "value is {}, expected 0 or 1", value);
    if (attr == FUSEPLAN_CONVOLUTION_ATTRIB_FP16_ALT_IMPL) object->fp16_alternative = value;
    if (attr == FUSEPLAN_CONVOLUTION_ATTRIB_DETERMINISTIC) object->conv.deterministic = value != 0;
    if (attr == FUSEPLAN_CONVOLUTION_ATTRIB_STRICT) object->conv.strict = value != 0;
  });
}

fuseplanStatus_t fuseplanGetConvolutionAttribute(fuseplanConvolutionDescriptor_t convDesc,
                                                 fuseplanConvolutionAttrib_t attr, int* value) {
  return guard(__func__, [&] {
    const auto object = pin(convDesc, "convDesc");
    *required(value, "value") = attribute_of(*object, attr);
  });
}

fuseplanStatus_t fuseplanGetConvolutionForwardOutputDim(fuseplanConvolutionDescriptor_t convDesc,
                                                        fuseplanTensorDescriptor_t inputTensorDesc,
                                                        fuseplanTensorDescriptor_t filterDesc,
                                                        int* n, int* c, int* h, int* w) {
  return guard(__func__, [&] {
    const Dims lens = output_lens(convDesc, inputTensorDesc, filterDesc);
    require(lens.size() == 4, Status::BadParm, "convDesc has {} spatial dimensions, expected 2",
            lens.size() - 2);
    int* const to[] = {n, c, h, w};
    const char* const names[] = {"n", "c", "h", "w"};
    for (int i = 0; i < 4; ++i) required(to[i], names[i]);
    for (int i = 0; i < 4; ++i) *to[i] = static_cast<int>(lens[static_cast<std::size_t>(i)]);
  });
}

fuseplanStatus_t fuseplanGetConvolutionNdForwardOutputDim(
    fuseplanConvolutionDescriptor_t convDesc, fuseplanTensorDescriptor_t inputTensorDesc,
    fuseplanTensorDescriptor_t filterDesc, int* nDim, int* outputTensorDimA) {
  return guard(__func__, [&] {
    const Dims lens = output_lens(convDesc, inputTensorDesc, filterDesc);
    required(nDim, "nDim");
    copy_dims(required(outputTensorDimA, "outputTensorDimA"), lens, static_cast<int>(lens.size()));
    *nDim = static_cast<int>(lens.size());
  });
}
