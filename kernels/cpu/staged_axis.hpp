// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "base/integer.hpp"
#include "kernels/cpu/geometry.hpp"

namespace fuseplan::cpu {

/// An axis of the input as a kernel copies it to scratch for some neighbouring outputs: everything
/// that their taps reach, padding included. Entry i is input index first + i * step; those of
/// [begin, end) lie inside the image.
struct StagedAxis {
  std::int64_t first = 0, step = 1, begin = 0, end = 0, length = 0;
  std::int64_t index(std::int64_t i) const { return first + i * step; }
};

/// Entries from one output to the next. An axis with one tap is copied without what its stride
/// skips.
inline std::int64_t staged_step(const ConvGeometry& conv, std::size_t axis) {
  return conv.filter[axis] == 1 ? 1 : conv.stride[axis];
}

inline std::int64_t staged_length(const ConvGeometry& conv, std::size_t axis,
                                  std::int64_t outputs) {
  return (outputs - 1) * staged_step(conv, axis) + (conv.filter[axis] - 1) * conv.dilation[axis] +
         1;
}

/// Of `outputs` outputs from `output` on.
inline StagedAxis staged_axis(const ConvGeometry& conv, std::size_t axis, std::int64_t output,
                              std::int64_t outputs) {
  StagedAxis staged;
  staged.step = conv.filter[axis] == 1 ? conv.stride[axis] : 1;
  staged.first = output * conv.stride[axis] - conv.pad_lo[axis];
  staged.length = staged_length(conv, axis, outputs);
  const std::int64_t reach = conv.input.len[axis + 2] - staged.first;
  staged.end = std::min(staged.length, reach > 0 ? ceil_div(reach, staged.step) : 0);
  staged.begin = std::min(staged.first < 0 ? ceil_div(-staged.first, staged.step) : 0, staged.end);
  return staged;
}

}  // namespace fuseplan::cpu
