// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>

#include "miopen/loops.hpp"
#include "miopen/pooling.hpp"

using namespace fuseplan::miopen;

namespace {

/// The part of a window that lies in the image, along one axis.
struct Range {
  long begin, end;
};
Range inside(const Pooling& pooling, int axis, std::size_t out, std::size_t length) {
  const long start = static_cast<long>(out) * pooling.stride[axis] - pooling.pad[axis];
  return {std::max(0L, start), std::min(static_cast<long>(length), start + pooling.window[axis])};
}

/// One image of one channel; strides in elements, rows before columns.
template <typename T>
float window_value(const Pooling& pooling, const T* x, const std::size_t* strides, Range rows,
                   Range columns) {
  const bool max = pooling.mode == miopenPoolingMax;
  float value = max ? -std::numeric_limits<float>::infinity() : 0;
  for (long row = rows.begin; row < rows.end; ++row)
    for (long column = columns.begin; column < columns.end; ++column) {
      const float element = x[static_cast<std::size_t>(row) * strides[0] +
                              static_cast<std::size_t>(column) * strides[1]];
      if (!max)
        value += element;
      else if (element > value || element != element)  // a NaN stays: nothing is greater
        value = element;
    }
  if (max) return value;
  const long count = pooling.mode == miopenPoolingAverageInclusive
                         ? static_cast<long>(pooling.window[0]) * pooling.window[1]
                         : (rows.end - rows.begin) * (columns.end - columns.begin);
  return value / static_cast<float>(std::max(1L, count));
}

template <typename T>
void pool(Handle& handle, const Pooling& pooling, const Shape& x, const T* from, const Shape& y,
          T* to, Blend blend) {
  const std::size_t channels = y.lens[1];
  const auto planes = static_cast<std::int64_t>(y.lens[0] * channels);
  const auto window = static_cast<std::int64_t>(pooling.window[0]) * pooling.window[1];
  run_loop(handle, planes, static_cast<std::int64_t>(y.elements()) * window, [&](std::int64_t i) {
    const auto plane = static_cast<std::size_t>(i);
    const T* in = from + plane / channels * x.strides[0] + plane % channels * x.strides[1];
    T* out = to + plane / channels * y.strides[0] + plane % channels * y.strides[1];
    for (std::size_t row = 0; row < y.lens[2]; ++row)
      for (std::size_t column = 0; column < y.lens[3]; ++column)
        blend.store(out[row * y.strides[2] + column * y.strides[3]],
                    window_value(pooling, in, &x.strides[2], inside(pooling, 0, row, x.lens[2]),
                                 inside(pooling, 1, column, x.lens[3])));
  });
}

}  // namespace

std::vector<std::size_t> Pooling::output_lens(const Shape& x) const {
  require(x.rank() == 4, miopenStatusBadParm, "pooling of a tensor of rank {}, expected 4",
          x.rank());
  std::vector<std::size_t> lens = x.lens;
  for (int axis = 0; axis < 2; ++axis) {
    const long room = static_cast<long>(x.lens[static_cast<std::size_t>(axis) + 2]) +
                      2L * pad[axis] - window[axis];
    lens[static_cast<std::size_t>(axis) + 2] =
        static_cast<std::size_t>(room < 0 ? 1 : room / stride[axis] + 1);
  }
  return lens;
}

miopenStatus_t miopenCreatePoolingDescriptor(miopenPoolingDescriptor_t* poolDesc) {
  return guard(__func__, [&] {
    *required(poolDesc, "poolDesc") =
        publish<miopenPoolingDescriptor_t>(std::make_shared<Pooling>());
  });
}

miopenStatus_t miopenDestroyPoolingDescriptor(miopenPoolingDescriptor_t poolDesc) {
  return guard(__func__, [&] { destroy(poolDesc, "poolDesc"); });
}

miopenStatus_t miopenSet2dPoolingDescriptor(miopenPoolingDescriptor_t poolDesc,
                                            miopenPoolingMode_t mode, int windowHeight,
                                            int windowWidth, int pad_h, int pad_w, int stride_h,
                                            int stride_w) {
  return guard(__func__, [&] {
    const auto object = find(poolDesc, "poolDesc");
    require(mode >= miopenPoolingMax && mode <= miopenPoolingAverageInclusive, miopenStatusBadParm,
            "{} is no pooling mode", static_cast<int>(mode));
    require(windowHeight >= 1 && windowWidth >= 1 && stride_h >= 1 && stride_w >= 1 && pad_h >= 0 &&
                pad_w >= 0 && pad_h < windowHeight && pad_w < windowWidth,
            miopenStatusBadParm, "window {}x{}, padding {}x{}, stride {}x{}", windowHeight,
            windowWidth, pad_h, pad_w, stride_h, stride_w);
    *object = {mode, {windowHeight, windowWidth}, {pad_h, pad_w}, {stride_h, stride_w}};
  });
}

miopenStatus_t miopenGet2dPoolingDescriptor(miopenPoolingDescriptor_t poolDesc,
                                            miopenPoolingMode_t* mode, int* windowHeight,
                                            int* windowWidth, int* pad_h, int* pad_w, int* stride_h,
                                            int* stride_w) {
  return guard(__func__, [&] {
    const auto object = find(poolDesc, "poolDesc");
    store(mode, object->mode);
    store(windowHeight, object->window[0]);
    store(windowWidth, object->window[1]);
    store(pad_h, object->pad[0]);
    store(pad_w, object->pad[1]);
    store(stride_h, object->stride[0]);
    store(stride_w, object->stride[1]);
  });
}

miopenStatus_t miopenGetPoolingForwardOutputDim(miopenPoolingDescriptor_t poolDesc,
                                                miopenTensorDescriptor_t tensorDesc, int* n, int* c,
                                                int* h, int* w) {
  return guard(__func__, [&] {
    const auto lens = find(poolDesc, "poolDesc")->output_lens(shape_of(tensorDesc, "tensorDesc"));
    store(n, lens[0]);
    store(c, lens[1]);
    store(h, lens[2]);
    store(w, lens[3]);
  });
}

miopenStatus_t miopenPoolingGetWorkSpaceSize(miopenTensorDescriptor_t yDesc,
                                             size_t* workSpaceSize) {
  return guard(__func__, [&] {
    shape_of(yDesc, "yDesc");
    *required(workSpaceSize, "workSpaceSize") = 0;
  });
}

miopenStatus_t miopenPoolingForward(miopenHandle_t handle, miopenPoolingDescriptor_t poolDesc,
                                    const void* alpha, miopenTensorDescriptor_t xDesc,
                                    const void* x, const void* beta, miopenTensorDescriptor_t yDesc,
                                    void* y, bool, void*, size_t) {
  return guard(__func__, [&] {
    const auto object = find(handle, "handle");
    const auto pooling = find(poolDesc, "poolDesc");
    const Shape in = shape_of(xDesc, "xDesc"), out = shape_of(yDesc, "yDesc");
    require(in.type == out.type, miopenStatusBadParm, "x and y are of different types");
    require(out.lens == pooling->output_lens(in), miopenStatusBadParm,
            "yDesc does not have the lengths that miopenGetPoolingForwardOutputDim tells");
    required(x, "x");
    required(y, "y");
    const Blend blend{scalar(alpha, 1), scalar(beta, 0)};
    with_storage(in.type, [&]<typename T>(T*) {
      pool(*object, *pooling, in, static_cast<const T*>(x), out, static_cast<T*>(y), blend);
    });
  });
}
