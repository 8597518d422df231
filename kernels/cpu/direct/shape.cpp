// SPDX-License-Identifier: MIT
#include "kernels/cpu/direct/shape.hpp"

#include <algorithm>
#include <limits>

namespace fuseplan::cpu {
namespace {

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

bool DirectShape::reads_in_place() const {
  constexpr double kReach = std::numeric_limits<std::int32_t>::max();
  constexpr double kMostChannels = 8, kMostPixels = 28;  // of a turn of a kernel's loop, of a tile
  const auto step = [&](std::size_t axis) {
    return static_cast<double>(conv.input.stride[axis]) * static_cast<double>(size_of(input));
  };
  const auto taps = [&](std::size_t axis) {
    return static_cast<double>(conv.dilation[axis]) * step(axis + 2);
  };
  const double within = kMostChannels * step(1) +
                        kMostPixels * static_cast<double>(conv.stride[2]) * step(4) +
                        static_cast<double>(conv.filter[2]) * taps(2);
  return within < kReach && taps(1) < kReach && taps(0) < kReach;
}

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
