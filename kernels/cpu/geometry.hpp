// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>

#include "plan/problem.hpp"

namespace fuseplan::cpu {

/// A tensor as every kernel sees it: five axes N, C, D, H, W, missing spatial ones of length 1 in
/// front (a 2-D image has D = 1). Strides in elements.
struct View {
  std::array<std::int64_t, 5> len{1, 1, 1, 1, 1};
  std::array<std::int64_t, 5> stride{0, 0, 0, 0, 0};
  std::int64_t pixels() const { return len[2] * len[3] * len[4]; }
  std::int64_t elements() const { return len[0] * len[1] * pixels(); }
  /// From the first element to behind the last, gaps included.
  std::int64_t span() const {
    std::int64_t last = 0;
    for (std::size_t axis = 0; axis < len.size(); ++axis) last += (len[axis] - 1) * stride[axis];
    return last + 1;
  }
};
View view_of(const Tensor& tensor);

/// The same for an operand that is broadcast over `full`: stride 0 along axes where its length is 1
/// and full's is not.
View broadcast_view(const Tensor& operand, const Tensor& full);

/// Whether lane `axis` of the view is contiguous in memory.
inline bool contiguous_along(const View& view, int axis) {
  return view.stride[axis] == 1 || view.len[axis] == 1;
}
/// Whether an image is one run of elements, channel after channel.
bool channels_are_runs(const View& view);

/// For kernels that count columns from outside the image: where an axis of length 1 is contiguous,
/// its stride, which leads nowhere, need not be 1.
inline void step_by_element(View& view, std::size_t axis) {
  if (view.len[axis] == 1) view.stride[axis] = 1;
}

/// Whether steps along `axis` continue those along the last axis, so that the two can be one.
bool merges_into_rows(const View& view, std::size_t axis);
void merge_into_rows(View& view, std::size_t axis);

/// A convolution over three spatial axes D, H, W; entry 0 of the arrays is D.
struct ConvGeometry {
  View input, output;  ///< channels are those of all groups
  std::array<std::int64_t, 3> filter{1, 1, 1}, pad_lo{0, 0, 0}, stride{1, 1, 1}, dilation{1, 1, 1};
  std::int64_t groups = 1;
  std::int64_t group_inputs = 0, group_outputs = 0;  ///< channels of one group
  std::array<std::int64_t, 5> weight_stride{};       ///< K, C/groups, D, H, W, in elements
  double flops() const;                              ///< 2 * multiply-adds, taps on padding counted
};
ConvGeometry geometry_of(const Problem& problem);  ///< the problem's first op is a convolution

/// No output is the sum of more: taps that do not find room in the image together are not counted.
std::int64_t most_products(const ConvGeometry& g);

/// Filter taps of one axis that fall inside the input; {0, 0} if none does.
struct TapSpan {
  int first = 0, end = 0;
  int count() const { return end - first; }
  bool operator==(const TapSpan&) const = default;
};
/// For output position `position` on spatial axis `axis` (0 is D).
TapSpan taps_inside(const ConvGeometry& g, std::size_t axis, std::int64_t position);
/// Taps inside the image, of all outputs along an axis: all that direct convolution multiplies.
std::int64_t taps_along(const ConvGeometry& g, std::size_t axis);
/// Whether each output reads the pixel at its own place.
bool is_pointwise(const ConvGeometry& g);

}  // namespace fuseplan::cpu
