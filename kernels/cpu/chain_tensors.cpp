// SPDX-License-Identifier: MIT
#include "kernels/cpu/chain_tensors.hpp"

#include <fmt/format.h>

#include "kernels/cpu/chain_frame.hpp"

namespace fuseplan::cpu {
namespace {

/// Elements from lane to lane of an operand, 0 if one value serves all. One lane alone leads
/// nowhere.
std::int64_t lane_step(const View& view, std::size_t axis) {
  const std::int64_t stride = view.stride[axis];
  return view.len[axis] == 1 && stride > 1 ? 0 : stride;
}

FinishTensor finish_tensor(const View& view, DType dtype, std::size_t lane) {
  const auto bytes = static_cast<std::int64_t>(size_of(dtype));
  const std::int64_t step = lane_step(view, lane);
  return {.dtype = dtype,
          .per_lane = step != 0,
          .channel = view.stride[1] * bytes,
          .row = view.stride[3] * bytes,
          .column = view.stride[4] * bytes,
          .lane_stride = lane_stride_of(dtype, step)};
}

/// The body without what storing to `output` does anyway: a last maximum with 0 where nothing below
/// 0 can be stored.
Expr stored_body(const Expr& body, DType output) {
  const Node& root = body.graph[body.roots.front()];
  if (output != DType::u8 || root.leaf != Leaf::none || root.fn != Fn::max_) return body;
  const Node& bound = body.graph[root.args[0]];
  if (bound.leaf != Leaf::constant || bound.value != 0) return body;
  return compact({body.graph, {root.args[1]}});
}

}  // namespace

std::vector<ElementView> element_views(const SplitChain& chain, const Tensor& output) {
  std::vector<ElementView> views;
  for (const Operand& operand : chain.elements)
    views.push_back({operand.tensor.dtype, broadcast_view(operand.tensor, output)});
  return views;
}

bool prefers_channels(const View& output) {
  if (!contiguous_along(output, 1)) return false;
  return output.len[1] > 1 || !contiguous_along(output, 4);
}

std::optional<std::string> lane_refusal(const ChainTensors& tensors) {
  const std::size_t lane = tensors.lane_axis;
  if (!contiguous_along(tensors.output, static_cast<int>(lane)))
    return "neither channels nor the innermost spatial axis are contiguous in the output";
  for (std::size_t i = 0; i < tensors.elements.size(); ++i) {
    const std::int64_t stride = tensors.elements[i].view.stride[lane];
    if (stride > kMostLaneStride)
      return fmt::format("operand {} has stride {} along the output's contiguous axis, at most {}",
                         i, stride, kMostLaneStride);
  }
  return std::nullopt;
}

RowsSpec rows_spec(const ChainTensors& tensors, const SplitChain& chain, Isa isa, DType input) {
  RowsSpec spec;
  spec.isa = isa;
  spec.body = chain.body;
  spec.input = input;
  spec.output = tensors.dtype;
  spec.lanes_are_channels = tensors.lane_axis == 1;
  for (const ElementView& element : tensors.elements) {
    const std::int64_t step = lane_step(element.view, tensors.lane_axis);
    spec.elements.push_back({element.dtype, step != 0, lane_stride_of(element.dtype, step)});
  }
  return spec;
}

FinishSpec finish_spec(const ChainTensors& tensors, const SplitChain& chain) {
  FinishSpec spec;
  spec.body = stored_body(chain.body, tensors.dtype);
  spec.lanes_are_channels = tensors.lane_axis == 1;
  spec.output = finish_tensor(tensors.output, tensors.dtype, tensors.lane_axis);
  for (const ElementView& element : tensors.elements)
    spec.elements.push_back(finish_tensor(element.view, element.dtype, tensors.lane_axis));
  spec.channel_root =
      channel_stride_of(tensors.output.len[1]) * static_cast<std::int64_t>(sizeof(float));
  return spec;
}

}  // namespace fuseplan::cpu
