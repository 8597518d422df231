// SPDX-License-Identifier: MIT
#include "kernels/cpu/conv1x1/shape.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fuseplan::cpu {
namespace {

bool can_merge(const std::vector<View*>& views, std::size_t axis) {
  return std::ranges::all_of(views,
                             [&](const View* view) { return merges_into_rows(*view, axis); });
}

std::vector<View*> stored_views(Conv1x1Shape& shape) {
  std::vector<View*> views{&shape.conv.output};
  for (ElementView& element : shape.elements) views.push_back(&element.view);
  return views;
}

/// Height and depth of what the chain reads and writes, one after the other.
void merge_pixels(const std::vector<View*>& views) {
  for (const std::size_t axis : {std::size_t{3}, std::size_t{2}}) {
    if (!can_merge(views, axis)) return;
    for (View* view : views) merge_into_rows(*view, axis);
  }
}

bool keeps_every_pixel(const ConvGeometry& conv) {
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (conv.stride[axis] != 1 || conv.input.len[axis + 2] != conv.output.len[axis + 2])
      return false;
  return true;
}

}  // namespace

std::optional<std::string> conv1x1_geometry_refusal(const Problem& problem) {
  const ConvGeometry conv = geometry_of(problem);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (conv.filter[axis] != 1) return "a filter of several taps";
    const std::int64_t last = (conv.output.len[axis + 2] - 1) * conv.stride[axis];
    if (conv.pad_lo[axis] != 0 || last >= conv.input.len[axis + 2]) return "padding";
  }
  return std::nullopt;
}

Conv1x1Shape conv1x1_shape(const Problem& problem, const SplitChain& chain, Isa isa) {
  Conv1x1Shape shape;
  shape.isa = isa;
  shape.conv = geometry_of(problem);
  shape.input = problem.input().dtype;
  shape.weights = problem.conv()->weights.dtype;
  shape.output = problem.output().dtype;
  shape.elements = element_views(chain, problem.output());
  std::copy_n(shape.conv.output.len.begin() + 2, 3, shape.output_lens.begin());
  const bool every_pixel = keeps_every_pixel(shape.conv);
  merge_pixels(stored_views(shape));
  if (every_pixel) {
    View merged = shape.conv.input;
    merge_pixels({&merged});
    shape.flat = merged.len[4] == merged.pixels();
    if (shape.flat) shape.conv.input = merged;
  }
  shape.lanes_are_channels = prefers_channels(shape.conv.output);
  std::vector<View*> views = stored_views(shape);
  views.push_back(&shape.conv.input);
  if (shape.flat && shape.lanes_are_channels && can_merge(views, 0))
    for (View* view : views) merge_into_rows(*view, 0);
  return shape;
}

std::optional<std::string> conv1x1_layout_refusal(const Conv1x1Shape& shape) {
  if (shape.conv.output.len[4] != shape.conv.output.pixels())
    return "the pixels of the output or of an operand are not one evenly spaced row";
  return lane_refusal(shape.tensors());
}

}  // namespace fuseplan::cpu
