// SPDX-License-Identifier: MIT
#include "kernels/cpu/geometry.hpp"

#include <algorithm>

#include "base/integer.hpp"

namespace fuseplan::cpu {
namespace {

// Axis of the five-axis view that holds axis `axis` of a tensor of rank `rank`.
int view_axis(int axis, int rank) { return axis < 2 ? axis : axis + 5 - rank; }

}  // namespace

View view_of(const Tensor& tensor) {
  View view;
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    view.len[static_cast<std::size_t>(view_axis(axis, tensor.rank()))] = tensor.lens[axis];
    view.stride[static_cast<std::size_t>(view_axis(axis, tensor.rank()))] = tensor.strides[axis];
  }
  return view;
}

View broadcast_view(const Tensor& operand, const Tensor& full) {
  const View whole = view_of(full);
  View view = view_of(operand);
  for (std::size_t axis = 0; axis < 5; ++axis) {
    if (view.len[axis] == 1) view.stride[axis] = 0;
    view.len[axis] = whole.len[axis];
  }
  return view;
}

bool merges_into_rows(const View& view, std::size_t axis) {
  return view.len[axis] == 1 || view.len[4] == 1 ||
         view.stride[axis] == view.len[4] * view.stride[4];
}

void merge_into_rows(View& view, std::size_t axis) {
  if (view.len[axis] == 1) return;
  if (view.len[4] == 1) view.stride[4] = view.stride[axis];
  view.len[4] *= view.len[axis];
  view.len[axis] = 1;
  view.stride[axis] = 0;
}

double ConvGeometry::flops() const {
  double taps = 2.0 * static_cast<double>(group_inputs);
  for (std::int64_t length : filter) taps *= static_cast<double>(length);
  return taps * static_cast<double>(output.elements());
}

ConvGeometry geometry_of(const Problem& problem) {
  const ConvOp& op = *problem.conv();
  ConvGeometry g;
  g.input = view_of(problem.input());
  // The kernel writes the plan's output, whose strides the caller chose.
  g.output = view_of(problem.output());
  const View weights = view_of(op.weights);
  const std::size_t missing = 3 - static_cast<std::size_t>(op.conv.spatial());
  for (std::size_t axis = 0; axis < 3; ++axis) g.filter[axis] = weights.len[axis + 2];
  for (std::size_t axis = missing; axis < 3; ++axis) {
    g.pad_lo[axis] = op.conv.pad_lo[axis - missing];
    // A single output takes no step, and a single tap has no next one.
    if (g.output.len[axis + 2] > 1) g.stride[axis] = op.conv.stride[axis - missing];
    if (g.filter[axis] > 1) g.dilation[axis] = op.conv.dilation[axis - missing];
  }
  g.groups = op.conv.groups;
  g.group_inputs = g.input.len[1] / g.groups;
  g.group_outputs = g.output.len[1] / g.groups;
  g.weight_stride = weights.stride;
  return g;
}

std::int64_t most_products(const ConvGeometry& g) {
  std::int64_t products = g.group_inputs;
  for (std::size_t axis = 0; axis < 3; ++axis)
    products *= std::min(g.filter[axis], ceil_div(g.input.len[axis + 2], g.dilation[axis]));
  return products;
}

TapSpan taps_inside(const ConvGeometry& g, std::size_t axis, std::int64_t position) {
  const std::int64_t origin = position * g.stride[axis] - g.pad_lo[axis], step = g.dilation[axis];
  const std::int64_t reach = g.input.len[axis + 2] - origin;  // columns from the first tap on
  const std::int64_t first = origin < 0 ? ceil_div(-origin, step) : 0;
  const std::int64_t end = reach > 0 ? std::min(g.filter[axis], ceil_div(reach, step)) : 0;
  return first < end ? TapSpan{static_cast<int>(first), static_cast<int>(end)} : TapSpan{};
}

std::int64_t taps_along(const ConvGeometry& g, std::size_t axis) {
  std::int64_t taps = 0;
  for (std::int64_t t = 0; t < g.filter[axis]; ++t) {
    // Outputs first to last - 1 have this tap inside: 0 <= i * stride - before < length.
    const std::int64_t before = g.pad_lo[axis] - t * g.dilation[axis];
    const std::int64_t first = before > 0 ? ceil_div(before, g.stride[axis]) : 0;
    const std::int64_t reach = g.input.len[axis + 2] + before;
    const std::int64_t last =
        std::min(reach > 0 ? ceil_div(reach, g.stride[axis]) : 0, g.output.len[axis + 2]);
    taps += std::max<std::int64_t>(0, last - first);
  }
  return taps;
}

bool is_pointwise(const ConvGeometry& g) {
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (g.filter[axis] != 1 || g.stride[axis] != 1 || g.pad_lo[axis] != 0 ||
        g.input.len[axis + 2] != g.output.len[axis + 2])
      return false;
  return true;
}

bool channels_are_runs(const View& view) {
  std::int64_t run = 1;
  for (std::size_t axis = 4; axis > 0; --axis) {
    if (view.len[axis] > 1 && view.stride[axis] != run) return false;
    run *= view.len[axis];
  }
  return true;
}

}  // namespace fuseplan::cpu
