// SPDX-License-Identifier: MIT
#include "kernels/cpu/direct/shape.hpp"

#include <algorithm>

namespace fuseplan::cpu {
namespace {

bool is_pointwise(const ConvGeometry& conv) {
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (conv.filter[axis] != 1 || conv.stride[axis] != 1 || conv.pad_lo[axis] != 0 ||
        conv.input.len[axis + 2] != conv.output.len[axis + 2])
      return false;
  return true;
}

// A longer row has fewer odd tiles at its end. But a row of single pixels, merged with the rows
// above, may no longer be contiguous: then it stays what it is.
void merge_axes(DirectShape& shape) {
  for (std::size_t axis : {std::size_t{3}, std::size_t{2}, std::size_t{0}}) {
    DirectShape merged = shape;
    std::vector<View*> views{&merged.conv.input, &merged.conv.output};
    for (ElementView& element : merged.elements) views.push_back(&element.view);
    if (!std::ranges::all_of(views,
                             [&](const View* view) { return merges_into_rows(*view, axis); }))
      continue;
    for (View* view : views) merge_into_rows(*view, axis);
    merged.lanes_are_channels = prefers_channels(merged.conv.output);
    if (!lane_refusal(merged.tensors())) shape = std::move(merged);
  }
}

}  // namespace

DirectShape direct_shape(const Problem& problem, const SplitChain& chain) {
  DirectShape shape;
  shape.conv = geometry_of(problem);
  shape.input = problem.input().dtype;
  shape.weights = problem.conv()->weights.dtype;
  shape.output = problem.output().dtype;
  shape.elements = element_views(chain, problem.output());
  if (is_pointwise(shape.conv)) merge_axes(shape);
  shape.lanes_are_channels = prefers_channels(shape.conv.output);
  return shape;
}

}  // namespace fuseplan::cpu
