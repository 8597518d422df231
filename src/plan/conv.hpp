// SPDX-License-Identifier: MIT
#pragma once

#include "base/containers.hpp"
#include "plan/tensor.hpp"

namespace fuseplan {

/// A convolution (cross-correlation) without its tensors; one entry per spatial axis, outermost
/// ([D,] H, W) first. Padding may differ at the low and the high end of an axis.
struct Conv {
  Dims pad_lo, pad_hi, stride, dilation;
  std::int64_t groups = 1;
  bool strict = false;         ///< only kernels that sum products as the definition does
  bool deterministic = false;  ///< only kernels whose result never differs between runs

  int spatial() const { return static_cast<int>(stride.size()); }
  bool operator==(const Conv&) const = default;
};

/// Output tensor of `conv` over `input` with `weights` (K x C/groups x [filter dims]): input's type
/// (f32 for 8-bit integers, whose weights are i8) and layout, packed. Throws Error(BadParm) naming
/// the dimension that does not fit. Size per axis: (in + pad_lo + pad_hi - (1 + dilation * (filter
/// - 1))) / stride + 1.
Tensor conv_output(const Conv& conv, const Tensor& input, const Tensor& weights);

/// Throws Error(BadParm) for paddings < 0, strides, dilations or groups < 1, or unequal ranks.
void validate(const Conv& conv);

}  // namespace fuseplan
