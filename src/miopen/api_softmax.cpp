// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "miopen/loops.hpp"

using namespace fuseplan::miopen;

namespace {

/// A tensor cut into groups that are normalised together: `group` lengths inside each of `outer`.
struct Groups {
  std::vector<std::size_t> outer, group;
};
Groups groups_of(const std::vector<std::size_t>& lens, miopenSoftmaxMode_t mode) {
  Groups groups{lens, lens};
  for (std::size_t axis = 0; axis < lens.size(); ++axis) {
    const bool together = axis == 1 || (axis >= 2 && mode == MIOPEN_SOFTMAX_MODE_INSTANCE);
    (together ? groups.outer : groups.group)[axis] = 1;
  }
  return groups;
}

template <typename T>
void softmax(Handle& handle, const Groups& groups, bool logarithm, const Shape& x, const T* from,
             const Shape& y, T* to, Blend blend) {
  const std::size_t size = Shape{x.type, groups.group, {}}.elements();
  const std::size_t count = Shape{x.type, groups.outer, {}}.elements();
  run_loop(handle, static_cast<std::int64_t>(count), static_cast<std::int64_t>(x.elements()),
           [&](std::int64_t i) {
             const auto outer = static_cast<std::size_t>(i);
             const T* in = from + offset_of(outer, groups.outer, x.strides);
             T* out = to + offset_of(outer, groups.outer, y.strides);
             const auto element = [&](std::size_t j) -> float {
               return in[offset_of(j, groups.group, x.strides)];
             };
             // Shifted by the maximum, so that nothing overflows.
             float maximum = element(0), sum = 0;
             for (std::size_t j = 1; j < size; ++j) maximum = std::max(maximum, element(j));
             for (std::size_t j = 0; j < size; ++j) sum += std::exp(element(j) - maximum);
             const float log_sum = std::log(sum);
             for (std::size_t j = 0; j < size; ++j) {
               const float shifted = element(j) - maximum;
               blend.store(out[offset_of(j, groups.group, y.strides)],
                           logarithm ? shifted - log_sum : std::exp(shifted) / sum);
             }
           });
}

void forward(miopenHandle_t handle, const void* alpha, miopenTensorDescriptor_t x_desc,
             const void* x, const void* beta, miopenTensorDescriptor_t y_desc, void* y,
             miopenSoftmaxAlgorithm_t algorithm, miopenSoftmaxMode_t mode) {
  const auto object = find(handle, "handle");
  const Shape in = shape_of(x_desc, "xDesc"), out = shape_of(y_desc, "yDesc");
  require(in.type == out.type && in.lens == out.lens && in.rank() >= 2, miopenStatusBadParm,
          "x and y differ in type or lengths, or have less than two dimensions");
  require(algorithm >= MIOPEN_SOFTMAX_FAST && algorithm <= MIOPEN_SOFTMAX_LOG &&
              mode >= MIOPEN_SOFTMAX_MODE_INSTANCE && mode <= MIOPEN_SOFTMAX_MODE_CHANNEL,
          miopenStatusBadParm, "no such softmax: algorithm {}, mode {}",
          static_cast<int>(algorithm), static_cast<int>(mode));
  required(x, "x");
  required(y, "y");
  const Blend blend{scalar(alpha, 1), scalar(beta, 0)};
  const Groups groups = groups_of(in.lens, mode);
  with_storage(in.type, [&]<typename T>(T*) {
    softmax(*object, groups, algorithm == MIOPEN_SOFTMAX_LOG, in, static_cast<const T*>(x), out,
            static_cast<T*>(y), blend);
  });
}

}  // namespace

miopenStatus_t miopenSoftmaxForward(miopenHandle_t handle, const void* alpha,
                                    miopenTensorDescriptor_t xDesc, const void* x, const void* beta,
                                    miopenTensorDescriptor_t yDesc, void* y) {
  return guard(__func__, [&] {
    forward(handle, alpha, xDesc, x, beta, yDesc, y, MIOPEN_SOFTMAX_ACCURATE,
            MIOPEN_SOFTMAX_MODE_CHANNEL);
  });
}

miopenStatus_t miopenSoftmaxForward_V2(miopenHandle_t handle, const void* alpha,
                                       miopenTensorDescriptor_t xDesc, const void* x,
                                       const void* beta, miopenTensorDescriptor_t yDesc, void* y,
                                       miopenSoftmaxAlgorithm_t algorithm,
                                       miopenSoftmaxMode_t mode) {
  return guard(__func__,
               [&] { forward(handle, alpha, xDesc, x, beta, yDesc, y, algorithm, mode); });
}
