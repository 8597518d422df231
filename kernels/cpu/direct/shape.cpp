// SPDX-License-Identifier: MIT
#include "kernels/cpu/direct/shape.hpp"

#include <fmt/format.h>

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

// Channels where both axes would do, unless there is only one of them.
bool choose_channels(const View& output) {
  if (!contiguous_along(output, 1)) return false;
  return output.len[1] > 1 || !contiguous_along(output, 4);
}

// A longer row has fewer odd tiles at its end. But a row of single pixels, merged with the rows
// above, may no longer be contiguous: then it stays what it is.
void merge_axes(DirectShape& shape) {
  for (std::size_t axis : {std::size_t{3}, std::size_t{2}, std::size_t{0}}) {
    DirectShape merged = shape;
    std::vector<View*> views{&merged.conv.input, &merged.conv.output};
    for (DirectShape::Element& element : merged.elements) views.push_back(&element.view);
    if (!std::ranges::all_of(views,
                             [&](const View* view) { return merges_into_rows(*view, axis); }))
      continue;
    for (View* view : views) merge_into_rows(*view, axis);
    merged.lanes_are_channels = choose_channels(merged.conv.output);
    if (!lane_refusal(merged)) shape = std::move(merged);
  }
}

}  // namespace

DirectShape direct_shape(const Problem& problem, const SplitChain& chain) {
  DirectShape shape;
  shape.conv = geometry_of(problem);
  shape.input = problem.input().dtype;
  shape.weights = problem.conv()->weights.dtype;
  shape.output = problem.output().dtype;
  for (const Operand& operand : chain.elements)
    shape.elements.push_back(
        {operand.tensor.dtype, broadcast_view(operand.tensor, problem.output())});
  if (is_pointwise(shape.conv)) merge_axes(shape);
  shape.lanes_are_channels = choose_channels(shape.conv.output);
  return shape;
}

std::optional<std::string> lane_refusal(const DirectShape& shape) {
  const auto axis = shape.lane_axis();
  if (!contiguous_along(shape.conv.output, axis))
    return "neither channels nor the innermost spatial axis are contiguous in the output";
  const auto lane = static_cast<std::size_t>(axis);
  for (std::size_t i = 0; i < shape.elements.size(); ++i)
    if (shape.elements[i].view.stride[lane] > 1 && shape.conv.output.len[lane] > 1)
      return fmt::format(
          "operand {} has stride {} along the output's contiguous axis, where 1 or a broadcast "
          "is needed",
          i, shape.elements[i].view.stride[lane]);
  return std::nullopt;
}

TapRange taps_inside(const ConvGeometry& conv, int axis, std::int64_t output_index) {
  const auto a = static_cast<std::size_t>(axis);
  const std::int64_t dilation = conv.dilation[a];
  const std::int64_t base = output_index * conv.stride[a] - conv.pad_lo[a];
  const std::int64_t length = conv.input.len[a + 2];
  const std::int64_t first = base < 0 ? (-base + dilation - 1) / dilation : 0;
  const std::int64_t past = base < length ? (length - base + dilation - 1) / dilation : 0;
  const std::int64_t last = std::min(conv.filter[a], past);
  return first < last ? TapRange{first, last - first} : TapRange{0, 0};
}

}  // namespace fuseplan::cpu
