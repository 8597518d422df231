// SPDX-License-Identifier: MIT
#include "kernels/cpu/chain_tensors.hpp"

#include <fmt/format.h>

namespace fuseplan::cpu {

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
    if (stride > 1 && tensors.output.len[lane] > 1)
      return fmt::format(
          "operand {} has stride {} along the output's contiguous axis, where 1 or a broadcast is "
          "needed",
          i, stride);
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
  for (const ElementView& element : tensors.elements)
    spec.elements.push_back({element.dtype, element.view.stride[tensors.lane_axis] == 1});
  return spec;
}

}  // namespace fuseplan::cpu
